"""Shapes, compiled: a flat list of constraints, each one shape, path and component."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import pyoxigraph as ox

from kgrag.model import Term, plain
from kgrag.shacl.shapes_graph import SH, PropertyPath, joined
from kgrag.vocab import RDF, RDFS

__all__ = [
    "LISTS",
    "NESTED",
    "RECURSIVE",
    "REIFIES",
    "TO_MEMBERS",
    "Branch",
    "Constraint",
    "Shapes",
    "Source",
    "Target",
]

NESTED = frozenset(
    {
        *("and", "memberShape", "node", "not", "or", "property", "qualifiedMaxCount", "qualifiedMinCount"),
        *("recursive", "reifierShape", "someValue", "xone"),
    }
)
"""Components whose values are shapes; ``property`` only in a shape within a shape: elsewhere it reports itself."""
LISTS = frozenset({"maxListLength", "minListLength", "uniqueMembers"})
"""Components of SHACL 1.2 whose values are RDF lists; they are decided by ``list_constraints``."""
RECURSIVE = "recursive"
"""No component of SHACL, but a shape that leads back to itself, in a shape that refers to it.

Its ``values`` are ``shape``, and ``group``, which names the shapes that lead back to each other. ``branches`` are those
of these ``members``; () within them, where the group is known.
"""
TO_MEMBERS = (ox.NamedNode(RDF.prefix + "rest"), ox.Literal("*"), ox.Literal("/"), ox.NamedNode(RDF.prefix + "first"))
"""The path from a list to its members."""
REIFIES = ox.NamedNode(RDF.prefix + "reifies")
_COMPARING = frozenset({"disjoint", "equals", "lessThan", "lessThanOrEquals"})
"""Components that name another property."""


@dataclass(frozen=True, slots=True)
class Target:
    """The focus nodes of a shape; the parameters of ``queries/shacl/target.part``."""

    classes: tuple[ox.NamedNode, ...] = ()
    subjects_of: tuple[ox.NamedNode, ...] = ()
    objects_of: tuple[ox.NamedNode, ...] = ()
    nodes: tuple[ox.NamedNode | ox.Literal, ...] = ()
    kinds: tuple[ox.NamedNode, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is a target of any kind."""
        return any((self.classes, self.subjects_of, self.objects_of, self.nodes, self.kinds))


@dataclass(frozen=True, slots=True)
class Source:
    """What a report says of a constraint: the terms of the shapes graph that it was read from.

    ``described`` are the triples of ``shape`` and ``path`` where these are blank nodes; ``constraint`` is the node of a
    SPARQL constraint.
    """

    shape: Term
    severity: ox.NamedNode
    messages: tuple[ox.Literal, ...] = ()
    path: Term | None = None
    described: tuple[ox.Triple, ...] = ()
    constraint: Term | None = None


Branch = tuple["Constraint", ...]
"""A shape within a shape: its constraints, whose focus nodes are the values of the outer constraint."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """One component of one shape on one path.

    ``component`` is the local name in SHACL's vocabulary; its stored query is ``query``, bound with ``values``. Focus
    nodes are what the paths ``steps`` of outer shapes lead to from target nodes; values, what ``path`` leads to from
    there. For ``sparql`` there is no stored query: ``select`` is the text from the shapes file. A component of
    ``NESTED`` has ``branches``: the inner shapes, and for qualified values the wanted shape and then its siblings.
    """

    shape: str
    component: str
    target: Target
    steps: tuple[PropertyPath, ...] = ()
    path: PropertyPath = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    severity: str = "Violation"
    message: str = ""
    select: str = ""
    branches: tuple[Branch, ...] = ()
    source: Source | None = field(default=None, repr=False, compare=False)

    @property
    def query(self) -> str:
        """Name of the stored query of the component."""
        return "shacl/" + re.sub(r"(?=[A-Z])", "_", self.component).lower()

    @property
    def via(self) -> PropertyPath:
        """The path from target nodes to focus nodes."""
        return reduce(joined, self.steps, ())

    @property
    def properties(self) -> set[ox.NamedNode]:
        """The properties that it reads, but for those of inner shapes; of ``closed``, those that lead to values."""
        target = self.target
        names = {term for term in (*self.via, *self.path) if isinstance(term, ox.NamedNode)}
        names.update(target.subjects_of, target.objects_of)
        if self.component in _COMPARING:
            names.add(self.values["wanted"])
        if self.component in LISTS or self.component == "memberShape":
            names |= {ox.NamedNode(RDF.prefix + "first"), ox.NamedNode(RDF.prefix + "rest")}
        if target.classes or self.component == "class":
            names |= {RDF.type, RDFS.subClassOf}
        return names

    def aimed_at(self, target: Target) -> Constraint:
        """Return the constraint with another target, in the shapes within it as well, but for those of reifiers."""
        branches = self.branches
        if self.component != "reifierShape":
            branches = tuple(tuple(inner.aimed_at(target) for inner in branch) for branch in branches)
        return replace(self, target=target, branches=branches)

    def each(self) -> Iterator[Constraint]:
        """Yield the constraint, and every one of the shapes within it."""
        yield self
        for branch in self.branches:
            for inner in branch:
                yield from inner.each()


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes, compiled.

    ``elsewhere`` names the shapes that the engine does not cover (shape -> reason), and ``rest`` is the graph of shapes
    in which only these have targets, by the triples ``targets``. ``undecided`` names the shapes of which something
    could not be read (shape -> reasons); what else they ask for is among the constraints. All of them are empty unless
    ``load_shapes`` was asked to accept such shapes. ``prefixes`` are those that the files of ``rest`` declare.
    """

    constraints: tuple[Constraint, ...]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    rest: tuple[ox.Triple, ...] = ()
    targets: frozenset[ox.Triple] = frozenset()
    undecided: Mapping[str, str] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of constraints."""
        return len(self.constraints)

    def rest_of(self, name: str) -> Iterator[ox.Triple]:
        """Yield ``rest`` without the targets of all shapes but the one of this name."""
        return (triple for triple in self.rest if triple not in self.targets or plain(triple.subject) == name)

    def aimed_at(self, shape: str, nodes: Sequence[ox.NamedNode]) -> Shapes:
        """Return the shapes with some nodes for the focus nodes of one of them, which is the only one compiled."""
        target = Target(nodes=tuple(nodes))
        aims = [ox.Triple(ox.NamedNode(shape), ox.NamedNode(SH + "targetNode"), node) for node in nodes]
        untargeted = [triple for triple in self.rest if triple not in self.targets]
        return replace(
            self,
            constraints=tuple(constraint.aimed_at(target) for constraint in self.constraints),
            rest=(*untargeted, *aims) if self.elsewhere else (),
            targets=frozenset(aims),
        )

    def each(self) -> list[Constraint]:
        """Return every constraint, those of inner shapes as well."""
        return [inner for constraint in self.constraints for inner in constraint.each()]
