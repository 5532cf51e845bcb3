"""The contextual citation graph of a store, kept up to date document by document, and only where something changed.

CG-RAG, section 4.2. Queries read: ``cg_rag/chunks``, ``cg_rag/papers``, ``cg_rag/graphs``, ``cg_rag/identifiers``.
Graphs written: one citation graph per document, with the edges that begin in it and what it cites.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import groupby
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.vector_spaces import Progress
from kgrag.methods.cg_rag.citations import Citations
from kgrag.methods.cg_rag.edges import ChunkEdge, EdgeKind, PaperChunks, adjacent, cross_references, nearest_chunks
from kgrag.methods.cg_rag.hyperlinks import Hyperlink
from kgrag.methods.cg_rag.markers import CitedWorks, markers_of
from kgrag.model import GraphDraft
from kgrag.ports import TripleStore, VectorIndex
from kgrag.vocab import CITO, DCTERMS, KG, RDF, XSD, Names, digest

__all__ = ["KINDS", "METHOD", "EdgeSignals", "GraphUpdate", "chunks_of", "citation_draft", "documents_named", "draw"]

METHOD = "cg_rag"

KINDS = {
    EdgeKind.ADJACENT: KG.AdjacencyEdge,
    EdgeKind.CROSS_REFERENCE: KG.CrossReferenceEdge,
    EdgeKind.CITATION: KG.CitationEdge,
    EdgeKind.HYPERLINK: KG.HyperlinkEdge,
}
"""The class of each kind of edge."""

_EDGES_VERSION = "2"  # part of every fingerprint: another version draws all edges anew
_DOCUMENTS_PER_PUBLICATION = 200
_WEIGHT_OF_A_PLACE = 2.0  # of a hyperlink to a place that is known: the most that relevance would make it


@dataclass(frozen=True, slots=True)
class EdgeSignals:
    """What edges between documents are weighed by.

    ``dense`` and ``lexical`` index the same chunks; ``embedder`` is the identity of what made the vectors; ``top`` is
    K, the largest number of edges from a chunk into each cited document.
    """

    dense: VectorIndex
    lexical: LexicalIndex
    embedder: str
    top: int


@dataclass(slots=True)
class GraphUpdate:
    """Numbers of documents whose edges were drawn, stayed, or were dropped with the document; what is pending.

    ``aged`` of those that stayed cite others, and were weighed by how rare words were in another corpus.
    """

    drawn: int = 0
    aged: int = 0
    unchanged: int = 0
    dropped: int = 0
    pending: list[str] = field(default_factory=list)


def chunks_of(store: TripleStore) -> dict[str, tuple[str, ...]]:
    """Return the chunks of every document that has any, in reading order, documents sorted by IRI."""
    rows = store.select(queries.bind("cg_rag/chunks", catalogue=store.names.catalogue)).values()
    return {
        document: tuple(dict.fromkeys(chunk for _, chunk in part))
        for document, part in groupby(rows, lambda row: row[0])
    }


def documents_named(store: TripleStore, identifiers: Collection[str]) -> list[str]:
    """Return the IRIs of the documents with these identifiers, sorted; an identifier of no document is kept as it is.

    So an IRI of a document may be passed in place of its identifier.
    """
    rows = store.select(queries.bind("cg_rag/identifiers", catalogue=store.names.catalogue)).values()
    documents = {document for document, identifier in rows if identifier in identifiers}
    return sorted(documents | set(identifiers).difference(identifier for _, identifier in rows))


def draw(
    store: TripleStore,
    chunks: Mapping[str, tuple[str, ...]],
    citations: Citations,
    signals: EdgeSignals,
    *,
    redraw: bool = False,
    progress: Progress = None,
) -> GraphUpdate:
    """Publish the edges of every document whose chunks, citations or settings changed, and drop those of vanished ones.

    Args:
        store: takes the graphs.
        chunks: of every document, as ``chunks_of`` returns them.
        citations: who cites whom.
        signals: what edges between documents are weighed by.
        redraw: draw those as well whose edges were weighed when the corpus was another.
        progress: called after each batch of documents.
    """
    corpus = digest(*sorted(chunk for each in chunks.values() for chunk in each))
    graphs = {store.names.citation_graph(ox.NamedNode(document)).value: document for document in chunks}
    rows = store.select(queries.bind("cg_rag/graphs", catalogue=store.names.catalogue)).values()
    drawn_from = {graphs[graph]: parameters.partition(" ") for graph, parameters in rows if graph in graphs}
    vanished = [ox.NamedNode(graph) for graph, _ in rows if graph not in graphs]
    update = GraphUpdate(dropped=store.remove(vanished) if vanished else 0)
    drawing = _Drawing.of(chunks, citations, signals)
    fingerprints = {document: drawing.fingerprint(document) for document in chunks}
    changed = [each for each in chunks if drawn_from.get(each, ("",))[0] != fingerprints[each]]
    same = chunks.keys() - set(changed)
    aged = [each for each in chunks if each in same and drawn_from[each][2] != corpus and drawing.is_weighed(each)]
    if redraw:
        changed += aged
    else:
        update.aged = len(aged)
    update.unchanged = len(chunks) - len(changed)
    weights = signals.lexical.weights() if changed else None
    for first in range(0, len(changed), _DOCUMENTS_PER_PUBLICATION):
        drafts = []
        for paper in _papers(store, changed[first : first + _DOCUMENTS_PER_PUBLICATION]):
            parameters = fingerprints[paper.document] + (f" {corpus}" if drawing.is_weighed(paper.document) else "")
            drafts.append(drawing.draft(paper, weights, fingerprint=parameters, names=store.names))
        publication = store.publish(drafts)
        update.pending += publication.faults
        update.drawn += len(drafts)
        if progress:
            progress("cg_rag edges", update.drawn, len(changed))
    return update


@dataclass(frozen=True, slots=True)
class _Drawing:
    """What edges are drawn from; ``links`` are the hyperlinks of each document to those that have chunks."""

    chunks: Mapping[str, tuple[str, ...]]
    citations: Citations
    signals: EdgeSignals
    links: Mapping[str, Sequence[Hyperlink]]
    cuts: Mapping[str, str]  # digests of the chunks of documents that hyperlinks lead to

    @classmethod
    def of(cls, chunks: Mapping[str, tuple[str, ...]], citations: Citations, signals: EdgeSignals) -> _Drawing:
        links = {
            document: [link for link in each if link.document in chunks] for document, each in citations.links.items()
        }
        linked = {link.document for each in links.values() for link in each}
        return cls(chunks, citations, signals, links, {each: digest(*chunks[each]) for each in linked})

    def cited(self, document: str) -> list[str]:
        """Return the documents with chunks that a document cites, but for those that it only links to."""
        return [other for other in self.citations.cited.get(document, ()) if other in self.chunks]

    def is_weighed(self, document: str) -> bool:
        """Return whether the rarity of words decides on any edge that begins in a document."""
        return bool(self.cited(document)) or not all(link.target for link in self.links.get(document, ()))

    def fingerprint(self, document: str) -> str:
        """Return a digest of all that decides which edges begin in a document, but for how rare words are elsewhere.

        With the rarity of words, which changes with every document, each ingest would draw the edges of all documents
        anew. Hence the corpus is recorded beside it where a document cites another, and ``redraw`` goes by that.
        """
        cited = (part for other in self.cited(document) for part in ("cites", other, *self.chunks[other]))
        settings = (_EDGES_VERSION, str(self.signals.top), self.signals.embedder)
        unresolved = self.citations.unresolved.get(document, ())
        works = self.citations.works_of(document)
        printed = (part for pair in (*works.entries, *works.bylines) for part in pair)
        linked = [part for link in self.links.get(document, ()) for part in (*astuple(link), self.cuts[link.document])]
        own = (*settings, document, *self.chunks[document], *cited, "unresolved", *unresolved, "printed", *printed)
        # documents without links keep the fingerprint that they had before there were any
        return digest(*own, "links", *linked) if linked else digest(*own)

    def draft(self, paper: PaperChunks, weights: Any, *, fingerprint: str, names: Names) -> GraphDraft:
        """Return the citation graph of a document."""
        cited, links = self.cited(paper.document), self.links.get(paper.document, ())
        edges = [*adjacent(paper), *cross_references(paper)]
        edges += _citation_edges(paper, [self.chunks[other] for other in cited], self.signals, weights)
        edges += _link_edges(links, self.chunks, self.signals, weights)
        draft = citation_draft(
            paper.document,
            edges,
            cited=list(dict.fromkeys([*cited, *(link.document for link in links)])),
            unresolved=self.citations.unresolved.get(paper.document, ()),
            fingerprint=fingerprint,
            names=names,
        )
        marked = marked_triples(paper, self.citations.works_of(paper.document), names)
        linked = (ox.Triple(ox.NamedNode(each.origin), CITO.cites, ox.NamedNode(each.document)) for each in links)
        return replace(draft, triples=list(dict.fromkeys([*draft.triples, *marked, *linked])))


def _papers(store: TripleStore, documents: Sequence[str]) -> Iterator[PaperChunks]:
    wanted = [ox.NamedNode(document) for document in documents]
    rows_of: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for document, *rest in store.select(queries.bind("cg_rag/papers", documents=wanted)).values():
        rows_of[document].append(tuple(rest))
    for document in documents:
        chunks, texts, headings = (tuple(row[column] for row in rows_of[document]) for column in range(3))
        yield PaperChunks(document, chunks, texts, headings)


def _citation_edges(
    paper: PaperChunks, cited: Sequence[tuple[str, ...]], signals: EdgeSignals, weights: Any
) -> Iterator[ChunkEdge]:
    """Yield the edges from a document into each document that it cites, the latter as their chunks."""
    if not cited:
        return
    own = _represented(paper.chunks, signals, weights)
    for chunks in cited:
        dense, sparse = zip(own, _represented(chunks, signals, weights), strict=True)
        yield from nearest_chunks(paper.chunks, chunks, dense=dense, sparse=sparse, k=signals.top)


def _link_edges(
    links: Sequence[Hyperlink], chunks: Mapping[str, tuple[str, ...]], signals: EdgeSignals, weights: Any
) -> Iterator[ChunkEdge]:
    """Yield the edges along hyperlinks: to the place they lead to, else to the chunks there that are most relevant."""
    origins: dict[str, list[str]] = defaultdict(list)
    for link in links:
        if link.target:
            yield ChunkEdge(EdgeKind.HYPERLINK, link.origin, link.target, _WEIGHT_OF_A_PLACE)
        else:
            origins[link.document].append(link.origin)
    for document, linking in origins.items():
        own, theirs = (_represented(each, signals, weights) for each in (linking, chunks[document]))
        dense, sparse = zip(own, theirs, strict=True)
        for edge in nearest_chunks(linking, chunks[document], dense=dense, sparse=sparse, k=signals.top):
            yield replace(edge, kind=EdgeKind.HYPERLINK)


def _represented(chunks: Sequence[str], signals: EdgeSignals, weights: Any) -> tuple[Any, Any]:
    """Return the dense and the sparse vectors of chunks."""
    return signals.dense.vectors(chunks), weights[signals.lexical.iris.places(chunks)]


def citation_draft(
    document: str,
    edges: Iterable[ChunkEdge],
    *,
    cited: Sequence[str],
    unresolved: Sequence[str],
    fingerprint: str,
    names: Names,
) -> GraphDraft:
    """Return the graph of what a document cites and of the edges that begin in its chunks.

    Args:
        document: IRI.
        edges: several of one kind between the same chunks count once, as the strongest.
        cited: documents of the collection that it cites.
        unresolved: citations that name none.
        fingerprint: of what all this was made from, for the catalogue.
        names: the IRIs of the knowledge base.
    """
    node = ox.NamedNode(document)
    triples = [
        ox.Triple(node, RDF.type, KG.Document),
        *(ox.Triple(node, DCTERMS.references, ox.NamedNode(other)) for other in cited),
        *(ox.Triple(node, KG.unresolved, ox.Literal(text)) for text in unresolved if text),
    ]
    strongest: dict[tuple[EdgeKind, str, str], ChunkEdge] = {}
    for edge in edges:
        key = (edge.kind, edge.origin, edge.target)
        if key not in strongest or edge.weight > strongest[key].weight:
            strongest[key] = edge
    for edge in strongest.values():
        triples += _edge_triples(edge, names)
    return GraphDraft(
        names.citation_graph(node),
        KG.CitationGraph,
        triples,
        mode="replace",
        method=METHOD,
        sources=[node, *(ox.NamedNode(other) for other in cited)],
        described=[(KG.parameters, ox.Literal(fingerprint))],
    )


def _edge_triples(edge: ChunkEdge, names: Names) -> Iterator[ox.Triple]:
    node = names.edge(edge.kind.name, edge.origin, edge.target)
    # the store writes decimals without zeros at the end, and a graph that reads back otherwise would look changed
    weight = f"{edge.weight:.4f}".rstrip("0").rstrip(".") or "0"
    yield ox.Triple(node, RDF.type, KINDS[edge.kind])
    yield ox.Triple(node, KG.fromChunk, ox.NamedNode(edge.origin))
    yield ox.Triple(node, KG.toChunk, ox.NamedNode(edge.target))
    yield ox.Triple(node, KG.weight, ox.Literal(weight, datatype=XSD.decimal))


def marked_triples(paper: PaperChunks, works: CitedWorks, names: Names) -> Iterator[ox.Triple]:
    """Yield what the citation markers of a document say: ``cito:cites`` from the very chunk, and each author-year one.

    A numbered marker is resolved or says nothing; an author-year one is kept in either case, because others may know
    what it means.
    """
    for chunk, text in zip(paper.chunks, paper.texts, strict=True):
        node = ox.NamedNode(chunk)
        cited = dict.fromkeys(works.numbered(text))
        meant: dict[str, str] = {}
        for marker in markers_of(text):
            document = works.meant(marker)
            cited |= {document: None} if document else {}
            meant[marker.name] = meant.get(marker.name) or document
        for name, document in meant.items():
            use = names.edge("MARKER", chunk, name)
            yield ox.Triple(use, RDF.type, KG.CitationMarker)
            yield ox.Triple(use, KG.fromChunk, node)
            yield ox.Triple(use, KG.marker, ox.Literal(name))
            if document:
                yield ox.Triple(use, CITO.cites, ox.NamedNode(document))
        for document in cited:
            yield ox.Triple(node, CITO.cites, ox.NamedNode(document))
