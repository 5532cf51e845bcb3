"""What edges of a directed graph lead to: its strongly connected components, and all that can be reached.

Nodes are anything that can be a key; a graph is a mapping from a node to those that an edge leads to. Nothing here is
recursive, so that a chain may be as long as memory allows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

__all__ = ["components", "reachable"]

_Node = TypeVar("_Node", bound=Hashable)


def components(edges: Mapping[_Node, Sequence[_Node]]) -> list[tuple[_Node, ...]]:
    """Give the strongly connected components of a directed graph, each after those that it leads to.

    Tarjan, *Depth-first search and linear graph algorithms*, 1972, without recursion.

    >>> components({"a": ["b"], "b": ["c"], "c": ["b"]})
    [('c', 'b'), ('a',)]
    """
    walk = _Tarjan(edges)
    for root in edges:
        walk.visit(root)
    return walk.found


def reachable(edges: Mapping[_Node, Sequence[_Node]]) -> Iterator[tuple[tuple[_Node, ...], frozenset[_Node]]]:
    """Yield each component with all that its nodes lead to by one step or more; a circle leads to itself.

    Each edge is looked at once: who stands in a circle leads to the same.

    >>> [(nodes, sorted(found)) for nodes, found in reachable({"a": ["b"], "b": ["c"], "c": ["b"]})]
    [(('c', 'b'), ['b', 'c']), (('a',), ['b', 'c'])]
    """
    place: dict[_Node, int] = {}
    found: list[frozenset[_Node]] = []
    order = components(edges)
    for number, members in enumerate(order):
        near = {target for node in members for target in edges.get(node, ())}
        place.update(dict.fromkeys(members, number))
        beyond = {place[target] for target in near} - {number}
        found.append(frozenset(near).union(*(found[each] for each in beyond)))
        if len(members) > 1:
            found[number] |= set(members)
        yield members, found[number]


class _Tarjan(Generic[_Node]):
    """The state of one search."""

    def __init__(self, edges: Mapping[_Node, Sequence[_Node]]) -> None:
        self._edges = edges
        self._index: dict[_Node, int] = {}
        self._low: dict[_Node, int] = {}
        self._open: dict[_Node, None] = {}
        self.found: list[tuple[_Node, ...]] = []

    def visit(self, root: _Node) -> None:
        """Search from one node, unless it has been met."""
        if root in self._index:
            return
        way = [self._entered(root)]
        while way:
            node, rest = way[-1]
            following = next((each for each in rest if self._is_new(node, each)), None)
            if following is not None:
                way.append(self._entered(following))
                continue
            way.pop()
            self._left(node)
            if way:
                above = way[-1][0]
                self._low[above] = min(self._low[above], self._low[node])

    def _entered(self, node: _Node) -> tuple[_Node, Iterator[_Node]]:
        self._index[node] = self._low[node] = len(self._index)
        self._open[node] = None
        return node, iter(self._edges.get(node, ()))

    def _is_new(self, node: _Node, following: _Node) -> bool:
        if following not in self._index:
            return True
        if following in self._open:
            self._low[node] = min(self._low[node], self._index[following])
        return False

    def _left(self, node: _Node) -> None:
        if self._low[node] == self._index[node]:
            members: list[_Node] = []
            while not members or members[-1] != node:
                members.append(self._open.popitem()[0])
            self.found.append(tuple(members))
