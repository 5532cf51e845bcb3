"""``PlainStore``: an RDF dataset as the standards have it, with a real default graph and no catalogue.

It contains nothing of a knowledge base. The conformance suites of SPARQL are run against it, since they begin by
dropping everything and then look at every graph.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

import pyoxigraph as ox

from kgrag.errors import InputError
from kgrag.sparql.computed_terms import with_readable_terms
from kgrag.sparql.gate import check_update
from kgrag.sparql.total_orders import with_total_orders
from kgrag.store.engine import engine

__all__ = ["PlainStore"]

Graph = ox.NamedNode | ox.DefaultGraph


class PlainStore:
    """A plain dataset in a folder.

    Raises:
        StorageFailed: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        with engine():
            self._store = ox.Store(str(folder))
        self._turn = threading.Lock()
        self.revision = 0

    def contains(self, graph: Graph) -> bool:
        """Return whether a graph is there, with or without triples; the default graph always is."""
        return isinstance(graph, ox.DefaultGraph) or self._store.contains_named_graph(graph)

    def update(self, update: str, *, base: str = "") -> None:
        """Run an update, past the gate.

        Raises:
            InvalidSPARQL: the gate or the engine refuses it.
        """
        check_update(update)
        with self._turn, engine(update):
            self._store.update(with_total_orders(with_readable_terms(update)), base_iri=base or None)
            self.revision += 1

    def put(self, graph: Graph, triples: Iterable[ox.Triple], *, add: bool = False) -> None:
        """Replace the triples of a graph, or add to them."""
        quads = [ox.Quad(triple.subject, triple.predicate, triple.object, graph) for triple in triples]
        with self._turn, engine():
            if not add:
                self._store.clear_graph(graph)
            if isinstance(graph, ox.NamedNode):
                self._store.add_graph(graph)
            self._store.extend(quads)
            self.revision += 1

    def drop(self, graph: Graph) -> None:
        """Remove a graph; the default graph is emptied.

        Raises:
            InputError: it is not there.
        """
        if not self.contains(graph):
            raise InputError(f"there is no graph {graph}. GET it first.")
        with self._turn, engine():
            self._store.remove_graph(graph)
            self.revision += 1

    def snapshot(self, folder: Path) -> None:
        """Write a copy into a new folder, by hard links where the file system allows it."""
        with self._turn, engine():
            self._store.backup(str(folder))
