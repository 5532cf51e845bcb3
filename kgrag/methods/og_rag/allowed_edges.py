"""The hypergraph as a filter lets it be seen: hyperedges whose sources are all allowed, and what these contain.

Query read: ``og_rag/all_sources``. Nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from kgrag import queries
from kgrag.index.revision_cache import RevisionCache
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.model import Allowed
from kgrag.ports import TripleStore

__all__ = ["AllowedEdges", "allowed_edges"]


@dataclass(frozen=True, slots=True, eq=False)
class AllowedEdges:
    """A hypergraph without the hyperedges that are not allowed; the hyperedges, keys and values that are left in it."""

    graph: Adjacency
    edges: frozenset[str]
    keys: frozenset[str]
    values: frozenset[str]


def allowed_edges(allowed: Allowed, graph: Adjacency, store: TripleStore) -> AllowedEdges:
    """Return the part of a hypergraph that comes from allowed documents alone."""
    return _KNOWN.get(store, allowed.chunks, lambda: _allowed_edges(allowed, graph, store))


_KNOWN = RevisionCache[AllowedEdges]()


def _allowed_edges(allowed: Allowed, graph: Adjacency, store: TripleStore) -> AllowedEdges:
    sources: dict[str, set[str]] = defaultdict(set)
    for edge, source in store.select(queries.bind("og_rag/all_sources", catalogue=store.names.catalogue)).values():
        sources[edge].add(source)
    may_be_seen = allowed.chunks | allowed.documents
    kept = {edge for edge, behind in sources.items() if behind <= may_be_seen and behind & allowed.chunks}
    places = [place for place, edge in enumerate(graph.edges.at(np.arange(len(graph.edges)))) if edge in kept]
    part = graph.with_edges(np.array(places, dtype=np.int64))
    nodes = np.flatnonzero(np.diff(part.edges_of.bounds))
    keys, values = np.unique(graph.key_of[nodes]), np.unique(graph.value_of[nodes])
    return AllowedEdges(part, frozenset(kept), frozenset(graph.keys.at(keys)), frozenset(graph.values.at(values)))
