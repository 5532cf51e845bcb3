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
from dataclasses import dataclass, field, replace

import pyoxigraph as ox

from kgrag import plugins, queries
from kgrag.errors import InvalidSettings
from kgrag.model import Document, GraphDraft, Violation, plain
from kgrag.ports import Chunker, TripleStore
from kgrag.text import documents
from kgrag.text.intake_notes import IntakeNotes
from kgrag.vocab import KG, Names, digest

__all__ = ["CHUNKER", "CutDocument", "Cutting", "IngestReport", "Progress", "ingest", "marked_last"]

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
    ``skipped`` are files of a kind that is not read, ``broken`` files that should have been readable. ``answers`` are
    the questions of kept answers that went with what they cited, ``accepted`` broken files that their owner accepted.
    ``notes`` say what is stored otherwise than it was sent: characters that are none, and texts that share an id.
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
    answers: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CutDocument:
    """The graph of a document as it is to be stored as a new one, its number of chunks, and whether it conforms.

    ``conforms`` is True where the graph was validated, and False where that is still to be done.
    """

    draft: GraphDraft
    chunks: int
    conforms: bool = False


@dataclass(frozen=True, slots=True)
class Cutting:
    """How documents become chunks: by a registered chunker, to at most so many tokens each.

    Raises:
        InvalidSettings: ``tokens`` is below 8.
    """

    tokens: int = 180
    name: str = CHUNKER

    def __post_init__(self) -> None:
        if self.tokens < 8:
            raise InvalidSettings(f"--chunk-tokens {self.tokens}: a chunk has at least 8 tokens. The default is 180.")

    def chunker(self) -> Chunker:
        """Return the chunker. Raises UnknownName."""
        found: Chunker = plugins.load("kgrag.chunkers", self.name)
        return found

    def cut(self, document: Document, names: Names) -> CutDocument:
        """Return a document as a graph with its chunks. Raises UnknownName."""
        chunks = self.chunker()(document, tokens=self.tokens)
        parameters = self.parameters_of(document)
        draft = documents.document_draft(document, chunks, names=names, parameters=parameters)
        return CutDocument(draft, len(chunks))

    def parameters_of(self, document: Document) -> str:
        """Return what the catalogue keeps of how a document was cut; of another value it is cut again."""
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
    cut: Callable[[Document], CutDocument | None] | None = None,
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
        cut: called with every document in its order, returns it as it was cut elsewhere by the same settings; None
            for one that was not.
        drafted: called with what is about to be published of each batch.
        publishing: called with each batch, and whether it is the last; what it returns is entered meanwhile.

    Raises:
        InvalidSettings: ``chunk_tokens`` is below 8.
        UnknownName: there is no such chunker.
    """
    drafting = _Drafting(store, Cutting(chunk_tokens, chunker), cut, progress)
    drafting.cutting.chunker()  # refuses an unknown name before anything is read
    counts = drafting.counts
    violations: list[Violation] = []
    for batch, last in marked_last(_batches(source)):
        drafts, conforming = drafting.drafts(batch)
        if drafted is not None:
            drafted(drafts)
        with nullcontext() if publishing is None else publishing(batch, last):
            violations += store.publish(drafts, conforming=conforming).violations
        if progress is not None:
            progress("documents", drafting.done(), 0)
    return IngestReport(
        documents=counts["documents"],
        unchanged=counts["unchanged"],
        duplicates=counts["duplicates"],
        replaced=counts["replaced"],
        chunks=counts["chunks"],
        violations=tuple(violations),
        notes=drafting.notes.shown(),
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


def marked_last(batches: Iterator[list[Document]]) -> Iterator[tuple[list[Document], bool]]:
    """Yield each batch, and whether it is the last one."""
    batch = next(batches, None)
    while batch is not None:
        following = next(batches, None)
        yield batch, following is None
        batch = following


@dataclass(slots=True)
class _Drafting:
    """Makes drafts of documents, a batch at a time; adds documents and chunks to ``counts``, and graphs to ``seen``."""

    store: TripleStore
    cutting: Cutting
    cut: Callable[[Document], CutDocument | None] | None
    progress: Progress | None
    counts: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    notes: IntakeNotes = field(default_factory=IntakeNotes)

    def drafts(self, batch: Sequence[Document]) -> tuple[list[GraphDraft], set[ox.NamedNode]]:
        """Return what to publish of a batch, and those of its graphs that are known to conform."""
        names = self.store.names
        graphs = [names.document_graph(documents.document_iri(document, names)) for document in batch]
        query = queries.bind("documents/parameters", catalogue=names.catalogue, graphs=graphs)
        stored_parameters = {plain(graph): plain(value) for graph, value in self.store.select(query)}
        drafts: list[GraphDraft] = []
        conforming: set[ox.NamedNode] = set()
        shown = time.monotonic()
        for document, graph in zip(batch, graphs, strict=True):
            if self.progress is not None and time.monotonic() - shown > 1:
                self.progress("documents", self.done(), 0)
                shown = time.monotonic()
            self.notes.look_at(document, graph.value)
            made = self._cut_document(document, graph, stored_parameters.get(graph.value))
            drafts.append(made.draft)
            if made.conforms:
                conforming.add(graph)
        return drafts, conforming

    def _cut_document(self, document: Document, graph: ox.NamedNode, stored: str | None) -> CutDocument:
        known, done = graph.value in self.seen, None if self.cut is None else self.cut(document)
        self.seen.add(graph.value)
        if known or stored == self.cutting.parameters_of(document):
            self.counts["duplicates" if known else "unchanged"] += 1
            # The stored document only gains a place.
            places = ((KG.location, place) for place in documents.places_of(document))
            values = (*places, (KG.readFrom, document.source))
            described = [(term, ox.Literal(value)) for term, value in values if value]
            return CutDocument(GraphDraft(iri=graph, kind=KG.DocumentGraph, triples=(), described=described), 0)
        made = done or self.cutting.cut(document, self.store.names)
        self.counts.update(documents=1, chunks=made.chunks, replaced=int(stored is not None))
        return made if stored is None else replace(made, draft=replace(made.draft, mode="replace"))

    def done(self) -> int:
        """Return how many documents were looked at."""
        return self.counts["documents"] + self.counts["unchanged"] + self.counts["duplicates"]
