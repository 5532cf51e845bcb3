"""Shapes that lead back to themselves: which they are, by which terms, and by which paths.

What leads back through ``sh:not``, ``sh:xone``, an upper count or disjoint qualified shapes has no agreed meaning.
``recursive_nodes`` decides the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.shacl.shapes_graph import SH, PropertyPath, ShapesGraph

__all__ = ["Recursion"]

_OF_LISTS = frozenset({"and", "or", "xone"})
_NEGATIVE = frozenset({"not", "xone"})
_REFERRING = ("and", "memberShape", "node", "not", "or", "property", "qualifiedValueShape", "reifierShape", "someValue")
_UNCOVERED = frozenset({"memberShape", "reifierShape"})


@dataclass(frozen=True)
class Recursion:
    """The recursive shapes of a graph of shapes."""

    graph: ShapesGraph

    def group(self, shape: Term) -> frozenset[Term]:
        """Return the shapes that a shape leads to and that lead back to it; none when it isn't recursive."""
        return self._groups.get(shape, frozenset())

    def problem(self, group: frozenset[Term]) -> str:
        """Return by which term a group leads back in a way that has no agreed meaning; "" for none."""
        names = {name for shape in group for target, name in self._references(shape) if target in group}
        return min(names & _NEGATIVE, default="") or next(iter(sorted(self._limited(group))), "")

    def uncovered(self, group: frozenset[Term]) -> bool:
        """Return whether a group leads back by way of the members of lists or of reifiers."""
        return any(
            target in group and name in _UNCOVERED for shape in group for target, name in self._references(shape)
        )

    def loop(self, group: frozenset[Term]) -> PropertyPath:
        """Return a path from a node to all at which the shapes of a group are asked for, and maybe to others."""
        tokens: list[ox.NamedNode | ox.Literal] = []
        paths = {path: None for shape in sorted(group, key=str) if (path := self.graph.path(shape))}
        for path in paths:
            tokens += [ox.Literal("|")] if tokens else []
            tokens += [ox.Literal("("), *path, ox.Literal(")")]
        return (ox.Literal("("), *tokens, ox.Literal(")"), ox.Literal("*")) if tokens else ()

    def _limited(self, group: frozenset[Term]) -> Iterator[str]:
        """Yield the terms by which conforming values may be too many, where these values lead back."""
        for shape in group:
            if any(target in group for target in self.graph.objects(shape, SH + "qualifiedValueShape")):
                yield from (
                    name
                    for name in ("qualifiedMaxCount", "qualifiedValueShapesDisjoint")
                    if self.graph.objects(shape, SH + name)
                )

    @cached_property
    def _groups(self) -> dict[Term, frozenset[Term]]:
        edges = {shape: {target for target, _ in self._references(shape)} for shape in self.graph.index}
        edges = _with_cycles({shape: targets for shape, targets in edges.items() if targets})
        reached = {shape: _reached(shape, edges) for shape in edges}
        groups = {
            shape: frozenset(other for other in found if shape in reached[other]) for shape, found in reached.items()
        }
        return {shape: group for shape, group in groups.items() if group}

    def _references(self, shape: Term) -> Iterator[tuple[Term, str]]:
        """Yield the shapes that a shape refers to, each with the local name of the term by which it does."""
        properties = self.graph.index.get(shape, {})
        for name in (*_REFERRING, "xone"):
            for target in properties.get(SH + name, ()):
                members = self.graph.listed(target) if name in _OF_LISTS else [target]
                yield from ((member, name) for member in members)


def _with_cycles(edges: dict[Term, set[Term]]) -> dict[Term, set[Term]]:
    """Return a graph without the nodes from which every way ends."""
    while True:
        kept = {node: {target for target in targets if target in edges} for node, targets in edges.items()}
        kept = {node: targets for node, targets in kept.items() if targets}
        if len(kept) == len(edges):
            return kept
        edges = kept


def _reached(node: Term, edges: Mapping[Term, set[Term]]) -> set[Term]:
    reached: set[Term] = set()
    waiting = list(edges[node])
    while waiting:
        if (each := waiting.pop()) not in reached:
            reached.add(each)
            waiting += edges.get(each, ())
    return reached
