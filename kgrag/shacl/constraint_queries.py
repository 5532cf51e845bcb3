"""The stored queries of a constraint, bound and run, by the plan that is expected to be faster.

From each focus node to its values is a join, about a microsecond per value. Reading all values of a property, of
whatever node, takes a tenth of that; so it is often faster to read them all, and then to ask which of the nodes with a
violating value are focus nodes. Two counts decide: that of the focus nodes, and that of the values.

Rows are ordered by their graphs only: Oxigraph ends the process when it sorts numbers among other literals, since its
order of these has cycles. The caller sorts them.

Queries: ``shacl/<component>``, ``shacl/focus_count``, ``shacl/readable_pattern``, ``shacl/subclasses``,
``shacl/uses``, ``catalogue/kinds``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidRDF
from kgrag.model import Table, Term
from kgrag.ports import TripleStore
from kgrag.shacl.compiled_shapes import Constraint, Target
from kgrag.shacl.regular_expressions import engine_expression, python_search
from kgrag.shacl.shapes_graph import PropertyPath, is_step
from kgrag.shacl.sparql_constraints import regular_expressions
from kgrag.shacl.written_literals import MARK, marked

__all__ = ["ConstraintQueries", "Row", "Where", "named", "rows"]

Row = dict[str, Term | None]
Where = tuple[Term | None, Term | None]

MAX_NODES_NAMED = 2_000
"""How many nodes a query lists by name; below this, it is not worth counting either."""
FEW_NODES = 20
"""Of so few target nodes that are named, looking the values up takes less time than counting those of all."""
VALUES_READ_PER_LOOK_UP = 3
"""How many values are read in the time in which one focus node is looked up."""
VALUES_READ_PER_JOIN = 5
"""How many values are read in the time in which one focus node is looked up with its values."""
MAX_USES_COUNTED = 1_000_000


@dataclass(frozen=True, slots=True)
class ConstraintQueries:
    """The queries of one validation, on one store.

    ``graphs`` are those it is confined to (() = all), ``merged`` those whose union it reads (() = none);
    ``counts``, ``below`` (class -> the classes directly below it) and ``closures`` (class -> itself and its subclasses)
    are caches.

    Where it is known what was written, ``stored`` has what the store makes of a literal that it changes, by the literal
    as ``marked`` returns it; with ``whole`` that is known of every literal. With ``copy``, the store contains such
    literals marked.
    """

    store: TripleStore
    graphs: tuple[ox.NamedNode, ...]
    merged: tuple[ox.NamedNode, ...]
    counts: dict[object, int] = field(default_factory=dict)
    below: dict[Term | None, list[Any]] = field(default_factory=dict)
    closures: dict[ox.NamedNode, list[ox.NamedNode]] = field(default_factory=dict)
    stored: dict[Term | None, Term | None] = field(default_factory=dict)
    whole: bool = False
    copy: bool = False

    def ask(
        self, query: str, constraint: Constraint, *, only: Collection[Term | None] = (), first: bool = False
    ) -> Table:
        """Run a stored query for a constraint.

        Args:
            query: its name.
            constraint: the source of its parameters.
            only: restricts the values; () = all.
            first: read the values of all nodes first, and then which of these are target nodes.
        """
        parameters = {"fitting": 0, "conforming": 0, "mark": ox.Literal(MARK if self.copy else "")}
        parameters |= {**self._focus(constraint), **constraint.values, "wanted": self._wanted(constraint)}
        parameters |= {"path": constraint.path, "property": next(iter(constraint.path), None), "first": int(first)}
        parameters["only"] = sorted((term for term in only if term is not None), key=str)
        declared = queries.describe(query).parameters
        if "each" in declared:
            parameters["each"] = int(self._by_focus_node(constraint))
        return self.store.select(queries.bind(query, **{name: parameters[name] for name in declared}))

    def _wanted(self, constraint: Constraint) -> Any:
        """Return the wanted value of a component, in the forms in which the store may contain it."""
        wanted: Any = constraint.values.get("wanted")
        if constraint.component == "class":
            return self.subclasses(wanted)
        if constraint.component == "datatype":
            kept = {wanted: None} | ({} if self.whole else {constraint.values["stored"]: None})
            return [*kept, *([ox.NamedNode(MARK + wanted.value)] if self.copy else [])]
        if constraint.component == "hasValue":
            return self._kept(wanted)
        if constraint.component == "pattern" and "q" not in constraint.values["flags"].value:
            return ox.Literal(engine_expression(wanted.value))
        return [kept for term in wanted for kept in self._kept(term)] if constraint.component == "in" else wanted

    def _kept(self, term: Term) -> list[Term]:
        """Return the forms in which the store may contain a term of a shape."""
        if isinstance(term, ox.Literal) and (mark := marked(term)) in self.stored:
            return [mark] if self.whole else [term, mark]
        return [term]

    def _focus(self, constraint: Constraint) -> dict[str, Any]:
        target = constraint.target
        return {
            "classes": [sub for wanted in target.classes for sub in self.subclasses(wanted)],
            "subjects_of": target.subjects_of,
            "objects_of": target.objects_of,
            "nodes": [self._kept(node)[-1] for node in target.nodes],  # a shape's own literal is known as written
            "kinds": target.kinds,
            "via": constraint.via,
            "graphs": self.graphs,
            "merged": self.merged,
            "catalogue": self.store.names.catalogue,
        }

    def refuse_unreadable(self, constraint: Constraint) -> None:
        """Refuse a regular expression that the store cannot read: it would match nothing, in silence.

        Raises:
            InvalidRDF: there is one in the constraint, or in a shape within it.
        """
        for each in constraint.each():
            if each.component == "pattern":
                stated, flags = (each.values[name].value for name in ("wanted", "flags"))
                self._refuse_unreadable(each, stated, flags, self._wanted(each))
            for expression, flags in regular_expressions(each.select):
                self._refuse_unreadable(each, expression, flags, ox.Literal(expression))

    def _refuse_unreadable(self, constraint: Constraint, stated: str, flags: str, asked: ox.Literal) -> None:
        if python_search(stated) is not None and not flags:
            return
        query = queries.bind("shacl/readable_pattern", wanted=asked, flags=ox.Literal(flags))
        if query not in self.counts:
            ((read,),) = self.store.select(query)
            self.counts[query] = int(read is not None)
        if not self.counts[query]:
            name = "sh:select" if constraint.select else "sh:pattern"
            with_flags = f" with the flags {ox.Literal(flags)}" if flags else ""
            raise InvalidRDF(
                f"shape {constraint.shape}: {name} has {ox.Literal(stated)}{with_flags}, which the store cannot read "
                "as a regular expression of XPath."
            )

    def kinds(self) -> frozenset[Term | None]:
        """Return the kinds of graphs that the catalogue lists."""
        asked = queries.bind("catalogue/kinds", catalogue=self.store.names.catalogue)
        return frozenset(kind for kind, _ in self.store.select(asked))

    def subclasses(self, top: ox.NamedNode) -> list[ox.NamedNode]:
        """Return a class with itself and all its subclasses, stated in any graph that is read."""
        if not self.closures:
            for sub, wanted in self.store.select(queries.bind("shacl/subclasses", merged=self.merged)):
                self.below.setdefault(wanted, []).append(sub)
        if top not in self.closures:
            self.closures[top] = _closure(top, self.below)
        return self.closures[top]

    def all_at_once(self, path: PropertyPath, target: Target) -> bool:
        """Return whether reading all values of a path is faster than reading those of a target's nodes."""
        if not self.merged or not target or not is_step(path):
            return False
        if target == Target(nodes=target.nodes) and len(target.nodes) <= FEW_NODES:
            return False
        limit = MAX_NODES_NAMED + VALUES_READ_PER_JOIN * self._focus_count(target)
        return self._uses(path, limit) <= limit

    def _by_focus_node(self, constraint: Constraint) -> bool:
        """Return whether looking up each focus node is faster than reading all values of the path."""
        if not self.merged or not constraint.target or not is_step(constraint.path):
            return False
        limit = VALUES_READ_PER_LOOK_UP * self._focus_count(constraint.target)
        return self._uses(constraint.path, limit) > limit

    def _focus_count(self, target: Target) -> int:
        """Return the number of target nodes of a shape; a subject or object of a property as often as it is one."""
        if target not in self.counts:
            count = len(target.nodes)
            if target.classes:
                of_class = Constraint("", "", Target(classes=target.classes))
                count += _number(self.ask("shacl/focus_count", of_class))
            self.counts[target] = count + sum(
                self._uses((name,), MAX_USES_COUNTED) for name in (*target.subjects_of, *target.objects_of)
            )
        return self.counts[target]

    def _uses(self, path: PropertyPath, limit: int) -> int:
        """Return the number of values of a path; beyond a limit, the limit and one."""
        known, upto = self.counts.get(path, 0), self.counts.get((path, "limit"), -1)
        if known > upto < limit:
            known = self._count(path, limit, distinct=False)
            self.counts[path], self.counts[path, "limit"] = known, limit
        return known

    def single_valued(self, path: PropertyPath) -> bool:
        """Return whether no node has two values of a path that ``all_at_once`` has counted."""
        if (path, "nodes") not in self.counts:
            self.counts[path, "nodes"] = self._count(path, self.counts[path], distinct=True)
        return self.counts[path, "nodes"] == self.counts[path]

    def _count(self, path: PropertyPath, limit: int, *, distinct: bool) -> int:
        parameters = {"path": path, "merged": self.merged, "limit": limit + 1, "distinct": int(distinct)}
        return _number(self.store.select(queries.bind("shacl/uses", **parameters)))


def _closure(top: ox.NamedNode, below: Mapping[Term | None, Sequence[Any]]) -> list[ox.NamedNode]:
    closure = {top}
    waiting = [top]
    while waiting:
        new = set(below.get(waiting.pop(), ())) - closure
        closure |= new
        waiting += new
    return sorted((name for name in closure if isinstance(name, ox.NamedNode)), key=str)


def named(nodes: Collection[Term | None]) -> list[ox.NamedNode | ox.Literal]:
    """Return some nodes sorted, if a query can name them: none is blank, and they are few; else []."""
    nameable = [node for node in nodes if isinstance(node, ox.NamedNode | ox.Literal)]
    return sorted(nameable, key=str) if len(nameable) == len(nodes) <= MAX_NODES_NAMED else []


def rows(table: Table) -> Iterator[Row]:
    """Yield the rows of a table by the names of its variables."""
    return (dict(zip(table.variables, row, strict=True)) for row in table)


def _number(table: Table) -> int:
    ((count,),) = table.values()
    return int(count)
