"""Asks a store what a constraint's queries ask, and knows what is the shorter way.

From each focus node to its values is a join, about a microsecond a value. Looking at all values of a property, whoever
has them, takes a tenth of that; so it is often shorter to look at all, and then to ask which of the nodes that have
those which depart are focus nodes. Whether it is, two counts tell: the focus nodes', and the values'.

Rows come in the order of their graphs only: Oxigraph ends the process when it sorts numbers among other literals, since
its order of these has circles. Whoever reports rows sorts them.

Queries: ``shacl/<component>``, ``shacl/focus_count``, ``shacl/subclasses``, ``shacl/uses``, ``catalogue/kinds``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Table, Term
from kgrag.ports import TripleStore
from kgrag.shacl.compiled_shapes import Constraint, Target
from kgrag.shacl.shapes_graph import PropertyPath, is_step
from kgrag.shacl.written_literals import MARK, marked

__all__ = ["Asker", "Row", "Where", "named", "rows"]

Row = dict[str, Term | None]
Where = tuple[Term | None, Term | None]

_FEW = 2_000
# So many values are read in one go while one focus node is looked up, or while one and its values are.
_LOOK_UP = 3
_JOIN = 5
_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Asker:
    """What one validation asks of a store.

    ``graphs`` are those it is confined to (() = all), ``merged`` those whose union it is about (() = no union);
    ``counts`` is what was counted so far, ``below`` the classes directly below a class, once they were asked for, and
    ``closures`` a class with itself and its subclasses.

    Where it is known what was written, ``stored`` has what the store makes of a literal that it changes, by the literal
    as ``marked`` returns it; with ``whole`` that is known of every literal. ``copy`` says that such literals stand in
    the store marked.
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
            constraint: gives its parameters.
            only: which values it is asked about; () = all.
            first: look at the values of whatever node first, and then whether those found are of target nodes.
        """
        given = {"fitting": 0, "mark": ox.Literal(MARK if self.copy else "")}
        given |= {**self._focus(constraint), **constraint.values, "wanted": self._wanted(constraint)}
        given |= {"path": constraint.path, "first": int(first)}
        given["only"] = sorted((term for term in only if term is not None), key=str)
        takes = queries.describe(query).parameters
        if "each" in takes:
            given["each"] = int(self._each(constraint))
        return self.store.select(queries.bind(query, **{name: given[name] for name in takes}))

    def _wanted(self, constraint: Constraint) -> Any:
        """Return what a component wants; where a term of a shape is another one in the store, or several, these."""
        wanted: Any = constraint.values.get("wanted")
        if constraint.component == "class":
            return self.subclasses(wanted)
        if constraint.component == "datatype":
            kept = {wanted: None} | ({} if self.whole else {constraint.values["stored"]: None})
            return [*kept, *([ox.NamedNode(MARK + wanted.value)] if self.copy else [])]
        if constraint.component == "hasValue":
            return self._kept(wanted)
        return [kept for term in wanted for kept in self._kept(term)] if constraint.component == "in" else wanted

    def _kept(self, term: Term) -> list[Term]:
        """Return what a term of a shape may be in the store."""
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

    def kinds(self) -> frozenset[Term | None]:
        """Give the kinds of graphs that the catalogue lists."""
        asked = queries.bind("catalogue/kinds", catalogue=self.store.names.catalogue)
        return frozenset(kind for kind, _ in self.store.select(asked))

    def subclasses(self, top: ox.NamedNode) -> list[ox.NamedNode]:
        """Give a class with itself and all its subclasses, stated in whatever graph of those asked."""
        if not self.closures:
            for sub, wanted in self.store.select(queries.bind("shacl/subclasses", merged=self.merged)):
                self.below.setdefault(wanted, []).append(sub)
        if top not in self.closures:
            self.closures[top] = _closure(top, self.below)
        return self.closures[top]

    def all_at_once(self, path: PropertyPath, target: Target) -> bool:
        """Say whether looking at all values of a path is shorter than looking at those of a target's nodes."""
        if not self.merged or not target or not is_step(path):
            return False
        limit = _FEW + _JOIN * self._focus_count(target)
        return self._uses(path, limit) <= limit

    def _each(self, constraint: Constraint) -> bool:
        """Say whether it is shorter to look up each focus node than to read all values of the path."""
        if not self.merged or not constraint.target or not constraint.path:
            return False
        if not is_step(constraint.path):
            return True
        limit = _LOOK_UP * self._focus_count(constraint.target)
        return self._uses(constraint.path, limit) > limit

    def _focus_count(self, target: Target) -> int:
        """Count the target nodes of a shape; a subject or object of a property as often as it is one."""
        if target not in self.counts:
            count = len(target.nodes)
            if target.classes:
                of_class = Constraint("", "", Target(classes=target.classes))
                count += _number(self.ask("shacl/focus_count", of_class))
            self.counts[target] = count + sum(
                self._uses((name,), _MANY) for name in (*target.subjects_of, *target.objects_of)
            )
        return self.counts[target]

    def _uses(self, path: PropertyPath, limit: int) -> int:
        """Count the values of a path; beyond a limit, that many and one."""
        known, upto = self.counts.get(path, 0), self.counts.get((path, "limit"), -1)
        if known > upto < limit:
            known = self._count(path, limit, distinct=False)
            self.counts[path], self.counts[path, "limit"] = known, limit
        return known

    def single_valued(self, path: PropertyPath) -> bool:
        """Say whether no node has two values of a path all of whose values may be looked at."""
        if (path, "nodes") not in self.counts:
            self.counts[path, "nodes"] = self._count(path, self.counts[path], distinct=True)
        return self.counts[path, "nodes"] == self.counts[path]

    def _count(self, path: PropertyPath, limit: int, *, distinct: bool) -> int:
        given = {"path": path, "merged": self.merged, "limit": limit + 1, "distinct": int(distinct)}
        return _number(self.store.select(queries.bind("shacl/uses", **given)))


def _closure(top: ox.NamedNode, below: Mapping[Term | None, Sequence[Any]]) -> list[ox.NamedNode]:
    found = {top}
    waiting = [top]
    while waiting:
        new = set(below.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return sorted((each for each in found if isinstance(each, ox.NamedNode)), key=str)


def named(nodes: Collection[Term | None]) -> list[ox.NamedNode | ox.Literal]:
    """Give some nodes sorted, if a query can name them: none is blank, and they are few; else []."""
    told = [node for node in nodes if isinstance(node, ox.NamedNode | ox.Literal)]
    return sorted(told, key=str) if len(told) == len(nodes) <= _FEW else []


def rows(table: Table) -> Iterator[Row]:
    """Yield the rows of a table by the names of its variables."""
    return (dict(zip(table.variables, row, strict=True)) for row in table)


def _number(table: Table) -> int:
    ((count,),) = table.values()
    return int(count)
