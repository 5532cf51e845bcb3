"""The contract of an extraction: the part of the ontology that a model is shown, and the schema of its reply.

OG-RAG, appendix C.2: the prompt shows a context definition and the text. An ontology that is too large for a prompt is
cut to the classes that come nearest to the text. Labels and comments are data from whoever wrote the ontology: they are
shown on one line each and never followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kgrag.llm import structured_output
from kgrag.mapping.mapped_records import blocks_of
from kgrag.mapping.ontology_terms import Concept, Ontology, Property
from kgrag.ports import Embedder
from kgrag.vocab import local_name

__all__ = ["Slice", "Slices", "contract", "described", "problem", "slice_for"]

_MAX_CLASSES = 40
_MAX_SHARED_PROPERTIES = 60  # properties without a domain


def slice_for(
    ontology: Ontology, texts: Sequence[str], *, embedder: Embedder, limit: int = _MAX_CLASSES
) -> dict[str, list[dict[str, Any]]]:
    """Return the classes that a text is mapped onto, each with all its properties.

    Args:
        ontology: the loaded ontologies.
        texts: the chunks of a window; read only when the ontology has more than ``limit`` classes.
        embedder: ranks the classes by their distance to the texts.
        limit: the largest number of classes.

    Returns:
        ``{"classes": [{"iri", "label", "comment", "above", "properties": [{"iri", "label", "range", "range_label",
        "own"}]}], "shared": [...]}``, by label. ``above`` are the labels of the nearest classes above it in the slice;
        ``own`` is false for a property that one of those has, too; ``shared`` are the properties of every class.
    """
    chosen = sorted(ontology.concepts)
    if len(chosen) > limit:
        chosen = _nearest(ontology, texts, embedder=embedder, limit=limit)
    concepts = sorted((ontology.concepts[iri] for iri in chosen), key=lambda concept: (concept.label, concept.iri))
    shared = [_property_entry(term, ontology, own=False) for term in ontology.free_properties[:_MAX_SHARED_PROPERTIES]]
    classes = [_class_entry(concept, ontology, frozenset(chosen), shared) for concept in concepts]
    return {"classes": classes, "shared": shared}


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


def _class_entry(
    concept: Concept, ontology: Ontology, chosen: frozenset[str], shared: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    above = ontology.above.get(concept.iri, frozenset()) & chosen - {concept.iri}
    nearest = [iri for iri in above if not any(iri in ontology.above.get(other, ()) for other in above - {iri})]
    own = [
        _property_entry(term, ontology, own=concept.iri in term.domains or not above.intersection(term.domains))
        for term in ontology.properties_of(concept.iri)
    ]
    return {
        "iri": concept.iri,
        "label": concept.label,
        "comment": concept.comment,
        "above": sorted(ontology.concepts[iri].label for iri in nearest),
        "properties": [*own, *shared],
    }


def _property_entry(term: Property, ontology: Ontology, *, own: bool) -> dict[str, Any]:
    target = next(iter(term.ranges), "")
    label = ontology.concepts[target].label if target in ontology.concepts else local_name(target)
    return {"iri": term.iri, "label": term.label, "range": target, "range_label": label if target else "", "own": own}


def described(part: Mapping[str, Any]) -> str:
    """Return a slice as the context definition of a prompt: a class on a line, below it the attributes of its own.

    >>> name = {"iri": "urn:n", "label": "name", "range": "", "range_label": "", "own": True}
    >>> crop = {"iri": "urn:c", "label": "crop", "comment": "Grown.", "above": ["plant"], "properties": [name]}
    >>> print(described({"classes": [crop], "shared": []}))
    crop (a kind of plant): Grown.
      name
    """
    known = {concept["iri"] for concept in part["classes"]}
    lines = []
    for concept in part["classes"]:
        heading = (
            f"{concept['label']} (a kind of {', '.join(concept['above'])})" if concept["above"] else concept["label"]
        )
        lines.append(f"{heading}: {concept['comment']}" if concept["comment"] else heading)
        lines += [_attribute(term, known) for term in concept["properties"] if term["own"]]
    if part["shared"]:
        lines += ["every class", *(_attribute(term, known) for term in part["shared"])]
    return "\n".join(lines)


def _attribute(term: Mapping[str, Any], known: set[str]) -> str:
    return f"  {term['label']}: {term['range_label']}" if term["range"] in known else f"  {term['label']}"


def contract(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a reply: blocks of the slice's classes, whose known keys have values of their range.

    A key that the slice lacks is allowed (it is minted and counted); a type that it lacks is not. Every value is an
    object, a scalar or a list of these; only scalars where the range of the property is no class. The schema is sent
    with every request, so it lists those properties alone, each once.
    """
    types = sorted({name for concept in part["classes"] for name in (concept["label"], local_name(concept["iri"]))})
    known = {concept["iri"] for concept in part["classes"]}
    keys: dict[str, set[bool]] = {}
    for term in (term for concept in part["classes"] for term in concept["properties"]):
        keys.setdefault(term["label"], set()).add(term["range"] in known or not term["range"])
    texts = {key: {"$ref": "#/$defs/text"} for key, kinds in sorted(keys.items()) if not any(kinds)}
    scalar = ["string", "number", "boolean", "null"]
    thing = {"$ref": "#/$defs/thing"}
    return {
        "type": "object",
        "required": ["@graph"],
        "properties": {"@graph": {"type": "array", "items": {"$ref": "#/$defs/block"}}},
        "$defs": {
            "block": {"allOf": [{"$ref": "#/$defs/part"}], "required": ["@type"]},
            "part": {
                "type": "object",
                "properties": {**texts, "@type": {"enum": types}},
                "additionalProperties": {"anyOf": [thing, {"type": "array", "items": thing}]},
            },
            "text": {"type": [*scalar, "array"], "items": {"type": scalar}},
            "thing": {"anyOf": [{"type": scalar}, {"$ref": "#/$defs/part"}]},
        },
    }


@dataclass(frozen=True)
class Slice:
    """A slice as ``slice_for`` returns it, with what a prompt shows of it and what a reply is to be."""

    part: dict[str, Any]

    @cached_property
    def described(self) -> str:
        """Its context definition."""
        return described(self.part)

    @cached_property
    def contract(self) -> dict[str, Any]:
        """The JSON Schema of a reply."""
        return contract(self.part)


@dataclass(frozen=True)
class Slices:
    """The slices of an ontology for many texts: one for all of them, made once, where each of its classes fits in.

    ``embedder`` and ``limit`` are those of ``slice_for``.
    """

    ontology: Ontology
    embedder: Embedder
    limit: int = _MAX_CLASSES
    _of_all: list[Slice] = field(default_factory=list, init=False, repr=False)

    def of(self, texts: Sequence[str]) -> Slice:
        """Return the slice for a text, by its chunks."""
        if self._of_all:
            return self._of_all[0]
        made = Slice(slice_for(self.ontology, texts, embedder=self.embedder, limit=self.limit))
        if len(self.ontology.concepts) <= self.limit:
            self._of_all.append(made)
        return made


def problem(data: Any, schema: Mapping[str, Any]) -> tuple[tuple[Any, ...], str]:
    """Return the blocks of a reply, and how they depart from the contract ("" when they do not).

    A list of blocks, or one block, is read as ``{"@graph": [...]}``; some models leave the frame away.
    """
    blocks = blocks_of(data)
    if not blocks and not (isinstance(data, Mapping) and data.get("@graph") == []):
        return (), "the reply has no object of facts"
    return blocks, structured_output.problem({"@graph": list(blocks)}, schema)
