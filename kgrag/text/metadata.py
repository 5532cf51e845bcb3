"""Metadata of documents as triples: a field is a property, a value is a typed literal or an IRI.

==========================================  =====================================================================
a field named                               is the property
==========================================  =====================================================================
``https://schema.org/author``               that IRI
``dcterms:creator``                         the IRI behind a prefix that every query knows (``dcterms``, ``skos``, ...)
anything else, e.g. ``tenant``, and what    ``https://w3id.org/kgrag/metadata/tenant``, in queries
kgrag itself states, e.g. ``kg:text``       ``kgm:tenant``
==========================================  =====================================================================

A list is one triple per item, an object has its fields under ``field.inner``, None and empty lists are no triple. Bool,
int, Decimal and float are numbers, date and datetime are dates, IRIs and literals of pyoxigraph stay what they are, any
other text is a string. Formats without types (CSV, front matter, HTML) are read by ``typed``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote, unquote

import pyoxigraph as ox

from kgrag.errors import InputError
from kgrag.late_patterns import late_re
from kgrag.vocab import DCTERMS, KG, METADATA, PREFIXES, RDF, XSD

__all__ = ["fields_of", "name_of", "property_of", "terms_of", "triples", "typed"]

_IRI = late_re(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
_WEB_ADDRESS = late_re(r"https?://[^\s<>\"{}|\\^`]+")
_INTEGER = late_re(r"0|-?[1-9]\d{0,17}")
_DECIMAL = late_re(r"-?(0|[1-9]\d{0,17})\.\d{1,18}")
_DATE = late_re(r"\d{4}-\d\d-\d\d")
_OWN = {term.value for term in (RDF.type, DCTERMS.title, DCTERMS.identifier, DCTERMS.format, DCTERMS.isPartOf)}
_TIME = late_re(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?")

_LITERALS: tuple[tuple[type, ox.NamedNode, Callable[[Any], str]], ...] = (  # the first type that a value has
    (str, XSD.string, str),
    (bool, XSD.boolean, lambda value: str(value).lower()),
    (int, XSD.integer, str),
    (Decimal, XSD.decimal, "{:f}".format),
    (float, XSD.double, lambda value: repr(value).replace("inf", "INF").replace("nan", "NaN")),
    (datetime, XSD.dateTime, datetime.isoformat),
    (date, XSD.date, date.isoformat),
)
_VALUES: dict[ox.NamedNode, Callable[[str], object]] = {
    XSD.boolean: lambda text: text == "true",
    XSD.integer: int,
    XSD.decimal: Decimal,
    XSD.double: float,
    XSD.dateTime: datetime.fromisoformat,
    XSD.date: date.fromisoformat,
}
_READERS: tuple[tuple[re.Pattern[str], Callable[[str], object]], ...] = (
    (_INTEGER, int),
    (_DECIMAL, Decimal),
    (_DATE, date.fromisoformat),
    (_TIME, datetime.fromisoformat),
    (_WEB_ADDRESS, ox.NamedNode),
    (late_re("true|false"), lambda text: text == "true"),
)


def property_of(name: str) -> ox.NamedNode:
    """Return the property that a field is stored under.

    >>> property_of("dcterms:creator").value, property_of("due date").value
    ('http://purl.org/dc/terms/creator', 'https://w3id.org/kgrag/metadata/due%20date')
    """
    prefix, colon, local = name.partition(":")
    iri = name
    if colon and prefix in PREFIXES and re.fullmatch(r"[\w.-]+", local):
        iri = PREFIXES[prefix] + local
    own = iri.startswith(KG.prefix) or iri in _OWN
    if own or "://" not in iri or not _IRI.fullmatch(iri):
        iri = METADATA + quote(name, safe="")
    return ox.NamedNode(iri)


def name_of(iri: str) -> str:
    """Return the field that is stored under a property: the reverse of ``property_of``.

    >>> name_of(property_of("due date").value), name_of(property_of("dcterms:creator").value)
    ('due date', 'dcterms:creator')
    """
    if iri.startswith(METADATA):
        return unquote(iri.removeprefix(METADATA))
    for prefix, namespace in PREFIXES.items():
        if iri.startswith(namespace) and re.fullmatch(r"[\w.-]+", iri.removeprefix(namespace)):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri


def terms_of(field: str, value: object) -> list[ox.NamedNode | ox.Literal]:
    """Return the value of a field as terms, each in the form in which the store keeps it.

    Raises:
        InputError: a value is of a type that is no metadata.
    """
    if value is None:
        return []
    if isinstance(value, list | tuple | set | frozenset):
        return list(dict.fromkeys(term for item in value for term in terms_of(field, item)))
    if isinstance(value, ox.NamedNode):
        return [value]
    if isinstance(value, ox.Literal):
        return [_stored(value)]
    for kind, datatype, written in _LITERALS:
        if isinstance(value, kind):
            return [_stored(ox.Literal(written(value), datatype=datatype))]
    raise InputError(
        f"metadata field {field!r} is a {type(value).__name__}. Use text, a number, a date, an IRI or literal of "
        "pyoxigraph, or a list or dict of such."
    )


def triples(subject: ox.NamedNode, metadata: Mapping[str, object]) -> Iterator[ox.Triple]:
    """Yield the metadata of a document as triples.

    Raises:
        InputError: a field has no name, or a value is of a type that is no metadata.
    """
    for name, value in _flat("", metadata):
        predicate = property_of(name)
        yield from (ox.Triple(subject, predicate, term) for term in terms_of(name, value))


def fields_of(rows: Iterable[tuple[str, ox.NamedNode | ox.Literal]]) -> dict[str, Any]:
    """Return stored metadata as fields of Python values; a field with several values is a tuple, in their order.

    Args:
        rows: IRI of the property and term of each triple.
    """
    found: dict[str, list[Any]] = {}
    for iri, term in rows:
        found.setdefault(name_of(iri), []).append(_value(term))
    return {name: values[0] if len(values) == 1 else tuple(values) for name, values in found.items()}


def typed(text: str) -> object:
    """Return what a text of an untyped format means: a number, a date, a web address (as IRI), or the text itself.

    Only what is read back as it was written is taken for a number: "007" and "1e5" stay texts.

    >>> typed("42"), typed("007"), typed("2024-02-29"), typed("2024-02-30")
    (42, '007', datetime.date(2024, 2, 29), '2024-02-30')
    """
    text = text.strip()
    for pattern, read in _READERS:
        if pattern.fullmatch(text):
            try:
                return read(text)
            except ValueError:  # the thirtieth of February
                return text
    return text


def _flat(path: str, fields: Mapping[Any, object]) -> Iterator[tuple[str, object]]:
    for key, value in fields.items():
        if not isinstance(key, str) or not key.strip():
            raise InputError(f"metadata has a field named {key!r}. A field's name is a text that is not blank.")
        name = f"{path}{key.strip()}"
        if isinstance(value, Mapping):
            yield from _flat(f"{name}.", value)
        elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
            for item in value:
                yield from _flat(f"{name}.", item) if isinstance(item, Mapping) else [(name, item)]
        else:
            yield name, value


def _value(term: ox.NamedNode | ox.Literal) -> object:
    if isinstance(term, ox.NamedNode):
        return term.value
    try:
        return _VALUES.get(term.datatype, str)(term.value)
    except ValueError:  # what Python cannot represent, such as a year of five digits
        return term.value


def _stored(literal: ox.Literal) -> ox.Literal:
    """Return a literal as the store writes it: 3.50 as 3.5."""
    if literal.datatype in (XSD.string, XSD.integer, XSD.boolean, XSD.date):
        return literal
    scratch = ox.Store()
    scratch.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), literal))
    kept = next(iter(scratch)).object
    return kept if isinstance(kept, ox.Literal) else literal
