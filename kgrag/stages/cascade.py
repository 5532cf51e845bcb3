"""Triples and instances out of paragraphs, by a language model in named steps.

PolyRAG, section 3.1 and appendix A. The knowledge-graph layer takes four steps, f_par, f_ent, f_rel and f_dis, each a
prompt of its own; the ontology layer one, f_ins, for the attributes of one class together, and only for classes that a
paragraph gives evidence of, so that the cost grows with evidence and not with schema times text. Prompts read:
``poly_rag/{paraphrase,entities,relations,disambiguate,instances}``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgrag import prompting
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel
from kgrag.stages.mapping import Ontology, Property
from kgrag.stages.sentences import content_words
from kgrag.vocab import digest, local_name, words_of

__all__ = ["Evidence", "Paragraph", "Taken", "evidence", "instances_of", "triples_of"]

Triple = tuple[str, str, str]

_LEAST_COSINE = 0.1
_NEAREST = 12
_ROOT = 5
_MOST_ATTRIBUTES = 40


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A chunk of text under the title of its document."""

    chunk: str
    title: str
    text: str


@dataclass(slots=True)
class Taken:
    """What was taken from a paragraph: triples in words, what they cost, and what went wrong on the way."""

    triples: list[Triple] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    problems: list[str] = field(default_factory=list)


def triples_of(paragraphs: Sequence[Paragraph], *, model: LanguageModel) -> list[Taken]:
    """Give the triples of each paragraph: f_dis(f_ent(f_par(p)), f_rel(f_par(p))), equation 2.

    Raises:
        ServiceError: the model could not be reached, or refused.
    """
    taken = [Taken() for _ in paragraphs]
    statements = _step(
        "poly_rag/paraphrase",
        [{"title": one.title, "text": one.text} for one in paragraphs],
        "statements",
        taken,
        model,
    )
    entities = _step("poly_rag/entities", [{"statements": each} for each in statements], "entities", taken, model)
    given = [{"statements": said, "entities": names} for said, names in zip(statements, entities, strict=True)]
    related = _step("poly_rag/relations", given, "triples", taken, model)
    given = [{**before, "triples": triples} for before, triples in zip(given, related, strict=True)]
    refined = _step("poly_rag/disambiguate", given, "triples", taken, model)
    for one, triples in zip(taken, refined, strict=True):
        one.triples = [_triple(item, ("subject", "relation", "object")) for item in triples]
    return taken


def _step(
    name: str, given: Sequence[Mapping[str, Any]], key: str, taken: Sequence[Taken], model: LanguageModel
) -> list[list[Any]]:
    """Ask one prompt for every paragraph that has something to be asked about; [] for the others."""
    asked = [place for place, values in enumerate(given) if values.get("statements", values)]
    prompts = [_prompt(name, given[place]) for place in asked]
    found: list[list[Any]] = [[] for _ in given]
    for place, completion in zip(asked, model.complete(prompts) if prompts else [], strict=True):
        found[place] = _items(completion, key, taken[place], name)
    return found


def _prompt(name: str, values: Mapping[str, Any]) -> Prompt:
    boundary = f"=== {digest(name, *(str(value) for value in values.values()))[:12]} ==="
    return prompting.render(name, boundary=boundary, **values)


def _items(completion: Completion, key: str, taken: Taken, name: str) -> list[Any]:
    taken.usage += completion.usage
    if completion.problem or not isinstance(completion.data, Mapping):
        taken.problems.append(f"{name}: {completion.problem or 'the reply is no JSON object'}")
        return []
    return list(completion.data.get(key) or [])


def _triple(item: Mapping[str, Any], names: Sequence[str]) -> Triple:
    one, other, last = (" ".join(str(item[name]).encode("utf-8", "replace").decode().split()) for name in names)
    return one, other, last


@dataclass(frozen=True, slots=True)
class Evidence:
    """A class that a paragraph speaks of, with those of its attributes that it gives evidence of."""

    concept: str
    attributes: tuple[Property, ...]


