"""Runs compiled shapes on the named graphs of a store.

Queries: ``shacl/<component>``, ``shacl/focus``, ``shacl/focus_among``, ``shacl/focus_count``, ``shacl/uses``,
``shacl/values``, ``shacl/subclasses``, ``catalogue/kinds``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft, Table, Term, Violation, plain
from kgrag.ports import TripleStore, Validator
from kgrag.resources import folder
from kgrag.stages.shacl.compiled import NESTED, Branch, Constraint, Shapes, Target
from kgrag.stages.shacl.graph import path_text
from kgrag.stages.shacl.selects import asks_in_graphs, over_union
from kgrag.stages.shacl.shapes import load_shapes
from kgrag.vocab import local_name

__all__ = ["graph_shapes", "graph_validator", "validate"]

_Row = dict[str, Term | None]
_Where = tuple[Term | None, Term | None]

_FEW = 2_000
_BY_VALUE = frozenset(
    {
        *("class", "datatype", "disjoint", "in", "lessThan", "lessThanOrEquals", "maxCount", "nodeKind", "pattern"),
        *("maxExclusive", "maxInclusive", "maxLength", "minExclusive", "minInclusive", "minLength", "uniqueLang"),
    }
)
"""Components from which only a node that has values can depart, and each by its own values alone."""
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
    """Give the shapes of kgrag's own graphs, ``shapes/graphs/*.ttl``."""
    return load_shapes(sorted((folder("shapes") / "graphs").glob("*.ttl")))


