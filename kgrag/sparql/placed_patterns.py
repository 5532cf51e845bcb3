"""The triple patterns of a query with the graphs that each of them is matched against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import pyoxigraph as ox

from kgrag.sparql.query_reader import QueryReader
from kgrag.sparql.syntax import Limits, Pattern, Scope, Term
from kgrag.sparql.term_reader import Node

__all__ = ["PlacedPattern", "placed_patterns"]


@dataclass(frozen=True, slots=True)
class PlacedPattern:
    """A pattern; ``graphs`` that it is matched against, None for every named graph.

    ``merged``: it is outside GRAPH, so that a statement of several graphs is one.
    """

    pattern: Pattern
    graphs: tuple[ox.NamedNode, ...] | None
    merged: bool


def placed_patterns(text: str, prefixes: Mapping[str, str]) -> list[PlacedPattern]:
    """Return the patterns of a query as they are written; its default graph is the union of all unless it has FROM.

    Raises:
        InvalidSPARQL: it is no query that can be read.

    >>> inside, outside = placed_patterns("ASK { GRAPH <urn:g> { ?s a ?c } ?c ?p ?o }", {})
    >>> [graph.value for graph in inside.graphs], outside.graphs, outside.merged
    (['urn:g'], None, True)
    """
    reader = _PlacedReader(text, Limits())
    reader.declared.update(prefixes)
    query = reader.query()
    return [reader.placed(pattern) for pattern in query.patterns]


class _PlacedReader(QueryReader):
    """Notes what GRAPH and FROM name."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self._graph_of_scope: dict[int, Term] = {}
        self._last_read: Term | None = None
        self._from: list[ox.NamedNode] = []
        self._from_named: list[ox.NamedNode] = []
        self._chooses = False

    def placed(self, pattern: Pattern) -> PlacedPattern:
        """Return a pattern with its graphs."""
        number = next((scope.number for scope in reversed(pattern.context) if scope.kind == "graph"), None)
        if number is None:
            return PlacedPattern(pattern, tuple(self._from) if self._chooses else None, merged=True)
        graph = self._graph_of_scope[number]
        if isinstance(graph, ox.NamedNode):
            hidden = self._chooses and graph not in self._from_named
            return PlacedPattern(pattern, () if hidden else (graph,), merged=False)
        return PlacedPattern(pattern, tuple(self._from_named) if self._chooses else None, merged=False)

    def scope(self, kind: str, number: int = 0, branch: int = 0) -> Scope:
        """Make one step of a context path."""
        made = super().scope(kind, number, branch)
        if kind == "graph" and self._last_read is not None:
            self._graph_of_scope[made.number] = self._last_read
        return made

    def _variable_or_iri(self, where: str) -> Node:
        node = super()._variable_or_iri(where)
        self._last_read = node.term
        return node

    def _dataset(self) -> None:
        while self.take_word("FROM"):
            self._chooses = True
            graphs = self._from_named if self.take_word("NAMED") else self._from
            graphs.append(cast("ox.NamedNode", self.iri("after FROM").term))
