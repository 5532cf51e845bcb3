"""Citation graphs as drafts: one graph a document, with the edges that begin in it and what it cites."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyoxigraph as ox

from kgrag.methods.cg_rag.edges import Edge, Kind
from kgrag.model import GraphDraft
from kgrag.vocab import DCTERMS, KG, RDF, XSD, Names

__all__ = ["KINDS", "METHOD", "citation_draft"]

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
