"""Names for blank nodes by what is said of them, so that two versions of a graph can be compared.

A blank node is named by a digest of its outgoing triples, bottom up: two with the same content have the same name,
whatever a parser called them. Nodes on a cycle, or above one, are told apart by refining colours, at most 16 rounds.

Deviations: this is no test of isomorphism. Blank nodes that say the same are one, however many there are, and what lies
more than 16 steps apart on a cycle of blank nodes is not told apart.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.vocab import RDF, digest

__all__ = ["BlankNodes"]

_ROUNDS = 16
_DEEP = 4
_LONG = 12

Pairs = Sequence[tuple[str, object]]


@dataclass(frozen=True, slots=True)
class BlankNodes:
    """The blank nodes of one graph: what each says, and who speaks of it.

    >>> s, p, b = ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.BlankNode("b")
    >>> nodes = BlankNodes.of([ox.Triple(s, p, b), ox.Triple(b, p, ox.Literal("x"))])
    >>> nodes.written(b), nodes.owner("b")
    ('[ <urn:p> "x" ]', 'urn:s')
    """

    said: Mapping[str, Pairs]
    above: Mapping[str, Sequence[object]]
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, triples: Iterable[ox.Triple]) -> BlankNodes:
        """Read the blank nodes of a graph and name them."""
        said: dict[str, list[tuple[str, object]]] = defaultdict(list)
        above: dict[str, list[object]] = defaultdict(list)
        for triple in triples:
            if isinstance(triple.subject, ox.BlankNode):
                said[triple.subject.value].append((triple.predicate.value, triple.object))
            if isinstance(triple.object, ox.BlankNode):
                above[triple.object.value].append(triple.subject)
                said.setdefault(triple.object.value, [])
        nodes = cls(dict(said), dict(above))
        nodes._name()
        return nodes

    def key(self, term: object) -> str:
        """Give a term as text: a blank node by its content, anything else as N-Triples writes it."""
        return f"_:{self.names.get(term.value, term.value)}" if isinstance(term, ox.BlankNode) else str(term)

    def owner(self, name: str) -> str:
        """Give the named thing that a blank node is part of, the nearest; "" where there is none."""
        seen, level = {name}, [name]
        while level:
            owners = [term for each in level for term in self.above.get(each, ())]
            if named := sorted(term.value for term in owners if isinstance(term, ox.NamedNode)):
                return named[0]
            level = sorted({term.value for term in owners if isinstance(term, ox.BlankNode)} - seen)
            seen.update(level)
        return ""

    def written(self, term: object, depth: int = _DEEP) -> str:
        """Write a term for a person: a blank node as what it says, in brackets, a list in parentheses."""
        if not isinstance(term, ox.BlankNode):
            return str(term)
        if depth == 0:
            return "[ ... ]"
        pairs = self.said.get(term.value, ())
        if any(name == RDF.first.value for name, _ in pairs):
            return f"( {' '.join(self._members(term, depth))} )"
        shown = sorted(f"<{name}> {self.written(value, depth - 1)}" for name, value in pairs)
        more = [" ... "] if len(shown) > _LONG else []
        return f"[ {' ; '.join([*shown[:_LONG], *more])} ]"

    def _members(self, head: object, depth: int) -> list[str]:
        found: list[str] = []
        while isinstance(head, ox.BlankNode) and len(found) <= _LONG:
            held = dict(self.said.get(head.value, ()))
            if RDF.first.value in held:
                found.append(self.written(held[RDF.first.value], depth - 1))
            head = held.get(RDF.rest.value)
        return found if len(found) <= _LONG else [*found[:_LONG], "..."]

    def _name(self) -> None:
        below = {name: [v.value for _, v in pairs if isinstance(v, ox.BlankNode)] for name, pairs in self.said.items()}
        waiting = {name: len(children) for name, children in below.items()}
        parents: dict[str, list[str]] = defaultdict(list)
        for name, children in below.items():
            for child in children:
                parents[child].append(name)
        ready = [name for name, count in waiting.items() if count == 0]
        while ready:
            name = ready.pop()
            self.names[name] = self._digest(name, self.names)
            for parent in parents[name]:
                waiting[parent] -= 1
                if waiting[parent] == 0:
                    ready.append(parent)
        self._refine([name for name in self.said if name not in self.names])

    def _refine(self, cyclic: Sequence[str]) -> None:
        """Name the nodes on cycles, or above them: the same colour for all, then by what the last round told apart."""
        colours = dict.fromkeys(cyclic, "")
        for _ in range(_ROUNDS if cyclic else 0):
            known = {**self.names, **colours}
            finer = {name: self._digest(name, known) for name in cyclic}
            stable = len(set(finer.values())) == len(set(colours.values()))
            colours = finer
            if stable:
                break
        self.names.update(colours)

    def _digest(self, name: str, known: Mapping[str, str]) -> str:
        said = [(p, f"_:{known[v.value]}" if isinstance(v, ox.BlankNode) else str(v)) for p, v in self.said[name]]
        return digest(*(part for pair in sorted(said) for part in pair))
