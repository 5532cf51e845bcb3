"""Steps over hierarchies: cycles, statements that follow from others, and disjoint classes above one thing.

SPARQL's paths would walk from every term to every term above it, which is quadratic in a deep hierarchy; these steps
walk each statement a few times. Asserted statements between named terms only.

Queries: ``audit/hie_edges``, ``audit/log_memberships``, ``audit/log_disjoint``, ``audit/log_06``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from kgrag import queries
from kgrag.reasoning.reachability import components
from kgrag.vocab import AUDIT, OWL, RDF, RDFS, local_name

if TYPE_CHECKING:
    from kgrag.audit.steps import StepInput

__all__ = [
    "cycles",
    "disjoint_superclasses",
    "disjoint_types",
    "heights",
    "redundant",
    "shortcuts",
]

_Edges = Mapping[str, Sequence[str]]
_Row = dict[str, str]

_TOPS = frozenset({OWL.Thing.value, RDFS.Resource.value})
_SHOWN = 6
_CONVENTION = 3


def cycles(given: StepInput) -> Iterator[_Row]:
    """Yield each cycle of superclasses or superproperties: a set of terms that all stand above one another.

    HIE-01. One row a cycle: ``focus`` is the member whose IRI sorts first, ``value`` one that stands directly above it.
    """
    for path, edges in _hierarchies(given).items():
        for members in components(edges):
            if len(members) > 1:
                first = min(members)
                above = min(each for each in edges[first] if each in members)
                yield {"focus": first, "path": path, "value": above, "message": _cycle_message(path, sorted(members))}


def redundant(given: StepInput) -> Iterator[_Row]:
    """Yield each superclass or superproperty that is stated although it follows from another one.

    HIE-03. ``value`` is what stands above ``focus`` needlessly. Terms within a cycle, and superclasses that hold
    everything, are left out.
    """
    for path, stated in _hierarchies(given).items():
        edges = {below: [each for each in above if each not in _TOPS] for below, above in stated.items()}
        for below, above, between in shortcuts(edges):
            yield _redundant_row(below, path, above, between)


def shortcuts(edges: _Edges) -> Iterator[tuple[str, str, str]]:
    """Yield (node, target, between) for each edge to a target that another edge of the node leads up to as well.

    Nodes within a cycle are left out. No walk goes above the highest target.

    >>> list(shortcuts({"a": ["b", "c"], "b": ["c"]}))
    [('a', 'c', 'b')]
    """
    order = components(edges)
    looped = {each for members in order if len(members) > 1 for each in members}
    known = heights(edges, order)
    for below in sorted(edges.keys() - looped):
        for above, between in _reached_again(edges[below], edges, known):
            if above not in looped:
                yield below, above, between


def disjoint_superclasses(given: StepInput) -> Iterator[_Row]:
    """Yield each class that stands below two disjoint classes, or below one that it is disjoint with.

    LOG-04. Of classes below one another, the topmost only.
    """
    found = _Memberships.of(given)
    torn = found.torn(found.below)
    for name in sorted(torn):
        one, other = torn[name]
        if not any(each in torn for each in found.strictly_above(name)):
            yield _disjoint_row(name, RDFS.subClassOf.value, one, other)


def disjoint_types(given: StepInput) -> Iterator[_Row]:
    """Yield each individual that is an instance of two disjoint classes (LOG-05).

    Instances of one class that is itself below two disjoint classes are not listed: LOG-04 names that class.
    """
    found = _Memberships.of(given)
    empty = found.torn(found.below)
    torn = found.torn(found.instances_below)
    for name in sorted(torn):
        one, other = torn[name]
        if not any(each in empty for each in found.types.get(name, ())):
            yield _disjoint_row(name, RDF.type.value, one, other)


def only_without_some(given: StepInput) -> Iterator[_Row]:
    """Yield classes that say "only" and, with those above them, never "some" of a property; and those of "some not".

    LOG-06. Where at least ``_CONVENTION`` classes say "only" of a property and none says "some", these are local
    ranges, and no slips.
    """
    said: dict[str, dict[str, set[str]]] = {"only": {}, "some": {}, "not": {}}
    asked = queries.bind("audit/log_06", target=AUDIT.target, context=AUDIT.context)
    for focus, name, says in given.scope.bench.select(asked).values():
        said[says].setdefault(name, set()).add(focus)
    above = _Memberships.of(given).above
    for name, classes in sorted(said["only"].items()):
        some = said["some"].get(name, set())
        if some or len(classes) < _CONVENTION:
            bare = (each for each in sorted(classes) if some.isdisjoint(_reached(each, above)))
            yield from (_only_row(each, name, "says what it has only, and not that it has any") for each in bare)
    for name, classes in sorted(said["not"].items()):
        message = "says that it has something that is not, and not that it has none"
        yield from (_only_row(each, name, message) for each in sorted(classes))


def _only_row(focus: str, name: str, said: str) -> _Row:
    return {"focus": focus, "path": name, "message": f"{focus} {said} ({name})."}


def _reached(node: str, edges: _Edges) -> set[str]:
    """Give a node and all that edges lead to from it."""
    found = {node}
    waiting = [node]
    while waiting:
        new = set(edges.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


def heights(edges: _Edges, order: Iterable[Sequence[str]]) -> dict[str, int]:
    """Give term -> the length of the longest way up from it; the terms of a cycle have one height."""
    found: dict[str, int] = {}
    for members in order:
        above = [found[each] for node in members for each in edges.get(node, ()) if each in found]
        found.update(dict.fromkeys(members, 1 + max(above, default=-1)))
    return found


def _hierarchies(given: StepInput) -> dict[str, dict[str, list[str]]]:
    """Give property -> term -> what stands directly above it."""
    memory = given.scope.memory
    if "hierarchies" not in memory:
        memory["hierarchies"] = _read_hierarchies(given)
    return cast("dict[str, dict[str, list[str]]]", memory["hierarchies"])


def _read_hierarchies(given: StepInput) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    rows = given.scope.bench.select(queries.bind("audit/hie_edges", target=AUDIT.target)).values()
    for below, path, above in rows:
        found.setdefault(path, {}).setdefault(below, []).append(above)
    return found


def _reached_again(near: Sequence[str], edges: _Edges, known: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield those of ``near`` that another one of them leads up to, with that one; no walk goes above the highest."""
    if len(near) < 2:
        return
    lowest = min(known[each] for each in near)
    origin: dict[str, str] = {}
    waiting = [(above, each) for each in near for above in edges.get(each, ())]
    while waiting:
        node, begin = waiting.pop()
        if node not in origin and known[node] >= lowest:
            origin[node] = begin
            waiting += [(above, begin) for above in edges.get(node, ())]
    yield from ((each, origin[each]) for each in sorted(near) if each in origin)


