"""Triples and instances extracted from text by a language model (PolyRAG, section 3.1 and appendix A).

The knowledge-graph layer takes four prompts per chunk, f_par, f_ent, f_rel and f_dis. The ontology layer takes one,
f_ins, for the attributes of one class together, and only for classes that a chunk gives evidence of, so that the cost
grows with evidence and not with schema times text. Each batch of chunks is published, and a chunk that the same model
was asked about is skipped, so that a killed build goes on where it stopped.

Graphs written: triple graphs, assertion graphs, quarantine graphs, provenance. Queries read:
``poly_rag/{passages,layers}``. Prompts read: ``poly_rag/{paraphrase,entities,relations,disambiguate,instances}``.
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
from kgrag.methods.poly_rag.layer_drafts import METHOD, Fact, Origin
from kgrag.model import Completion, GraphDraft, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text.sentences import content_words
from kgrag.vocab import KG, digest, local_name, number, words_of

__all__ = [
    "ClassEvidence",
    "Extraction",
    "Paragraph",
    "ParagraphFacts",
    "estimate",
    "evidence",
    "extract_instances",
    "extract_triples",
    "instances_of",
    "layer_graphs",
    "paragraphs",
    "triples_of",
]

Triple = tuple[str, str, str]
StatedFact = tuple[str, str, str, str]
"""Subject, relation and value in words, and the IRI of the subject's class ("" where that is not known)."""

_CHUNKS_PER_PUBLISH = 64
_PROMPTS_PER_CHUNK = 4  # of the knowledge-graph layer
_TOKENS_PER_PROMPT_FRAME = 180  # about: a prompt without its data
_CHARACTERS_PER_TOKEN = 4
_MIN_COSINE = 0.1  # of an attribute with a paragraph; see ``evidence`` for this and the next
_NEAREST_ATTRIBUTES = 12
_STEM_LETTERS = 5
_MAX_ATTRIBUTES_PER_PROMPT = 40


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
class ParagraphFacts:
    """The facts of one paragraph in words, what they cost, and the replies that could not be used."""

    triples: list[StatedFact] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ClassEvidence:
    """A class that a paragraph may be about, with those of its attributes that the paragraph gives evidence of."""

    concept: str
    attributes: tuple[Property, ...]


@dataclass(slots=True)
class Extraction:
    """The number of facts published, chunks asked about and facts refused; the cost; what was not done, and why."""

    facts: int = 0
    asked: int = 0
    refused: int = 0
    usage: Usage = field(default_factory=Usage)
    undone: list[str] = field(default_factory=list)


def paragraphs(store: TripleStore) -> list[Paragraph]:
    """Return the chunks of the text layer in reading order."""
    rows = store.select(queries.bind("poly_rag/passages", catalogue=store.names.catalogue)).values()
    return [Paragraph(chunk, title, text) for chunk, title, text in rows]


def layer_graphs(store: TripleStore) -> dict[str, dict[str, str]]:
    """Return layer -> graph -> what it was made by (``model=…``, ``loaded=…``), "" where that is not recorded."""
    rows = store.select(queries.bind("poly_rag/layers", catalogue=store.names.catalogue)).values()
    graphs: dict[str, dict[str, str]] = {}
    for graph, _, layer, parameters in rows:
        graphs.setdefault(layer, {})[graph] = parameters
    return graphs


def extract_triples(
    wanted: Sequence[Paragraph], *, store: TripleStore, model: LanguageModel, progress: Progress
) -> Extraction:
    """Extract the triples of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; earlier batches are published.
    """

    def drafted(facts: Sequence[Fact], origin: Origin, done: Extraction) -> list[GraphDraft]:
        draft = layer_drafts.triples_draft(facts, origin, store.names)
        kept = sum(triple.object == KG.Statement for triple in draft.triples)
        done.facts += kept
        done.refused += len(facts) - kept
        return [draft]

    unasked = _unasked(wanted, layer_graphs(store).get("graph", {}), store.names.triple_graph, model)
    publisher = _Publisher(store, model, "triples", drafted)
    return publisher.run(unasked, lambda batch: triples_of(batch, model=model), progress)


