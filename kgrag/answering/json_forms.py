"""Answers and hits as JSON documents: one form for the command line and for HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kgrag.model import Answer, Citation, Hit

__all__ = ["answer_json", "citation_json", "hit_json", "retrieval_json"]


def hit_json(hit: Hit) -> dict[str, Any]:
    """Return a hit as a JSON object."""
    return {
        "iri": hit.iri,
        "kind": hit.kind,
        "text": hit.text,
        "score": hit.score,
        "attributes": dict(hit.attributes),
        "sources": [asdict(span) for span in hit.sources],
    }


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
    document = {name: getattr(citation, name) for name in ("quote", "document", "chunk", "start", "end")}
    return document | ({"derived": citation.derived} if citation.derived else {})


def answer_json(answer: Answer, *, explain: bool = False) -> dict[str, Any]:
    """Return an answer as a JSON object; ``sparql`` only where there was a query, ``explain`` only on request."""
    document: dict[str, Any] = {
        "question": answer.question,
        "text": answer.text,
        "method": answer.method,
        "unknown": answer.unknown,
        "citations": [citation_json(citation) for citation in answer.citations],
        "hits": [hit_json(hit) for hit in answer.hits],
        "usage": asdict(answer.usage),
    }
    if answer.sparql:
        document["sparql"] = answer.sparql
    if explain:
        document["explain"] = {"dropped": dict(answer.dropped), "notes": list(answer.explain)}
    return document
