"""What hits, citations and documents say of themselves as flat fields, for the metadata of any framework."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox

from kgrag.answering.json_forms import metadata_json
from kgrag.knowledge_base import KnowledgeBase
from kgrag.model import Citation, Hit, Place, Span
from kgrag.text.documents import StoredDocument

__all__ = ["citation_fields", "document_fields", "hit_fields"]


def hit_fields(hit: Hit, kb: KnowledgeBase) -> dict[str, Any]:
    """Return the fields of a hit: what it is, and the first span that it is from.

    ``iri``, ``kind`` and ``score`` are the hit's own; ``document`` is an IRI, ``id`` what its source calls it.
    """
    fields = {"iri": hit.iri, "kind": hit.kind, "score": hit.score}
    return fields | (_span_fields(hit.sources[0], hit.sources[0].place, kb) if hit.sources else {})


def citation_fields(citation: Citation, kb: KnowledgeBase) -> dict[str, Any]:
    """Return the fields of a citation, with the words that are quoted."""
    span = Span(citation.chunk, citation.document, citation.start, citation.end)
    return {"iri": citation.chunk, "quote": citation.quote, **_span_fields(span, citation.place, kb)}


def document_fields(stored: StoredDocument, kb: KnowledgeBase) -> dict[str, Any]:
    """Return the fields of a stored document."""
    place = Place(stored.title, stored.id, stored.locations, stored.url, metadata=stored.metadata)
    return {"iri": stored.iri, **_document_fields(stored.iri, place, kb)}


def _span_fields(span: Span, place: Place | None, kb: KnowledgeBase) -> dict[str, Any]:
    place = place or Place()
    found = {"chunk": span.chunk, "start": span.start, "end": span.end, "page": place.page, "heading": place.heading}
    return found | _document_fields(span.document, place, kb)


def _document_fields(document: str, place: Place, kb: KnowledgeBase) -> dict[str, Any]:
    """Return the fields of a document; a field of its metadata that is called like one of ours stays ours."""
    graph = kb.store.names.document_graph(ox.NamedNode(document)).value
    ours = {"document": document, "graph": graph, "id": place.id, "title": place.title, "url": place.url}
    return {**metadata_json(place.metadata), **ours, "source": place.address}
