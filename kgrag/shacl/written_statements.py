"""The statements that shapes read, copied into a scratch store with their literals as they were written.

Copying takes about 8 µs per statement, more than most shapes do. So only shapes that may meet a literal that the store
changed are run on the copy, and only the statements of the properties that these read are copied.

Query: ``shacl/statements``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term
from kgrag.ports import TripleStore, Workbench
from kgrag.shacl.compiled_shapes import Constraint
from kgrag.shacl.constraint_queries import ConstraintQueries
from kgrag.shacl.written_literals import Written, marked

__all__ = ["WrittenView"]

_GRAPH = ox.NamedNode("urn:kgrag:written")


@dataclass(frozen=True, slots=True)
class WrittenView:
    """A copy of a union of graphs that grows with the properties that are asked for.

    ``source`` queries the graphs themselves; ``copied`` are the properties whose statements are in ``bench``, and None
    when all are.
    """

    source: ConstraintQueries
    written: Written
    bench: Workbench
    asker: ConstraintQueries
    copied: set[ox.NamedNode | None] = field(default_factory=set)

    @classmethod
    def of(cls, source: ConstraintQueries, written: Written) -> WrittenView:
        """Return the copy, as yet empty, of the union of graphs that ``source`` queries."""
        bench = written.open_bench()
        store = cast("TripleStore", bench)
        asker = ConstraintQueries(store, (), (_GRAPH,), stored=source.stored, whole=source.whole, copy=True)
        return cls(source, written, bench, asker)

    def take(self, constraints: Sequence[Constraint]) -> list[bool]:
        """Return which constraints are to be run on the copy, and copy what these read."""
        parts = [part for constraint in constraints for part in constraint.each()]
        terms = (term for part in parts for term in (*part.target.nodes, *_wanted(part)))
        literals = [term for term in terms if isinstance(term, ox.Literal)]
        self.source.stored.update(self.written.changed(literals))
        on_copy = [self._concerns(constraint) for constraint in constraints]
        self._copy([constraint for constraint, concerned in zip(constraints, on_copy, strict=True) if concerned])
        return on_copy

    def _concerns(self, constraint: Constraint) -> bool:
        """Return whether a constraint may meet a literal that the store changed."""
        if constraint.component == "sparql":
            return False
        nodes = (node for node in constraint.target.nodes if isinstance(node, ox.Literal))
        if any(marked(node) in self.source.stored for node in nodes):
            return True
        return any(not self.written.predicates.isdisjoint(part.properties) for part in constraint.each())

    def _copy(self, constraints: Iterable[Constraint]) -> None:
        parts = [part for constraint in constraints for part in constraint.each()]
        missing = {name for part in parts for name in part.properties} - self.copied
        closed = any(part.component == "closed" for part in parts)  # which reads all properties
        if None in self.copied or not (missing or closed):
            return
        self.copied.update([None] if closed else missing)
        properties = [] if closed else sorted(missing, key=str)
        asked = queries.bind("shacl/statements", properties=properties, merged=self.source.merged)
        self.bench.add(self._quads(self.source.store.construct(asked)))

    def _quads(self, triples: Iterable[ox.Triple]) -> Iterator[ox.Quad]:
        for subject, predicate, value in triples:
            known = None
            if predicate in self.written.predicates:
                known = self.written.literals.get((subject, predicate, value))
            if known is None:
                yield ox.Quad(subject, predicate, value, _GRAPH)
            for literal in known or ():
                mark = marked(literal)
                yield ox.Quad(subject, predicate, mark if mark in self.written.stored else literal, _GRAPH)


def _wanted(constraint: Constraint) -> list[Term]:
    """Return the values that a constraint names."""
    wanted: Any = constraint.values.get("wanted")
    if constraint.component == "in":
        return list(wanted)
    return [wanted] if constraint.component == "hasValue" else []
