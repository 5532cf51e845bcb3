"""What a model is told of the ontology, and what its reply must look like.

OG-RAG, appendix C.2: the prompt shows a context definition and the text. An ontology that is too large for a prompt is
cut to the classes that come nearest to the text. Labels and comments are data from whoever wrote the ontology: they are
shown on one line each and never followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kgrag.llm import structured_output
from kgrag.mapping.mapped_records import blocks_of
from kgrag.mapping.ontology_terms import Concept, Ontology, Property
from kgrag.ports import Embedder
from kgrag.vocab import local_name

__all__ = ["contract", "described", "problem", "slice_for"]

_CLASSES = 40
_FREE = 20


def slice_for(
    ontology: Ontology, texts: Sequence[str], *, embedder: Embedder, limit: int = _CLASSES
) -> dict[str, list[dict[str, Any]]]:
    """Give the classes that a text is mapped onto, each with its properties.

    Args:
        ontology: what is loaded.
        texts: the chunks of a window; read only when the ontology has more than ``limit`` classes.
        embedder: says which classes are near.
        limit: the largest number of classes.

    Returns:
        ``{"classes": [{"iri", "label", "comment", "properties": [{"iri", "label", "range", "range_label"}]}]}``,
        by label.
    """
    chosen = sorted(ontology.concepts)
    if len(chosen) > limit:
        chosen = _nearest(ontology, texts, embedder=embedder, limit=limit)
    concepts = sorted((ontology.concepts[iri] for iri in chosen), key=lambda one: (one.label, one.iri))
    return {"classes": [_shown(concept, ontology) for concept in concepts]}


def _nearest(ontology: Ontology, texts: Sequence[str], *, embedder: Embedder, limit: int) -> list[str]:
    """Give the classes whose wording is nearest to any of the texts, with the classes that their properties lead to."""
    iris = sorted(ontology.concepts)
    near = embedder.embed([_wording(ontology.concepts[iri], ontology) for iri in iris], "passage")
    cosines = (near @ embedder.embed(list(texts), "passage").T).max(axis=1)
    ranked = [iris[place] for place in np.lexsort((np.arange(len(iris)), -cosines))]
    chosen: dict[str, None] = {}
    for iri in ranked:
        led_to = (target for one in ontology.properties_of(iri) for target in one.ranges)
        chosen.update(dict.fromkeys([iri, *(target for target in led_to if target in ontology.concepts)]))
        if len(chosen) >= limit:
            break
    return list(chosen)[:limit]


def _wording(concept: Concept, ontology: Ontology) -> str:
    labels = ", ".join(one.label for one in ontology.properties_of(concept.iri))
    return ". ".join(part for part in (concept.label, concept.comment, labels) if part)


def _shown(concept: Concept, ontology: Ontology) -> dict[str, Any]:
    properties = [*ontology.properties_of(concept.iri), *ontology.free_properties[:_FREE]]
    return {
        "iri": concept.iri,
        "label": concept.label,
        "comment": concept.comment,
        "properties": [_shown_property(one, ontology) for one in properties],
    }


def _shown_property(one: Property, ontology: Ontology) -> dict[str, str]:
    target = next(iter(one.ranges), "")
    label = ontology.concepts[target].label if target in ontology.concepts else local_name(target)
    return {"iri": one.iri, "label": one.label, "range": target, "range_label": label if target else ""}


def described(part: Mapping[str, Any]) -> str:
    """Write a slice as the context definition of the prompt.

    >>> name = {"iri": "urn:n", "label": "name", "range": "", "range_label": ""}
    >>> print(described({"classes": [{"iri": "urn:c", "label": "Crop", "comment": "A plant.", "properties": [name]}]}))
    Crop: A plant.
      name: text
    """
    lines = []
    for concept in part["classes"]:
        lines.append(f"{concept['label']}: {concept['comment']}" if concept["comment"] else concept["label"])
        lines.extend(f"  {one['label']}: {_target(one, part)}" for one in concept["properties"])
    return "\n".join(lines)


def _target(one: Mapping[str, str], part: Mapping[str, Any]) -> str:
    return one["range_label"] if one["range"] in {concept["iri"] for concept in part["classes"]} else "text"


def contract(part: Mapping[str, Any]) -> dict[str, Any]:
    """Give the JSON Schema of a reply: blocks of the slice's classes, whose known keys hold what their range says.

    A key that the slice lacks is allowed (it is minted and counted); a type that it lacks is not. A property whose
    range is a class holds objects or names of things, any other holds text, numbers, or lists of them.
    """
    types = sorted({name for concept in part["classes"] for name in _names(concept)})
    known = {concept["iri"] for concept in part["classes"]}
    keys: dict[str, set[bool]] = {}
    for concept in part["classes"]:
        for one in concept["properties"]:
            for name in _names(one):
                keys.setdefault(name, set()).add(one["range"] in known or not one["range"])
    properties = {
        name: {"$ref": f"#/$defs/{'thing' if any(kinds) else 'text'}"} for name, kinds in sorted(keys.items())
    }
    scalar = ["string", "number", "boolean", "null"]
    block = {"type": "object", "properties": {**properties, "@type": {"enum": types}}}
    return {
        "type": "object",
        "required": ["@graph"],
        "properties": {"@graph": {"type": "array", "items": {"$ref": "#/$defs/block"}}},
        "$defs": {
            "block": {**block, "required": ["@type"]},
            "text": {"type": [*scalar, "array"], "items": {"type": scalar}},
            "thing": {"anyOf": [{"$ref": "#/$defs/part"}, {"type": "array", "items": {"$ref": "#/$defs/part"}}]},
            "part": {"anyOf": [{"type": scalar}, block]},
        },
    }


def _names(term: Mapping[str, Any]) -> set[str]:
    """Give the names under which a term may stand in a reply."""
    return {term["label"], local_name(term["iri"])} - {"@type", "@id"}


def problem(data: Any, schema: Mapping[str, Any]) -> tuple[tuple[Any, ...], str]:
    """Give the blocks of a reply, and how they depart from the contract ("" when they don't).

    A list of blocks, or one block, stands for ``{"@graph": [...]}``; some models leave the frame away.
    """
    blocks = blocks_of(data)
    if not blocks and not (isinstance(data, Mapping) and data.get("@graph") == []):
        return (), "the reply holds no object of facts"
    return blocks, structured_output.problem({"@graph": list(blocks)}, schema)
