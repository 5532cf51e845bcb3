"""Small graphs for the store's tests."""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph as ox

from kgrag.model import GraphDraft
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG, number

N = ox.NamedNode
EDGE = N("urn:t:edge")


def edge(name: str = "edge", value: str = "Soybean", **changes: object) -> GraphDraft:
    """A hyperedge of one hypernode."""
    triples = [
        ox.Triple(N("urn:t:node"), KG.key, ox.Literal("Crop")),
        ox.Triple(N("urn:t:node"), KG.value, ox.Literal(value)),
    ]
    given: dict[str, object] = {
        "iri": N(f"urn:t:{name}"),
        "kind": KG.HyperedgeGraph,
        "triples": triples,
        "sources": [N("urn:t:chunk")],
        "described": [(KG.size, number(1))],
    }
    return GraphDraft(**{**given, **changes})  # type: ignore[arg-type]


def ontology(*values: ox.Literal | ox.BlankNode | ox.NamedNode, name: str = "ontology") -> GraphDraft:
    """A loaded graph with one triple a value."""
    triples = [ox.Triple(N("urn:t:s"), N("urn:t:p"), value) for value in values]
    return GraphDraft(iri=N(f"urn:t:{name}"), kind=KG.OntologyGraph, triples=triples, mode="replace")


def listed(names: Iterable[str], count: int) -> GraphDraft:
    """Triples to append to one graph."""
    triples = [
        ox.Triple(N(f"urn:t:{name}{row}"), KG.value, ox.Literal(str(row))) for name in names for row in range(count)
    ]
    return GraphDraft(iri=N("urn:t:list"), kind=KG.HypernodeGraph, triples=triples, mode="append")


def content(store: OxigraphStore) -> set[ox.Quad]:
    """Every quad of a store."""
    found = set()
    for graph in store.graphs():
        found |= {ox.Quad(t.subject, t.predicate, t.object, N(graph)) for t in store.triples(N(graph))}
    return found


def entry(store: OxigraphStore, graph: ox.NamedNode) -> dict[str, list[str]]:
    """What the catalogue says about a graph: local name of the predicate -> values."""
    found: dict[str, list[str]] = {}
    for triple in store.triples(store.names.catalogue):
        if triple.subject == graph:
            name = triple.predicate.value.rsplit("#", 1)[-1].rsplit("/", 1)[-1]
            found.setdefault(name, []).append(getattr(triple.object, "value", str(triple.object)))
    return {name: sorted(values) for name, values in found.items()}