def evidence(paragraphs: Sequence[Paragraph], ontology: Ontology, *, embedder: Embedder) -> list[list[Evidence]]:
    """Give, for each paragraph, the classes and attributes that are worth a question.

    A pair of class and attribute has evidence when a telling word of the attribute begins as a word of the paragraph
    does, or when the pair, as a phrase, is among the 12 nearest to the paragraph at a cosine of 0.1 or more: on
    sentences of Text2KGBench that keeps most of the gold relations, while one by words or by 0.35 loses a third.

    Args:
        paragraphs: the text.
        ontology: classes with their attributes; attributes of no class belong to "Thing".
        embedder: embeds phrases and paragraphs.
    """
    pairs = list(_pairs(ontology))
    if not pairs or not paragraphs:
        return [[] for _ in paragraphs]
    phrases = embedder.embed([f"{_label(concept, ontology)} {one.label}" for concept, one in pairs], "passage")
    texts = embedder.embed([one.text for one in paragraphs], "passage")
    cosines = texts @ phrases.T
    roots = [_roots(words_of(one.label)) for _, one in pairs]
    found = []
    for paragraph, row in zip(paragraphs, cosines, strict=True):
        spoken = _roots(paragraph.text)
        near = {int(place) for place in np.argsort(-row, kind="stable")[:_NEAREST] if row[place] >= _LEAST_COSINE}
        chosen = [pair for place, pair in enumerate(pairs) if place in near or roots[place] & spoken]
        found.append(list(_grouped(chosen)))
    return found


def _pairs(ontology: Ontology) -> Iterator[tuple[str, Property]]:
    for iri in sorted(ontology.properties):
        one = ontology.properties[iri]
        for concept in one.domains or ("",):
            yield concept, one


def _roots(text: str) -> set[str]:
    return {word[:_ROOT] for word in content_words(text) if len(word) > 2}


def _grouped(pairs: Iterable[tuple[str, Property]]) -> Iterator[Evidence]:
    by_concept: dict[str, list[Property]] = {}
    for concept, one in pairs:
        by_concept.setdefault(concept, []).append(one)
    for concept, attributes in by_concept.items():
        for first in range(0, len(attributes), _MOST_ATTRIBUTES):
            yield Evidence(concept, tuple(attributes[first : first + _MOST_ATTRIBUTES]))


def _label(concept: str, ontology: Ontology) -> str:
    known = ontology.concepts.get(concept)
    return known.label if known else local_name(concept) or "Thing"


def instances_of(
    paragraphs: Sequence[Paragraph], found: Sequence[Sequence[Evidence]], ontology: Ontology, *, model: LanguageModel
) -> list[Taken]:
    """Give the instances of each paragraph as triples of subject, attribute and value: f_ins, equation 1.

    Attributes are those of ``found``; a reply that names another one loses that instance.

    Raises:
        ServiceError: the model could not be reached, or refused.
    """
    taken = [Taken() for _ in paragraphs]
    asked = [(place, one) for place, each in enumerate(found) for one in each]
    prompts = [_instances_prompt(paragraphs[place], one, ontology) for place, one in asked]
    for (place, one), completion in zip(asked, model.complete(prompts) if prompts else [], strict=True):
        known = {words_of(attribute.label): attribute.label for attribute in one.attributes}
        for item in _items(completion, "instances", taken[place], "poly_rag/instances"):
            subject, label, value = _triple(item, ("subject", "attribute", "value"))
            if words_of(label) in known:
                taken[place].triples.append((subject, known[words_of(label)], value))
    for each in taken:
        each.triples = list(dict.fromkeys(each.triples))
    return taken


def _instances_prompt(paragraph: Paragraph, one: Evidence, ontology: Ontology) -> Prompt:
    attributes = [
        {"label": attribute.label, "range": _label(attribute.ranges[0], ontology) if attribute.ranges else ""}
        for attribute in one.attributes
    ]
    values = {"concept": _label(one.concept, ontology), "attributes": attributes, "text": paragraph.text}
    return _prompt("poly_rag/instances", values)
