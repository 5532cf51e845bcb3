"""Layers out of text: the model is asked for triples and instances, chunk by chunk, and each batch is published.

A chunk that the same model was asked about is passed over, so that a killed build goes on where it stopped. Graphs
written: triple graphs, assertion graphs, quarantine graphs, provenance. Queries read: ``poly_rag/{passages,layers}``.

Triples and instances out of paragraphs, by a language model in named steps.

PolyRAG, section 3.1 and appendix A. The knowledge-graph layer takes four steps, f_par, f_ent, f_rel and f_dis, each a
prompt of its own; the ontology layer one, f_ins, for the attributes of one class together, and only for classes that a
paragraph gives evidence of, so that the cost grows with evidence and not with schema times text. Prompts read:
``poly_rag/{paraphrase,entities,relations,disambiguate,instances}``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyoxigraph as ox

from kgrag import mapping, prompting, queries
from kgrag.errors import ReplyUnusable
from kgrag.index.vector_spaces import Progress
from kgrag.llm import structured_output
from kgrag.mapping import Ontology, Property
from kgrag.methods.poly_rag import layer_drafts
from kgrag.methods.poly_rag.graph_facts import Fact
from kgrag.methods.poly_rag.layer_drafts import METHOD, Origin
from kgrag.model import Completion, GraphDraft, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text.sentences import content_words
from kgrag.vocab import KG, digest, local_name, number, words_of

__all__ = [
    "Evidence",
    "Extraction",
    "Paragraph",
    "Taken",
    "estimate",
    "evidence",
    "extract_instances",
    "extract_triples",
    "instances_of",
    "layer_graphs",
    "paragraphs",
    "triples_of",
]

_AT_ONCE = 64  # chunks asked for and published together
_STEPS = 4  # of the cascade
_FRAME = 180  # tokens of a prompt beside its data, about
_CHARACTERS_A_TOKEN = 4


@dataclass(slots=True)
class Extraction:
    """What an extraction did: facts published, chunks asked about, what it cost, and what was not done and why."""

    facts: int = 0
    asked: int = 0
    refused: int = 0
    usage: Usage = field(default_factory=Usage)
    undone: list[str] = field(default_factory=list)


def paragraphs(store: TripleStore) -> list[Paragraph]:
    """Give the chunks of the text layer in reading order."""
    rows = store.select(queries.bind("poly_rag/passages", catalogue=store.names.catalogue)).values()
    return [Paragraph(chunk, title, text) for chunk, title, text in rows]


def layer_graphs(store: TripleStore) -> dict[str, dict[str, str]]:
    """Give layer -> graph -> what it was made with ("" where that is not said)."""
    rows = store.select(queries.bind("poly_rag/layers", catalogue=store.names.catalogue)).values()
    found: dict[str, dict[str, str]] = {}
    for graph, _, layer, parameters in rows:
        found.setdefault(layer, {})[graph] = parameters
    return found


def extract_triples(
    wanted: Sequence[Paragraph], *, store: TripleStore, model: LanguageModel, progress: Progress
) -> Extraction:
    """Ask for the triples of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; what came before is published.
    """

    def drafted(facts: Sequence[Fact], origin: Origin, done: Extraction) -> list[GraphDraft]:
        draft = layer_drafts.triples_draft(facts, origin, store.names)
        kept = sum(triple.object == KG.Statement for triple in draft.triples)
        done.facts += kept
        done.refused += len(facts) - kept
        return [draft]

    known = layer_graphs(store).get("graph", {})
    left = _left(wanted, known, store.names.triple_graph, model)
    return _run(left, lambda batch: triples_of(batch, model=model), drafted, _Desk(store, model, progress, "triples"))


def extract_instances(
    wanted: Sequence[Paragraph], *, store: TripleStore, model: LanguageModel, embedder: Embedder, progress: Progress
) -> Extraction:
    """Ask for the instances of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; what came before is published.
    """
    ontology = mapping.read_ontology(store)

    def taken(batch: Sequence[Paragraph]) -> list[Taken]:
        found = evidence(batch, ontology, embedder=embedder)
        return instances_of(batch, found, ontology, model=model)

    def drafted(facts: Sequence[Fact], origin: Origin, done: Extraction) -> list[GraphDraft]:
        draft, said = layer_drafts.instances_draft(facts, ontology, origin, store.names)
        done.facts += len(facts) - len(said.refused)
        done.refused += len(said.refused)
        done.undone += layer_drafts.faults(said.refused, origin)
        return [draft, *([layer_drafts.refused_draft(said.refused, origin, store.names)] if said.refused else [])]

    known = layer_graphs(store).get("ontology", {})
    left = _left(wanted, known, store.names.instance_graph, model)
    return _run(left, taken, drafted, _Desk(store, model, progress, "instances"))


def estimate(
    wanted: Sequence[Paragraph],
    *,
    store: TripleStore,
    model: LanguageModel,
    embedder: Embedder,
    loaded: Collection[str],
) -> dict[str, int]:
    """Give how many completions a build would ask for, and about how many tokens; nothing is asked or written.

    Args:
        wanted: the chunks of the text layer.
        store: holds what was taken already.
        model: who would be asked.
        embedder: finds the evidence for classes.
        loaded: layers that came from files, which are not asked for.
    """
    known = layer_graphs(store)
    texts: list[str] = []
    if "graph" not in loaded:
        left = _left(wanted, known.get("graph", {}), store.names.triple_graph, model)
        texts += [one.text for one in left for _ in range(_STEPS)]
    ontology = mapping.read_ontology(store)
    if "ontology" not in loaded and ontology:
        left = _left(wanted, known.get("ontology", {}), store.names.instance_graph, model)
        for one, found in zip(left, evidence(left, ontology, embedder=embedder), strict=True):
            texts += [f"{one.text} {' '.join(each.label for each in part.attributes)}" for part in found]
    tokens = sum(len(text) for text in texts) // _CHARACTERS_A_TOKEN
    return {
        "completions": len(texts),
        "input_tokens": tokens + _FRAME * len(texts),
        "output_tokens": tokens,
    }


def _left(
    wanted: Sequence[Paragraph],
    known: dict[str, str],
    name: Callable[[ox.NamedNode], ox.NamedNode],
    model: LanguageModel,
) -> list[Paragraph]:
    by = f"model={model.identity}"
    return [one for one in wanted if known.get(name(ox.NamedNode(one.chunk)).value) != by]


@dataclass(frozen=True, slots=True)
class _Desk:
    """What every batch needs: where to, by whom, and who is told."""

    store: TripleStore
    model: LanguageModel
    progress: Progress
    label: str


_Drafted = Callable[[Sequence[Fact], Origin, Extraction], list[GraphDraft]]


def _run(
    left: Sequence[Paragraph], taken: Callable[[Sequence[Paragraph]], list[Taken]], drafted: _Drafted, desk: _Desk
) -> Extraction:
    done = Extraction(asked=len(left))
    for first in range(0, len(left), _AT_ONCE):
        batch = left[first : first + _AT_ONCE]
        _publish(zip(batch, taken(batch), strict=True), drafted, desk, done)
        if desk.progress:
            desk.progress(f"{METHOD} {desk.label}", first + len(batch), len(left))
    return done


def _publish(found: Iterable[tuple[Paragraph, Taken]], drafted: _Drafted, desk: _Desk, done: Extraction) -> None:
    batch: list[GraphDraft] = []
    deeds: list[Deed] = []
    for paragraph, one in found:
        done.usage += one.usage
        done.undone += [f"{paragraph.label}: {problem}" for problem in one.problems]
        if one.problems and not one.triples:
            continue
        by = f"model={desk.model.identity}"
        said = [(KG.inputTokens, number(one.usage.input_tokens)), (KG.outputTokens, number(one.usage.output_tokens))]
        if one.problems:
            # the next build asks again, by the same name when it gets a part again, at another cost
            by, said = f"{by}, in part", []
        chunk = ox.NamedNode(paragraph.chunk)
        activity = desk.store.names.activity(METHOD, desk.label, by, chunk.value)
        label = f"took {desk.label} from {paragraph.title or paragraph.chunk}: {by}"
        deeds.append(Deed(activity, label, [chunk], [(KG.model, ox.Literal(desk.model.identity)), *said]))
        facts = [
            Fact(subject, relation, value, concept=concept)
            for subject, relation, value, concept in one.triples
            if subject and relation and value
        ]
        batch += drafted(facts, Origin(chunk, activity, by), done)
    publication = desk.store.publish([*batch, provenance_draft(deeds, method=METHOD, names=desk.store.names)])
    done.undone += publication.faults


Triple = tuple[str, str, str]
Stated = tuple[str, str, str, str]
"""Subject, relation and value in words, and the IRI of the subject's class ("" where that is not known)."""

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

    @property
    def label(self) -> str:
        """Its document and its own IRI, for a person."""
        return f"{self.title or 'untitled'}, chunk <{self.chunk}>"


