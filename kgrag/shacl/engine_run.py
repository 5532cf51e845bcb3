"""Runs compiled shapes on the named graphs of a store.

Queries: ``shacl/<component>``, ``shacl/focus``, ``shacl/values``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidRDF, KgragError
from kgrag.model import GraphDraft, Table, Term, Violation, plain
from kgrag.ports import TripleStore, Validator
from kgrag.resources import find
from kgrag.shacl.compiled_shapes import NESTED, Branch, Constraint, Shapes, Target
from kgrag.shacl.constraint_queries import Asker, Row, Where, named, rows
from kgrag.shacl.shapes_graph import PropertyPath, ends, is_step, path_text
from kgrag.shacl.shapes_reader import load_shapes
from kgrag.shacl.sparql_constraints import asks_in_graphs, over_union
from kgrag.shacl.written_literals import Written
from kgrag.shacl.written_statements import WrittenView
from kgrag.store import graph_kinds
from kgrag.vocab import local_name

__all__ = ["graph_shapes", "graph_validator", "validate", "validation"]

_LOG = logging.getLogger(__name__)
_BY_VALUE = frozenset(
    {
        *("class", "datatype", "in", "languageIn", "maxExclusive", "maxInclusive", "maxLength"),
        *("minExclusive", "minInclusive", "minLength", "nodeKind", "pattern"),
    }
)
"""Components that look at each value alone."""
_BY_NODE = frozenset({"disjoint", "lessThan", "lessThanOrEquals", "maxCount", "uniqueLang"})
"""Components that look at each node with values alone; a node without values conforms, unless ``wanted`` is 0."""
_OF_SEVERAL = frozenset({"maxCount", "uniqueLang"})
"""Components from which only a node that has two values can depart."""
_NESTED_MESSAGES = {
    "and": "{path} has {value}, which departs from one of the shapes that it must conform to",
    "node": "{path} has {value}, which departs from the shape wanted",
    "not": "{path} has {value}, which conforms to a shape that it must not conform to",
    "or": "{path} has {value}, which conforms to none of the shapes wanted",
    "qualifiedMaxCount": "has more than {wanted} of {path} that conform to the shape wanted",
    "qualifiedMinCount": "has fewer than {wanted} of {path} that conform to the shape wanted",
    "sparql": "departs from a SPARQL constraint",
    "xone": "{path} has {value}, which does not conform to exactly one of the shapes wanted",
}


@cache
def graph_shapes() -> Shapes:
    """Return the shapes of named graphs: those of each declared kind of graph, and what the catalogue may list.

    Shapes of a plug-in that do not parse are logged and left out; its graphs then only have to be in the catalogue.
    """
    declared = graph_kinds.kinds().values()
    listed = graph_kinds.catalogue_shapes(declared)
    names = sorted({kind.shape for kind in declared if kind.shape})
    own = [find("shapes", f"graphs/{name}", (".ttl",)) for name in names if ":" not in name]
    return load_shapes([*own, *filter(None, map(_of_plugin, (name for name in names if ":" in name)))], also=listed)


def _of_plugin(name: str) -> Path | None:
    prefix, _, local = name.partition(":")
    try:
        path = find("shapes", f"{prefix}:graphs/{local}", (".ttl",))
        load_shapes([path])
    except KgragError as error:
        _LOG.warning("The shapes %s of a plug-in are left out: %s", name, error)
        return None
    return path


def validate(
    store: TripleStore,
    shapes: Shapes,
    *,
    graphs: Sequence[ox.NamedNode] | None = None,
    merged: bool = False,
    written: Written | None = None,
) -> list[Violation]:
    """Give every way in which the named graphs of a store depart from shapes; [] when they conform.

    Args:
        store: what is checked.
        shapes: what it is checked against.
        graphs: check these graphs only; None = all that have focus nodes.
        merged: take the union of ``graphs`` for the data graph, as for an ontology and its imports. A violation then
            has "" as its graph. Otherwise focus node and values are taken from one and the same graph.
        written: the literals that the store changed in this union, as they were written; None = not known: shapes then
            see them as the store keeps them, and an xsd:integer is taken for one of a derived type within whose range
            it is.

    Returns:
        Violations in the order of the shapes' names, then by graph, focus node and value.

    Raises:
        InvalidRDF: a shape cannot be run this way: one for a kind of graph on a union, or one with a SELECT that gives
            no ``?graph`` on single graphs.
        ValueError: ``merged`` without ``graphs``, or ``written`` without ``merged``.
    """
    return validation(store, graphs=graphs, merged=merged, written=written)(shapes)


def validation(
    store: TripleStore,
    *,
    graphs: Sequence[ox.NamedNode] | None = None,
    merged: bool = False,
    written: Written | None = None,
) -> Callable[[Shapes], list[Violation]]:
    """Give what validates some named graphs against shapes, and remembers for the next shapes what it has counted.

    Arguments and errors are those of ``validate``. The graphs must not change meanwhile.
    """
    if merged and graphs is None:
        raise ValueError("merged=True takes the union of some graphs, and none were given. Pass graphs=[...].")
    if written is not None and not merged:
        raise ValueError("what was written is known of a union of graphs only. Pass merged=True as well.")
    given = tuple(graphs or ())
    union, confined = (given, ()) if merged else ((), given)
    asker = Asker(store, confined, union)
    view = None
    if written is not None:
        asker = Asker(store, confined, union, stored=dict(written.stored), whole=written.whole)
        view = WrittenView.of(asker, written)

    def check(shapes: Shapes) -> list[Violation]:
        if graphs is not None and not graphs:
            return []
        _refuse_mismatch(shapes, merged=merged)
        kinds = asker.kinds() if any(c.target.kinds for c in shapes.constraints) else frozenset()
        asked = [c for c in shapes.constraints if not c.target.kinds or not kinds.isdisjoint(c.target.kinds)]
        run = _Run(asker, asker)
        if view is None:
            return [violation for constraint in asked for violation in run.check(constraint)]
        on_copy = _Run(view.asker, asker)
        chosen = [on_copy if copied else run for copied in view.take(asked)]
        return [found for each, constraint in zip(chosen, asked, strict=True) for found in each.check(constraint)]

    return check


def graph_validator() -> Validator:
    """Give the validator that ``publish`` asks: a scratch store must conform to the shapes of kgrag's own graphs.

    A fault in the catalogue's entry of a draft has the catalogue as graph and the draft as focus node.
    """

    def check(scratch: TripleStore, drafts: Sequence[GraphDraft]) -> list[Violation]:  # noqa: ARG001
        return validate(scratch, graph_shapes())

    return check


def _refuse_mismatch(shapes: Shapes, *, merged: bool) -> None:
    for constraint in shapes.each():
        if merged and constraint.target.kinds:
            raise InvalidRDF(
                f"shape {constraint.shape}: kg:targetGraphKind confines it to graphs of a kind, and a union of graphs "
                "is of none. Validate graph by graph (merged=False)."
            )
        if not merged and constraint.select and not asks_in_graphs(constraint.select):
            raise InvalidRDF(
                f"shape {constraint.shape}: sh:select gives no ?graph, which tells where a row is from. Select it "
                "(GRAPH ?graph { ... }), or validate a union of graphs (merged=True)."
            )


@dataclass(frozen=True, slots=True)
class _Run:
    """One validation; ``departing`` is what is known of inner shapes so far.

    ``source`` asks the SELECTs of shapes, which read literals by their value; it is ``asker``, unless that asks a copy.
    """

    asker: Asker
    source: Asker
    departing: dict[int, set[Where]] = field(default_factory=dict)

    @property
    def merged(self) -> tuple[ox.NamedNode, ...]:
        return self.asker.merged

    def check(self, constraint: Constraint) -> Iterator[Violation]:
        """Yield the violations of one constraint."""
        message = constraint.message or _default_message(constraint)
        found = sorted(self._rows(constraint), key=_place)
        times = self._times(constraint) if found and constraint.steps else {}
        for row in found:
            violation = _violation(constraint, row, message)
            yield from [violation] * times.get((row["graph"], row["focus"]), 1)

    def _times(self, constraint: Constraint) -> dict[Where, int]:
        """Give (graph, node) -> in how many ways outer shapes lead to it: SHACL reports a violation once for each."""
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

        Of a shape within a shape (``inner``), nodes that are no focus nodes may be told too: nobody asks about them.
        """
        if constraint.component == "sparql":
            return self._selected(constraint)
        if constraint.component.startswith("qualified"):
            return self._miscounted(constraint)
        if constraint.component in NESTED:
            return self._unfit(constraint)
        return self._plain(constraint, inner=inner)

    def _plain(self, constraint: Constraint, *, inner: bool) -> Iterator[Row]:
        found = self._shorter(constraint, inner=inner) if self.merged and constraint.target else None
        return rows(self.asker.ask(constraint.query, constraint)) if found is None else iter(found)

    def _shorter(self, constraint: Constraint, *, inner: bool) -> list[Row] | None:
        """Give what departs, found among all nodes that have values; None where that is no shorter way."""
        if constraint.steps and not inner:
            return None
        free = replace(constraint, target=Target(), steps=()) if inner else constraint
        if constraint.component in _BY_VALUE and (found := self._by_value(constraint, free)) is not None:
            return found
        by_node = constraint.component in _BY_NODE and constraint.values.get("wanted") != 0
        if by_node and self.asker.all_at_once(constraint.path, constraint.target):
            if constraint.component in _OF_SEVERAL and self.asker.single_valued(constraint.path):
                return []
            return list(rows(self.asker.ask(free.query, free, first=True)))
        if inner and constraint.steps and self.asker.all_at_once(constraint.via, constraint.target):
            return list(rows(self.asker.ask(free.query, replace(free, steps=constraint.steps))))
        return None

    def _by_value(self, constraint: Constraint, free: Constraint) -> list[Row] | None:
        """Give what departs by a component that looks at each value alone; ``free`` says of which target nodes, if any.

        Where a path has several steps, the values of the last are looked at, and then who has them.
        """
        path = constraint.path or constraint.via or _only_objects_of(constraint.target)
        if not path or not (steps := ends(path)):
            return None
        if not all(self.asker.all_at_once(step, constraint.target) for step in steps if step):
            return None
        if is_step(constraint.path):
            return list(rows(self.asker.ask(free.query, free, first=True)))
        values = {value: None for step in steps for value in self._departing_values(constraint, step)}
        if not constraint.path:
            return [{"graph": None, "focus": value, "value": value} for value in sorted(values, key=str)]
        few = named(values)
        if values and not few:
            return None
        return list(rows(self.asker.ask("shacl/values", free, only=few, first=True))) if few else []

    def _departing_values(self, constraint: Constraint, step: PropertyPath) -> list[Term | None]:
        """Give the values of a step, of whatever node, that depart; without a step, the focus nodes that do."""
        alone = replace(constraint, target=Target(), steps=(), path=step) if step else replace(constraint, path=())
        return [row["value"] for row in rows(self.asker.ask(alone.query, alone))]

    def _selected(self, constraint: Constraint) -> Iterator[Row]:
        """Run a SPARQL constraint once and keep the rows whose ``$this`` is a focus node there."""
        merged = self.source.merged
        select = over_union(constraint.select, merged) if merged else constraint.select
        found = list(rows(self.source.store.select(select)))
        if not found:
            return
        focus: dict[Where, list[Term | None]] = {}
        for graph, node in self.asker.ask("shacl/focus", constraint):
            focus.setdefault((graph, self.asker.stored.get(node, node)), []).append(node)
        for row in found:
            graph = None if merged else row.get("graph")
            for node in focus.get((graph, row.get("this")), ()):
                value = {} if constraint.path or row.get("value") else {"value": node}
                yield row | value | {"graph": graph, "focus": node}

    def _unfit(self, constraint: Constraint) -> Iterator[Row]:
        """Yield the values that conform to too few or too many of the inner shapes."""
        if constraint.component == "or":
            return self._fitting_none(constraint)
        if constraint.component == "not" and self.merged and (other := _complement(constraint.branches[0])):
            return self._having(constraint, {(row["graph"], row["focus"]) for row in self._rows(other, inner=True)})
        return self._unfitting(constraint)

    def _unfitting(self, constraint: Constraint) -> Iterator[Row]:
        departing = [self._departing(branch) for branch in constraint.branches]
        number = len(departing)
        wanted = {"not": {0}, "xone": {1}}.get(constraint.component, {number})
        only: set[Term | None] | None = None
        if number in wanted and not (only := _unfit_nodes(departing, wanted)):
            return
        for row in rows(self._values(constraint, only)):
            where = (row["graph"], row["value"])
            if number - sum(where in nodes for nodes in departing) not in wanted:
                yield row

    def _fitting_none(self, constraint: Constraint) -> Iterator[Row]:
        """Yield the values that depart from every inner shape; each is asked about what departed so far."""
        left: set[Where] | None = None
        for branch in constraint.branches:
            if left is None:
                left = self._departing(branch)
            elif left:
                left = left & self._departing_among(branch, left)
        return self._having(constraint, left)

    def _having(self, constraint: Constraint, nodes: set[Where] | None) -> Iterator[Row]:
        """Yield the values of a constraint that are among some nodes; None = all values."""
        if nodes:
            found = rows(self._values(constraint, {node for _, node in nodes}))
            yield from (row for row in found if (row["graph"], row["value"]) in nodes)
        elif nodes is None:
            yield from rows(self._values(constraint, None))

    def _values(self, constraint: Constraint, only: set[Term | None] | None) -> Table:
        """Ask for the values of a constraint's focus nodes: of few nodes, if it can be said which."""
        return self.asker.ask("shacl/values", constraint, only=named(only or ()))

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
            fits = where not in wanted and all(where in nodes for nodes in siblings)
            counts[graph, focus] = counts.get((graph, focus), 0) + fits
        limit = constraint.values["wanted"]
        for graph, focus in self.asker.ask("shacl/focus", constraint):
            found = counts.get((graph, focus), 0)
            if found > limit if constraint.component == "qualifiedMaxCount" else found < limit:
                yield {"graph": graph, "focus": focus}

    def _miscounted_but_for(self, constraint: Constraint, departing: set[Where]) -> Iterator[Row]:
        """Yield what ``_miscounted`` does, when few nodes depart from the shape wanted, and there are no siblings.

        The store counts all values; a focus node with *n* values that depart is compared with a limit that is *n*
        higher.
        """
        spared: dict[Where, int] = {}
        only = {node for _, node in departing}
        for graph, focus, value in self.asker.ask("shacl/values", constraint, only=only) if only else ():
            spared[graph, focus] = spared.get((graph, focus), 0) + ((graph, value) in departing)
        found: dict[Where, None] = {}
        for more in sorted({0, *spared.values()}):
            limit = {"wanted": constraint.values["wanted"] + more}
            component = "minCount" if constraint.component == "qualifiedMinCount" else "maxCount"
            counted = replace(constraint, component=component, values=limit)
            held = {where for where, number in spared.items() if number == more}
            for row in self._rows(self._narrowed(counted, held) if more else counted):
                if spared.get((row["graph"], row["focus"]), 0) == more:
                    found[row["graph"], row["focus"]] = None
        yield from ({"graph": graph, "focus": focus} for graph, focus in sorted(found, key=str))

    def _departing(self, branch: Branch) -> set[Where]:
        """Give (graph, node) of the nodes that depart from an inner shape; whatever the severity."""
        if id(branch) not in self.departing:
            self.departing[id(branch)] = self._departing_from(branch)
        return self.departing[id(branch)]

    def _departing_among(self, branch: Branch, nodes: set[Where]) -> set[Where]:
        """Give what ``_departing`` does; of some focus nodes only, if a query can name them."""
        narrowed = tuple(self._narrowed(constraint, nodes) for constraint in branch)
        return self._departing(branch) if narrowed == branch else self._departing_from(narrowed)

    def _departing_from(self, branch: Branch) -> set[Where]:
        return {(row["graph"], row["focus"]) for each in branch for row in self._rows(each, inner=True)}

    def _narrowed(self, constraint: Constraint, nodes: set[Where]) -> Constraint:
        """Give a constraint for some of its focus nodes only, if a query can name them; else as it was."""
        few = named({node for _, node in nodes}) if self.merged else []
        return replace(constraint, target=Target(nodes=tuple(few)), steps=()) if few else constraint


