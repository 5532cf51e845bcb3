"""Factual blocks as triples: instances of classes with their attributes, and no blank nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgrag.errors import MappingError
from kgrag.mapping.factual_blocks import DEPTH_LIMIT, key_of, text_of
from kgrag.mapping.ontology_terms import Ontology
from kgrag.vocab import RDF, Names, local_name

__all__ = ["Assertions", "assertions"]

_CONTAINERS = ("@list", "@set", "@graph", "@included")
_UNNAMED_TYPE = "Thing"


@dataclass(slots=True)
class Assertions:
    """Triples about instances; the property behind each key of a hypernode; types and keys that no ontology has."""

    triples: list[ox.Triple] = field(default_factory=list)
    properties: dict[str, ox.NamedNode] = field(default_factory=dict)
    minted_classes: set[str] = field(default_factory=set)
    minted_properties: set[str] = field(default_factory=set)


class _PendingObject(NamedTuple):
    """An object still to be written: its path in the record, its type where it names none, its keys' prefix."""

    block: Mapping[str, Any]
    path: tuple[str, ...]
    default_type: str
    prefix: str


def assertions(
    blocks: Sequence[Any], *, source: str, ontology: Ontology, names: Names, brief: bool = False
) -> Assertions:
    """Return the statements of blocks: a type for each object, values as plain literals, and links between objects.

    Args:
        blocks: objects as parsed from JSON.
        source: the record that they were read from; an instance is named by it and by its path within it.
        ontology: where types and keys are looked up, by label or local name; terms that it lacks are minted.
        names: mints the IRIs of instances and of missing terms.
        brief: whether keys are those of ``flatten`` with ``brief``.

    Raises:
        MappingError: nested deeper than ``factual_blocks.DEPTH_LIMIT``.
    """
    result = Assertions()
    stack = [_PendingObject(block, (str(order),), "", "") for order, block in enumerate(blocks)]
    while stack:
        pending = stack.pop()
        if len(pending.path) > 2 * DEPTH_LIMIT:
            raise MappingError(f"a factual block is nested deeper than {DEPTH_LIMIT} levels. Split it.")
        stack.extend(_add(result, pending, brief, source, ontology, names))
    return result


def _add(
    result: Assertions, pending: _PendingObject, brief: bool, source: str, ontology: Ontology, names: Names
) -> Iterator[_PendingObject]:
    """Add the triples of one object to the result, and yield the objects in it."""
    node = names.instance(source, *pending.path)
    kind = pending.block.get("@type")
    types = [name for name in (kind if isinstance(kind, list) else [kind]) if isinstance(name, str)]
    # An object without a type has that of the property or attribute that led to it.
    types = list(dict.fromkeys(filter(local_name, types))) or [pending.default_type or _UNNAMED_TYPE]
    result.minted_classes.update(local_name(name) for name in types if not ontology.concept(name))
    concepts = [ox.NamedNode(ontology.concept(name) or names.minted_class(local_name(name)).value) for name in types]
    result.triples.extend(ox.Triple(node, RDF.type, concept) for concept in concepts)
    for name, value in pending.block.items():
        if name.startswith("@"):
            continue
        known = ontology.property_of(name, concepts[0].value)
        if not known:
            result.minted_properties.add(name)
        predicate = ox.NamedNode(known) if known else names.minted_property(name)
        ranges = ontology.properties[known].ranges if known else ()
        target = next((iri for iri in ranges if iri in ontology.concepts), name)
        key = key_of(pending.prefix, pending.block, name, brief=brief)
        for order, item in enumerate(_items(value)):
            if isinstance(item, Mapping):
                path = (*pending.path, name, str(order))
                result.triples.append(ox.Triple(node, predicate, names.instance(source, *path)))
                yield _PendingObject(item, path, target, f"{key} ")
            elif text := text_of(item):
                result.triples.append(ox.Triple(node, predicate, ox.Literal(text)))
                result.properties.setdefault(key, predicate)


def _items(value: Any) -> Iterator[Any]:
    """Yield the scalars and objects of a value; lists and JSON-LD containers are no objects of their own."""
    if isinstance(value, list):
        for item in value:
            yield from _items(item)
    elif isinstance(value, Mapping) and "@value" in value:
        yield value["@value"]
    elif isinstance(value, Mapping):
        inner = [value[name] for name in _CONTAINERS if name in value]
        yield from (item for contained in inner for item in _items(contained))
        if not inner or any(not name.startswith("@") for name in value):
            yield value
    else:
        yield value
