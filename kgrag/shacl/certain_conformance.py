"""Constraints that a few graphs keep for certain, by a look at their triples: of these the store need not be asked.

A graph that is about to be published has some ten triples, and a stored query takes longer to be read than to be
answered from them: for one more document, 140 queries took 50 ms, and a look takes 2. What it says is one-sided. A
constraint that it leaves out is kept, by the definition of its component in SHACL; of all others, those too that it
does not know, nothing is said.

Query read: ``shacl/subclasses``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.model import Term
from kgrag.ports import TripleStore
from kgrag.shacl.compiled_shapes import Constraint, Target
from kgrag.shacl.regular_expressions import python_search
from kgrag.vocab import RDF, XSD

__all__ = ["uncertain"]

Values = Collection[Term]

_INTEGER = late_re(r"-?[0-9]{1,18}")
_DECIMAL = late_re(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")
_DATE_TIME = late_re(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{3,6})?Z?")


def uncertain(constraints: Sequence[Constraint], store: TripleStore) -> list[Constraint]:
    """Return those constraints that the graphs of a store may not keep, in their order.

    Args:
        constraints: for kinds of graphs.
        store: all of its graphs of these kinds are read.
    """
    look = _Look(store)
    return [constraint for constraint in constraints if not look.keeps(constraint)]


_Stated = Mapping[ox.NamedNode, list[Term]]


class _Graph:
    """The triples of a graph: subject -> property -> objects, and class -> instances."""

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        nodes: defaultdict[Term, defaultdict[ox.NamedNode, list[Term]]] = defaultdict(lambda: defaultdict(list))
        self.instances: defaultdict[Term, set[Term]] = defaultdict(set)
        for triple in triples:
            nodes[triple.subject][triple.predicate].append(triple.object)
            if triple.predicate == RDF.type:
                self.instances[triple.object].add(triple.subject)
        self._nodes: Mapping[Term, _Stated] = nodes
        self._focus: dict[int, dict[Term, _Stated]] = {}

    def focus(self, target: Target) -> Mapping[Term, _Stated]:
        """Return what is stated of each focus node; a target has many constraints, and is looked for once."""
        if not (target.classes or target.subjects_of):
            return self._nodes
        if id(target) not in self._focus:
            found = {node for name in target.classes for node in self.instances.get(name, ())}
            found.update(node for name in target.subjects_of for node, stated in self._nodes.items() if name in stated)
            self._focus[id(target)] = {node: self._nodes[node] for node in found}
        return self._focus[id(target)]


class _Look:
    """The graphs of a store by their kind.

    What is remembered of a target is under its ``id``: its hash is that of every IRI in it, and it outlives the look.
    """

    def __init__(self, store: TripleStore) -> None:
        self._store = store
        self._graphs: dict[Term, _Graph] = {}
        self._of_kind = self._graph(store.names.catalogue).instances
        self._of_target: dict[int, set[Term]] = {}
        self._read: dict[int, list[_Graph]] = {}
        self._below: defaultdict[Any, list[Any]] = defaultdict(list)
        for sub, wanted in store.select(queries.bind("shacl/subclasses", merged=())):
            self._below[wanted].append(sub)

    def _graph(self, name: Term) -> _Graph:
        if name not in self._graphs:
            assert isinstance(name, ox.NamedNode)
            self._graphs[name] = _Graph(self._store.triples(name))
        return self._graphs[name]

    def keeps(self, constraint: Constraint) -> bool:
        """Return whether a constraint is kept for certain."""
        target = constraint.target
        graphs = self._of_target.get(id(target))
        if graphs is None:
            graphs = {graph for kind in target.kinds for graph in self._of_kind.get(kind, ())}
            self._of_target[id(target)] = graphs
        if target.kinds and not graphs:
            return True
        test = _test(constraint)
        if test is None or not target.kinds or target.objects_of or target.nodes or constraint.steps:
            return False
        if any(name in self._below for name in target.classes):
            return False
        if id(target) not in self._read:
            self._read[id(target)] = [self._graph(graph) for graph in graphs if isinstance(graph, ox.NamedNode)]
        return all(_in_graph(graph, constraint, test) for graph in self._read[id(target)])


def _in_graph(graph: _Graph, constraint: Constraint, test: Callable[[Values], bool]) -> bool:
    focus = graph.focus(constraint.target)
    if constraint.component == "closed":
        return all(test(stated.keys()) for stated in focus.values())
    if not constraint.path:
        return all(test((node,)) for node in focus)
    (path,) = constraint.path
    assert isinstance(path, ox.NamedNode)
    if constraint.component == "class":
        typed = graph.instances.get(constraint.values["wanted"], ())
        return all(value in typed for stated in focus.values() for value in stated.get(path, ()))
    return all(test(stated.get(path, ())) for stated in focus.values())


def _test(constraint: Constraint) -> Callable[[Values], bool] | None:
    """Return what is true of the values of a focus node only if they keep a constraint; None where nothing is known."""
    component, wanted = constraint.component, constraint.values.get("wanted")
    if component not in _TESTS or len(constraint.path) > 1:
        return None
    if component in ("minCount", "maxCount", "class") and not constraint.path:
        return None
    if component == "closed" and constraint.path:
        return None
    if component == "pattern" and constraint.values["flags"].value:
        return None
    return _TESTS[component](wanted)


def _each(test: Callable[[Term], bool]) -> Callable[[Values], bool]:
    return lambda values: all(map(test, values))


def _datatype(wanted: ox.NamedNode) -> Callable[[Values], bool] | None:
    well_formed = _WELL_FORMED.get(wanted)
    if well_formed is None:
        return None
    return _each(
        lambda value: isinstance(value, ox.Literal) and value.datatype == wanted and bool(well_formed(value.value))
    )


def _is_date_time(text: str) -> bool:
    with suppress(ValueError):
        return bool(_DATE_TIME.fullmatch(text) and datetime.fromisoformat(text) and text[:4] != "0000")
    return False


_WELL_FORMED: dict[ox.NamedNode, Callable[[str], object]] = {
    XSD.string: lambda _: True,
    XSD.integer: _INTEGER.fullmatch,
    XSD.decimal: _DECIMAL.fullmatch,
    XSD.boolean: ("true", "false").__contains__,
    XSD.dateTime: _is_date_time,
}


def _node_kind(wanted: ox.NamedNode) -> Callable[[Values], bool]:
    name = wanted.value.rpartition("#")[2]
    kinds = {"IRI": ox.NamedNode, "BlankNode": ox.BlankNode, "Literal": ox.Literal}
    allowed = tuple(kind for part, kind in kinds.items() if part in name)
    return _each(lambda value: isinstance(value, allowed))


def _bound(holds: Callable[[int, int], bool]) -> Callable[[ox.Literal], Callable[[Values], bool] | None]:
    def test(wanted: ox.Literal) -> Callable[[Values], bool] | None:
        bound = _integer(wanted)
        if bound is None:
            return None
        return _each(lambda value: (number := _integer(value)) is not None and holds(number, bound))

    return test


def _integer(term: Term) -> int | None:
    is_one = isinstance(term, ox.Literal) and term.datatype == XSD.integer and _INTEGER.fullmatch(term.value)
    return int(term.value) if is_one and isinstance(term, ox.Literal) else None


def _pattern(wanted: ox.Literal) -> Callable[[Values], bool] | None:
    matches = python_search(wanted.value)
    if matches is None:
        return None
    return _each(
        lambda value: (
            isinstance(value, ox.Literal | ox.NamedNode)
            and "\n" not in value.value
            and matches(value.value) is not None
        )
    )


_TESTS: dict[str, Callable[[Any], Callable[[Values], bool] | None]] = {
    "class": lambda _: lambda _: True,
    "closed": lambda wanted: set(wanted).issuperset,
    "datatype": _datatype,
    "in": lambda wanted: set(wanted).issuperset,
    "maxCount": lambda wanted: lambda values: len(values) <= wanted,
    "maxInclusive": _bound(lambda number, bound: number <= bound),
    "minCount": lambda wanted: lambda values: len(values) >= wanted,
    "minInclusive": _bound(lambda number, bound: number >= bound),
    "minLength": lambda wanted: _each(
        lambda value: isinstance(value, ox.Literal | ox.NamedNode) and len(value.value) >= wanted
    ),
    "nodeKind": _node_kind,
    "pattern": _pattern,
}