def _only_objects_of(target: Target) -> PropertyPath:
    """Give the one property whose objects are a target; () for another target."""
    return target.objects_of if target == Target(objects_of=target.objects_of[:1]) else ()


def _complement(branch: Branch) -> Constraint | None:
    """Give the constraint from which departs what conforms to a shape, if that is a count, or one look at a node."""
    if len(branch) != 1:
        return None
    (held,) = branch
    if held.component in _BY_VALUE and held.component != "datatype" and not held.path:
        return replace(held, values={**held.values, "fitting": 1})
    if held.component == "maxCount":
        return replace(held, component="minCount", values={"wanted": held.values["wanted"] + 1})
    if held.component == "minCount" and held.values["wanted"]:
        return replace(held, component="maxCount", values={"wanted": held.values["wanted"] - 1})
    return None


def _unfit_nodes(departing: Sequence[set[Where]], wanted: set[int]) -> set[Term | None]:
    """Give the nodes that depart from so many inner shapes that those they conform to are not ``wanted``."""
    counts: dict[Where, int] = {}
    for nodes in departing:
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
    return {node for (_, node), count in counts.items() if len(departing) - count not in wanted}


def _place(row: Row) -> list[str]:
    """Return what a row is sorted by."""
    return [str(row.get(name) or "") for name in ("graph", "focus", "path", "value", "other")]


def _violation(constraint: Constraint, row: Mapping[str, Term | None], message: str) -> Violation:
    path = path_text(constraint.path)
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
    message = _NESTED_MESSAGES.get(constraint.component, constraint.component)
    if constraint.component not in _NESTED_MESSAGES:
        header = queries.describe(constraint.query).header
        found = re.search(r"^message\s+(.*)$", header, flags=re.MULTILINE)
        message = found[1] if found else message
    wanted = constraint.values.get("wanted", "")
    words = ", ".join(_word(item) for item in (wanted if isinstance(wanted, list) else [wanted]))
    return message.replace("{wanted}", words)


def _word(wanted: Term | int | str) -> str:
    if isinstance(wanted, int | str):
        return str(wanted)
    return local_name(wanted.value) if isinstance(wanted, ox.NamedNode) else plain(wanted)