def extract_instances(
    wanted: Sequence[Paragraph], *, store: TripleStore, model: LanguageModel, embedder: Embedder, progress: Progress
) -> Extraction:
    """Extract the instances of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; earlier batches are published.
    """
    ontology = mapping.read_ontology(store)

    def extracted(batch: Sequence[Paragraph]) -> list[ParagraphFacts]:
        return instances_of(batch, evidence(batch, ontology, embedder=embedder), ontology, model=model)

    def drafted(facts: Sequence[Fact], origin: Origin, done: Extraction) -> list[GraphDraft]:
        draft, instances = layer_drafts.instances_draft(facts, ontology, origin, store.names)
        refused = instances.refused
        done.facts += len(facts) - len(refused)
        done.refused += len(refused)
        done.undone += layer_drafts.faults(refused, origin)
        return [draft, *([layer_drafts.refused_draft(refused, origin, store.names)] if refused else [])]

    unasked = _unasked(wanted, layer_graphs(store).get("ontology", {}), store.names.instance_graph, model)
    return _Publisher(store, model, "instances", drafted).run(unasked, extracted, progress)


def estimate(
    wanted: Sequence[Paragraph],
    *,
    store: TripleStore,
    model: LanguageModel,
    embedder: Embedder,
    loaded: Collection[str],
) -> dict[str, int]:
    """Return how many completions a build would ask for, and about how many tokens; nothing is asked or written.

    Args:
        wanted: the chunks of the text layer.
        store: contains what was extracted already.
        model: the model that would be asked.
        embedder: finds the evidence for classes.
        loaded: layers that came from files, which are not extracted.
    """
    known = layer_graphs(store)
    texts: list[str] = []
    if "graph" not in loaded:
        unasked = _unasked(wanted, known.get("graph", {}), store.names.triple_graph, model)
        texts += [paragraph.text for paragraph in unasked for _ in range(_PROMPTS_PER_CHUNK)]
    ontology = mapping.read_ontology(store)
    if "ontology" not in loaded and ontology:
        unasked = _unasked(wanted, known.get("ontology", {}), store.names.instance_graph, model)
        for paragraph, classes in zip(unasked, evidence(unasked, ontology, embedder=embedder), strict=True):
            texts += [f"{paragraph.text} {' '.join(prop.label for prop in part.attributes)}" for part in classes]
    tokens = sum(len(text) for text in texts) // _CHARACTERS_PER_TOKEN
    return {
        "completions": len(texts),
        "input_tokens": tokens + _TOKENS_PER_PROMPT_FRAME * len(texts),
        "output_tokens": tokens,
    }


def _unasked(
    wanted: Sequence[Paragraph],
    known: dict[str, str],
    graph_of: Callable[[ox.NamedNode], ox.NamedNode],
    model: LanguageModel,
) -> list[Paragraph]:
    by = f"model={model.identity}"
    return [paragraph for paragraph in wanted if known.get(graph_of(ox.NamedNode(paragraph.chunk)).value) != by]


@dataclass(frozen=True, slots=True)
class _Publisher:
    """Publishes the facts of paragraphs batch by batch, ``label`` ("triples", "instances") naming them."""

    store: TripleStore
    model: LanguageModel
    label: str
    drafted: Callable[[Sequence[Fact], Origin, Extraction], list[GraphDraft]]

    def run(
        self,
        unasked: Sequence[Paragraph],
        extracted: Callable[[Sequence[Paragraph]], list[ParagraphFacts]],
        progress: Progress,
    ) -> Extraction:
        """Extract and publish batch after batch, and return the counts of all."""
        done = Extraction(asked=len(unasked))
        for first in range(0, len(unasked), _CHUNKS_PER_PUBLISH):
            batch = unasked[first : first + _CHUNKS_PER_PUBLISH]
            self._publish(zip(batch, extracted(batch), strict=True), done)
            if progress:
                progress(f"{METHOD} {self.label}", first + len(batch), len(unasked))
        return done

    def _publish(self, extracted: Iterable[tuple[Paragraph, ParagraphFacts]], done: Extraction) -> None:
        batch: list[GraphDraft] = []
        deeds: list[Deed] = []
        for paragraph, found in extracted:
            done.usage += found.usage
            done.undone += [f"{paragraph.label}: {problem}" for problem in found.problems]
            if found.problems and not found.triples:
                continue
            by = f"model={self.model.identity}"
            cost = [
                (KG.inputTokens, number(found.usage.input_tokens)),
                (KG.outputTokens, number(found.usage.output_tokens)),
            ]
            if found.problems:
                # The next build asks again; if it gets a part again, under this name, the cost is another.
                by, cost = f"{by}, in part", []
            chunk = ox.NamedNode(paragraph.chunk)
            activity = self.store.names.activity(METHOD, self.label, by, chunk.value)
            label = f"took {self.label} from {paragraph.title or paragraph.chunk}: {by}"
            deeds.append(Deed(activity, label, [chunk], [(KG.model, ox.Literal(self.model.identity)), *cost]))
            facts = [
                Fact(subject, relation, value, concept=concept)
                for subject, relation, value, concept in found.triples
                if subject and relation and value
            ]
            batch += self.drafted(facts, Origin(chunk, activity, by), done)
        publication = self.store.publish([*batch, provenance_draft(deeds, method=METHOD, names=self.store.names)])
        done.undone += publication.faults


