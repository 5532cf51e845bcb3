"""Documents into the store: chunk, draft, publish in batches.

Queries read: ``documents/parameters``. Graphs written: one document graph per document.

A batch is one atomic publish, so a killed run leaves whole documents only, and the next run skips them: a document is
named by its content. The same text under a second location only gains that location. Hyperlinks are no content, since
generated pages have other ones each time: where only they changed, the document is stored again under its name.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag import plugins, queries
from kgrag.errors import InvalidSettings
from kgrag.model import Document, GraphDraft, Violation, plain
from kgrag.ports import Chunker, TripleStore
from kgrag.text import documents
from kgrag.vocab import KG, digest

__all__ = ["CHUNKER", "IngestReport", "Progress", "ingest", "marked_last"]

Progress = Callable[[str, int, int], None]
"""Called with what is being counted, how many are done, and of how many (0 when that is not known)."""

CHUNKER = "pauses"
"""The chunker that ends a chunk where a reader would pause."""
_BATCH_DOCUMENTS = 1000
_BATCH_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Counts of documents and chunks of one ingest, and the files that were left out, with the reason.

    ``replaced`` documents were cut anew, ``superseded`` ones are forgotten, because others took their places.
    ``skipped`` are files of a kind that is not read, ``broken`` files that should have been readable.
    """

    documents: int = 0
    unchanged: int = 0
    duplicates: int = 0
    replaced: int = 0
    superseded: int = 0
    chunks: int = 0
    skipped: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class _ChunkSettings:
    """How documents become chunks; ``parameters`` is what the catalogue keeps of it."""

    chunker: Chunker
    tokens: int
    name: str

    def parameters_of(self, document: Document) -> str:
        chunker = "" if self.name == CHUNKER else f" chunker={self.name}"
        links = (*document.links, *document.anchors)
        named = f" links={digest(*(str(part) for link in links for part in link))}" if links else ""
        return f"chunk_tokens={self.tokens}{chunker}{named}"


def ingest(  # noqa: PLR0913 - options of one intake
    source: Iterable[Document],
    *,
    store: TripleStore,
    chunk_tokens: int = 180,
    chunker: str = CHUNKER,
    progress: Progress | None = None,
    drafted: Callable[[Sequence[GraphDraft]], None] | None = None,
    publishing: Callable[[Sequence[Document], bool], AbstractContextManager[None]] | None = None,
) -> IngestReport:
    """Publish documents with their chunks, and report the counts.

    A document that is stored with other chunk settings or hyperlinks is chunked again (one update each).

    Args:
        source: documents as they are read; only one batch is in memory at a time.
        store: receives their graphs.
        chunk_tokens: the largest chunk, in words and punctuation marks; at least 8.
        chunker: name of a registered chunker (``kgrag.chunkers``).
        progress: called every second while documents are cut, and after each batch.
        drafted: called with what is about to be published of each batch.
        publishing: called with each batch, and whether it is the last; what it returns is entered meanwhile.

    Raises:
        InvalidSettings: ``chunk_tokens`` is below 8.
        UnknownName: there is no such chunker.
    """
    if chunk_tokens < 8:
        raise InvalidSettings(f"--chunk-tokens {chunk_tokens}: a chunk has at least 8 tokens. The default is 180.")
    settings = _ChunkSettings(plugins.load("kgrag.chunkers", chunker), chunk_tokens, chunker)
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    violations: list[Violation] = []
    for batch, last in marked_last(_batches(source)):
        drafts = _drafts(batch, store, settings, seen, counts, progress)
        if drafted is not None:
            drafted(drafts)
        with nullcontext() if publishing is None else publishing(batch, last):
            violations += store.publish(drafts).violations
        if progress is not None:
            progress("documents", _done(counts), 0)
    return IngestReport(
        documents=counts["documents"],
        unchanged=counts["unchanged"],
        duplicates=counts["duplicates"],
        replaced=counts["replaced"],
        chunks=counts["chunks"],
        violations=tuple(violations),
    )


def _done(counts: Counter[str]) -> int:
    return counts["documents"] + counts["unchanged"] + counts["duplicates"]


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


def marked_last(batches: Iterator[list[Document]]) -> Iterator[tuple[list[Document], bool]]:
    """Yield each batch, and whether it is the last one."""
    batch = next(batches, None)
    while batch is not None:
        following = next(batches, None)
        yield batch, following is None
        batch = following


def _drafts(
    batch: Sequence[Document],
    store: TripleStore,
    settings: _ChunkSettings,
    seen: set[str],
    counts: Counter[str],
    progress: Progress | None,
) -> list[GraphDraft]:
    """Return what to publish of a batch; add its graphs to ``seen`` and its documents and chunks to ``counts``."""
    graphs = [store.names.document_graph(documents.document_iri(document, store.names)) for document in batch]
    query = queries.bind("documents/parameters", catalogue=store.names.catalogue, graphs=graphs)
    stored_parameters = {plain(graph): plain(value) for graph, value in store.select(query)}
    drafts: list[GraphDraft] = []
    shown = time.monotonic()
    for document, graph in zip(batch, graphs, strict=True):
        if progress is not None and time.monotonic() - shown > 1:
            progress("documents", _done(counts), 0)
            shown = time.monotonic()
        stored, parameters = stored_parameters.get(graph.value), settings.parameters_of(document)
        if graph.value in seen or stored == parameters:
            counts["duplicates" if graph.value in seen else "unchanged"] += 1
            # The stored document only gains a place.
            values = (
                (KG.location, document.location),
                (KG.readFrom, document.source),
            )
            described = [(term, ox.Literal(value)) for term, value in values if value]
            drafts.append(GraphDraft(iri=graph, kind=KG.DocumentGraph, triples=(), described=described))
        else:
            chunks = settings.chunker(document, tokens=settings.tokens)
            draft = documents.document_draft(document, chunks, names=store.names, parameters=parameters)
            counts.update(documents=1, chunks=len(chunks), replaced=int(stored is not None))
            drafts.append(draft if stored is None else replace(draft, mode="replace"))
        seen.add(graph.value)
    return drafts
