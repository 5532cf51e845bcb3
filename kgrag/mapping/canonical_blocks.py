"""Factual blocks in the words of an ontology: whatever way a model spells a type or a key, its label is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgrag.late_patterns import late_re
from kgrag.mapping.factual_blocks import DEPTH_LIMIT
from kgrag.mapping.ontology_terms import Ontology

__all__ = ["canonical"]

_PREFIX = late_re(r"^(?:\w{1,12}:(?=\S+$)|#)")
_WORDS = late_re(r"\w+")
_NUMBERED = late_re(r"^(?:_:.*|[a-zA-Z][\w+.-]*://.*|urn:.*|[\W\d]*)$")
"""Identifiers that claim to be no name: blank nodes, whole IRIs, and bare numbers."""


def canonical(
    blocks: Sequence[Any], ontology: Ontology, text: str = "", *, nameless: list[str] | None = None
) -> tuple[Any, ...]:
    """Return blocks whose types and keys are labels of the ontology; those that it does not know stay as they are.

    A type or key is known by IRI, prefixed name, local name or label, whatever its case: "Crop", "crop" and "ex:Crop"
    are one class. Two keys of an object that become one keep the values of both. An ``@id`` that stands in the text is
    what the text calls the object: the value of the property that names things of its class, where it has no other.

    Args:
        blocks: objects as parsed from JSON; below ``DEPTH_LIMIT`` they stay as they are.
        ontology: the classes and properties.
        text: what was mapped; an ``@id`` that is not in it names nothing.
        nameless: gets each ``@id`` that was refused so and leaves its object without a name.
    """
    refused = [] if nameless is None else nameless
    said = _plain(text)
    return tuple(_canonical(block, ontology, said, "", 0, refused) for block in blocks)


def _canonical(value: Any, ontology: Ontology, text: str, concept: str, depth: int, nameless: list[str]) -> Any:
    """Return a value in the words of the ontology; ``concept`` is the class of an object that names none."""
    if depth > DEPTH_LIMIT:
        return value
    if isinstance(value, list):
        return [_canonical(item, ontology, text, concept, depth + 1, nameless) for item in value]
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
        inner = _canonical(item, ontology, text, target, depth + 1, nameless)
        written[label] = _together(written[label], inner) if label in written else inner
    naming, identifier = ontology.naming(concept) or "name", value.get("@id")
    if name := _name_of(identifier, text):
        written.setdefault(naming, name)
    elif isinstance(identifier, str) and naming not in written and not _NUMBERED.match(identifier.strip()):
        nameless.append(identifier)
    return written


def _name_of(identifier: Any, text: str) -> str:
    """Return the name that an ``@id`` is; "" where the text does not have it: an IRI, or a number that a model made up.

    >>> _name_of("ex:geqo_seed", _plain("Set geqo_seed to 0.")), _name_of("zone1", _plain("Zone 1 is dry."))
    ('geqo_seed', '')
    """
    name = _PREFIX.sub("", identifier).strip() if isinstance(identifier, str) else ""
    return name if name and f" {_plain(name)} " in f" {text} " else ""


def _plain(text: str) -> str:
    """Return the words of a text, with one space between."""
    return " ".join(_WORDS.findall(text.casefold()))


def _together(first: Any, second: Any) -> list[Any]:
    return [*(first if isinstance(first, list) else [first]), *(second if isinstance(second, list) else [second])]
