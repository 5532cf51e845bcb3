"""A small store in memory, filled anew for every question: what the rules of a query check run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pyoxigraph as ox

from kgrag.adapters.oxigraph.boundary import engine
from kgrag.model import Table

__all__ = ["OxigraphScratch"]


class OxigraphScratch:
    """Implements ``kgrag.ports.Scratch``.

    A new store takes a microsecond, and 200 quads 0.15 ms; no catalogue, revision or shape is kept.

    >>> scratch = OxigraphScratch()
    >>> scratch.fill([ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.Literal("o"), ox.NamedNode("urn:g"))])
    >>> scratch.select("SELECT ?o WHERE { GRAPH ?g { ?s ?p ?o } }").values()
    [('o',)]
    """

    def __init__(self) -> None:
        self._store = ox.Store()

    def fill(self, quads: Sequence[ox.Quad]) -> None:
        """Forget what was there, and hold these quads."""
        self._store = ox.Store()
        self._store.extend(quads)

    def select(self, query: str) -> Table:
        """Run a SELECT.

        Raises:
            InvalidSPARQL: it does not parse, or cannot be evaluated.
        """
        with engine(query):
            results = cast("ox.QuerySolutions", self._store.query(query))
            return Table(tuple(name.value for name in results.variables), [tuple(row) for row in results])
