"""Answers and hits as JSON documents: one form for the command line and for HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from math import isfinite
from typing import Any

import regex

from kgrag.model import Answer, Citation, Hit, Place, Span, Value

__all__ = ["answer_json", "citation_json", "hit_json", "metadata_json", "place_json", "retrieval_json", "value_json"]


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a hit as a JSON object."""
    return {
        "iri": hit.iri,
        "kind": hit.kind,
        "text": hit.text,
        "score": hit.score,
        "attributes": dict(hit.attributes),
        "sources": [_span_json(span) for span in hit.sources],
    }


def _span_json(span: Span) -> dict[str, Any]:
    document: dict[str, Any] = {name: getattr(span, name) for name in ("chunk", "document", "start", "end")}
    return document | ({"place": place_json(span.place)} if span.place else {})


def place_json(place: Place) -> dict[str, Any]:
    """Return where a person can open something as a JSON object, with only the fields that it has.

    >>> place_json(Place(title="Sowing", page=3, metadata={"valid": date(2024, 5, 1)}))
    {'title': 'Sowing', 'page': 3, 'metadata': {'valid': '2024-05-01'}}
    """
    document: dict[str, Any] = {
        "title": place.title,
        "id": place.id,
        "locations": list(place.locations),
        "url": place.url,
        "page": place.page,
        "heading": place.heading,
        "metadata": metadata_json(place.metadata),
    }
    return {name: value for name, value in document.items() if value}


def metadata_json(metadata: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields of a document as a JSON object: dates in ISO form, several values as a list."""
    return {field: _value_json(value) for field, value in metadata.items()}


def _value_json(value: object) -> object:
    if isinstance(value, tuple):
        return [_value_json(item) for item in value]
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, date):  # a datetime is one too
        return value.isoformat()
    if isinstance(value, float) and not isfinite(value):  # JSON has no infinity
        return str(value)
    return value if isinstance(value, str | bool | int | float) else str(value)


def retrieval_json(
    question: str,
    hits: Sequence[Hit],
    *,
    method: str,
    k: int,
    latency: Mapping[str, float],
    identifier: object = None,
) -> dict[str, Any]:
    """Return one retrieval as a JSON object; ``id`` only where the question came with one."""
    return {
        **({} if identifier is None else {"id": identifier}),
        "question": question,
        "method": method,
        "k": k,
        "hits": [hit_json(hit) for hit in hits],
        "latency_ms": dict(latency),
    }


def citation_json(citation: Citation) -> dict[str, Any]:
    """Return a citation as a JSON object; ``derived`` only where the quote does not carry the sentence by itself."""
    names = ("quote", "document", "chunk", "start", "end")
    document: dict[str, Any] = {name: getattr(citation, name) for name in names}
    document |= {"place": place_json(citation.place)} if citation.place else {}
    return document | ({"derived": citation.derived} if citation.derived else {})


def value_json(value: Value) -> dict[str, Any]:
    """Return a short answer as a JSON object: a boolean and a number as JSON has them; ``citation`` counts from 0.

    >>> value_json(Value("number", "1,000 tuples", "1000", "tuples", citation=0))
    {'kind': 'number', 'text': '1,000 tuples', 'value': 1000, 'unit': 'tuples', 'citation': 0}
    """
    typed: object = value.value
    if value.kind == "boolean":
        typed = value.value == "true"
    elif value.kind == "number" and regex.fullmatch(r"[-+]?\d+(\.\d+)?", value.value):
        typed = float(value.value) if "." in value.value else int(value.value)
    document: dict[str, Any] = {"kind": value.kind, "text": value.text, "value": typed, "unit": value.unit}
    document |= {"iri": value.iri} if value.iri else {}
    document |= {"citation": value.citation} if value.citation >= 0 else {}
    return {name: part for name, part in document.items() if part != ""}


def answer_json(answer: Answer, *, explain: bool = False) -> dict[str, Any]:
    """Return an answer as a JSON object.

    ``asked``, ``unresolved``, ``conversation`` and ``turn`` are there only in a conversation, ``asked`` where the full
    question differs from it. ``not_stated`` is there only where the answer is of a part alone, ``failure`` where a
    reply could not be used, ``confidence`` where the model states one, ``nearest`` where an unknown answer has some,
    ``sparql`` where there was a query, ``explain`` on request.
    """
    document: dict[str, Any] = {
        "question": answer.question,
        "text": answer.text,
        "method": answer.method,
        "unknown": answer.unknown,
        "values": [value_json(value) for value in answer.values],
        "citations": [citation_json(citation) for citation in answer.citations],
        "unsupported": [{**asdict(one), "missing": list(one.missing)} for one in answer.unsupported],
        "hits": [hit_json(hit) for hit in answer.hits],
        "usage": asdict(answer.usage),
    }
    in_conversation = {name: getattr(answer, name) for name in ("asked", "unresolved", "conversation", "turn")}
    document |= {name: value for name, value in in_conversation.items() if value}
    if answer.not_stated:
        document["not_stated"] = answer.not_stated
    if answer.failure:
        document["failure"] = answer.failure
    if answer.confidence is not None:
        document["confidence"] = answer.confidence
    if answer.nearest:
        document["nearest"] = [citation_json(citation) for citation in answer.nearest]
    if answer.sparql:
        document["sparql"] = answer.sparql
    if explain:
        document["explain"] = {"dropped": dict(answer.dropped), "notes": list(answer.explain)}
    return document
