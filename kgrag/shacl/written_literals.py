"""Literals as they were written, where the store keeps them by their value.

The store turns ``"300"^^xsd:byte`` and ``"01"^^xsd:integer`` into ``300`` and ``1``, both of type xsd:integer. Whoever
has the triples as they were parsed can tell the engine (``shacl.validate(..., written=...)``), and ``sh:datatype`` is
then decided of what was written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.ports import Workbench
from kgrag.vocab import RDF, XSD

__all__ = ["Written", "as_written"]

_Key = tuple[Term | None, Term | None, Term | None]

_KEPT = frozenset({XSD.string, ox.NamedNode(RDF.prefix + "langString")})
_SCRATCH = ox.NamedNode("urn:kgrag:written")


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, by subject, predicate and the object that the store made of it.

    With ``whole``, every literal that the store changed is told, so that any other was written as it stands there.
    """

    literals: Mapping[_Key, tuple[ox.Literal, ...]]
    whole: bool = True
    predicates: frozenset[Term | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note which predicates have such values."""
        object.__setattr__(self, "predicates", frozenset(predicate for _, predicate, _ in self.literals))

    def restored(self, triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
        """Yield triples as a store keeps them with their literals as they were written."""
        for triple in triples:
            known = self.literals.get((triple.subject, triple.predicate, triple.object))
            if known is None:
                yield triple
            else:
                yield from (ox.Triple(triple.subject, triple.predicate, literal) for literal in known)


def as_written(triples: Iterable[ox.Triple], bench: Workbench, *, whole: bool = True) -> Written:
    """Note the literals of triples that a store like the scratch store changes.

    Args:
        triples: as they were parsed.
        bench: a scratch store; what was in it goes, and it is left empty.
        whole: whether they are the triples as they were parsed, and not what a store made of some of them.
    """
    told = [t for t in triples if isinstance(t.object, ox.Literal) and t.object.datatype not in _KEPT]
    changed = _changed({t.object: None for t in told if isinstance(t.object, ox.Literal)}, bench)
    found: dict[_Key, dict[ox.Literal, None]] = {}
    for triple in told:
        if (stored := changed.get(triple.object)) is not None:
            found[triple.subject, triple.predicate, stored] = {}
    for triple in told:
        key = (triple.subject, triple.predicate, changed.get(triple.object, triple.object))
        if key in found and isinstance(triple.object, ox.Literal):
            found[key][triple.object] = None
    return Written({key: tuple(literals) for key, literals in found.items()}, whole)


def _changed(literals: Iterable[ox.Literal], bench: Workbench) -> dict[Term, ox.Literal]:
    """Give the literals that the store changes, each with what it becomes."""
    numbered = {f"urn:{number}": literal for number, literal in enumerate(literals)}
    bench.fill([ox.Quad(ox.NamedNode(name), RDF.object, literal, _SCRATCH) for name, literal in numbered.items()])
    pairs = [
        (numbered[t.subject.value], t.object) for t in bench.triples(_SCRATCH) if isinstance(t.subject, ox.NamedNode)
    ]
    bench.fill([])
    return {before: after for before, after in pairs if isinstance(after, ox.Literal) and before != after}