def validate(
    store: TripleStore, shapes: Shapes, *, graphs: Sequence[ox.NamedNode] | None = None, merged: bool = False
) -> list[Violation]:
    """Give every way in which the named graphs of a store depart from shapes; [] when they conform.

    Args:
        store: what is checked.
        shapes: what it is checked against.
        graphs: check these graphs only; None = all that have focus nodes.
        merged: take the union of ``graphs`` for the data graph, as for an ontology and its imports. A violation then
            has "" as its graph. Otherwise focus node and values are taken from one and the same graph.

    Returns:
        Violations in the order of the shapes' names, then by graph, focus node and value.

    Raises:
        InvalidRDF: a shape cannot be run this way: one for a kind of graph on a union, or one with a SELECT that gives
            no ``?graph`` on single graphs.
        ValueError: ``merged`` without ``graphs``.
    """
    if merged and graphs is None:
        raise ValueError("merged=True takes the union of some graphs, and none were given. Pass graphs=[...].")
    if graphs is not None and not graphs:
        return []
    _refuse_mismatch(shapes, merged=merged)
    given = tuple(graphs or ())
    union, confined = (given, ()) if merged else ((), given)
    run = _Run(store, confined, union, _subclasses(store, shapes, union))
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
    """One validation.

    ``graphs`` are those it is confined to (() = all), ``merged`` those whose union it is about (() = no union);
    ``subclasses`` gives a class with itself and its subclasses, ``departing`` what is known of inner shapes so far,
    ``counts`` how many focus nodes targets have, and values paths.
    """

    store: TripleStore
    graphs: tuple[ox.NamedNode, ...]
    merged: tuple[ox.NamedNode, ...]
    subclasses: Mapping[ox.NamedNode, Sequence[ox.NamedNode]]
    departing: dict[int, set[_Where]] = field(default_factory=dict)
    counts: dict[object, int] = field(default_factory=dict)

    def check(self, constraint: Constraint) -> Iterator[Violation]:
        """Yield the violations of one constraint."""
        message = constraint.message or _default_message(constraint)
        rows = list(self._rows(constraint))
        times = self._times(constraint) if rows and constraint.steps else {}
        for row in rows:
            violation = _violation(constraint, row, message)
            yield from [violation] * times.get((row["graph"], row["focus"]), 1)

    def _times(self, constraint: Constraint) -> dict[_Where, int]:
        """Give (graph, node) -> in how many ways outer shapes lead to it: SHACL reports a violation once for each."""
        times: dict[_Where, int] = {}
        for number, path in enumerate(constraint.steps):
            counts: dict[_Where, int] = {}
            for graph, focus, value in self._ask(
                "shacl/values", replace(constraint, steps=constraint.steps[:number], path=path)
            ):
                counts[graph, value] = counts.get((graph, value), 0) + times.get((graph, focus), 1)
            times = counts
        return times

    def _rows(self, constraint: Constraint) -> Iterator[_Row]:
        """Yield ?graph, ?focus and what else is known of each violation."""
        if constraint.component == "sparql":
            return self._selected(constraint)
        if constraint.component.startswith("qualified"):
            return self._miscounted(constraint)
        if constraint.component in NESTED:
            return self._unfit(constraint)
        suspects = self._suspects(constraint)
        if suspects is None:
            return _rows(self._ask(constraint.query, constraint))
        return self._of_focus_nodes(constraint, suspects)

    def _suspects(self, constraint: Constraint) -> list[_Row] | None:
        """Give what departs among all nodes with values, focus nodes or not; None where that is no shorter way.

        A value's nodes are looked up among the focus nodes only if the value departs: a quarter of the time, when most
        of the nodes that have such values are focus nodes.
        """
        if not self.merged or constraint.steps or constraint.component not in _BY_VALUE or not constraint.target:
            return None
        if len(constraint.path) != 1 or self._uses(constraint) > _FEW + 4 * self._focus_count(constraint):
            return None
        found = list(_rows(self._ask(constraint.query, replace(constraint, target=Target()))))
        named = all(isinstance(row["focus"], ox.NamedNode | ox.Literal) for row in found)
        return found if named and len(found) <= _FEW else None

    def _of_focus_nodes(self, constraint: Constraint, suspects: Sequence[_Row]) -> Iterator[_Row]:
        only = sorted({term for row in suspects if (term := row["focus"]) is not None}, key=str)
        here = {node for _, node in self._ask("shacl/focus_among", constraint, only=only)} if only else set()
        return (row for row in suspects if row["focus"] in here)

    def _focus_count(self, constraint: Constraint) -> int:
        key = constraint.target
        if key not in self.counts:
            self.counts[key] = _number(self._ask("shacl/focus_count", constraint))
        return self.counts[key]

    def _uses(self, constraint: Constraint) -> int:
        """Count the values of a constraint's path, up to what would be too many for any target."""
        key = (constraint.path, self._focus_count(constraint))
        if key not in self.counts:
            limit = _FEW + 4 * self._focus_count(constraint) + 1
            asked = queries.bind("shacl/uses", path=constraint.path, merged=self.merged, limit=limit)
            self.counts[key] = _number(self.store.select(asked))
        return self.counts[key]

    def _ask(self, query: str, constraint: Constraint, *, only: Sequence[Term] = ()) -> Table:
        given = self._focus(constraint) | dict(constraint.values) | {"path": constraint.path, "only": only}
        if constraint.component == "class":
            given["wanted"] = self.subclasses[given["wanted"]]
        takes = queries.describe(query).parameters
        return self.store.select(queries.bind(query, **{name: given[name] for name in takes}))

    def _focus(self, constraint: Constraint) -> dict[str, Any]:
        target = constraint.target
        return {
            "classes": [sub for wanted in target.classes for sub in self.subclasses[wanted]],
            "subjects_of": target.subjects_of,
            "objects_of": target.objects_of,
            "nodes": target.nodes,
            "kinds": target.kinds,
            "via": constraint.via,
            "graphs": self.graphs,
            "merged": self.merged,
            "catalogue": self.store.names.catalogue,
        }

    def _selected(self, constraint: Constraint) -> Iterator[_Row]:
        """Run a SPARQL constraint once and keep the rows whose ``$this`` is a focus node there."""
        select = over_union(constraint.select, self.merged) if self.merged else constraint.select
        rows = list(_rows(self.store.select(select)))
        if not rows:
            return
        focus = set(self._ask("shacl/focus", constraint))
        for row in rows:
            graph = None if self.merged else row.get("graph")
            if (graph, row.get("this")) in focus:
                value = {} if constraint.path or row.get("value") else {"value": row["this"]}
                yield row | value | {"graph": graph, "focus": row["this"]}

    def _unfit(self, constraint: Constraint) -> Iterator[_Row]:
        """Yield the values that conform to too few or too many of the inner shapes."""
        departing = [self._departing(branch) for branch in constraint.branches]
        number = len(departing)
        every, some, one = {number}, set(range(1, number + 1)), {1}
        fits = {"and": every, "node": every, "property": every, "not": {0}, "or": some, "xone": one}
        wanted = fits[constraint.component]
        only: set[Term | None] | None = None
        if number in wanted and not (only := _unfit_nodes(departing, wanted)):
            return
        for row in _rows(self._values(constraint, only)):
            where = (row["graph"], row["value"])
            if number - sum(where in nodes for nodes in departing) not in wanted:
                yield row

    def _values(self, constraint: Constraint, only: set[Term | None] | None) -> Table:
        """Ask for the values of a constraint's focus nodes: of few nodes, if it can be said which."""
        few = [term for term in only or () if isinstance(term, ox.NamedNode | ox.Literal)]
        if only is None or len(few) < len(only) or len(few) > _FEW:
            few = []
        return self._ask("shacl/values", constraint, only=sorted(few, key=str))

    def _miscounted(self, constraint: Constraint) -> Iterator[_Row]:
        """Yield the focus nodes with too few or too many values that conform to a shape and to none of its siblings."""
        wanted, *siblings = (self._departing(branch) for branch in constraint.branches)
        if not siblings and len(wanted) <= _FEW and all(isinstance(n, ox.NamedNode | ox.Literal) for _, n in wanted):
            yield from self._miscounted_but_for(constraint, wanted)
            return
        counts: dict[_Where, int] = {}
        for graph, focus, value in self._ask("shacl/values", constraint):
            where = (graph, value)
            fits = where not in wanted and all(where in nodes for nodes in siblings)
            counts[graph, focus] = counts.get((graph, focus), 0) + fits
        limit = constraint.values["wanted"]
        for graph, focus in self._ask("shacl/focus", constraint):
            found = counts.get((graph, focus), 0)
            if found > limit if constraint.component == "qualifiedMaxCount" else found < limit:
                yield {"graph": graph, "focus": focus}

    def _miscounted_but_for(self, constraint: Constraint, departing: set[_Where]) -> Iterator[_Row]:
        """Yield what ``_miscounted`` does, when few nodes depart from the shape wanted, and there are no siblings.

        The store counts all values; a focus node with *n* values that depart is compared with a limit that is *n*
        higher.
        """
        spared: dict[_Where, int] = {}
        only = sorted({node for _, node in departing if node is not None}, key=str)
        for graph, focus, value in self._ask("shacl/values", constraint, only=only) if only else ():
            spared[graph, focus] = spared.get((graph, focus), 0) + ((graph, value) in departing)
        found: dict[_Where, None] = {}
        for more in sorted({0, *spared.values()}):
            limit = {"wanted": constraint.values["wanted"] + more}
            component = "minCount" if constraint.component == "qualifiedMinCount" else "maxCount"
            counted = replace(constraint, component=component, values=limit)
            for graph, focus in self._ask(counted.query, counted):
                if spared.get((graph, focus), 0) == more:
                    found[graph, focus] = None
        yield from ({"graph": graph, "focus": focus} for graph, focus in sorted(found, key=str))

    def _departing(self, branch: Branch) -> set[_Where]:
        """Give (graph, node) of the nodes that depart from an inner shape; whatever the severity."""
        if id(branch) not in self.departing:
            found = {(row["graph"], row["focus"]) for constraint in branch for row in self._rows(constraint)}
            self.departing[id(branch)] = found
        return self.departing[id(branch)]


