"""Steps over hierarchies: cycles, statements that follow from others, and disjoint classes above one term.

SPARQL's paths would walk from every term to every term above it, which is quadratic in a deep hierarchy; these steps
walk each statement a few times. Asserted statements between named terms only.

Queries: ``audit/hie_edges``, ``audit/log_memberships``, ``audit/log_disjoint``, ``audit/log_06``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from kgrag import queries
from kgrag.audit.step_input import Row, StepInput
from kgrag.reasoning.reachability import components
from kgrag.vocab import AUDIT, OWL, RDF, RDFS, local_name

__all__ = [
    "cycles",
    "disjoint_superclasses",
    "disjoint_types",
    "heights",
    "only_without_some",
    "redundant",
    "shortcuts",
]

MAX_MEMBERS_NAMED = 6
"""How many terms of a cycle a message names."""
MIN_CLASSES_FOR_CONVENTION = 3
"""From how many classes on "only" without any "some" counts as a way of writing local ranges, and not as a slip."""

_Edges = Mapping[str, Sequence[str]]
# every class is below these, so that stating it again says nothing about the hierarchy
_TOP_CLASSES = frozenset({OWL.Thing.value, RDFS.Resource.value})


def cycles(given: StepInput) -> Iterator[Row]:
    """Yield each cycle of superclasses or superproperties: a set of terms that are all above one another.

    HIE-01. One row per cycle: ``focus`` is the member whose IRI sorts first, ``value`` one that is directly above it.
    """
    for path, edges in _hierarchies(given).items():
        for members in components(edges):
            if len(members) > 1:
                first = min(members)
                above = min(term for term in edges[first] if term in members)
                yield {"focus": first, "path": path, "value": above, "message": _cycle_message(path, sorted(members))}


def _cycle_message(path: str, members: Sequence[str]) -> str:
    names = ", ".join(members[:MAX_MEMBERS_NAMED])
    unnamed = len(members) - MAX_MEMBERS_NAMED
    more = f" and {unnamed} more" if unnamed > 0 else ""
    equivalence = "owl:equivalentClass" if path == RDFS.subClassOf.value else "owl:equivalentProperty"
    hint = f" If they are meant to be the same, say {equivalence}." if len(members) == 2 else ""
    return f"{names}{more} are above one another by rdfs:{local_name(path)}, and so are all the same.{hint}"


def redundant(given: StepInput) -> Iterator[Row]:
    """Yield each superclass or superproperty that is stated although it follows from another one.

    HIE-03. ``value`` is what is stated above ``focus`` needlessly. Terms within a cycle, and superclasses that contain
    everything, are left out.
    """
    for path, stated in _hierarchies(given).items():
        edges = {below: [above for above in uppers if above not in _TOP_CLASSES] for below, uppers in stated.items()}
        for below, above, between in shortcuts(edges):
            message = f"That {below} is below {above} follows from {between}, which is stated as well."
            yield {"focus": below, "path": path, "value": above, "message": message}


def _hierarchies(given: StepInput) -> dict[str, dict[str, list[str]]]:
    """Return property -> term -> what is directly above it; read once per audit."""
    memory = given.target.memory
    if "hierarchies" not in memory:
        read: dict[str, dict[str, list[str]]] = {}
        rows = given.target.bench.select(queries.bind("audit/hie_edges", target=AUDIT.target)).values()
        for below, path, above in rows:
            read.setdefault(path, {}).setdefault(below, []).append(above)
        memory["hierarchies"] = read
    return cast("dict[str, dict[str, list[str]]]", memory["hierarchies"])


def shortcuts(edges: _Edges) -> Iterator[tuple[str, str, str]]:
    """Yield (node, target, between) for each edge to a target that another edge of the node leads up to as well.

    Nodes within a cycle are left out. No walk goes above the highest target.

    >>> list(shortcuts({"a": ["b", "c"], "b": ["c"]}))
    [('a', 'c', 'b')]
    """
    order = components(edges)
    in_cycles = {node for members in order if len(members) > 1 for node in members}
    height = heights(edges, order)
    for below in sorted(edges.keys() - in_cycles):
        for above, between in _reached_again(edges[below], edges, height):
            if above not in in_cycles:
                yield below, above, between


def heights(edges: _Edges, order: Iterable[Sequence[str]]) -> dict[str, int]:
    """Return term -> the length of the longest way up from it; the terms of a cycle have one height."""
    height: dict[str, int] = {}
    for members in order:
        above = [height[upper] for node in members for upper in edges.get(node, ()) if upper in height]
        height.update(dict.fromkeys(members, 1 + max(above, default=-1)))
    return height


def _reached_again(uppers: Sequence[str], edges: _Edges, height: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield those of ``uppers`` that another one of them leads up to, with that one."""
    if len(uppers) < 2:
        return
    # nothing above the highest of them can lead to one of them
    smallest = min(height[upper] for upper in uppers)
    origin: dict[str, str] = {}
    waiting = [(above, upper) for upper in uppers for above in edges.get(upper, ())]
    while waiting:
        node, begin = waiting.pop()
        if node not in origin and height[node] >= smallest:
            origin[node] = begin
            waiting += [(above, begin) for above in edges.get(node, ())]
    yield from ((upper, origin[upper]) for upper in sorted(uppers) if upper in origin)


def disjoint_superclasses(given: StepInput) -> Iterator[Row]:
    """Yield each class that is below two disjoint classes, or below one that it is disjoint with.

    LOG-04. Of classes below one another, the topmost only.
    """
    hierarchy = _ClassHierarchy.of(given)
    in_two = hierarchy.in_disjoint_classes(hierarchy.below)
    for name in sorted(in_two):
        if not any(above in in_two for above in hierarchy.strictly_above(name)):
            yield _disjoint_row(name, RDFS.subClassOf.value, *in_two[name])


