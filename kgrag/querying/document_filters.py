"""Filters: which documents may be found, by their fields or by a SPARQL pattern, decided before anything is ranked.

==============================================  ==================================================================
a filter (``where``)                            is met by documents
==============================================  ==================================================================
``{"tenant": "a"}``                             of which the field is this
``{"tenant": ["a", "b"]}``, ``{"in": [...]}``   of which it is any of these
``{"year": {"from": 2020, "to": 2024}}``        of which it is a number, date or text within bounds that are included
                                                (``above`` and ``below``: not included)
``{"location": {"prefix": "/docs/"}}``          of which it begins with this
``"year>=2020"``, ``"id in T-7,T-8"``, ...      the same as text: ``=``, ``in``, ``>=``, ``<=``, ``>``, ``<``, ``^=``
``'?document kgm:tenant "a"'``                  that this SPARQL pattern binds to ``?document``
a list of these                                 that meet all of them
==============================================  ==================================================================

Fields are those of ``kgrag.text.metadata``; ``title``, ``id``, ``url``, ``location`` and ``media_type`` are the
document's own. Numbers are equal by value. A text that reads as a date or web address also matches that date or IRI;
in a condition that is a text, also a number or truth value.

Values are bound as RDF terms. Conditions are looked up one by one and their documents intersected, so that no condition
can widen another. Queries read: ``filters/*``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from threading import Lock
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, UnknownName
from kgrag.index import change_feed, vector_spaces
from kgrag.late_patterns import late_re
from kgrag.model import Allowed, Table
from kgrag.ports import TripleStore
from kgrag.sparql.group_reader import check_group
from kgrag.text import metadata
from kgrag.vocab import DCTERMS, KG, KGV, XSD

__all__ = ["Condition", "DocumentFilter", "Where", "allowed", "matching_query", "read_filter"]

Term: TypeAlias = ox.NamedNode | ox.Literal

_OWN_FIELDS = {
    "title": DCTERMS.title,
    "id": DCTERMS.identifier,
    "url": KG.url,
    "location": KG.location,
    "media_type": DCTERMS.format,
}
_BOUNDS = {"from": "at_least", "above": "above", "to": "at_most", "below": "below"}
_OPERATORS = {">=": "from", ">": "above", "<=": "to", "<": "below", "^=": "prefix"}
_CONDITION = late_re(
    r"""\s*([^\s?$<>{}()"'=^;!](?:[^?$<>{}()"'=^;!]*?[^\s?$<>{}()"'=^;!])?)\s*(>=|<=|\^=|=|>|<|\sin\s)(.*)""", re.DOTALL
)
_NUMBERS = frozenset({XSD.integer, XSD.decimal, XSD.double})
_DOCUMENTS_PER_QUERY = 1000
_MAX_FIELDS_NAMED = 40  # in an error
_MAX_FILTERS_KEPT = 16  # of one store
_SEARCHES = late_re(rf"\bkgv:|{re.escape(KGV.prefix)}")


@dataclass(frozen=True, slots=True)
class Condition:
    """A field is one of ``values``, begins with ``prefix``, or is within all ``bounds``.

    ``bounds`` are pairs of a parameter of ``filters/in_range`` and the forms of the bound.
    """

    field: str
    values: tuple[Term, ...] | None = None
    prefix: ox.Literal | None = None
    bounds: tuple[tuple[str, tuple[ox.Literal, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Conditions and SPARQL patterns, all of which a document has to meet; ``within`` are sets that it has to be in."""

    conditions: tuple[Condition, ...] = ()
    patterns: tuple[str, ...] = ()
    within: tuple[frozenset[str], ...] = ()

    def __and__(self, other: DocumentFilter) -> DocumentFilter:
        """Return the filter that is met by what meets both."""
        patterns, within = self.patterns + other.patterns, self.within + other.within
        return DocumentFilter(self.conditions + other.conditions, patterns, within)


Where: TypeAlias = "str | Mapping[str, Any] | DocumentFilter | Sequence[Where]"


