"""Documents as JSON objects, and back: the form in which they travel between processes.

``text`` is the only member that must be there; the others are named like the fields of ``kgrag.model.Document``. In
``metadata`` a text, a whole number, a truth value, a list and an object are what they are in JSON. Anything else is a
value object as of JSON-LD: ``{"@value": "2024-05-01", "@type": "http://www.w3.org/2001/XMLSchema#date"}``,
``{"@value": "Saat", "@language": "de"}``, ``{"@id": "https://example.org/crop/1"}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox

from kgrag.errors import InputError
from kgrag.model import Document, Section
from kgrag.text.metadata import terms_of
from kgrag.vocab import RDF

__all__ = ["document_json", "read_document"]

_TEXTS = ("title", "location", "id", "url", "source")


def document_json(document: Document) -> dict[str, Any]:
    """Return a document as a JSON object, without the members that would be empty.

    Raises:
        InputError: a metadata field has a value that is no metadata.
    """
    found: dict[str, Any] = {"text": document.text, "media_type": document.media_type}
    found |= {name: getattr(document, name) for name in _TEXTS if getattr(document, name)}
    if document.cites:
        found["cites"] = list(document.cites)
    if document.sections:
        found["sections"] = [_section_json(each) for each in document.sections]
    if document.code:
        found["code"] = [list(each) for each in document.code]
    if document.links:
        found["links"] = [list(each) for each in document.links]
    if document.anchors:
        found["anchors"] = [list(each) for each in document.anchors]
    if document.metadata:
        found["metadata"] = {field: _value_json(field, value) for field, value in document.metadata.items()}
    return found


def read_document(found: Mapping[str, Any]) -> Document:
    """Return the document of a JSON object whose members are of the right types; unknown members are ignored.

    Raises:
        InputError: an IRI in the metadata is none.
    """
    try:
        metadata = {field: _value(value) for field, value in found.get("metadata", {}).items()}
    except (ValueError, TypeError) as error:
        raise InputError(f"a value object of the metadata is none: {error}. See JSON-LD 1.1, section 9.5.") from None
    return Document(
        found["text"],
        media_type=found.get("media_type") or "text/plain",
        cites=tuple(found.get("cites", ())),
        sections=tuple(_section(*each) for each in found.get("sections", ())),
        code=tuple((start, end) for start, end in found.get("code", ())),
        links=tuple((start, end, target) for start, end, target in found.get("links", ())),
        anchors=tuple((start, name) for start, name in found.get("anchors", ())),
        metadata=metadata,
        **{name: found.get(name) or "" for name in _TEXTS},
    )


def _section_json(section: Section) -> list[int | str]:
    """Return start, end, heading and page, and "whole" behind them where it is."""
    return [section.start, section.end, section.heading, section.page, *(["whole"] if section.whole else [])]


def _section(start: int, end: int, heading: str, page: int, whole: str = "") -> Section:
    return Section(start, end, heading, page, whole=bool(whole))


def _value_json(field: str, value: object) -> object:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {name: _value_json(f"{field}.{name}", inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value_json(field, item) for item in value]
    (term,) = terms_of(field, value)
    if isinstance(term, ox.NamedNode):
        return {"@id": term.value}
    if term.datatype == RDF.langString:
        return {"@value": term.value, "@language": term.language}
    return {"@value": term.value, "@type": term.datatype.value}


def _value(value: object) -> object:
    if isinstance(value, list):
        return [_value(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "@id" in value:
        return ox.NamedNode(value["@id"])
    if "@value" in value:
        datatype, language = value.get("@type"), value.get("@language")
        return ox.Literal(
            value["@value"], datatype=None if datatype is None else ox.NamedNode(datatype), language=language
        )
    return {name: _value(inner) for name, inner in value.items()}