def _cycle_message(path: str, members: Sequence[str]) -> str:
    names = ", ".join(members[:_SHOWN])
    more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    meant = "owl:equivalentClass" if path == RDFS.subClassOf.value else "owl:equivalentProperty"
    hint = f" If they are meant to be the same, say {meant}." if len(members) == 2 else ""
    return f"{names}{more} stand above one another by rdfs:{local_name(path)}, and so are all the same.{hint}"


def _redundant_row(below: str, path: str, above: str, between: str) -> _Row:
    message = f"That {below} is below {above} follows from {between}, which is stated as well."
    return {"focus": below, "path": path, "value": above, "message": message}


def _disjoint_row(name: str, path: str, one: str, other: str) -> _Row:
    above = other if one == name else one
    kind = "is an instance of" if path == RDF.type.value else "stands below"
    said = f"{kind} {one} and {other}, which are disjoint"
    if name in (one, other):
        said = f"stands below {above}, and is disjoint with it"
    return {"focus": name, "path": path, "value": above, "message": f"{name} {said}."}


@dataclass(frozen=True, slots=True)
class _Memberships:
    """Classes with what stands below them, individuals with their types, and groups of disjoint classes."""

    above: _Edges
    children: _Edges
    types: _Edges
    instances: _Edges
    groups: Sequence[Sequence[str]]

    @classmethod
    def of(cls, given: StepInput) -> _Memberships:
        """Read them from the target, once an audit."""
        known = given.scope.memory.get("memberships")
        if not isinstance(known, cls):
            known = given.scope.memory["memberships"] = cls._read(given)
        return known

    @classmethod
    def _read(cls, given: StepInput) -> _Memberships:
        bench = given.scope.bench
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
        """Give a class and all classes below it."""
        return _reached(name, self.children) - {OWL.Nothing.value}

    def instances_below(self, name: str) -> set[str]:
        """Give the instances of a class and of those below it."""
        return {each for below in self.below(name) for each in self.instances.get(below, ())}

    def torn(self, extent: Callable[[str], set[str]]) -> dict[str, tuple[str, str]]:
        """Give what is in the extents of two disjoint classes, with these; the first two of each group."""
        known = {name: extent(name) for name in sorted({name for group in self.groups for name in group})}
        found: dict[str, tuple[str, str]] = {}
        for group in self.groups:
            for name, pair in _shared(group, known):
                found.setdefault(name, pair)
        return found

    def strictly_above(self, name: str) -> set[str]:
        """Give the classes directly above a class, without those that stand below it as well."""
        return {each for each in self.above.get(name, ()) if name not in self.above.get(each, ())}


def _shared(group: Sequence[str], known: Mapping[str, set[str]]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what two classes of a group share, with the two."""
    if len(group) == 2:
        one, other = group
        yield from ((name, (one, other)) for name in known[one] & known[other])
        return
    holder: dict[str, str] = {}
    for name in group:
        for each in known[name]:
            first = holder.setdefault(each, name)
            if first != name:
                yield each, (first, name)