def read_filter(where: Where) -> DocumentFilter:
    """Return a filter as the module's table has it.

    Raises:
        InputError: it is empty, or a condition is of no such form.
        InvalidSPARQL: a pattern is no group of SPARQL by itself.
    """
    if isinstance(where, DocumentFilter):
        return where
    if isinstance(where, str):
        return _read_text(where)
    if isinstance(where, Mapping) and where:
        return DocumentFilter(tuple(_condition(name, value) for name, value in where.items()))
    if isinstance(where, Sequence) and where:
        joined = DocumentFilter()
        for one in where:
            joined &= read_filter(one)
        return joined
    raise InputError(
        f"the filter {where!r} has no condition, and would let everything through. Leave it out, or name a field."
    )


def allowed(wanted: DocumentFilter, store: TripleStore, select: Callable[[str], Table] | None = None) -> Allowed:
    """Return the documents that meet a filter, with their chunks.

    They are kept, and brought up to date with the documents that came and went; filters with a pattern or on locations
    are looked up anew when the store changed.

    Args:
        wanted: the filter.
        store: contains the documents.
        select: runs a query of a user's past the gate; None where patterns are not taken.

    Raises:
        UnknownName: nothing meets it, since it names a field that no document has.
        InputError: the filter has a pattern, and those are not taken here.
        InvalidSPARQL: the gate or the engine refuses a pattern.
    """
    revision = store.revision
    with _LOCK:
        known_at, known = _KNOWN.get(store, {}).get(wanted, (-1, _NOTHING))
    if known_at != revision:
        known = _followed(wanted, known, known_at, store) or _allowed(wanted, store, select)
    with _LOCK:
        of_store = _KNOWN.setdefault(store, {})
        of_store.pop(wanted, None)
        of_store[wanted] = (revision, known)
        while len(of_store) > _MAX_FILTERS_KEPT:
            del of_store[next(iter(of_store))]
    if not known.documents:
        _refuse_unknown_fields(wanted, store)
    return known


def _refuse_unknown_fields(wanted: DocumentFilter, store: TripleStore) -> None:
    """Raise UnknownName where there are documents, and none has a field that a filter names."""
    catalogue = store.names.catalogue
    named = dict.fromkeys(each.field for each in wanted.conditions if each.field not in _OWN_FIELDS)
    lacking = [name for name in named if not store.ask(_held(name, catalogue))]
    if not lacking or not store.ask(queries.bind("filters/any_document", catalogue=catalogue)):
        return
    stated = store.select(queries.bind("filters/fields", catalogue=catalogue, limit=_MAX_FIELDS_NAMED + 1)).values()
    known = [*_OWN_FIELDS, *(metadata.name_of(iri) for (iri,) in stated[:_MAX_FIELDS_NAMED])]
    more = ", …" if len(stated) > _MAX_FIELDS_NAMED else ""
    raise UnknownName(f"no document has the field {lacking[0]!r}. Fields: {', '.join(known)}{more}.")


def _held(name: str, catalogue: ox.NamedNode) -> str:
    """Return the query for whether any document has a field."""
    return queries.bind("filters/any_with_field", catalogue=catalogue, property=metadata.property_of(name))


_LOCK = Lock()
_KNOWN: WeakKeyDictionary[TripleStore, dict[DocumentFilter, tuple[int, Allowed]]] = WeakKeyDictionary()
_NOTHING = Allowed(frozenset(), frozenset())


def matching_query(pattern: str) -> str:
    """Return the query for what a pattern binds to ``?document``; the pattern was checked by ``read_filter``."""
    return queries.bind("filters/matching").replace("{}", f"{{{pattern}\n}}", 1)


