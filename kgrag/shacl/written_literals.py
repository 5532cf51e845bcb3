"""Literals as they were written, where the store keeps them by their value.

The store turns ``"300"^^xsd:byte`` and ``"01"^^xsd:integer`` into ``300`` and ``1``, both of type xsd:integer. A caller
with the triples as they were parsed passes them to the engine (``shacl.validate(..., written=...)``). Shapes that read
a property with such a literal are then run on a copy of the statements that they read, in a scratch store, where
each of these literals has a datatype of its own, which the store leaves as it is: ``"01"^^<urn:kgrag:written:...>``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.ports import Workbench
from kgrag.vocab import RDF, XSD

__all__ = ["MARK", "Written", "WrittenReader", "as_written", "marked", "unmarked"]

MARK = "urn:kgrag:written:"
"""Prefix of the datatype of a literal that is in the copy as it was written."""

_Key = tuple[Term | None, Term | None, Term | None]

_KEPT = frozenset({XSD.string, ox.NamedNode(RDF.prefix + "langString")})
_SCRATCH = ox.NamedNode("urn:kgrag:written")


@dataclass(frozen=True, slots=True)
class Written:
    """What was written, by subject, predicate and the object that the store made of it.

    ``open_bench`` opens an empty scratch store. With ``whole``, every literal that the store changed is known, so that
    any other was written as the store has it. ``stored`` has, for each of these literals as ``marked`` returns
    it, what the store made of it; ``predicates`` are those that have such a literal.
    """

    literals: Mapping[_Key, tuple[ox.Literal, ...]]
    open_bench: Callable[[], Workbench]
    whole: bool = True
    stored: Mapping[Term | None, Term | None] = field(init=False, repr=False)
    predicates: frozenset[Term | None] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Derive ``stored`` and ``predicates`` from the literals."""
        changed = {literal: stored for (_, _, stored), known in self.literals.items() for literal in known}
        stored = {marked(before): after for before, after in changed.items() if before != after}
        object.__setattr__(self, "stored", stored)
        object.__setattr__(self, "predicates", frozenset(predicate for _, predicate, _ in self.literals))

    def restored(self, triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
        """Yield triples as a store keeps them with their literals as they were written."""
        for triple in triples:
            known = self.literals.get((triple.subject, triple.predicate, triple.object))
            if known is None:
                yield triple
            else:
                yield from (ox.Triple(triple.subject, triple.predicate, literal) for literal in known)

    def changed(self, literals: Iterable[ox.Literal]) -> dict[Term | None, Term | None]:
        """Return, for those of some literals that the store changes, what ``stored`` has for them."""
        changed = _changed(literals, self.open_bench())
        return {marked(before): after for before, after in changed.items()}


def marked(literal: ox.Literal) -> ox.Literal:
    """Return a literal with a datatype that the store does not know, and so leaves as it is."""
    return ox.Literal(literal.value, datatype=ox.NamedNode(MARK + literal.datatype.value))


def unmarked(term: Term | None) -> Term | None:
    """Return a term without the mark of ``marked``."""
    if isinstance(term, ox.Literal) and term.datatype.value.startswith(MARK):
        return ox.Literal(term.value, datatype=ox.NamedNode(term.datatype.value.removeprefix(MARK)))
    return term


def as_written(triples: Iterable[ox.Triple], bench: Workbench, *, whole: bool = True) -> Written:
    """Return the literals of triples that a store like the scratch store changes.

    Args:
        triples: as they were parsed.
        bench: a scratch store, which stays as it is; others like it are opened.
        whole: whether they are the triples as they were parsed, and not what a store made of some of them.
    """
    valued = [
        (triple.subject, triple.predicate, triple.object)
        for triple in triples
        if isinstance(triple.object, ox.Literal) and triple.object.datatype not in _KEPT
    ]
    changed = _changed((literal for _, _, literal in valued), bench.another())
    written: dict[_Key, dict[ox.Literal, None]] = {}
    for subject, predicate, literal in valued:
        if (stored := changed.get(literal)) is not None:
            written[subject, predicate, stored] = {}
    for subject, predicate, literal in valued:
        if (key := (subject, predicate, changed.get(literal, literal))) in written:
            written[key][literal] = None
    return Written({key: tuple(literals) for key, literals in written.items()}, bench.another, whole)


@dataclass(slots=True)
class WrittenReader:
    """Reads triples into a scratch store, batch after batch, and records the literals that it changes.

    ``graph`` is where in ``bench`` they go.
    """

    bench: Workbench
    graph: ox.NamedNode
    literals: dict[_Key, dict[ox.Literal, None]] = field(default_factory=dict)

    def take(self, triples: Sequence[ox.Triple]) -> None:
        """Add some triples."""
        valued = [
            (triple.subject, triple.predicate, triple.object)
            for triple in triples
            if isinstance(triple.object, ox.Literal) and triple.object.datatype not in _KEPT
        ]
        changed = _changed((literal for _, _, literal in valued), self.bench.another())
        for subject, predicate, literal in valued:
            stored = changed.get(literal)
            if stored is None or (subject, predicate, stored) in self.literals:
                continue
            # what the store has already was written in this form, too: no changed literal that became it was met
            quad = ox.Quad(subject, predicate, stored, self.graph)
            self.literals[subject, predicate, stored] = {stored: None} if quad in self.bench else {}
        for subject, predicate, literal in valued if self.literals else ():
            key = subject, predicate, changed.get(literal, literal)
            if key in self.literals:
                self.literals[key][literal] = None
        self.bench.add(ox.Quad(each.subject, each.predicate, each.object, self.graph) for each in triples)

    def written(self, *, whole: bool) -> Written:
        """Return what was written; ``whole`` as of ``Written``."""
        literals = {key: tuple(forms) for key, forms in self.literals.items()}
        return Written(literals, self.bench.another, whole)


def _changed(literals: Iterable[ox.Literal], bench: Workbench) -> dict[ox.Literal, ox.Literal]:
    """Return the literals that the store changes, each with what it becomes."""
    distinct = dict.fromkeys(literal for literal in literals if literal.datatype not in _KEPT)
    numbered = {f"urn:{number}": literal for number, literal in enumerate(distinct)}
    bench.add(ox.Quad(ox.NamedNode(name), RDF.object, literal, _SCRATCH) for name, literal in numbered.items())
    pairs = [
        (numbered[t.subject.value], t.object) for t in bench.triples(_SCRATCH) if isinstance(t.subject, ox.NamedNode)
    ]
    return {before: after for before, after in pairs if isinstance(after, ox.Literal) and before != after}
