"""The hypergraph as a filter lets it be seen: hyperedges whose sources are all allowed, and what these contain.

Query read: ``og_rag/all_sources``. Nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from kgrag import queries
from kgrag.index.array_files import Iris
from kgrag.index.place_lists import Places, distinct
from kgrag.index.revision_cache import RevisionCache
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.methods.og_rag.term_vectors import SomeTerms
from kgrag.model import Allowed
from kgrag.ports import TripleStore

__all__ = ["AllowedEdges", "allowed_edges"]


@dataclass(frozen=True, slots=True, eq=False)
class AllowedEdges:
    """A hypergraph without the hyperedges that are not allowed; the hyperedges, keys and values that are left in it."""

    graph: Adjacency
    edges: frozenset[str]
    keys: SomeTerms
    values: SomeTerms


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
    keys, values = _some(graph.keys, graph.key_of[nodes]), _some(graph.values, graph.value_of[nodes])
    return AllowedEdges(part, frozenset(kept), keys, values)


def _some(terms: Iris, places: Places) -> SomeTerms:
    each = distinct(places)
    return SomeTerms(each, frozenset(terms.at(each)))