def _allowed(wanted: DocumentFilter, store: TripleStore, select: Callable[[str], Table] | None) -> Allowed:
    sets = [*wanted.within, *(_meeting(condition, store) for condition in wanted.conditions)]
    for pattern in wanted.patterns:
        if select is None:
            raise InputError("a filter inside a search takes conditions of fields. Write the pattern into the query.")
        sets.append({row[0].value for row in select(matching_query(pattern)) if isinstance(row[0], ox.NamedNode)})
    if not wanted.conditions:  # what a pattern binds, and what a caller lists, need not be documents
        everything = queries.bind("filters/documents", catalogue=store.names.catalogue)
        sets.append({document for (document,) in store.select(everything).values()})
    documents = frozenset(set.intersection(*map(set, sets)))
    return Allowed(documents, frozenset(_chunks(sorted(documents), store)))


def _followed(wanted: DocumentFilter, known: Allowed, since: int, store: TripleStore) -> Allowed | None:
    """Return what meets a filter now, from what met it after a revision; None where all has to be looked up.

    A document's fields are in its graph, so that those of new graphs alone are looked at. Its places are not, and what
    a pattern looks at is not known.
    """
    if wanted.patterns or not wanted.conditions or any(each.field == "location" for each in wanted.conditions):
        return None
    changes = change_feed.changes(vector_spaces.spaces()["chunk"], store=store, since=since)
    if changes is None:
        return None
    meeting = [_meeting(condition, store, changes.publications) for condition in wanted.conditions]
    new = set.intersection(*meeting).intersection(*wanted.within)
    if not new and changes.removed.isdisjoint(known.documents) and changes.removed.isdisjoint(known.chunks):
        return known  # whoever looked places of it up has them
    documents = (known.documents - changes.removed) | new
    return Allowed(documents, (known.chunks - changes.removed).union(_chunks(sorted(new), store)))


def _chunks(documents: Sequence[str], store: TripleStore) -> Iterator[str]:
    for first in range(0, len(documents), _DOCUMENTS_PER_QUERY):
        nodes = [ox.NamedNode(iri) for iri in documents[first : first + _DOCUMENTS_PER_QUERY]]
        query = queries.bind("filters/chunks", catalogue=store.names.catalogue, documents=nodes)
        yield from (chunk for (chunk,) in store.select(query).values())


def _meeting(condition: Condition, store: TripleStore, publications: Sequence[ox.NamedNode] = ()) -> set[str]:
    """Return the documents that meet a condition, of those that came with some publications; none given = of all."""
    own = _OWN_FIELDS.get(condition.field)
    about: dict[str, Any] = {
        "catalogue": store.names.catalogue,
        "property": own or metadata.property_of(condition.field),
        "located": int(own == KG.location),
        "publications": list(publications),
    }
    none: dict[str, Any] = dict.fromkeys(_BOUNDS.values(), ())
    bound = []
    if condition.prefix is not None:
        bound.append(queries.bind("filters/with_prefix", **about, prefix=condition.prefix))
    if condition.bounds:
        bound.append(queries.bind("filters/in_range", **about, **none | dict(condition.bounds)))
    if condition.values is not None:
        numbers = [term for term in condition.values if isinstance(term, ox.Literal) and term.datatype in _NUMBERS]
        others = [term for term in condition.values if term not in numbers]
        bound.append(queries.bind("filters/with_value", **about, values=others))
        bound += [
            queries.bind("filters/in_range", **about, **none | {"at_least": [number], "at_most": [number]})
            for number in numbers  # 7 and 7.0 are equal
        ]
    return {document for query in bound for (document,) in store.select(query).values()}


def _read_text(text: str) -> DocumentFilter:
    if re.search(r"[?$]document\b", text):
        if _SEARCHES.search(text):
            raise InputError("a filter says which documents may be found, and cannot search (kgv:) itself.")
        check_group(text)
        return DocumentFilter(patterns=(text,))
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise InputError(
            f"{text[:200]!r} is no filter. Write FIELD=VALUE, >=, <=, >, <, ^= (begins with), 'FIELD in A,B', "
            "or a SPARQL pattern over ?document."
        )
    name, operator, value = match[1], match[2].strip(), match[3].strip()
    if operator in ("=", "in"):
        items = [item.strip() for item in value.split(",")] if operator == "in" else [value]
        return DocumentFilter((Condition(name, tuple(dict.fromkeys(t for item in items for t in _spelled(item)))),))
    return DocumentFilter((_condition(name, {_OPERATORS[operator]: value}, spelled=True),))