@dataclass(slots=True)
class Taken:
    """What was taken from a paragraph: triples in words, what they cost, and what went wrong on the way."""

    triples: list[Stated] = field(default_factory=list)
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
        one.triples = [(*_triple(item, ("subject", "relation", "object")), "") for item in triples]
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
    try:
        return list(structured_output.json_of(completion)[key])
    except ReplyUnusable as error:
        taken.problems.append(f"{name}: {error}")
        return []


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
    sentences of Text2KGBench that keeps most of the gold relations, while one by words or by 0.35 loses a third. A
    class that is asked about anyway, or whose whole label stands in the paragraph, is also asked for those attributes
    with evidence that it inherits.

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
    names = {iri: _roots(words_of(ontology.concepts[iri].label)) for iri in ontology.above if iri in ontology.concepts}
    found = []
    for paragraph, row in zip(paragraphs, cosines, strict=True):
        spoken = _roots(paragraph.text)
        near = {int(place) for place in np.argsort(-row, kind="stable")[:_NEAREST] if row[place] >= _LEAST_COSINE}
        chosen = [pair for place, pair in enumerate(pairs) if place in near or roots[place] & spoken]
        asked = {concept for concept, _ in chosen}
        heirs = [iri for iri, name in sorted(names.items()) if iri in asked or (name and name <= spoken)]
        inherited = [(heir, one) for heir in heirs for concept, one in chosen if concept in ontology.above[heir]]
        found.append(list(_grouped(dict.fromkeys([*chosen, *inherited]))))
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
    """Give the instances of each paragraph as subject, attribute, value and class of the subject: f_ins, equation 1.

    Attributes are those of ``found``; a reply that names another one loses that instance. What is stated under several
    classes has the most specific one; under classes of which none is above the other the replies do not tell these
    apart, and it has at most what they agree on.

    Raises:
        ServiceError: the model could not be reached, or refused.
    """
    taken = [Taken() for _ in paragraphs]
    stated: list[dict[Triple, list[str]]] = [{} for _ in paragraphs]
    asked = [(place, one) for place, each in enumerate(found) for one in each]
    prompts = [_instances_prompt(paragraphs[place], one, ontology) for place, one in asked]
    for (place, one), completion in zip(asked, model.complete(prompts) if prompts else [], strict=True):
        known = {words_of(attribute.label): attribute.label for attribute in one.attributes}
        for item in _items(completion, "instances", taken[place], "poly_rag/instances"):
            subject, label, value = _triple(item, ("subject", "attribute", "value"))
            if words_of(label) in known:
                stated[place].setdefault((subject, known[words_of(label)], value), []).append(one.concept)
    for each, classes in zip(taken, stated, strict=True):
        each.triples = [(*triple, _most_specific(under, ontology)) for triple, under in classes.items()]
    return taken


def _most_specific(concepts: Sequence[str], ontology: Ontology) -> str:
    """Give the lowest of those classes that are above or below all others; "" when there is none."""
    above = {concept: ontology.above.get(concept, frozenset()) for concept in concepts if concept}
    line = [one for one in above if all(other == one or other in above[one] or one in above[other] for other in above)]
    return max(line, key=lambda one: len(above[one].intersection(line)), default="")


def _instances_prompt(paragraph: Paragraph, one: Evidence, ontology: Ontology) -> Prompt:
    attributes = [
        {"label": attribute.label, "range": _label(attribute.ranges[0], ontology) if attribute.ranges else ""}
        for attribute in one.attributes
    ]
    values = {"concept": _label(one.concept, ontology), "attributes": attributes, "text": paragraph.text}
    return _prompt("poly_rag/instances", values)
