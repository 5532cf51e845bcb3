"""Property paths as trees, and walks along them, forwards and back, by look-ups of single statements.

A walk costs as much as what it meets. It is stopped where that becomes more than a query can name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.shacl.shapes_graph import PropertyPath

__all__ = ["Chain", "Changes", "Choice", "Look", "PathTree", "Repeated", "Step", "TooMany", "Walks", "path_tree"]

Look = Callable[[Term | None, ox.NamedNode, Term | None], Iterable[ox.Triple]]
"""Returns the triples of a graph with a subject (None: any), a property and an object (None: any)."""


class TooMany(Exception):
    """A walk met more nodes than it may."""


@dataclass(frozen=True, slots=True)
class Step:
    """One property, or the inverse of one."""

    name: ox.NamedNode
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class Chain:
    """Paths one after the other; without any, the node itself."""

    parts: tuple[PathTree, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """Paths of which any one is taken."""

    parts: tuple[PathTree, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """A path taken any number of times (``*``), at least once (``+``), or at most once (``?``)."""

    inner: PathTree
    sign: str


PathTree = Step | Chain | Choice | Repeated


def path_tree(path: PropertyPath) -> PathTree:
    """Return a path as a tree, in which only single properties are inverse.

    >>> path_tree((ox.Literal("^"), ox.Literal("("), ox.NamedNode("urn:p"), ox.Literal("*"), ox.Literal(")")))
    Repeated(inner=Step(name=<NamedNode value=urn:p>, inverse=True), sign='*')
    """
    tokens = [token if isinstance(token, ox.NamedNode) else token.value for token in path]
    return _choice(tokens) if tokens else Chain()


def _choice(tokens: list[ox.NamedNode | str]) -> PathTree:
    """Read alternatives from the front of tokens, which are taken away."""
    parts = [_chain(tokens)]
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        parts.append(_chain(tokens))
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def _chain(tokens: list[ox.NamedNode | str]) -> PathTree:
    parts = [_element(tokens)]
    while tokens and tokens[0] == "/":
        tokens.pop(0)
        parts.append(_element(tokens))
    return parts[0] if len(parts) == 1 else Chain(tuple(parts))


def _element(tokens: list[ox.NamedNode | str]) -> PathTree:
    first = tokens.pop(0)
    if first == "^":
        return _inverse(_element(tokens))
    element: PathTree
    if isinstance(first, str):
        element = _choice(tokens)
        tokens.pop(0)  # the closing bracket
    else:
        element = Step(first)
    if tokens and tokens[0] in ("*", "+", "?"):
        return Repeated(element, str(tokens.pop(0)))
    return element


def _inverse(path: PathTree) -> PathTree:
    match path:
        case Step(name, inverse):
            return Step(name, not inverse)
        case Chain(parts):
            return Chain(tuple(_inverse(part) for part in reversed(parts)))
        case Choice(parts):
            return Choice(tuple(_inverse(part) for part in parts))
        case Repeated(inner, sign):
            return Repeated(_inverse(inner), sign)


@dataclass(frozen=True, slots=True)
class Changes:
    """Triples that came to a graph and that went from it; ``by_property`` has the ends of both."""

    added: frozenset[ox.Triple]
    removed: frozenset[ox.Triple]
    by_property: Mapping[ox.NamedNode, Sequence[tuple[Term, Term]]]

    @classmethod
    def of(cls, added: Iterable[ox.Triple], removed: Iterable[ox.Triple]) -> Changes:
        """Return the change; a triple that comes and goes has not changed."""
        come, gone = frozenset(added), frozenset(removed)
        ends: dict[ox.NamedNode, list[tuple[Term, Term]]] = {}
        for triple in come ^ gone:
            ends.setdefault(triple.predicate, []).append((triple.subject, triple.object))
        return cls(come - gone, gone - come, ends)

    def subjects(self, name: ox.NamedNode) -> set[Term]:
        """Return the subjects of the changed triples of a property."""
        return {subject for subject, _ in self.by_property.get(name, ())}

    def objects(self, name: ox.NamedNode) -> set[Term]:
        """Return the objects of the changed triples of a property."""
        return {value for _, value in self.by_property.get(name, ())}

    def __iter__(self) -> Iterator[ox.Triple]:
        """Yield the triples of both kinds."""
        yield from self.added
        yield from self.removed


@dataclass(frozen=True, slots=True)
class Walks:
    """Walks in a graph as it is, together with what went from it: what either state of the graph leads to.

    ``limit`` is how many nodes a walk may meet.
    """

    look: Look
    changes: Changes
    limit: int

    def back(self, path: PathTree, nodes: Collection[Term]) -> set[Term]:
        """Return the nodes from which a path leads to some nodes.

        Raises:
            TooMany: it meets more nodes than the limit.
        """
        return self.on(_inverse(path), nodes)

    def on(self, path: PathTree, nodes: Collection[Term]) -> set[Term]:
        """Return the nodes to which a path leads from some nodes.

        Raises:
            TooMany: it meets more nodes than the limit.
        """
        match path:
            case Step():
                return self._step(path, nodes)
            case Chain(parts):
                reached = set(nodes)
                for part in parts:
                    reached = self.on(part, reached)
                return reached
            case Choice(parts):
                return self._bounded({node for part in parts for node in self.on(part, nodes)})
            case Repeated(inner, sign):
                return self._repeated(inner, sign, nodes)

    def begins(self, path: PathTree) -> set[Term]:
        """Return the nodes whose values along a path may have changed.

        Raises:
            TooMany: it meets more nodes than the limit.
        """
        match path:
            case Step(name, inverse):
                return self._bounded(self.changes.objects(name) if inverse else self.changes.subjects(name))
            case Chain(parts):
                begins: set[Term] = set()
                for part in reversed(parts):
                    begins = self.begins(part) | self.back(part, begins)
                return self._bounded(begins)
            case Choice(parts):
                return self._bounded({node for part in parts for node in self.begins(part)})
            case Repeated(inner, sign):
                changed = self.begins(inner)
                return changed if sign == "?" else self.back(Repeated(inner, "*"), changed)

    def ends(self, path: PathTree) -> set[Term]:
        """Return the nodes to which a path may now lead from others than before.

        Raises:
            TooMany: it meets more nodes than the limit.
        """
        return self.begins(_inverse(path))

    def _step(self, step: Step, nodes: Collection[Term]) -> set[Term]:
        reached: set[Term] = set()
        for subject, value in self.changes.by_property.get(step.name, ()):
            start, end = (value, subject) if step.inverse else (subject, value)
            if start in nodes:
                reached.add(end)
        for node in nodes:
            if step.inverse:
                reached.update(triple.subject for triple in self.look(None, step.name, node))
            elif not isinstance(node, ox.Literal):
                reached.update(triple.object for triple in self.look(node, step.name, None))
            self._bounded(reached)
        return reached

    def _repeated(self, inner: PathTree, sign: str, nodes: Collection[Term]) -> set[Term]:
        if sign == "?":
            return self._bounded(set(nodes) | self.on(inner, nodes))
        reached: set[Term] = set() if sign == "+" else set(nodes)
        new = set(nodes)
        while new:
            new = self.on(inner, new) - reached
            reached |= new
            self._bounded(reached)
        return reached

    def _bounded(self, nodes: set[Term]) -> set[Term]:
        if len(nodes) > self.limit:
            raise TooMany
        return nodes
