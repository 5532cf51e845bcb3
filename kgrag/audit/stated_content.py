"""What one graph states, by subject, for checks that compute it again; and the rows that such checks yield."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.audit.step_input import Row
from kgrag.model import Term, plain
from kgrag.vocab import RDF, local_name

__all__ = ["StatedGraph", "StatedNode", "differing", "fault", "nodes_of", "unless_missing"]

_MAX_VALUE_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class StatedNode:
    """What a graph states of one thing."""

    iri: Term
    values: Mapping[ox.NamedNode, list[Term]]

    def all(self, predicate: ox.NamedNode) -> list[str]:
        """Return the values of a property, as text."""
        return [plain(value) for value in self.values.get(predicate, ())]

    def one(self, predicate: ox.NamedNode) -> str:
        """Return the value of a property. Raises LookupError where there is not exactly one."""
        values = self.all(predicate)
        if len(values) != 1:
            raise LookupError(predicate.value)
        return values[0]

    def node(self, predicate: ox.NamedNode) -> ox.NamedNode:
        """Return the IRI that is the value of a property. Raises LookupError or ValueError where there is none."""
        return ox.NamedNode(self.one(predicate))

    def number(self, predicate: ox.NamedNode) -> int:
        """Return the number that is the value of a property. Raises LookupError or ValueError where there is none."""
        return int(self.one(predicate))

    def is_a(self, *classes: ox.NamedNode) -> bool:
        """Return whether the thing is of one of some classes."""
        return not set(classes).isdisjoint(self.values.get(RDF.type, ()))


@dataclass(slots=True)
class StatedGraph:
    """A named graph: its entry in the catalogue, its kind, its triples, and what they state by subject."""

    entry: StatedNode
    kind: Term
    triples: list[ox.Triple] = field(repr=False)
    nodes: Mapping[Term, StatedNode] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.nodes = nodes_of(self.triples)

    def of(self, cls: ox.NamedNode) -> list[StatedNode]:
        """Return the things of a class."""
        return [node for node in self.nodes.values() if node.is_a(cls)]

    def having(self, predicate: ox.NamedNode) -> list[StatedNode]:
        """Return the things that have a property."""
        return [node for node in self.nodes.values() if predicate in node.values]


def nodes_of(triples: Iterable[ox.Triple]) -> dict[Term, StatedNode]:
    """Return what triples state, by subject."""
    values: dict[Term, dict[ox.NamedNode, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for triple in triples:
        values[triple.subject][triple.predicate].append(triple.object)
    return {subject: StatedNode(subject, dict(stated)) for subject, stated in values.items()}


def fault(focus: StatedNode | str, path: ox.NamedNode, message: str, value: str = "") -> Row:
    """Return a row about a thing; the message goes on from its IRI."""
    iri = focus if isinstance(focus, str) else plain(focus.iri)
    return {"focus": iri, "path": path.value, "value": value[:_MAX_VALUE_CHARACTERS], "message": f"{iri} {message}"}


def differing(node: StatedNode, path: ox.NamedNode, expected: object, what: str) -> Iterator[Row]:
    """Yield a row where a property has another value than what was computed.

    Raises:
        LookupError: it has not exactly one value.
    """
    stated = node.one(path)
    if stated != str(expected):
        yield fault(node, path, f"states another {local_name(path.value)} than {what}", stated)


def unless_missing(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows, up to where a value that they are computed from is missing, several or malformed."""
    try:
        yield from rows
    except (LookupError, ValueError):
        return
