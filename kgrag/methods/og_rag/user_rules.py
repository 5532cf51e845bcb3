"""Rules of the user's as evidence (OG-RAG, section 6.3): sentences that join every result.

A build stores them as one document, a chunk a rule, so that answers cite them like any other text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgrag.model import Chunk, Document, Hit
from kgrag.ports import TripleStore
from kgrag.text import documents
from kgrag.text.chunking import count_tokens

__all__ = ["hits", "publish"]

_TITLE = "Rules"


def publish(rules: Sequence[str], store: TripleStore) -> None:
    """Store the rules, unless these very ones are there."""
    if not rules:
        return
    document = _document(rules)
    draft = documents.document_draft(
        document, list(_chunks(rules)), names=store.names, parameters="a line a rule", record=True
    )
    if not store.described(draft.iri):
        store.publish([draft])


def hits(rules: Sequence[str], store: TripleStore) -> list[Hit]:
    """Give the rules as hits without a score; those that no build has stored yet have no source."""
    if not rules:
        return []
    document = documents.document_iri(_document(rules), store.names)
    chunks = [(store.names.chunk(document, chunk.start, chunk.end).value, chunk.text) for chunk in _chunks(rules)]
    spans = documents.spans(store, [iri for iri, _ in chunks])
    return [Hit(iri, "rule", text, 0.0, (spans[iri],) if iri in spans else ()) for iri, text in chunks]


def _document(rules: Sequence[str]) -> Document:
    return Document("\n".join(chunk.text for chunk in _chunks(rules)), _TITLE)


def _chunks(rules: Sequence[str]) -> Iterator[Chunk]:
    start = 0
    for order, rule in enumerate(rules):
        text = " ".join(rule.split())
        yield Chunk(text, start, start + len(text), order, count_tokens(text))
        start += len(text) + 1
