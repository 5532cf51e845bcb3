"""What factual blocks say, as triples: instances of classes with their attributes, and no blank nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgrag.errors import MappingError
from kgrag.mapping.factual_blocks import DEPTH_LIMIT, text_of, type_of
from kgrag.mapping.ontology_terms import Ontology
from kgrag.vocab import RDF, Names, local_name

__all__ = ["Assertions", "assertions"]

_CONTAINERS = ("@list", "@set", "@graph", "@included")
_UNNAMED = "Thing"


@dataclass(slots=True)
class Assertions:
    """Triples about instances; the property behind each key of a hypernode; what no loaded ontology has a term for."""

    triples: list[ox.Triple] = field(default_factory=list)
    properties: dict[str, ox.NamedNode] = field(default_factory=dict)
    minted_classes: set[str] = field(default_factory=set)
    minted_properties: set[str] = field(default_factory=set)


class _Place(NamedTuple):
    """An object still to be said: its path in the record, the class that it is unless it says so, its keys' prefix."""

    block: Mapping[str, Any]
    path: tuple[str, ...]
    expected: str
    prefix: str


def assertions(blocks: Sequence[Any], *, source: str, ontology: Ontology, names: Names) -> Assertions:
    """Say what blocks state: a type for each object, values as plain literals, and links between objects.

    Args:
        blocks: objects as parsed from JSON.
        source: what they were read from; an instance is named by it and by its path within it.
        ontology: where types and keys are looked up, by label or local name; what it lacks is minted.
        names: mints.

    Raises:
        MappingError: nested deeper than ``hypergraph.DEPTH_LIMIT``.
    """
    saying = _Saying(source, ontology, names)
    stack = [_Place(block, (str(order),), "", "") for order, block in enumerate(blocks)]
    while stack:
        place = stack.pop()
        if len(place.path) > 2 * DEPTH_LIMIT:
            raise MappingError(f"a factual block is nested deeper than {DEPTH_LIMIT} levels. Split it.")
        stack.extend(saying.say(place))
    return saying.said


class _Saying:
    """Says one object after the other."""

    def __init__(self, source: str, ontology: Ontology, names: Names) -> None:
        self.source, self.ontology, self.names = source, ontology, names
        self.said = Assertions()

    def say(self, place: _Place) -> Iterator[_Place]:
        """Add the triples of one object and yield the objects in it."""
        node = self._node(place.path)
        concepts = [self._concept(kind) for kind in _kinds(place)]
        self.said.triples.extend(ox.Triple(node, RDF.type, concept) for concept in concepts)
        for name, value in place.block.items():
            if name.startswith("@"):
                continue
            predicate = self._predicate(name, concepts[0].value)
            key = f"{place.prefix}{type_of(place.block)} {name}"
            for order, item in enumerate(_items(value)):
                if isinstance(item, Mapping):
                    path = (*place.path, name, str(order))
                    self.said.triples.append(ox.Triple(node, predicate, self._node(path)))
                    yield _Place(item, path, self._led_to(predicate.value) or name, f"{key} ")
                elif text := text_of(item):
                    self.said.triples.append(ox.Triple(node, predicate, ox.Literal(text)))
                    self.said.properties.setdefault(key, predicate)

    def _node(self, path: Sequence[str]) -> ox.NamedNode:
        return self.names.instance(self.source, *path)

    def _concept(self, kind: str) -> ox.NamedNode:
        if found := self.ontology.concept(kind):
            return ox.NamedNode(found)
        self.said.minted_classes.add(local_name(kind))
        return self.names.minted_class(local_name(kind))

    def _predicate(self, name: str, concept: str) -> ox.NamedNode:
        if found := self.ontology.property_of(name, concept):
            return ox.NamedNode(found)
        self.said.minted_properties.add(name)
        return self.names.minted_property(name)

    def _led_to(self, predicate: str) -> str:
        """Give the class that a property leads to, "" when that is not known."""
        known = self.ontology.properties.get(predicate)
        return next((target for target in known.ranges if target in self.ontology.concepts), "") if known else ""


def _kinds(place: _Place) -> list[str]:
    """Give an object's types; without one, the class or attribute that led to it."""
    kind = place.block.get("@type")
    kinds = [one for one in (kind if isinstance(kind, list) else [kind]) if isinstance(one, str) and local_name(one)]
    return list(dict.fromkeys(kinds)) or [place.expected or _UNNAMED]


def _items(value: Any) -> Iterator[Any]:
    """Yield the scalars and objects of a value; lists and JSON-LD containers are no things of their own."""
    if isinstance(value, list):
        for item in value:
            yield from _items(item)
    elif isinstance(value, Mapping) and "@value" in value:
        yield value["@value"]
    elif isinstance(value, Mapping):
        inner = [value[name] for name in _CONTAINERS if name in value]
        yield from (item for each in inner for item in _items(each))
        if not inner or any(not name.startswith("@") for name in value):
            yield value
    else:
        yield value