def triples_of(paragraphs: Sequence[Paragraph], *, model: LanguageModel) -> list[ParagraphFacts]:
    """Return the triples of each paragraph: f_dis(f_ent(f_par(p)), f_rel(f_par(p))), equation 2.

    Raises:
        ServiceError: the model could not be reached, or refused.
    """
    extracted = [ParagraphFacts() for _ in paragraphs]

    def replies(name: str, values: Sequence[Mapping[str, Any]], key: str) -> list[list[Any]]:
        """Ask a prompt for every paragraph that has statements to ask about; [] for the others."""
        asked = [place for place, given in enumerate(values) if given.get("statements", given)]
        prompts = [_prompt(name, values[place]) for place in asked]
        items: list[list[Any]] = [[] for _ in values]
        for place, completion in zip(asked, model.complete(prompts) if prompts else [], strict=True):
            items[place] = _items(completion, key, extracted[place], name)
        return items

    texts = [{"title": paragraph.title, "text": paragraph.text} for paragraph in paragraphs]
    statements = replies("poly_rag/paraphrase", texts, "statements")
    entities = replies("poly_rag/entities", [{"statements": lines} for lines in statements], "entities")
    values = [{"statements": lines, "entities": names} for lines, names in zip(statements, entities, strict=True)]
    related = replies("poly_rag/relations", values, "triples")
    values = [{**before, "triples": triples} for before, triples in zip(values, related, strict=True)]
    refined = replies("poly_rag/disambiguate", values, "triples")
    for facts, triples in zip(extracted, refined, strict=True):
        facts.triples = [(*_triple(item, ("subject", "relation", "object")), "") for item in triples]
    return extracted


def _prompt(name: str, values: Mapping[str, Any]) -> Prompt:
    # The boundary depends on the text, so that no text can contain it and pass for instructions.
    boundary = f"=== {digest(name, *(str(value) for value in values.values()))[:12]} ==="
    return prompting.render(name, boundary=boundary, **values)


def _items(completion: Completion, key: str, facts: ParagraphFacts, name: str) -> list[Any]:
    """Return the list in a reply, [] when it cannot be used; its cost and the problem are added to ``facts``."""
    facts.usage += completion.usage
    try:
        return list(structured_output.json_of(completion)[key])
    except ReplyUnusable as error:
        facts.problems.append(f"{name}: {error}")
        return []


def _triple(item: Mapping[str, Any], names: Sequence[str]) -> Triple:
    subject, relation, value = (" ".join(str(item[name]).encode("utf-8", "replace").decode().split()) for name in names)
    return subject, relation, value


def evidence(paragraphs: Sequence[Paragraph], ontology: Ontology, *, embedder: Embedder) -> list[list[ClassEvidence]]:
    """Return, for each paragraph, the classes and attributes that are worth a prompt.

    A pair of class and attribute has evidence when a content word of the attribute and a word of the paragraph share
    their first five letters, or when the pair, as a phrase, is among the 12 nearest to the paragraph at a cosine of 0.1
    or more: on sentences of Text2KGBench that keeps most of the gold relations, while words alone, or a cosine of 0.35,
    lose a third. A class that has evidence, or whose whole label is in the paragraph, is also asked for those
    attributes with evidence that it inherits.

    Args:
        paragraphs: the text.
        ontology: classes with their attributes; attributes of no class belong to "Thing".
        embedder: embeds phrases and paragraphs.
    """
    pairs = [
        (concept, ontology.properties[iri])
        for iri in sorted(ontology.properties)
        for concept in ontology.properties[iri].domains or ("",)
    ]
    if not pairs or not paragraphs:
        return [[] for _ in paragraphs]
    phrases = embedder.embed([f"{_label(concept, ontology)} {prop.label}" for concept, prop in pairs], "passage")
    texts = embedder.embed([paragraph.text for paragraph in paragraphs], "passage")
    cosines = texts @ phrases.T
    stems = [_stems(words_of(prop.label)) for _, prop in pairs]
    names = {iri: _stems(words_of(ontology.concepts[iri].label)) for iri in ontology.above if iri in ontology.concepts}
    by_paragraph = []
    for paragraph, row in zip(paragraphs, cosines, strict=True):
        words = _stems(paragraph.text)
        nearest = np.argsort(-row, kind="stable")[:_NEAREST_ATTRIBUTES]
        near = {int(place) for place in nearest if row[place] >= _MIN_COSINE}
        chosen = [pair for place, pair in enumerate(pairs) if place in near or stems[place] & words]
        concepts = {concept for concept, _ in chosen}
        heirs = [iri for iri, name in sorted(names.items()) if iri in concepts or (name and name <= words)]
        inherited = [(heir, prop) for heir in heirs for concept, prop in chosen if concept in ontology.above[heir]]
        by_paragraph.append(list(_by_class(dict.fromkeys([*chosen, *inherited]))))
    return by_paragraph


