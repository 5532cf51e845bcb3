"""Run compiled shapes on the named graphs of a store.

Queries: ``shacl/<component>``, ``shacl/focus``, ``shacl/values``, ``shacl/list_cells``, ``shacl/reifiers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import pyoxigraph as ox

from kgrag.errors import InvalidRDF, InvalidSPARQL
from kgrag.model import Table, Term, Violation, ViolationTerms
from kgrag.ports import TripleStore
from kgrag.shacl.compiled_shapes import LISTS, NESTED, RECURSIVE, Branch, Constraint, Shapes, Target
from kgrag.shacl.constraint_queries import ConstraintQueries, Row, Where, named, rows
from kgrag.shacl.list_constraints import Lists, repeated
from kgrag.shacl.negations import BY_VALUE, negation, unfit_nodes
from kgrag.shacl.recursive_nodes import departing_from_recursive
from kgrag.shacl.refusals import refuse_mismatch, refuse_unknown
from kgrag.shacl.results import violations_of
from kgrag.shacl.shapes_graph import ends, is_step
from kgrag.shacl.sparql_constraints import over_union
from kgrag.shacl.written_literals import Written, unmarked
from kgrag.shacl.written_selects import written_select
from kgrag.shacl.written_statements import WrittenView

__all__ = ["validate", "validation", "violations_of_each"]

_BY_NODE = frozenset({"disjoint", "lessThan", "lessThanOrEquals", "maxCount", "uniqueLang"})
"""Components that read each node with its values alone; a node without values conforms, unless ``wanted`` is 0."""
_NEED_TWO_VALUES = frozenset({"maxCount", "uniqueLang"})
"""Components that only a node with two values can violate."""


def validate(
    store: TripleStore,
    shapes: Shapes,
    *,
    graphs: Sequence[ox.NamedNode] | None = None,
    merged: bool = False,
    written: Written | None = None,
) -> list[Violation]:
    """Return the violations of shapes by the named graphs of a store; [] when they conform.

    Args:
        store: its graphs are validated.
        shapes: compiled shapes, of ``load_shapes``.
        graphs: validate these graphs only; None = all that have focus nodes.
        merged: take the union of ``graphs`` for the data graph, as for an ontology and its imports. A violation then
            has "" as its graph. Otherwise focus node and values are taken from one and the same graph.
        written: the literals that the store changed in this union, as they were written; None = not known: shapes then
            read them as the store keeps them, and an xsd:integer is taken for one of a derived type within whose range
            it is.

    Returns:
        Violations in the order of the shapes' names, then by graph, focus node and value.

    Raises:
        InvalidRDF: a shape cannot be run this way: one for a kind of graph on a union, or one with a SELECT that
            does not select ``?graph`` on single graphs.
        ValueError: ``merged`` without ``graphs``, or ``written`` without ``merged``.
    """
    return validation(store, graphs=graphs, merged=merged, written=written)(shapes)


def validation(
    store: TripleStore,
    *,
    graphs: Sequence[ox.NamedNode] | None = None,
    merged: bool = False,
    written: Written | None = None,
    undecided: dict[str, str] | None = None,
) -> Callable[[Shapes], list[Violation]]:
    """Return a function that validates some named graphs against shapes; its counts are reused for the next shapes.

    Arguments and errors are those of ``violations_of_each``.
    """
    check = violations_of_each(store, graphs=graphs, merged=merged, written=written, undecided=undecided)
    return lambda shapes: list(check(shapes))


def violations_of_each(
    store: TripleStore,
    *,
    graphs: Sequence[ox.NamedNode] | None = None,
    merged: bool = False,
    written: Written | None = None,
    undecided: dict[str, str] | None = None,
) -> Callable[[Shapes], Iterator[Violation]]:
    """Return a function that yields the violations of shapes, constraint after constraint, as each is run.

    Arguments and errors are those of ``validate``. The graphs must not change meanwhile. With ``undecided``, a shape
    that cannot be run is no error: it is written there with the reason.
    """
    if merged and graphs is None:
        raise ValueError("merged=True takes the union of some graphs, and none were given. Pass graphs=[...].")
    if written is not None and not merged:
        raise ValueError("what was written is known of a union of graphs only. Pass merged=True as well.")
    chosen = tuple(graphs or ())
    union, confined = (chosen, ()) if merged else ((), chosen)
    asker = ConstraintQueries(store, confined, union)
    view = None
    if written is not None:
        asker = ConstraintQueries(store, confined, union, stored=dict(written.stored), whole=written.whole)
        view = WrittenView.of(asker, written)

    def check(shapes: Shapes) -> Iterator[Violation]:
        if graphs is not None and not graphs:
            return iter(())
        if undecided is None:
            refuse_mismatch(shapes.each(), merged=merged)
        kinds = asker.kinds() if any(c.target.kinds for c in shapes.constraints) else frozenset()
        constraints = [c for c in shapes.constraints if not c.target.kinds or not kinds.isdisjoint(c.target.kinds)]
        run = _ValidationRun(asker, asker, written)
        on_copy = run if view is None else _ValidationRun(view.asker, asker, written)
        copied = [False] * len(constraints) if view is None else view.take(constraints)
        runs = [on_copy if on_its_copy else run for on_its_copy in copied]
        if undecided is None:
            return (violation for each, its in zip(constraints, runs, strict=True) for violation in its.check(each))
        return _as_far_as_decided(constraints, runs, undecided, merged=merged)

    return check


def _as_far_as_decided(
    constraints: Sequence[Constraint], runs: Sequence[_ValidationRun], undecided: dict[str, str], *, merged: bool
) -> Iterator[Violation]:
    """Yield the violations of those constraints that can be run; write the shapes of the others to ``undecided``."""
    for constraint, run in zip(constraints, runs, strict=True):
        try:
            refuse_mismatch(constraint.each(), merged=merged)
            yield from list(run.check(constraint))
            refuse_unknown(run.asker, constraint, run.rows_by)
        except (InvalidRDF, InvalidSPARQL) as error:
            known = undecided.get(constraint.shape, "")
            if str(error) not in known:
                undecided[constraint.shape] = f"{known} {error}".strip()


@dataclass(frozen=True, slots=True)
class _ValidationRun:
    """One validation; ``departing`` caches which nodes violate which inner shape, or conform to it.

    ``kept`` are the inner shapes of its keys, so that no other one gets the identity of one that is gone. ``recursive``
    has what departs from shapes that lead back to themselves, by their groups and names.

    ``source`` runs the SELECTs of shapes; it is ``asker`` unless that reads a copy. ``written``: what it changed.
    """

    asker: ConstraintQueries
    source: ConstraintQueries
    written: Written | None = None
    departing: dict[object, set[Where]] = field(default_factory=dict)
    kept: list[Branch] = field(default_factory=list)
    recursive: dict[object, Iterable[Where] | InvalidRDF | InvalidSPARQL] = field(default_factory=dict)

    @property
    def merged(self) -> tuple[ox.NamedNode, ...]:
        return self.asker.merged

    def check(self, constraint: Constraint) -> Iterator[Violation]:
        """Yield the violations of one constraint. Raises InvalidRDF: a regular expression of it cannot be read."""
        self.asker.refuse_unreadable(constraint)
        columns = ("graph", "focus", "path", "value", "other")
        ordered = sorted(self._rows(constraint), key=lambda row: [str(row.get(name) or "") for name in columns])
        times = self._times(constraint) if ordered and constraint.steps else {}
        for row, violation in zip(ordered, self._violations(constraint, ordered), strict=True):
            yield from [violation] * times.get((row["graph"], row["focus"]), 1)

    def rows_by(self, asker: ConstraintQueries, constraint: Constraint) -> Iterator[Row]:
        """Return the rows of a constraint's violations as another asker finds them."""
        return _ValidationRun(asker, self.source, self.written)._rows(constraint)

    def _violations(self, constraint: Constraint, violating: Sequence[Row]) -> Iterator[Violation]:
        """Yield one violation per row, with the results of an inner shape for the nodes that depart from it."""
        found = list(violations_of(constraint, violating))
        at_fault = (self._at_fault(constraint, violating) if violating else None) or [[] for _ in found]
        departing = {node for nodes in at_fault for node in nodes}
        results = self._results(constraint.branches[0], departing) if departing and constraint.branches else {}
        for violation, nodes in zip(found, at_fault, strict=True):
            terms = cast("ViolationTerms", violation.terms)
            details = [result for node in nodes for result in results.get(node, ())]
            if constraint.component == "uniqueMembers":
                details = [replace(terms, value=unmarked(member)) for _, member in nodes]
            yield replace(violation, terms=replace(terms, details=tuple(details))) if details else violation

    def _at_fault(self, constraint: Constraint, violating: Sequence[Row]) -> list[list[Where]]:
        """Return per row the nodes to speak of in details; [] for components without any."""
        if constraint.component == "node":
            return [[(row["graph"], row["value"])] for row in violating]
        if constraint.component == "reifierShape":
            reifiers = self._reifiers(constraint)
            return [self._departing_among(constraint, reifiers.get(self._stored(row), ())) for row in violating]
        if constraint.component not in ("memberShape", "uniqueMembers"):
            return []
        lists = Lists.of(rows(self.asker.ask("shacl/list_cells", constraint)))
        found: list[list[Where]] = []
        for row in violating:
            members = lists.members(row["graph"], row["value"]) or ()
            found.append([(row["graph"], member) for member in members])
        if constraint.component == "uniqueMembers":
            return [repeated(nodes) for nodes in found]
        return [self._departing_among(constraint, nodes) for nodes in found]

    def _departing_among(self, constraint: Constraint, nodes: Iterable[Where]) -> list[Where]:
        """Return those of some nodes that depart from the inner shape of a constraint, each once."""
        departing = self._departing(constraint.branches[0])
        return [node for node in dict.fromkeys(nodes) if node in departing]

    def _results(self, branch: Branch, nodes: set[Where]) -> dict[Where, list[ViolationTerms]]:
        """Return (graph, node) -> the results of an inner shape for some nodes."""
        results: dict[Where, list[ViolationTerms]] = {}
        for part in branch:
            if part.component == RECURSIVE:  # its results may lead to each other
                continue
            narrowed = self._narrowed(part, nodes)
            inner = [row for row in self._rows(narrowed, inner=True) if (row["graph"], row["focus"]) in nodes]
            if part.component == "property":  # which reports nothing itself, but what its values depart from
                below = self._results(part.branches[0], {(row["graph"], row["value"]) for row in inner})
                for row in inner:
                    own = below.get((row["graph"], row["value"]), ())
                    results.setdefault((row["graph"], row["focus"]), []).extend(own)
                continue
            for row, violation in zip(inner, self._violations(part, inner), strict=True):
                results.setdefault((row["graph"], row["focus"]), []).append(cast("ViolationTerms", violation.terms))
        return results

    def _times(self, constraint: Constraint) -> dict[Where, int]:
        """Return (graph, node) -> in how many ways outer shapes lead to it: SHACL reports a violation once for each."""
        times: dict[Where, int] = {}
        for number, path in enumerate(constraint.steps):
            counts: dict[Where, int] = {}
            for graph, focus, value in self.asker.ask(
                "shacl/values", replace(constraint, steps=constraint.steps[:number], path=path)
            ):
                counts[graph, value] = counts.get((graph, value), 0) + times.get((graph, focus), 1)
            times = counts
        return times

    def _rows(self, constraint: Constraint, *, inner: bool = False) -> Iterator[Row]:
        """Yield ?graph, ?focus and what else is known of each violation.

        Of a shape within a shape (``inner``), nodes that are no focus nodes may come too: the caller ignores them.
        """
        if constraint.component == "sparql":
            return self._select_rows(constraint)
        if constraint.component == "someValue" or constraint.component.startswith("qualified"):
            return self._miscounted(constraint)
        if constraint.component in LISTS or constraint.component == "memberShape":
            return self._list_rows(constraint)
        if constraint.component == "reifierShape":
            return self._reifier_rows(constraint)
        if constraint.component in NESTED:
            return self._nested_rows(constraint, inner=inner)
        shortcut = self._by_all_values(constraint, inner=inner) if self.merged and constraint.target else None
        return rows(self.asker.ask(constraint.query, constraint)) if shortcut is None else iter(shortcut)

    def _by_all_values(self, constraint: Constraint, *, inner: bool) -> list[Row] | None:
        """Return the violations, by way of all nodes that have values; None where that would take longer."""
        if (constraint.steps and not inner) or "conforming" in constraint.values:
            return None
        free = replace(constraint, target=Target(), steps=()) if inner else constraint
        if constraint.component in BY_VALUE and (violations := self._by_value(constraint, free)) is not None:
            return violations
        by_node = constraint.component in _BY_NODE and constraint.values.get("wanted") != 0
        if by_node and self.asker.all_at_once(constraint.path, constraint.target):
            if constraint.component in _NEED_TWO_VALUES and self.asker.single_valued(constraint.path):
                return []
            return list(rows(self.asker.ask(free.query, free, first=True)))
        if inner and constraint.steps and self.asker.all_at_once(constraint.via, constraint.target):
            return list(rows(self.asker.ask(free.query, replace(free, steps=constraint.steps))))
        return None

    def _by_value(self, constraint: Constraint, free: Constraint) -> list[Row] | None:
        """Return the violations of a component that reads each value alone; ``free`` has the target nodes, if any.

        Where a path has several steps, the values of the last are read, and then which nodes have them.
        """
        objects_of = constraint.target.objects_of[:1]
        only_objects = objects_of if constraint.target == Target(objects_of=objects_of) else ()
        path = constraint.path or constraint.via or only_objects
        if not path or not (steps := ends(path)):
            return None
        if not all(self.asker.all_at_once(step, constraint.target) for step in steps if step):
            return None
        if is_step(constraint.path):
            return list(rows(self.asker.ask(free.query, free, first=True)))
        values: dict[Term | None, None] = {}
        for step in steps:  # without a step, the values are the focus nodes themselves
            alone = replace(constraint, target=Target(), steps=(), path=step) if step else replace(constraint, path=())
            values.update((row["value"], None) for row in rows(self.asker.ask(alone.query, alone)))
        if not constraint.path:
            return [{"graph": None, "focus": value, "value": value} for value in sorted(values, key=str)]
        few = named(values)
        if values and not few:
            return None
        return list(rows(self.asker.ask("shacl/values", free, only=few, first=True))) if few else []

    def _select_rows(self, constraint: Constraint) -> Iterator[Row]:
        """Run a SPARQL constraint once and keep the rows whose ``$this`` is a focus node there."""
        merged = self.source.merged
        selected = self._selected(constraint)
        if not selected:
            return
        focus: dict[Where, list[Term | None]] = {}
        for graph, node in self.asker.ask("shacl/focus", constraint):
            focus.setdefault((graph, self.asker.stored.get(node, node)), []).append(node)
        for row in selected:
            graph = None if merged else row.get("graph")
            for node in focus.get((graph, row.get("this")), ()):
                value = {} if constraint.path or row.get("value") else {"value": node}
                yield row | value | {"graph": graph, "focus": node}

    def _selected(self, constraint: Constraint) -> list[Row]:
        """Return the rows of a SPARQL constraint, for whatever node."""
        source, text = self.source, constraint.select
        if not self.written:
            return list(rows(source.store.select(over_union(text, source.merged) if source.merged else text)))
        how = written_select(text, self.written, constraint.shape)
        if how.exact:
            return how.rows(text, source.store, source.merged, self.written, constraint.shape)
        selected = rows(source.store.select(over_union(text, source.merged)))
        return [how.restored(row, self.written) for row in selected]

    def _list_rows(self, constraint: Constraint) -> Iterator[Row]:
        """Yield the values that are no lists, or not as a constraint wants them."""
        lists = Lists.of(rows(self.asker.ask("shacl/list_cells", constraint)))
        departing = self._departing(constraint.branches[0]) if constraint.branches else ()
        for row in rows(self._values(constraint, None)):
            if lists.violates(constraint, row["graph"], row["value"], departing):
                yield row

    def _reifier_rows(self, constraint: Constraint) -> Iterator[Row]:
        """Yield the values by a triple with a reifier that departs from the inner shape, or without a required one."""
        reifiers = self._reifiers(constraint)
        for row in rows(self._values(constraint, None)):
            own = reifiers.get(self._stored(row), ())
            if (constraint.values["required"] and not own) or self._departing_among(constraint, own):
                yield row

    def _reifiers(self, constraint: Constraint) -> dict[tuple[Term | None, ...], list[Where]]:
        """Return (graph, focus, value) -> the reifiers of that triple; triple terms have literals as the store does."""
        reifiers: dict[tuple[Term | None, ...], list[Where]] = {}
        for graph, focus, value, reifier in self.source.ask("shacl/reifiers", constraint):
            reifiers.setdefault((graph, focus, value), []).append((graph, reifier))
        return reifiers

    def _stored(self, row: Row) -> tuple[Term | None, ...]:
        """Return where a value is, with literals as the store has them."""
        stored = self.asker.stored
        return row["graph"], stored.get(row["focus"], row["focus"]), stored.get(row["value"], row["value"])

    def _nested_rows(self, constraint: Constraint, *, inner: bool) -> Iterator[Row]:
        """Yield the values that conform to too few or too many of the inner shapes."""
        if constraint.component == RECURSIVE:
            departing = self._departing_recursive(constraint)
            return ({"graph": graph, "focus": node, "value": node} for graph, node in departing)
        if constraint.component == "or":
            return self._among(constraint, self._conforming_to_none(constraint), inner=inner)
        if constraint.component == "not" and self.merged:
            conforming = self._conforming(constraint.branches[0])
            if conforming is not None:
                return self._among(constraint, conforming, inner=inner)
        return self._by_conformance_count(constraint)

    def _by_conformance_count(self, constraint: Constraint) -> Iterator[Row]:
        """Yield the values for which the number of inner shapes that they conform to is wrong."""
        departing = [self._departing(branch) for branch in constraint.branches]
        number = len(departing)
        wanted = {"not": {0}, "xone": {1}}.get(constraint.component, {number})
        only: set[Term | None] | None = None
        if number in wanted and not (only := unfit_nodes(departing, wanted)):
            return
        for row in rows(self._values(constraint, only)):
            where = (row["graph"], row["value"])
            if number - sum(where in nodes for nodes in departing) not in wanted:
                yield row

    def _conforming_to_none(self, constraint: Constraint) -> set[Where] | None:
        """Return the nodes that depart from every inner shape; each is run on what departed from all before it."""
        left: set[Where] | None = None
        for branch in constraint.branches:
            if left is None:
                left = self._departing(branch)
            elif left:
                narrowed = tuple(self._narrowed(part, left) for part in branch)
                left = left & (self._departing(branch) if narrowed == branch else self._departing_from(narrowed))
        return left

    def _among(self, constraint: Constraint, nodes: set[Where] | None, *, inner: bool) -> Iterator[Row]:
        """Yield the values of a constraint that are among some nodes; None = all values."""
        if nodes and inner and not constraint.path:
            yield from ({"graph": graph, "focus": node, "value": node} for graph, node in nodes)
        elif nodes:
            with_value = rows(self._values(constraint, {node for _, node in nodes}))
            yield from (row for row in with_value if (row["graph"], row["value"]) in nodes)
        elif nodes is None:
            yield from rows(self._values(constraint, None))

    def _values(self, constraint: Constraint, only: set[Term | None] | None) -> Table:
        """Return the values of a constraint's focus nodes; ``only`` some values, if they are few enough to be named."""
        few = named(only or ())
        # who has them is asked first, and then which of these are focus nodes
        first = bool(few and self.merged and constraint.path and not constraint.steps and not constraint.target.nodes)
        return self.asker.ask("shacl/values", constraint, only=few, first=first)

    def _miscounted(self, constraint: Constraint) -> Iterator[Row]:
        """Yield the focus nodes with too few or too many values that conform to a shape and to none of its siblings."""
        if constraint.component == "qualifiedMaxCount":
            limited = replace(constraint, component="maxCount", branches=())
            over = {(row["graph"], row["focus"]) for row in self._rows(limited)}
            if not over:
                return
            constraint = self._narrowed(constraint, over)
        wanted, *siblings = (self._departing(branch) for branch in constraint.branches)
        if not siblings and (not wanted or named({node for _, node in wanted})):
            yield from self._miscounted_but_for(constraint, wanted)
            return
        counts: dict[Where, int] = {}
        for graph, focus, value in self.asker.ask("shacl/values", constraint):
            where = (graph, value)
            conforms = where not in wanted and all(where in nodes for nodes in siblings)
            counts[graph, focus] = counts.get((graph, focus), 0) + conforms
        limit = constraint.values["wanted"]
        for graph, focus in self.asker.ask("shacl/focus", constraint):
            count = counts.get((graph, focus), 0)
            if count > limit if constraint.component == "qualifiedMaxCount" else count < limit:
                yield {"graph": graph, "focus": focus}

    def _miscounted_but_for(self, constraint: Constraint, departing: set[Where]) -> Iterator[Row]:
        """Yield what ``_miscounted`` does, when few nodes depart from the shape, and there are no siblings.

        The store counts all values; a focus node with *n* values that depart is compared with a limit that is *n*
        higher.
        """
        departing_count: dict[Where, int] = {}
        only = {node for _, node in departing}
        for graph, focus, value in self._values(constraint, only) if only else ():
            departing_count[graph, focus] = departing_count.get((graph, focus), 0) + ((graph, value) in departing)
        miscounted: dict[Where, None] = {}
        for more in sorted({0, *departing_count.values()}):
            limit = {"wanted": constraint.values["wanted"] + more}
            component = "maxCount" if constraint.component == "qualifiedMaxCount" else "minCount"
            counted = replace(constraint, component=component, values=limit)
            with_so_many = {where for where, number in departing_count.items() if number == more}
            for row in self._rows(self._narrowed(counted, with_so_many) if more else counted):
                if departing_count.get((row["graph"], row["focus"]), 0) == more:
                    miscounted[row["graph"], row["focus"]] = None
        yield from ({"graph": graph, "focus": focus} for graph, focus in sorted(miscounted, key=str))

    def _departing(self, branch: Branch) -> set[Where]:
        """Return (graph, node) of the nodes that depart from an inner shape, whatever its severity; run once."""
        if id(branch) not in self.departing:
            self.kept.append(branch)
            self.departing[id(branch)] = self._departing_from(branch)
        return self.departing[id(branch)]

    def _departing_from(self, branch: Branch) -> set[Where]:
        return {(row["graph"], row["focus"]) for part in branch for row in self._rows(part, inner=True)}

    def _departing_recursive(self, constraint: Constraint) -> Iterable[Where]:
        """Return what departs from a recursive shape. Raises InvalidRDF: that rests on a cycle of the data."""
        key = (constraint.values["group"], constraint.values["shape"])
        if key not in self.recursive:
            try:
                self.recursive[key] = departing_from_recursive(constraint, self.asker, self._departing_from)
            except (InvalidRDF, InvalidSPARQL) as error:
                self.recursive[key] = error
        known = self.recursive[key]
        if isinstance(known, Exception):
            raise known
        return known

    def _conforming(self, branch: Branch) -> set[Where] | None:
        """Return (graph, node) of the nodes that conform to an inner shape; None where no query asks for them."""
        key = (id(branch), "conforming")
        if key not in self.departing:
            opposite = negation(branch)
            if opposite is None:
                return None
            if "conforming" in opposite.values and not self.asker.all_at_once(opposite.path, opposite.target):
                return None
            self.kept.append(branch)
            self.departing[key] = self._departing_from((opposite,))
        return self.departing[key]

    def _narrowed(self, constraint: Constraint, nodes: set[Where]) -> Constraint:
        """Return a constraint for some of its focus nodes only, if a query can name them; else as it was.

        What departs from a recursive shape is found out once, for all focus nodes.
        """
        if constraint.component == RECURSIVE:
            return constraint
        few = named({node for _, node in nodes}) if self.merged else []
        return replace(constraint, target=Target(nodes=tuple(few)), steps=()) if few else constraint
