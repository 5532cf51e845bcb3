"""A tree of classes with counts, from pairs of class and superclass: pure functions over values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ClassNode", "class_tree"]


@dataclass(frozen=True, slots=True)
class ClassNode:
    """A class in its place: ``own`` things have it as their class, ``total`` it or a class below it.

    ``children`` are shown, ``hidden`` is how many classes are below it and not shown.
    """

    iri: str
    own: int
    total: int
    children: tuple[ClassNode, ...] = ()
    hidden: int = 0


def class_tree(
    pairs: Iterable[tuple[str, str]], counts: Mapping[str, int], *, top: str = "", max_nodes: int
) -> list[ClassNode]:
    """Return the classes without a superclass and what is below them, most things first.

    A class with several superclasses is below each of them, and its things count once in each total. Of a cycle, the
    class that sorts first is at its top. The tree is cut below the level at which it would have too many nodes.

    Args:
        pairs: class and direct superclass, "" where it has none.
        counts: how many things each class has.
        top: only this class and what is below it; "" for all.
        max_nodes: nodes that are shown at most; those of the first level are shown in any case.

    >>> (root,) = class_tree([("Animal", ""), ("Cat", "Animal"), ("Lion", "Cat")], {"Lion": 3, "Cat": 2}, max_nodes=2)
    >>> root.total, root.children[0].iri, root.children[0].total, root.children[0].hidden
    (5, 'Cat', 5, 1)
    """
    below: dict[str, list[str]] = {}
    above: dict[str, set[str]] = {}
    for name, parent in pairs:
        above.setdefault(name, set())
        if parent:
            above.setdefault(parent, set())
            above[name].add(parent)
            below.setdefault(parent, []).append(name)
    covers = _Covers(below)
    tops = [top] if top else _tops(above, covers)
    depth = _max_depth(tops, below, max_nodes)

    def node(name: str, level: int, path: frozenset[str]) -> ClassNode:
        inner = covers.of(name)
        total = sum(counts.get(each, 0) for each in inner)
        wanted = [child for child in dict.fromkeys(below.get(name, ())) if child not in path]
        if level >= depth:
            return ClassNode(name, counts.get(name, 0), total, (), len(inner - path) if wanted else 0)
        children = _ordered(node(child, level + 1, path | {child}) for child in wanted)
        return ClassNode(name, counts.get(name, 0), total, tuple(children))

    return _ordered(node(name, 1, frozenset({name})) for name in tops)


def _ordered(nodes: Iterable[ClassNode]) -> list[ClassNode]:
    return sorted(nodes, key=lambda each: (-each.total, each.iri))


class _Covers:
    """What is below each class, the class itself included; computed once each."""

    def __init__(self, below: Mapping[str, Sequence[str]]) -> None:
        self._below = below
        self._known: dict[str, frozenset[str]] = {}

    def of(self, name: str) -> frozenset[str]:
        if name not in self._known:
            found, waiting = {name}, [name]
            while waiting:
                for child in self._below.get(waiting.pop(), ()):
                    if child not in found:
                        found.add(child)
                        waiting.append(child)
            self._known[name] = frozenset(found)
        return self._known[name]


def _tops(above: Mapping[str, set[str]], covers: _Covers) -> list[str]:
    """Return the classes without a superclass, and one of each cycle that nothing else leads to."""
    tops = sorted(name for name, parents in above.items() if not parents)
    reached = set().union(*(covers.of(name) for name in tops)) if tops else set()
    for name in sorted(above):
        if name not in reached:
            tops.append(name)
            reached |= covers.of(name)
    return tops


def _max_depth(tops: Sequence[str], below: Mapping[str, Sequence[str]], max_nodes: int) -> int:
    """Return how many levels have at most so many nodes together; at least 1."""
    depth, shown, level = 1, len(tops), list(tops)
    seen = set(tops)
    while level:
        level = [child for name in level for child in below.get(name, ()) if child not in seen]
        seen.update(level)
        shown += len(level)
        if not level or shown > max_nodes:
            break
        depth += 1
    return depth
