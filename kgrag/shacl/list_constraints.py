"""Constraints on the RDF lists that values are: their length, and that no member comes twice.

Source: SHACL 1.2 Core (Working Draft), sh:minListLength, sh:maxListLength and sh:uniqueMembers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.shacl.compiled_shapes import Constraint
from kgrag.shacl.constraint_queries import Row, Where
from kgrag.vocab import RDF

__all__ = ["Lists"]

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

    def violates(self, constraint: Constraint, graph: Term | None, value: Term | None) -> bool:
        """Return whether a value is no list, or not one as a constraint wants it."""
        members = self.members(graph, value)
        if members is None:
            return True
        if constraint.component == "uniqueMembers":
            return len(set(members)) < len(members)
        wanted: int = constraint.values["wanted"]
        return len(members) < wanted if constraint.component == "minListLength" else len(members) > wanted
