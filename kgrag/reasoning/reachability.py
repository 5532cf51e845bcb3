"""Strongly connected components of a directed graph, and what can be reached from them.

Nodes are any hashable values; a graph is a mapping from a node to those that an edge leads to. Nothing here is
recursive, so that a chain may be as long as memory allows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

__all__ = ["components", "reachable"]

_Node = TypeVar("_Node", bound=Hashable)


def components(edges: Mapping[_Node, Sequence[_Node]]) -> list[tuple[_Node, ...]]:
    """Return the strongly connected components of a directed graph, each after those that it leads to.

    Tarjan, *Depth-first search and linear graph algorithms*, 1972, without recursion.

    >>> components({"a": ["b"], "b": ["c"], "c": ["b"]})
    [('c', 'b'), ('a',)]
    """
    search = _TarjanSearch(edges)
    for root in edges:
        search.visit(root)
    return search.components


def reachable(edges: Mapping[_Node, Sequence[_Node]]) -> Iterator[tuple[tuple[_Node, ...], frozenset[_Node]]]:
    """Yield each component with all that its nodes lead to by one edge or more; a cycle leads to itself.

    Each edge is followed once, since the nodes of a cycle all lead to the same nodes.

    >>> [(nodes, sorted(beyond)) for nodes, beyond in reachable({"a": ["b"], "b": ["c"], "c": ["b"]})]
    [(('c', 'b'), ['b', 'c']), (('a',), ['b', 'c'])]
    """
    component_of: dict[_Node, int] = {}
    reached: list[frozenset[_Node]] = []
    for number, members in enumerate(components(edges)):
        targets = {target for node in members for target in edges.get(node, ())}
        component_of.update(dict.fromkeys(members, number))
        next_components = {component_of[target] for target in targets} - {number}
        reached.append(frozenset(targets).union(*(reached[following] for following in next_components)))
        if len(members) > 1:
            reached[number] |= set(members)
        yield members, reached[number]


class _TarjanSearch(Generic[_Node]):
    """The state of one search."""

    def __init__(self, edges: Mapping[_Node, Sequence[_Node]]) -> None:
        self._edges = edges
        self._index: dict[_Node, int] = {}
        self._low: dict[_Node, int] = {}
        self._open: dict[_Node, None] = {}
        self.components: list[tuple[_Node, ...]] = []

    def visit(self, root: _Node) -> None:
        """Search from one node, unless the search has visited it."""
        if root in self._index:
            return
        path = [self._enter(root)]
        while path:
            node, targets = path[-1]
            following = next((target for target in targets if self._is_new(node, target)), None)
            if following is not None:
                path.append(self._enter(following))
                continue
            path.pop()
            self._leave(node)
            if path:
                previous = path[-1][0]
                self._low[previous] = min(self._low[previous], self._low[node])

    def _enter(self, node: _Node) -> tuple[_Node, Iterator[_Node]]:
        self._index[node] = self._low[node] = len(self._index)
        self._open[node] = None
        return node, iter(self._edges.get(node, ()))

    def _is_new(self, node: _Node, following: _Node) -> bool:
        if following not in self._index:
            return True
        if following in self._open:
            self._low[node] = min(self._low[node], self._index[following])
        return False

    def _leave(self, node: _Node) -> None:
        if self._low[node] == self._index[node]:
            members: list[_Node] = []
            while not members or members[-1] != node:
                members.append(self._open.popitem()[0])
            self.components.append(tuple(members))
