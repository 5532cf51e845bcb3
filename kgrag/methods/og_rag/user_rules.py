"""The user's rules as evidence (OG-RAG, section 6.3): sentences that are added to every result.

A build stores them as one document with one chunk per rule, so that answers cite them like any other text. Graph
written: a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgrag.model import Chunk, Document, Hit
from kgrag.ports import TripleStore
from kgrag.text import documents
from kgrag.text.chunking import count_tokens

__all__ = ["hits", "publish"]

_DOCUMENT_TITLE = "Rules"


def publish(rules: Sequence[str], store: TripleStore) -> None:
    """Store the rules, unless the same ones are stored already."""
    if not rules:
        return
    chunks = list(_chunks(rules))
    draft = documents.document_draft(
        _document(chunks), chunks, names=store.names, parameters="a line a rule", record=True
    )
    if not store.described(draft.iri):
        store.publish([draft])


def hits(rules: Sequence[str], store: TripleStore) -> list[Hit]:
    """Return the rules as hits of score 0; a rule that no build has stored yet has no source."""
    if not rules:
        return []
    chunks = list(_chunks(rules))
    document = documents.document_iri(_document(chunks), store.names)
    texts = [(store.names.chunk(document, chunk.start, chunk.end).value, chunk.text) for chunk in chunks]
    spans = documents.spans(store, [iri for iri, _ in texts])
    return [Hit(iri, "rule", text, 0.0, (spans[iri],) if iri in spans else ()) for iri, text in texts]


def _document(chunks: Sequence[Chunk]) -> Document:
    return Document("\n".join(chunk.text for chunk in chunks), _DOCUMENT_TITLE)


def _chunks(rules: Sequence[str]) -> Iterator[Chunk]:
    start = 0
    for order, rule in enumerate(rules):
        text = " ".join(rule.split())
        yield Chunk(text, start, start + len(text), order, count_tokens(text))
        start += len(text) + 1
