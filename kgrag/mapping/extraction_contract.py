"""The contract of an extraction: the part of the ontology that a model is shown, and the schema of its reply.

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
from kgrag.mapping.ontology_terms import Concept, Ontology
from kgrag.ports import Embedder
from kgrag.vocab import local_name

__all__ = ["contract", "described", "problem", "slice_for"]

_MAX_CLASSES = 40
_MAX_FREE_PROPERTIES = 20  # properties without a domain would be repeated for every class


def slice_for(
    ontology: Ontology, texts: Sequence[str], *, embedder: Embedder, limit: int = _MAX_CLASSES
) -> dict[str, list[dict[str, Any]]]:
    """Return the classes that a text is mapped onto, each with its properties.

    Args:
        ontology: the loaded ontologies.
        texts: the chunks of a window; read only when the ontology has more than ``limit`` classes.
        embedder: ranks the classes by their distance to the texts.
        limit: the largest number of classes.

    Returns:
        ``{"classes": [{"iri", "label", "comment", "properties": [{"iri", "label", "range", "range_label"}]}]}``,
        by label.
    """
    chosen = sorted(ontology.concepts)
    if len(chosen) > limit:
        chosen = _nearest(ontology, texts, embedder=embedder, limit=limit)
    concepts = sorted((ontology.concepts[iri] for iri in chosen), key=lambda concept: (concept.label, concept.iri))
    return {"classes": [_class_entry(concept, ontology) for concept in concepts]}


def _nearest(ontology: Ontology, texts: Sequence[str], *, embedder: Embedder, limit: int) -> list[str]:
    """Return the classes whose wording is nearest to any of the texts, with those that their properties lead to."""
    iris = sorted(ontology.concepts)
    wordings = []
    for iri in iris:
        labels = ", ".join(term.label for term in ontology.properties_of(iri))
        wordings.append(". ".join(filter(None, (ontology.concepts[iri].label, ontology.concepts[iri].comment, labels))))
    cosines = (embedder.embed(wordings, "passage") @ embedder.embed(list(texts), "passage").T).max(axis=1)
    ranked = [iris[place] for place in np.lexsort((np.arange(len(iris)), -cosines))]
    chosen: dict[str, None] = {}
    for iri in ranked:
        targets = (target for term in ontology.properties_of(iri) for target in term.ranges)
        chosen.update(dict.fromkeys([iri, *(target for target in targets if target in ontology.concepts)]))
        if len(chosen) >= limit:
            break
    return list(chosen)[:limit]


def _class_entry(concept: Concept, ontology: Ontology) -> dict[str, Any]:
    properties = []
    for term in [*ontology.properties_of(concept.iri), *ontology.free_properties[:_MAX_FREE_PROPERTIES]]:
        target = next(iter(term.ranges), "")
        label = ontology.concepts[target].label if target in ontology.concepts else local_name(target)
        properties.append(
            {"iri": term.iri, "label": term.label, "range": target, "range_label": label if target else ""}
        )
    return {"iri": concept.iri, "label": concept.label, "comment": concept.comment, "properties": properties}


def described(part: Mapping[str, Any]) -> str:
    """Return a slice as the context definition of the prompt.

    >>> name = {"iri": "urn:n", "label": "name", "range": "", "range_label": ""}
    >>> print(described({"classes": [{"iri": "urn:c", "label": "Crop", "comment": "A plant.", "properties": [name]}]}))
    Crop: A plant.
      name: text
    """
    known = {concept["iri"] for concept in part["classes"]}
    lines = []
    for concept in part["classes"]:
        lines.append(f"{concept['label']}: {concept['comment']}" if concept["comment"] else concept["label"])
        lines += [
            f"  {term['label']}: {term['range_label'] if term['range'] in known else 'text'}"
            for term in concept["properties"]
        ]
    return "\n".join(lines)


def contract(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a reply: blocks of the slice's classes, whose known keys have values of their range.

    A key that the slice lacks is allowed (it is minted and counted); a type that it lacks is not. The values of a
    property whose range is a class are objects or names, those of any other are text, numbers, or lists of them.
    """
    types = sorted({name for concept in part["classes"] for name in _names(concept)})
    known = {concept["iri"] for concept in part["classes"]}
    keys: dict[str, set[bool]] = {}
    for concept in part["classes"]:
        for term in concept["properties"]:
            for name in _names(term):
                keys.setdefault(name, set()).add(term["range"] in known or not term["range"])
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
    """Return the names that a reply may use for a term."""
    return {term["label"], local_name(term["iri"])} - {"@type", "@id"}


def problem(data: Any, schema: Mapping[str, Any]) -> tuple[tuple[Any, ...], str]:
    """Return the blocks of a reply, and how they depart from the contract ("" when they do not).

    A list of blocks, or one block, is read as ``{"@graph": [...]}``; some models leave the frame away.
    """
    blocks = blocks_of(data)
    if not blocks and not (isinstance(data, Mapping) and data.get("@graph") == []):
        return (), "the reply has no object of facts"
    return blocks, structured_output.problem({"@graph": list(blocks)}, schema)
