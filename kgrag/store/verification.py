"""Whether a store can be read as a whole: every block of it, in each of the orders that the engine keeps its quads in.

The engine compares a block with its checksum when it reads it, and reads only what a question needs: damage stays
unnoticed until somebody asks for it. Each query here returns a row per quad: one that counts or sorts collects the
errors of a damaged block without end until the memory is full.

Queries read: ``health/by_*``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import StorageFailed
from kgrag.store.engine import engine, quads_of_pattern

__all__ = ["damage"]

_GRAPHS_PER_QUERY = 500
_BY_TERM = ("health/by_subject", "health/by_predicate", "health/by_object")
_BY_TERM_OF_GRAPH = ("health/by_graph_and_predicate", "health/by_graph_and_object")


def damage(store: ox.Store) -> list[str]:
    """Read a store as a whole; return what cannot be read or does not agree, one sentence each; [] for a sound store.

    Six indices hold the same quads: by graph and then subject, predicate or object, and by each of these alone. The
    first, by graph and subject, is read with every term of its quads. The rows of the others are looked up by
    the terms that the first one has, in the engine, so that no term is made for them: in two fifths of the time.
    A graph whose name is a blank node, which kgrag never makes, is not compared by graph.
    """
    found: list[str] = []
    in_all = 0
    try:
        for graphs in _named_graphs(store):
            quads = _quads_read(store, graphs)
            in_all += quads
            some = [graph for graph in graphs if isinstance(graph, ox.NamedNode)]
            for name in _BY_TERM_OF_GRAPH if len(some) == len(graphs) else ():
                found += _differences(store, queries.bind(name, graphs=some), quads)
    except StorageFailed as error:
        return [str(error)]
    for name in _BY_TERM:
        found += _differences(store, queries.bind(name), in_all)
    return list(dict.fromkeys(found))


def _named_graphs(store: ox.Store) -> Iterator[list[ox.NamedNode | ox.BlankNode]]:
    """Yield the graphs of a store, some at a time, those whose names are blank nodes apart. Raises StorageFailed."""
    with engine():
        graphs = list(store.named_graphs())
    for kind in (ox.NamedNode, ox.BlankNode):
        of_kind = [graph for graph in graphs if isinstance(graph, kind)]
        yield from (of_kind[first : first + _GRAPHS_PER_QUERY] for first in range(0, len(of_kind), _GRAPHS_PER_QUERY))


def _quads_read(store: ox.Store, graphs: Sequence[ox.NamedNode | ox.BlankNode]) -> int:
    """Return how many quads graphs have, each of which was read with its terms. Raises StorageFailed: one cannot be."""
    with engine():
        return sum(1 for graph in graphs for _ in quads_of_pattern(store, None, None, None, graph))


def _differences(store: ox.Store, query: str, expected: int) -> list[str]:
    """Return why a query does not return ``expected`` rows; [] if it does."""
    try:
        with engine():
            count = sum(1 for _ in store.query(query))  # type: ignore[union-attr, misc]
    except StorageFailed as error:
        return [str(error)]
    if count == expected:
        return []
    return [
        f"two indices of the store disagree, by {abs(count - expected):,} quads. Run `kgrag export`, and "
        "`kgrag import` into a new folder, which makes every index again."
    ]
