"""Factual blocks in the words of an ontology: whatever way a model spells a type or a key, its label is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgrag.mapping.factual_blocks import DEPTH_LIMIT
from kgrag.mapping.ontology_terms import Ontology

__all__ = ["canonical"]


def canonical(blocks: Sequence[Any], ontology: Ontology) -> tuple[Any, ...]:
    """Return blocks whose types and keys are labels of the ontology; those that it does not know stay as they are.

    A type or key is known by IRI, prefixed name, local name or label, whatever its case: "Crop", "crop" and "ex:Crop"
    are one class. Two keys of an object that become one keep the values of both.

    Args:
        blocks: objects as parsed from JSON; below ``DEPTH_LIMIT`` they stay as they are.
        ontology: the classes and properties.
    """
    return tuple(_canonical(block, ontology, "", 0) for block in blocks)


def _canonical(value: Any, ontology: Ontology, concept: str, depth: int) -> Any:
    """Return a value in the words of the ontology; ``concept`` is the class of an object that names none."""
    if depth > DEPTH_LIMIT:
        return value
    if isinstance(value, list):
        return [_canonical(item, ontology, concept, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    kinds = value.get("@type")
    names = [name for name in (kinds if isinstance(kinds, list) else [kinds]) if isinstance(name, str)]
    concept = next(filter(None, map(ontology.concept, names)), "") or concept
    written: dict[str, Any] = {}
    for key, item in value.items():
        if key == "@type":
            labels = [ontology.concepts[iri].label if (iri := ontology.concept(name)) else name for name in names]
            written[key] = labels if isinstance(kinds, list) else next(iter(labels), item)
            continue
        known = "" if key.startswith("@") else ontology.property_of(key, concept)
        ranges = ontology.properties[known].ranges if known else ()
        target = next((iri for iri in ranges if iri in ontology.concepts), "")
        label = ontology.properties[known].label if known else key
        inner = _canonical(item, ontology, target, depth + 1)
        written[label] = _together(written[label], inner) if label in written else inner
    return written


def _together(first: Any, second: Any) -> list[Any]:
    return [*(first if isinstance(first, list) else [first]), *(second if isinstance(second, list) else [second])]
