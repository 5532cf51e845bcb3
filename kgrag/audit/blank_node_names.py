"""Names for blank nodes by their content, so that two versions of a graph can be compared.

A blank node is named by a digest of its outgoing triples, bottom up: two with the same content have the same name,
whatever a parser called them. Nodes on a cycle, or above one, are distinguished by refining colours, at most 16 rounds.

Deviations: this is no test of isomorphism. Blank nodes with the same content are one, however many there are, and what
lies more than 16 edges apart on a cycle of blank nodes is not distinguished.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.vocab import RDF, digest

__all__ = ["BlankNodes"]

MAX_REFINEMENT_ROUNDS = 16
"""After how many rounds nodes on cycles keep the names that they have."""
MAX_DEPTH_WRITTEN = 4
MAX_PARTS_WRITTEN = 12

_Pairs = Sequence[tuple[str, object]]


@dataclass(frozen=True, slots=True)
class BlankNodes:
    """The blank nodes of one graph: the outgoing pairs of each, the subjects above it, and its name.

    >>> s, p, b = ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.BlankNode("b")
    >>> nodes = BlankNodes.of([ox.Triple(s, p, b), ox.Triple(b, p, ox.Literal("x"))])
    >>> nodes.written(b), nodes.owner("b")
    ('[ <urn:p> "x" ]', 'urn:s')
    """

    pairs: Mapping[str, _Pairs]
    above: Mapping[str, Sequence[object]]
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, triples: Iterable[ox.Triple]) -> BlankNodes:
        """Read the blank nodes of a graph and name them."""
        pairs: dict[str, list[tuple[str, object]]] = defaultdict(list)
        above: dict[str, list[object]] = defaultdict(list)
        for triple in triples:
            if isinstance(triple.subject, ox.BlankNode):
                pairs[triple.subject.value].append((triple.predicate.value, triple.object))
            if isinstance(triple.object, ox.BlankNode):
                above[triple.object.value].append(triple.subject)
                pairs.setdefault(triple.object.value, [])
        nodes = cls(dict(pairs), dict(above))
        nodes._name()
        return nodes

    def key(self, term: object) -> str:
        """Return a term as text: a blank node by its content, anything else as N-Triples writes it."""
        return f"_:{self.names.get(term.value, term.value)}" if isinstance(term, ox.BlankNode) else str(term)

    def owner(self, name: str) -> str:
        """Return the nearest IRI that a blank node is part of; "" where there is none."""
        seen, level = {name}, [name]
        while level:
            owners = [term for node in level for term in self.above.get(node, ())]
            if named := sorted(term.value for term in owners if isinstance(term, ox.NamedNode)):
                return named[0]
            level = sorted({term.value for term in owners if isinstance(term, ox.BlankNode)} - seen)
            seen.update(level)
        return ""

    def written(self, term: object, depth: int = MAX_DEPTH_WRITTEN) -> str:
        """Return a term as text to be read: a blank node by its content in brackets, a list in parentheses."""
        if not isinstance(term, ox.BlankNode):
            return str(term)
        if depth == 0:
            return "[ ... ]"
        pairs = self.pairs.get(term.value, ())
        if any(name == RDF.first.value for name, _ in pairs):
            return f"( {' '.join(self._members(term, depth))} )"
        parts = sorted(f"<{name}> {self.written(value, depth - 1)}" for name, value in pairs)
        more = [" ... "] if len(parts) > MAX_PARTS_WRITTEN else []
        return f"[ {' ; '.join([*parts[:MAX_PARTS_WRITTEN], *more])} ]"

    def _members(self, head: object, depth: int) -> list[str]:
        members: list[str] = []
        while isinstance(head, ox.BlankNode) and len(members) <= MAX_PARTS_WRITTEN:
            pairs = dict(self.pairs.get(head.value, ()))
            if RDF.first.value in pairs:
                members.append(self.written(pairs[RDF.first.value], depth - 1))
            head = pairs.get(RDF.rest.value)
        return members if len(members) <= MAX_PARTS_WRITTEN else [*members[:MAX_PARTS_WRITTEN], "..."]

    def _name(self) -> None:
        below = {name: [v.value for _, v in pairs if isinstance(v, ox.BlankNode)] for name, pairs in self.pairs.items()}
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
        self._refine([name for name in self.pairs if name not in self.names])

    def _refine(self, cyclic: Sequence[str]) -> None:
        """Name the nodes on cycles, or above them: one colour for all, then by what the last round distinguished."""
        colours = dict.fromkeys(cyclic, "")
        for _ in range(MAX_REFINEMENT_ROUNDS if cyclic else 0):
            known = {**self.names, **colours}
            finer = {name: self._digest(name, known) for name in cyclic}
            stable = len(set(finer.values())) == len(set(colours.values()))
            colours = finer
            if stable:
                break
        self.names.update(colours)

    def _digest(self, name: str, known: Mapping[str, str]) -> str:
        texts = [(p, f"_:{known[v.value]}" if isinstance(v, ox.BlankNode) else str(v)) for p, v in self.pairs[name]]
        return digest(*(part for pair in sorted(texts) for part in pair))