def disjoint_types(given: StepInput) -> Iterator[Row]:
    """Yield each individual that is an instance of two disjoint classes (LOG-05).

    Instances of one class that is itself below two disjoint classes are not listed: LOG-04 names that class.
    """
    hierarchy = _ClassHierarchy.of(given)
    empty_classes = hierarchy.in_disjoint_classes(hierarchy.below)
    in_two = hierarchy.in_disjoint_classes(hierarchy.instances_below)
    for name in sorted(in_two):
        if not any(kind in empty_classes for kind in hierarchy.types.get(name, ())):
            yield _disjoint_row(name, RDF.type.value, *in_two[name])


def _disjoint_row(name: str, path: str, first: str, second: str) -> Row:
    above = second if first == name else first
    if name in (first, second):
        message = f"{name} is below {above}, and is disjoint with it."
    else:
        kind = "is an instance of" if path == RDF.type.value else "is below"
        message = f"{name} {kind} {first} and {second}, which are disjoint."
    return {"focus": name, "path": path, "value": above, "message": message}


def only_without_some(given: StepInput) -> Iterator[Row]:
    """Yield classes that say "only" and, with those above them, never "some" of a property; and those of "some not".

    LOG-06. Where at least ``MIN_CLASSES_FOR_CONVENTION`` classes say "only" of a property and none says "some", these
    are local ranges, and no slips.
    """
    classes: dict[str, dict[str, set[str]]] = {"only": {}, "some": {}, "not": {}}
    rows = given.target.bench.select(queries.bind("audit/log_06", target=AUDIT.target, context=AUDIT.context)).values()
    for focus, name, quantifier in rows:
        classes[quantifier].setdefault(name, set()).add(focus)
    superclasses = _ClassHierarchy.of(given).above
    for name, with_only in sorted(classes["only"].items()):
        with_some = classes["some"].get(name, set())
        if with_some or len(with_only) < MIN_CLASSES_FOR_CONVENTION:
            for focus in sorted(with_only):
                if with_some.isdisjoint(_reachable(focus, superclasses)):
                    kind = "all values are of some kind, and not that there is one: 'only' without 'some'"
                    yield {"focus": focus, "path": name, "message": f"{focus} says of {name} that {kind}."}
    for name, with_not in sorted(classes["not"].items()):
        for focus in sorted(with_not):
            kind = "a value is not of some kind, and not that no value is: 'some not' for 'not some'"
            yield {"focus": focus, "path": name, "message": f"{focus} says of {name} that {kind}."}


def _reachable(node: str, edges: _Edges) -> set[str]:
    """Return a node and all that edges lead to from it."""
    reached = {node}
    waiting = [node]
    while waiting:
        new = set(edges.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return reached


@dataclass(frozen=True, slots=True)
class _ClassHierarchy:
    """Classes with their superclasses and subclasses, individuals with their types, and groups of disjoint classes."""

    above: _Edges
    children: _Edges
    types: _Edges
    instances: _Edges
    disjoint_groups: Sequence[Sequence[str]]

    @classmethod
    def of(cls, given: StepInput) -> _ClassHierarchy:
        """Return that of the target, read once per audit."""
        known = given.target.memory.get("class hierarchy")
        if not isinstance(known, cls):
            known = given.target.memory["class hierarchy"] = cls._read(given)
        return known

    @classmethod
    def _read(cls, given: StepInput) -> _ClassHierarchy:
        bench = given.target.bench
        up: dict[str, dict[str, list[str]]] = {"true": {}, "false": {}}
        down: dict[str, dict[str, list[str]]] = {"true": {}, "false": {}}
        for below, above, member in bench.select(queries.bind("audit/log_memberships", target=AUDIT.target)).values():
            up[member].setdefault(below, []).append(above)
            down[member].setdefault(above, []).append(below)
        groups: dict[str, list[str]] = {}
        for group, name in bench.select(queries.bind("audit/log_disjoint", target=AUDIT.target)).values():
            groups.setdefault(group, []).append(name)
        return cls(up["false"], down["false"], up["true"], down["true"], list(groups.values()))

    def below(self, name: str) -> set[str]:
        """Return a class and all classes below it."""
        # owl:Nothing is below every two disjoint classes, as it has to be
        return _reachable(name, self.children) - {OWL.Nothing.value}

    def instances_below(self, name: str) -> set[str]:
        """Return the instances of a class and of those below it."""
        return {instance for below in self.below(name) for instance in self.instances.get(below, ())}

    def in_disjoint_classes(self, extent: Callable[[str], set[str]]) -> dict[str, tuple[str, str]]:
        """Return member -> two disjoint classes whose extents share it; the first two of each group."""
        extents = {name: extent(name) for name in sorted({name for group in self.disjoint_groups for name in group})}
        classes_of: dict[str, tuple[str, str]] = {}
        for group in self.disjoint_groups:
            for member, pair in _shared_members(group, extents):
                classes_of.setdefault(member, pair)
        return classes_of

    def strictly_above(self, name: str) -> set[str]:
        """Return the classes directly above a class, without those that are below it as well."""
        return {above for above in self.above.get(name, ()) if name not in self.above.get(above, ())}


def _shared_members(group: Sequence[str], extents: Mapping[str, set[str]]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what the extents of two classes of a group share, with the two classes."""
    # a pair, by far the most frequent group, is one intersection of sets instead of a walk over all members
    if len(group) == 2:
        left, right = group
        yield from ((member, (left, right)) for member in extents[left] & extents[right])
        return
    first_class: dict[str, str] = {}
    for name in group:
        for member in extents[name]:
            first = first_class.setdefault(member, name)
            if first != name:
                yield member, (first, name)