def _unfit_nodes(departing: Sequence[set[_Where]], wanted: set[int]) -> set[Term | None]:
    """Give the nodes that depart from so many inner shapes that those they conform to are not ``wanted``."""
    counts: dict[_Where, int] = {}
    for nodes in departing:
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
    return {node for (_, node), count in counts.items() if len(departing) - count not in wanted}


def _rows(table: Table) -> Iterator[_Row]:
    return (dict(zip(table.variables, row, strict=True)) for row in table)


def _number(table: Table) -> int:
    ((count,),) = table.values()
    return int(count)


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


def _subclasses(
    store: TripleStore, shapes: Shapes, merged: Sequence[ox.NamedNode]
) -> dict[ox.NamedNode, list[ox.NamedNode]]:
    """Give each class that shapes name with itself and all its subclasses, stated in whatever graph of those asked."""
    each = shapes.each()
    named = {wanted for constraint in each for wanted in constraint.target.classes}
    named |= {constraint.values["wanted"] for constraint in each if constraint.component == "class"}
    if not named:
        return {}
    below: dict[Term | None, list[Any]] = {}
    for sub, wanted in store.select(queries.bind("shacl/subclasses", merged=merged)):
        below.setdefault(wanted, []).append(sub)
    return {wanted: _closure(wanted, below) for wanted in named}


def _closure(top: ox.NamedNode, below: Mapping[Term | None, Sequence[Any]]) -> list[ox.NamedNode]:
    found = {top}
    waiting = [top]
    while waiting:
        new = set(below.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return sorted((each for each in found if isinstance(each, ox.NamedNode)), key=str)
