"""Documents into the store: chunk, draft, publish in batches.

Queries read: ``documents/parameters``. Graphs written: one document graph a document.

A batch is one atomic publish, so a killed run leaves whole documents only, and the next run passes over what is there:
a document is named by its content. The same text under a second location only gains that location.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyoxigraph as ox

from kgrag import plugins, queries
from kgrag.errors import InvalidSettings
from kgrag.model import Document, GraphDraft, Violation, plain
from kgrag.ports import Chunker, TripleStore
from kgrag.text import documents
from kgrag.vocab import DCTERMS, KG

__all__ = ["CHUNKER", "IngestReport", "Progress", "ingest"]

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how many are done, of how many; 0 when that is not known)."""

CHUNKER = "pauses"
"""The chunker that ends a chunk where a reader would pause."""
_BATCH_DOCUMENTS = 1000
_BATCH_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did: counts of documents and chunks, and what was left out and why.

    ``skipped`` are files of a kind that is not read, ``broken`` files that should have been readable.
    """

    documents: int = 0
    unchanged: int = 0
    duplicates: int = 0
    replaced: int = 0
    chunks: int = 0
    skipped: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class _Cutting:
    """How documents become chunks; ``parameters`` is what the catalogue keeps of it."""

    chunker: Chunker
    tokens: int
    name: str

    @property
    def parameters(self) -> str:
        return f"chunk_tokens={self.tokens}" + ("" if self.name == CHUNKER else f" chunker={self.name}")


@dataclass(slots=True)
class _Tally:
    documents: int = 0
    unchanged: int = 0
    duplicates: int = 0
    replaced: int = 0
    chunks: int = 0
    seen: set[str] = field(default_factory=set)
    violations: list[Violation] = field(default_factory=list)


def ingest(
    source: Iterable[Document],
    *,
    store: TripleStore,
    chunk_tokens: int = 180,
    chunker: str = CHUNKER,
    progress: Progress | None = None,
) -> IngestReport:
    """Publish documents with their chunks and say what became of them.

    A document that is there with other chunk settings is chunked again (one update each).

    Args:
        source: documents as they are read; only one batch is held at a time.
        store: where they go.
        chunk_tokens: the largest chunk, in words and punctuation marks; at least 8.
        chunker: name of a registered chunker (``kgrag.chunkers``).
        progress: told after each batch.

    Raises:
        InvalidSettings: ``chunk_tokens`` is below 8.
        UnknownName: there is no such chunker.
    """
    if chunk_tokens < 8:
        raise InvalidSettings(f"--chunk-tokens {chunk_tokens}: a chunk holds at least 8 tokens. The default is 180.")
    cutting = _Cutting(plugins.load("kgrag.chunkers", chunker), chunk_tokens, chunker)
    tally = _Tally()
    for batch in _batches(source):
        _publish(batch, store, cutting, tally)
        if progress is not None:
            progress("documents", tally.documents + tally.unchanged + tally.duplicates, 0)
    return IngestReport(
        tally.documents,
        tally.unchanged,
        tally.duplicates,
        tally.replaced,
        tally.chunks,
        violations=tuple(tally.violations),
    )


def _batches(source: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in source:
        batch.append(document)
        characters += len(document.text)
        if len(batch) >= _BATCH_DOCUMENTS or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _publish(batch: Sequence[Document], store: TripleStore, cutting: _Cutting, tally: _Tally) -> None:
    parameters = cutting.parameters
    graphs = [store.names.document_graph(documents.document_iri(document, store.names)) for document in batch]
    there = _parameters(store, graphs)
    drafts: list[GraphDraft] = []
    for document, graph in zip(batch, graphs, strict=True):
        known = there.get(graph.value)
        if graph.value in tally.seen:
            tally.duplicates += 1
            drafts.append(_location_only(graph, document))
            continue
        tally.seen.add(graph.value)
        if known == parameters:
            tally.unchanged += 1
            drafts.append(_location_only(graph, document))
            continue
        chunks = cutting.chunker(document, tokens=cutting.tokens)
        draft = documents.document_draft(document, chunks, names=store.names, parameters=parameters)
        tally.chunks += len(chunks)
        tally.documents += 1
        if known is not None:
            tally.replaced += 1
            draft = replace(draft, mode="replace")
        drafts.append(draft)
    tally.violations.extend(store.publish(drafts).violations)


def _location_only(graph: ox.NamedNode, document: Document) -> GraphDraft:
    """Give the draft of a document that is there: it gains a location, and the identifier it has at that place."""
    given = ((KG.location, document.location), (DCTERMS.identifier, document.identifier))
    described = [(term, ox.Literal(value)) for term, value in given if value]
    return GraphDraft(iri=graph, kind=KG.DocumentGraph, triples=(), described=described)


def _parameters(store: TripleStore, graphs: Sequence[ox.NamedNode]) -> dict[str, str]:
    query = queries.bind("documents/parameters", catalogue=store.names.catalogue, graphs=graphs)
    return {plain(graph): plain(parameters) for graph, parameters in store.select(query)}
