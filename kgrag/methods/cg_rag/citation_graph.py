"""Draws the contextual citation graph of a store: document by document, and only where something changed.

CG-RAG, section 4.2. Queries read: ``cg_rag/chunks``, ``cg_rag/papers``, ``cg_rag/graphs``, ``cg_rag/identifiers``,
and those of ``kgrag.methods.cg_rag.citations``. Graphs written: one citation graph a document.

Citation graphs as drafts: one graph a document, with the edges that begin in it and what it cites.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyoxigraph as ox

from kgrag import queries
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.vector_spaces import Progress
from kgrag.methods.cg_rag.citations import Citations
from kgrag.methods.cg_rag.edges import Edge, Kind, Paper, adjacent, cross_references, nearest_chunks
from kgrag.model import GraphDraft
from kgrag.ports import TripleStore, VectorIndex
from kgrag.vocab import DCTERMS, KG, RDF, XSD, Names, digest

__all__ = [
    "KINDS",
    "METHOD",
    "Drawn",
    "Signals",
    "chunks_of",
    "citation_draft",
    "draw",
    "named",
]

_VERSION = "1"  # of how edges are drawn; another one draws them anew
_AT_ONCE = 200  # documents that are published together


@dataclass(frozen=True, slots=True)
class Signals:
    """Both representations of chunks, and K, how many edges a chunk has into each cited document."""

    dense: VectorIndex
    lexical: LexicalIndex
    embedder: str
    top: int


@dataclass(slots=True)
class Drawn:
    """What drawing did."""

    drawn: int = 0
    unchanged: int = 0
    dropped: int = 0
    undone: list[str] = field(default_factory=list)


def chunks_of(store: TripleStore) -> dict[str, tuple[str, ...]]:
    """Give the chunks of every document that has any, in reading order, documents by IRI."""
    rows = store.select(queries.bind("cg_rag/chunks", catalogue=store.names.catalogue)).values()
    return {
        document: tuple(dict.fromkeys(chunk for _, chunk in part))
        for document, part in groupby(rows, lambda row: row[0])
    }


def named(store: TripleStore, identifiers: Collection[str]) -> list[str]:
    """Give the documents that have one of these identifiers, sorted; an identifier that none has stands for itself."""
    rows = store.select(queries.bind("cg_rag/identifiers", catalogue=store.names.catalogue)).values()
    found = {document for document, identifier in rows if identifier in identifiers}
    return sorted(found | set(identifiers).difference(identifier for _, identifier in rows))


def draw(
    store: TripleStore,
    chunks: Mapping[str, tuple[str, ...]],
    citations: Citations,
    signals: Signals,
    *,
    progress: Progress = None,
) -> Drawn:
    """Publish the edges of every document whose chunks, citations or settings changed, and drop those of vanished ones.

    Args:
        store: takes the graphs.
        chunks: of every document.
        citations: who cites whom.
        signals: what edges between documents are weighed by.
        progress: told after each batch.
    """
    names = store.names
    origins = {document: _origin(document, chunks, citations, signals) for document in chunks}
    graphs = {names.citation_graph(ox.NamedNode(document)).value: document for document in chunks}
    rows = store.select(queries.bind("cg_rag/graphs", catalogue=names.catalogue)).values()
    there = {graphs[graph]: origin for graph, origin in rows if graph in graphs}
    vanished = [ox.NamedNode(graph) for graph, _ in rows if graph not in graphs]
    outcome = Drawn(dropped=store.remove(vanished) if vanished else 0)
    left = [document for document in chunks if there.get(document) != origins[document]]
    outcome.unchanged = len(chunks) - len(left)
    drawing = _Drawing(chunks, citations, signals) if left else None
    for first in range(0, len(left), _AT_ONCE):
        batch = left[first : first + _AT_ONCE]
        papers = {paper.document: paper for paper in _papers(store, batch)}
        drafts = [
            citation_draft(
                document,
                drawing.edges(papers[document]) if drawing else (),
                cited=[other for other in citations.cited.get(document, ()) if other in chunks],
                unresolved=citations.unresolved.get(document, ()),
                origin=origins[document],
                names=names,
            )
            for document in batch
        ]
        publication = store.publish(drafts)
        outcome.undone += publication.faults
        outcome.drawn += len(batch)
        if progress:
            progress("cg_rag edges", outcome.drawn, len(left))
    return outcome


class _Drawing:
    """Weighs the edges of one document after the other."""

    def __init__(self, chunks: Mapping[str, tuple[str, ...]], citations: Citations, signals: Signals) -> None:
        self.chunks, self.citations, self.signals = chunks, citations, signals
        self.weights: Any = signals.lexical.weights()

    def edges(self, paper: Paper) -> Iterator[Edge]:
        """Yield every edge that begins in a document."""
        yield from adjacent(paper)
        yield from cross_references(paper)
        cited = [other for other in self.citations.cited.get(paper.document, ()) if other in self.chunks]
        own = self._represented(paper.chunks) if cited else None
        for other in cited:
            target = self.chunks[other]
            if own is not None:
                (dense, sparse), (their_dense, their_sparse) = own, self._represented(target)
                yield from nearest_chunks(
                    paper.chunks,
                    target,
                    dense=(dense, their_dense),
                    sparse=(sparse, their_sparse),
                    k=self.signals.top,
                )

    def _represented(self, chunks: Sequence[str]) -> tuple[Any, Any]:
        places = self.signals.lexical.iris.places(chunks)
        return self.signals.dense.vectors(chunks), self.weights[np.maximum(places, 0)]


def _origin(document: str, chunks: Mapping[str, tuple[str, ...]], citations: Citations, signals: Signals) -> str:
    """Name all that decides which edges begin in a document, but for how rare its words are elsewhere."""
    cited = [other for other in citations.cited.get(document, ()) if other in chunks]
    parts = (part for other in cited for part in ("cites", other, *chunks[other]))
    lost = citations.unresolved.get(document, ())
    how = (_VERSION, str(signals.top), signals.embedder)
    return digest(*how, document, *chunks[document], *parts, "unresolved", *lost)


def _papers(store: TripleStore, documents: Sequence[str]) -> Iterator[Paper]:
    terms = [ox.NamedNode(document) for document in documents]
    held: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for document, *rest in store.select(queries.bind("cg_rag/papers", documents=terms)).values():
        held[document].append(tuple(rest))
    for document in documents:
        rows = held[document]
        chunks, texts, headings = (tuple(row[column] for row in rows) for column in range(3))
        yield Paper(document, chunks, texts, headings)


METHOD = "cg_rag"

KINDS = {
    Kind.ADJACENT: KG.AdjacencyEdge,
    Kind.CROSS_REFERENCE: KG.CrossReferenceEdge,
    Kind.CITATION: KG.CitationEdge,
}
"""The class of each kind of edge."""


def citation_draft(
    document: str,
    edges: Iterable[Edge],
    *,
    cited: Sequence[str],
    unresolved: Sequence[str],
    origin: str,
    names: Names,
) -> GraphDraft:
    """Give the graph of what a document cites and of the edges that begin in its chunks.

    Args:
        document: IRI.
        edges: several of one kind between the same chunks count once, as the strongest.
        cited: documents of the collection that it cites.
        unresolved: citations that name none.
        origin: a fingerprint of what all this was made from.
        names: the IRIs of the knowledge base.
    """
    node = ox.NamedNode(document)
    said = [
        ox.Triple(node, RDF.type, KG.Document),
        *(ox.Triple(node, DCTERMS.references, ox.NamedNode(other)) for other in cited),
        *(ox.Triple(node, KG.unresolved, ox.Literal(text)) for text in unresolved if text),
    ]
    return GraphDraft(
        names.citation_graph(node),
        KG.CitationGraph,
        [*said, *(triple for edge in _strongest(edges) for triple in _edge_triples(edge, names))],
        mode="replace",
        method=METHOD,
        sources=[node, *(ox.NamedNode(other) for other in cited)],
        described=[(KG.parameters, ox.Literal(origin))],
    )


def _strongest(edges: Iterable[Edge]) -> Iterable[Edge]:
    kept: dict[tuple[Kind, str, str], Edge] = {}
    for edge in edges:
        key = (edge.kind, edge.origin, edge.target)
        if key not in kept or edge.weight > kept[key].weight:
            kept[key] = edge
    return kept.values()


def _edge_triples(edge: Edge, names: Names) -> Iterator[ox.Triple]:
    node = names.edge(edge.kind.name, edge.origin, edge.target)
    yield ox.Triple(node, RDF.type, KINDS[edge.kind])
    yield ox.Triple(node, KG.fromChunk, ox.NamedNode(edge.origin))
    yield ox.Triple(node, KG.toChunk, ox.NamedNode(edge.target))
    yield ox.Triple(node, KG.weight, _decimal(edge.weight))


def _decimal(value: float) -> ox.Literal:
    """Give a number as the store keeps it: without zeros at the end."""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return ox.Literal(text or "0", datatype=XSD.decimal)
