"""Constraints on the RDF lists that values are: their length, their members, and that none comes twice.

Source: SHACL 1.2 Core (Working Draft), sh:memberShape, sh:minListLength, sh:maxListLength and sh:uniqueMembers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.shacl.compiled_shapes import Constraint
from kgrag.shacl.constraint_queries import Row, Where
from kgrag.vocab import RDF

__all__ = ["Lists", "repeated"]

_Member = TypeVar("_Member")

_FIRST, _REST, _NIL = (ox.NamedNode(RDF.prefix + name) for name in ("first", "rest", "nil"))


@dataclass(frozen=True, slots=True)
class Lists:
    """The RDF lists of some graphs: (graph, cell) -> what rdf:first and rdf:rest say of it."""

    cells: Mapping[Where, Mapping[Term | None, set[Term | None]]]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Lists:
        """Return the lists of the rows of ``shacl/list_cells``."""
        cells: dict[Where, dict[Term | None, set[Term | None]]] = {}
        for row in rows:
            cell = cells.setdefault((row["graph"], row["cell"]), {})
            cell.setdefault(row["property"], set()).add(row["value"])
        return cls(cells)

    def members(self, graph: Term | None, head: Term | None) -> list[Term | None] | None:
        """Return the members of a list; None where a node is no list: a cell lacks a part, has it twice, or returns."""
        members: list[Term | None] = []
        seen: set[Term | None] = set()
        while head != _NIL:
            cell = self.cells.get((graph, head), {})
            first, rest = cell.get(_FIRST, ()), cell.get(_REST, ())
            if head in seen or len(first) != 1 or len(rest) != 1:
                return None
            seen.add(head)
            members += first
            (head,) = rest
        return None if (graph, _NIL) in self.cells else members

    def violates(
        self, constraint: Constraint, graph: Term | None, value: Term | None, departing: Collection[Where] = ()
    ) -> bool:
        """Return whether a value is no list, or not one as a constraint wants it; ``departing`` may be no members."""
        members = self.members(graph, value)
        if members is None:
            return True
        if constraint.component == "memberShape":
            return any((graph, member) in departing for member in members)
        if constraint.component == "uniqueMembers":
            return bool(constraint.values["unique"] and repeated(members))
        wanted: int = constraint.values["wanted"]
        return len(members) < wanted if constraint.component == "minListLength" else len(members) > wanted


def repeated(members: Iterable[_Member]) -> list[_Member]:
    """Return those members that come more than once, each once."""
    counts = Counter(members)
    return [member for member, count in counts.items() if count > 1]
