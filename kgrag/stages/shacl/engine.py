"""Runs compiled shapes on the named graphs of a store.

Queries: ``shacl/<component>``, ``shacl/focus``, ``shacl/subclasses``, ``catalogue/kinds``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import GraphDraft, Table, Term, Violation, plain
from kgrag.ports import TripleStore, Validator
from kgrag.resources import folder
from kgrag.stages.shacl.shapes import Constraint, Shapes, load_shapes
from kgrag.vocab import local_name

__all__ = ["graph_shapes", "graph_validator", "validate"]


@cache
def graph_shapes() -> Shapes:
    """Give the shapes of kgrag's own graphs, ``shapes/graphs/*.ttl``."""
    return load_shapes(sorted((folder("shapes") / "graphs").glob("*.ttl")))


def validate(store: TripleStore, shapes: Shapes, *, graphs: Sequence[ox.NamedNode] | None = None) -> list[Violation]:
    """Give every way in which the named graphs of a store depart from shapes; [] when they conform.

    Args:
        store: what is checked.
        shapes: what it is checked against.
        graphs: check these graphs only; None = all that have focus nodes.

    Returns:
        Violations in the order of the shapes' names, then by graph, focus node and value.
    """
    if graphs is not None and not graphs:
        return []
    run = _Run(store, tuple(graphs or ()), _subclasses(store, shapes))
    kinds = {kind for kind, _ in store.select(queries.bind("catalogue/kinds", catalogue=store.names.catalogue))}
    asked = (c for c in shapes.constraints if not c.target.kinds or not kinds.isdisjoint(c.target.kinds))
    return [violation for constraint in asked for violation in run.check(constraint)]


def graph_validator() -> Validator:
    """Give the validator that ``publish`` asks: a scratch store must conform to the shapes of kgrag's own graphs.

    A fault in the catalogue's entry of a draft has the catalogue as graph and the draft as focus node.
    """

    def check(scratch: TripleStore, drafts: Sequence[GraphDraft]) -> list[Violation]:  # noqa: ARG001
        return validate(scratch, graph_shapes())

    return check


@dataclass(frozen=True, slots=True)
class _Run:
    """One validation: the store, the graphs that it is confined to (() = all), and class -> itself and subclasses."""

    store: TripleStore
    graphs: tuple[ox.NamedNode, ...]
    subclasses: Mapping[ox.NamedNode, Sequence[ox.NamedNode]]

    def check(self, constraint: Constraint) -> Iterator[Violation]:
        """Yield the violations of one constraint."""
        if constraint.component == "sparql":
            yield from self._check_select(constraint)
            return
        message = constraint.message or _default_message(constraint)
        for row in _rows(self.store.select(self._bound(constraint))):
            yield _violation(constraint, row, message)

    def _bound(self, constraint: Constraint) -> str:
        values = self._focus(constraint) | dict(constraint.values)
        values |= {"path": constraint.path, "inverse": constraint.inverse}
        if constraint.component == "class":
            values["wanted"] = self.subclasses[values["wanted"]]
        takes = queries.describe(constraint.query).parameters
        return queries.bind(constraint.query, **{name: value for name, value in values.items() if name in takes})

    def _focus(self, constraint: Constraint) -> dict[str, Any]:
        target = constraint.target
        return {
            "classes": [sub for wanted in target.classes for sub in self.subclasses[wanted]],
            "subjects_of": target.subjects_of,
            "objects_of": target.objects_of,
            "nodes": target.nodes,
            "kinds": target.kinds,
            "graphs": self.graphs,
            "catalogue": self.store.names.catalogue,
        }

    def _check_select(self, constraint: Constraint) -> Iterator[Violation]:
        """Run a SPARQL constraint on all graphs at once and keep the rows whose ``$this`` is a focus node there."""
        rows = list(_rows(self.store.select(constraint.select)))
        if not rows:
            return
        focus = set(self.store.select(queries.bind("shacl/focus", **self._focus(constraint))))
        for row in rows:
            if (row.get("graph"), row.get("this")) in focus:
                yield _violation(constraint, row | {"focus": row["this"]}, constraint.message)


def _rows(table: Table) -> Iterator[dict[str, Term | None]]:
    return (dict(zip(table.variables, row, strict=True)) for row in table)


def _violation(constraint: Constraint, row: Mapping[str, Term | None], message: str) -> Violation:
    path = "".join([*(p.value for p in constraint.path), *("^" + p.value for p in constraint.inverse)])
    found = {name: plain(term) for name, term in row.items()}
    named = found | {"path": local_name(found.get("path") or path) or "the node", "this": found["focus"]}
    return Violation(
        graph=found["graph"],
        focus=found["focus"],
        message=re.sub(r"\{[?$]?(\w+)\}", lambda m: named.get(m[1], m[0]), message)[:500],
        shape=constraint.shape,
        path=found.get("path") or path,
        value=found.get("value", ""),
        severity=constraint.severity,
        component=constraint.component,
    )


def _default_message(constraint: Constraint) -> str:
    """Take the ``message`` line of the component's query and fill in what is wanted."""
    header = queries.describe(constraint.query).header
    found = re.search(r"^message\s+(.*)$", header, flags=re.MULTILINE)
    wanted = constraint.values.get("wanted", "")
    words = ", ".join(_word(item) for item in (wanted if isinstance(wanted, list) else [wanted]))
    return (found[1] if found else constraint.component).replace("{wanted}", words)


def _word(wanted: Term | int | str) -> str:
    if isinstance(wanted, int | str):
        return str(wanted)
    return local_name(wanted.value) if isinstance(wanted, ox.NamedNode) else plain(wanted)


def _subclasses(store: TripleStore, shapes: Shapes) -> dict[ox.NamedNode, list[ox.NamedNode]]:
    """Give each class that shapes name with itself and all its subclasses, stated in whatever graph."""
    named = {wanted for constraint in shapes.constraints for wanted in constraint.target.classes}
    named |= {constraint.values["wanted"] for constraint in shapes.constraints if constraint.component == "class"}
    if not named:
        return {}
    below: dict[Term | None, list[Any]] = {}
    for sub, wanted in store.select(queries.bind("shacl/subclasses")):
        below.setdefault(wanted, []).append(sub)
    return {wanted: _closure(wanted, below) for wanted in named}


def _closure(top: ox.NamedNode, below: Mapping[Term | None, Sequence[Any]]) -> list[ox.NamedNode]:
    found = {top}
    waiting = [top]
    while waiting:
        new = set(below.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return sorted(found, key=str)
