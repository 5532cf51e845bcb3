"""Which of many graphs the catalogue lists, asked at once.

Query read: ``catalogue/listed``.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore

__all__ = ["listed"]

_GRAPHS_PER_QUERY = 1_000


def listed(store: TripleStore, graphs: Sequence[ox.NamedNode]) -> set[ox.NamedNode]:
    """Return those of the graphs that the catalogue lists; a thousand are asked about in one query."""
    catalogue = store.names.catalogue
    return {
        graph
        for first in range(0, len(graphs), _GRAPHS_PER_QUERY)
        for (graph,) in store.select(
            queries.bind("catalogue/listed", catalogue=catalogue, graphs=graphs[first : first + _GRAPHS_PER_QUERY])
        )
        if isinstance(graph, ox.NamedNode)
    }