def _stems(text: str) -> set[str]:
    return {word[:_STEM_LETTERS] for word in content_words(text) if len(word) > 2}


def _by_class(pairs: Iterable[tuple[str, Property]]) -> Iterator[ClassEvidence]:
    """Yield each class with its attributes, several times when these are too many for one prompt."""
    by_concept: dict[str, list[Property]] = {}
    for concept, prop in pairs:
        by_concept.setdefault(concept, []).append(prop)
    for concept, attributes in by_concept.items():
        for first in range(0, len(attributes), _MAX_ATTRIBUTES_PER_PROMPT):
            yield ClassEvidence(concept, tuple(attributes[first : first + _MAX_ATTRIBUTES_PER_PROMPT]))


def _label(concept: str, ontology: Ontology) -> str:
    known = ontology.concepts.get(concept)
    return known.label if known else local_name(concept) or "Thing"


def instances_of(
    paragraphs: Sequence[Paragraph],
    found: Sequence[Sequence[ClassEvidence]],
    ontology: Ontology,
    *,
    model: LanguageModel,
) -> list[ParagraphFacts]:
    """Return the instances of each paragraph as subject, attribute, value and class of the subject: f_ins, equation 1.

    Attributes are those of ``found``; an instance with another one is dropped. A fact that is stated under several
    classes gets the most specific one; when none of these is above the others, the replies do not show which is right,
    and the fact gets the class that they agree on, if any.

    Raises:
        ServiceError: the model could not be reached, or refused.
    """
    extracted = [ParagraphFacts() for _ in paragraphs]
    classes_of: list[dict[Triple, list[str]]] = [{} for _ in paragraphs]
    asked = [(place, part) for place, parts in enumerate(found) for part in parts]
    prompts = [_instances_prompt(paragraphs[place], part, ontology) for place, part in asked]
    for (place, part), completion in zip(asked, model.complete(prompts) if prompts else [], strict=True):
        known = {words_of(attribute.label): attribute.label for attribute in part.attributes}
        for item in _items(completion, "instances", extracted[place], "poly_rag/instances"):
            subject, label, value = _triple(item, ("subject", "attribute", "value"))
            if words_of(label) in known:
                classes_of[place].setdefault((subject, known[words_of(label)], value), []).append(part.concept)
    for facts, stated in zip(extracted, classes_of, strict=True):
        facts.triples = [(*triple, _most_specific(classes, ontology)) for triple, classes in stated.items()]
    return extracted


def _most_specific(concepts: Sequence[str], ontology: Ontology) -> str:
    """Return the lowest of those classes that are above or below all others; "" when there is none."""
    above = {concept: ontology.above.get(concept, frozenset()) for concept in concepts if concept}
    comparable = [
        concept
        for concept in above
        if all(other in {concept, *above[concept]} or concept in above[other] for other in above)
    ]
    return max(comparable, key=lambda concept: len(above[concept].intersection(comparable)), default="")


def _instances_prompt(paragraph: Paragraph, part: ClassEvidence, ontology: Ontology) -> Prompt:
    attributes = [
        {"label": attribute.label, "range": _label(attribute.ranges[0], ontology) if attribute.ranges else ""}
        for attribute in part.attributes
    ]
    values = {"concept": _label(part.concept, ontology), "attributes": attributes, "text": paragraph.text}
    return _prompt("poly_rag/instances", values)