def _condition(name: object, value: object, *, spelled: bool = False) -> Condition:
    """Read one field of a mapping; ``spelled``: numbers in it are texts."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"a filter names a field {name!r}. A field's name is a text that is not blank.")
    if not isinstance(value, Mapping):
        return Condition(name, tuple(_equal(name, value)))
    if unknown := value.keys() - {"in", "prefix", *_BOUNDS}:
        known = ", ".join(["in", "prefix", *_BOUNDS])
        raise InputError(f"a filter on {name!r} has {sorted(map(str, unknown))}, which is none of {known}.")
    bounds = tuple((_BOUNDS[key], _bound(name, key, value[key], spelled)) for key in value.keys() & _BOUNDS.keys())
    given = [key for key in ("in", "prefix") if key in value]
    if len(given) + bool(bounds) != 1:
        raise InputError(
            f"a filter on {name!r} has {sorted(value)}. Take in, or prefix, or bounds; list the others apart."
        )
    if "in" in value:
        return Condition(name, tuple(_equal(name, list(_listed(name, value["in"])))))
    if "prefix" in value:
        if not isinstance(value["prefix"], str):
            raise InputError(f"a filter on {name!r} has the prefix {value['prefix']!r}. A prefix is a text.")
        return Condition(name, prefix=ox.Literal(value["prefix"]))
    return Condition(name, bounds=tuple(sorted(bounds)))


def _listed(name: str, values: object) -> Iterable[object]:
    if not isinstance(values, list | tuple | set | frozenset):
        raise InputError(f"a filter on {name!r} has in={values!r}. Give a list of values.")
    return values


def _equal(name: str, value: object) -> Iterator[Term]:
    """Yield the terms that a value, or any in a list, may be stored as."""
    for item in value if isinstance(value, list | tuple | set | frozenset) else [value]:
        if item is None or isinstance(item, Mapping):
            raise InputError(f"a filter on {name!r} has the value {item!r}. Give a text, number, date or term.")
        yield from metadata.terms_of(name, item)
        if isinstance(item, str):
            yield from (term for term in metadata.terms_of(name, metadata.typed(item)) if _is_date_or_iri(term))


def _spelled(text: str) -> list[Term]:
    """Return a text as a string, and as what it reads as; as a string alone where it is in quotation marks."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return [ox.Literal(text[1:-1])]
    meant = metadata.typed(text)
    return list(dict.fromkeys([ox.Literal(text), *metadata.terms_of("", meant)]))


def _is_date_or_iri(term: Term) -> bool:
    return isinstance(term, ox.NamedNode) or term.datatype in (XSD.date, XSD.dateTime)


def _bound(name: str, key: str, value: object, spelled: bool) -> tuple[ox.Literal, ...]:
    """Return the forms that a bound is compared in: a day also as its first or last moment, in UTC and without zone."""
    meant = metadata.typed(value) if isinstance(value, str) else value
    if not isinstance(meant, date) and isinstance(value, str) and not spelled:
        meant = value
    forms: list[object] = [value, meant]
    if isinstance(meant, date):
        moment = meant
        if not isinstance(moment, datetime):
            moment = datetime.combine(meant, time.max if key in ("to", "above") else time.min)
        forms += [moment, moment.replace(tzinfo=UTC)] if moment.tzinfo is None else [moment]
    terms = [term for form in forms for term in metadata.terms_of(name, form)]
    if value is None or isinstance(value, list | tuple | set | frozenset | Mapping) or not terms:
        raise InputError(f"a filter on {name!r} has {key}={value!r}. A bound is one number, date or text.")
    return tuple(dict.fromkeys(term for term in terms if isinstance(term, ox.Literal)))
