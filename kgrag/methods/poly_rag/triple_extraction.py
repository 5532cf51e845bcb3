"""Triples and instances extracted from text by a language model (PolyRAG, section 3.1 and appendix A).

Neighbouring chunks of a document are asked about together, in one request for what both layers lack. Requests are
published some at a time, and a chunk that the same model was asked about is skipped, so that a killed build goes on
where it stopped. A request whose reply is cut is asked in halves, and a chunk that a reply about several leaves out by
itself; a chunk without a usable reply is pending.

Deviations:
    The paper asks f_ins for each class and attribute, and f_par, f_ent, f_rel and f_dis one after the other, each with
    the text again. One reply gives all of it for a third of the tokens and less: it names the class of each instance,
    may use inherited attributes, and replaces pronouns and general words by names, as f_par and f_dis do.

Graphs written: triple graphs, assertion graphs, quarantine graphs, provenance. Queries read:
``poly_rag/{passages,layers}``. Prompt read: ``poly_rag/facts``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import pyoxigraph as ox

from kgrag import mapping, prompting, queries
from kgrag.errors import ReplyUnusable
from kgrag.index.vector_spaces import Progress
from kgrag.llm import structured_output
from kgrag.llm.reply_lengths import Forecast, Plan, forecast
from kgrag.mapping import Ontology
from kgrag.methods.poly_rag import layer_drafts
from kgrag.methods.poly_rag.layer_drafts import METHOD, Fact, Origin
from kgrag.model import Completion, GraphDraft, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text.chunking import count_tokens
from kgrag.vocab import KG, OWL, digest, number, words_of

__all__ = [
    "Asked",
    "Extraction",
    "Paragraph",
    "ParagraphFacts",
    "Request",
    "answered",
    "estimate",
    "extract",
    "layer_graphs",
]

PROMPT = "poly_rag/facts"

_REQUESTS_PER_PUBLISH = 16
_REQUESTS_PER_CALL = 256  # asked together, so that workers and services go on while what came is published
_TOKENS_PER_REQUEST = 400  # of text: its reply is about six times as long, and stays below common limits


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A chunk of text under the title of its document."""

    chunk: str
    title: str
    text: str
    document: str = ""

    @property
    def label(self) -> str:
        """Its document and its own IRI, for a person."""
        return f"{self.title or 'untitled'}, chunk <{self.chunk}>"


@dataclass(frozen=True, slots=True)
class Request:
    """Neighbouring paragraphs of a document, the text before the first, and which layers are asked for."""

    paragraphs: tuple[Paragraph, ...]
    before: str = ""
    instances: bool = True
    triples: bool = True

    def halves(self) -> list[Request]:
        """Return what is asked instead when its reply is cut: half the paragraphs each, else one layer each, or []."""
        if middle := len(self.paragraphs) // 2:
            first, second = self.paragraphs[:middle], self.paragraphs[middle:]
            return [replace(self, paragraphs=first), replace(self, paragraphs=second, before=first[-1].text)]
        return [replace(self, triples=False), replace(self, instances=False)] if self.instances and self.triples else []

    def alone(self, position: int) -> Request:
        """Return what is asked about one of its paragraphs, which a reply about all of them left out."""
        before = self.paragraphs[position - 1].text if position else self.before
        return replace(self, paragraphs=self.paragraphs[position : position + 1], before=before)

    def joined(self, following: Request) -> Request | None:
        """Return this request with the paragraphs of the one that follows; None where they are too many for one."""
        paragraphs = (*self.paragraphs, *following.paragraphs)
        together = following.before == self.paragraphs[-1].text and (self.instances, self.triples) == (
            following.instances,
            following.triples,
        )
        tokens = sum(count_tokens(paragraph.text) for paragraph in paragraphs)
        return replace(self, paragraphs=paragraphs) if together and tokens <= _TOKENS_PER_REQUEST else None


@dataclass(slots=True)
class ParagraphFacts:
    """The facts of one paragraph in words."""

    instances: list[Fact] = field(default_factory=list)
    triples: list[Fact] = field(default_factory=list)


@dataclass(slots=True)
class Extraction:
    """What was published of each layer, the cost, what was not done and why, and what was chosen by triage."""

    counts: dict[str, int] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    undone: list[str] = field(default_factory=list)
    choice: mapping.Choice | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked for.

    Args:
        loaded: layers that came from files ("ontology", "graph"), which are not extracted.
        triage: chooses the chunks that are asked about; None: all.
    """

    loaded: Collection[str] = ()
    triage: mapping.Triage | None = None


def layer_graphs(store: TripleStore) -> dict[str, dict[str, str]]:
    """Return layer -> graph -> what it was made by (``model=…``, ``loaded=…``), "" where that is not recorded."""
    rows = store.select(queries.bind("poly_rag/layers", catalogue=store.names.catalogue)).values()
    graphs: dict[str, dict[str, str]] = {}
    for graph, _, layer, parameters in rows:
        graphs.setdefault(layer, {})[graph] = parameters
    return graphs


def extract(
    *, store: TripleStore, model: LanguageModel, embedder: Embedder, wanted: Asked, progress: Progress
) -> Extraction:
    """Extract and publish the triples and instances of every wanted chunk that this model was not asked about.

    Args:
        store: contains text and ontologies.
        model: the model.
        embedder: chooses the classes that are near a text, where the ontology is large.
        wanted: which layers, of which chunks.
        progress: called after each publish.

    Raises:
        ServiceError: the model failed; earlier requests are published.
        StateError: chunks are to be chosen, and no ontology is loaded.
    """
    ontology = mapping.read_ontology(store)
    requests, choice = _requests(store, model, ontology, wanted)
    layers = [layer for layer in ("graph", "ontology") if layer not in wanted.loaded]
    publisher = _Publisher(store, model, ontology, layers)
    publisher.done.choice = choice
    for first in range(0, len(requests), _REQUESTS_PER_CALL):
        asked = requests[first : first + _REQUESTS_PER_CALL]
        replies = answered(asked, ontology, model=model, embedder=embedder)
        published = 0
        while batch := list(islice(replies, _REQUESTS_PER_PUBLISH)):
            publisher.publish(batch)
            published += len(batch)
            if progress:  # what is asked again in parts has more replies than requests
                progress(f"{METHOD} facts", first + min(published, len(asked)), len(requests))
    return publisher.done


def estimate(
    *, store: TripleStore, model: LanguageModel, embedder: Embedder, wanted: Asked
) -> tuple[Forecast, mapping.Choice | None]:
    """Return how many completions a build would ask for, and about how many tokens; nothing is asked or written.

    With it comes what triage would choose. Arguments as of ``extract``.
    """
    ontology = mapping.read_ontology(store)
    requests, choice = _requests(store, model, ontology, wanted)
    slices = mapping.Slices(ontology, embedder)
    plan = Plan(_prompt(request, slices) for request in requests)
    return forecast(plan, model), choice


def _requests(
    store: TripleStore, model: LanguageModel, ontology: Ontology, wanted: Asked
) -> tuple[list[Request], mapping.Choice | None]:
    """Return what this model is to be asked: chosen chunks in reading order, those that are neighbours together."""
    by, known = f"model={model.identity}", layer_graphs(store)

    def lacks(layer: str, graph: ox.NamedNode) -> bool:
        return layer not in wanted.loaded and known.get(layer, {}).get(graph.value) != by

    def lacking(paragraph: Paragraph) -> tuple[bool, bool]:
        chunk = ox.NamedNode(paragraph.chunk)
        instances = bool(ontology) and lacks("ontology", store.names.instance_graph(chunk))
        return instances, lacks("graph", store.names.triple_graph(chunk))

    rows = store.select(queries.bind("poly_rag/passages", catalogue=store.names.catalogue)).values()
    read = [(paragraph, lacking(paragraph)) for paragraph in (Paragraph(*row) for row in rows)]
    choice = None
    if wanted.triage is not None:
        built = {paragraph.chunk for paragraph, layers in read if not any(layers)}
        choice = wanted.triage.choose([paragraph.chunk for paragraph, _ in read], built)
    return _joined(read, choice), choice


def _joined(read: Iterable[tuple[Paragraph, tuple[bool, bool]]], choice: mapping.Choice | None) -> list[Request]:
    """Return requests for what chosen paragraphs lack of (instances, triples), neighbours together."""
    requests: list[Request] = []
    previous = Paragraph("", "", "")
    for paragraph, layers in read:
        if any(layers) and (choice is None or paragraph.chunk in choice.chunks):
            before = previous.text if previous.document == paragraph.document else ""
            request = Request((paragraph,), before, *layers)
            joined = requests[-1].joined(request) if requests and before else None
            requests[-1:] = [joined] if joined else [*requests[-1:], request]
        previous = paragraph
    return requests


def answered(
    requests: Sequence[Request], ontology: Ontology, *, model: LanguageModel, embedder: Embedder
) -> Iterator[tuple[Request, Completion, dict[str, ParagraphFacts], str]]:
    """Yield each request with its reply, the facts of each of its chunks, and why there are none ("" otherwise).

    It is yielded without the chunks that are asked about again: in halves where its reply is cut, by themselves where a
    reply about several leaves them out.

    Raises:
        ServiceError: the model could not be reached, or refused.
    """
    waiting, slices = list(requests), mapping.Slices(ontology, embedder)
    while waiting:
        asked, waiting = waiting, []
        prompts = [_prompt(request, slices) for request in asked]
        for index, completion in model.as_completed(prompts):
            request = asked[index]
            if completion.finish in ("length", "prompt_length") and (halves := request.halves()):
                waiting += halves
                yield replace(request, paragraphs=()), completion, {}, ""
                continue
            try:
                data = structured_output.json_of(completion)
            except ReplyUnusable as error:
                yield request, completion, {}, str(error)
            else:
                facts = _facts(data, request, prompts[index], ontology)
                lacking = _left_out(data, request)
                waiting += [request.alone(position) for position in lacking]
                read = tuple(one for place, one in enumerate(request.paragraphs) if place not in lacking)
                stated = {paragraph.chunk: facts[paragraph.chunk] for paragraph in read}
                yield replace(request, paragraphs=read), completion, stated, ""


def _prompt(request: Request, slices: mapping.Slices) -> Prompt:
    texts = [paragraph.text for paragraph in request.paragraphs]
    shown = slices.of(texts) if request.instances else mapping.Slice({"classes": [], "shared": []})
    if (shared := shown.part["shared"]) and not shown.part["classes"]:
        thing = {"iri": OWL.Thing.value, "label": "Thing", "comment": "", "above": [], "properties": shared}
        shown = mapping.Slice({"classes": [thing], "shared": shared})
    # The boundary depends on the text, so that no text can contain it and pass for instructions.
    prompt = prompting.render(
        PROMPT,
        ontology=shown.described,
        slice=shown.part,
        triples=request.triples,
        title=request.paragraphs[0].title,
        before=request.before,
        paragraphs=[{"number": number, "text": text} for number, text in enumerate(texts, start=1)],
        boundary=f"=== {digest(request.paragraphs[0].title, request.before, *texts)[:12]} ===",
    )
    return replace(prompt, divisible=bool(request.halves()))


def _left_out(data: Mapping[str, Any], request: Request) -> list[int]:
    """Return which paragraphs a reply about several has no entry for, not even an empty one."""
    named = {entry["paragraph"] for entry in (*data["things"], *data["triples"])}
    several = len(request.paragraphs) > 1
    return [place for place in range(len(request.paragraphs)) if several and place + 1 not in named]


def _facts(data: Mapping[str, Any], request: Request, prompt: Prompt, ontology: Ontology) -> dict[str, ParagraphFacts]:
    """Return the facts of a reply by chunk; attributes that were not listed and unknown paragraphs are left out.

    A fact that is stated under several classes gets the most specific one; when none of these is above the others, the
    reply does not show which is right, and the fact gets the class that they agree on, if any.
    """
    chunks = {number: paragraph.chunk for number, paragraph in enumerate(request.paragraphs, start=1)}
    facts = {chunk: ParagraphFacts() for chunk in chunks.values()}
    listed = [term for concept in prompt.variables["slice"]["classes"] for term in concept["properties"]]
    labels = {words_of(term["label"]): term["label"] for term in listed}
    classes_of: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for thing in data["things"]:
        for item in thing["attributes"]:
            label = labels.get(words_of(_line(item["attribute"])), "")
            stated = (chunks.get(thing["paragraph"], ""), _line(thing["name"]), label, _line(item["value"]))
            if all(stated):
                classes_of[stated].append(ontology.concept(_line(thing["class"])))
    for (chunk, subject, label, value), classes in classes_of.items():
        concept = _most_specific(classes, ontology)
        facts[chunk].instances.append(Fact(subject, label, value, concept=concept))
    for item in data["triples"] if request.triples else ():
        chunk, ends = chunks.get(item["paragraph"], ""), [_line(item[end]) for end in ("subject", "relation", "object")]
        if chunk and all(ends):
            facts[chunk].triples.append(Fact(*ends))
    return facts


def _line(text: str) -> str:
    """Return a text of a reply on one line, without halves of surrogate pairs."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _most_specific(concepts: Sequence[str], ontology: Ontology) -> str:
    """Return the lowest of those classes that are above or below all others; "" when there is none."""
    above = {concept: ontology.above.get(concept, frozenset()) for concept in concepts if concept}
    comparable = [
        concept
        for concept in above
        if all(other in {concept, *above[concept]} or concept in above[other] for other in above)
    ]
    return max(comparable, key=lambda concept: len(above[concept].intersection(comparable)), default="")


class _Publisher:
    """Publishes the facts of requests, each with the activity that read it, and counts."""

    def __init__(self, store: TripleStore, model: LanguageModel, ontology: Ontology, layers: Collection[str]) -> None:
        self.store, self.model, self.ontology = store, model, ontology
        counted = [name for layer, name in (("graph", "triples"), ("ontology", "instances")) if layer in layers]
        if not ontology and "instances" in counted:
            counted.remove("instances")
        counts = {f"{name}_{what}": 0 for name in counted for what in ("extracted", "asked", "refused")}
        self.done = Extraction(counts)

    def publish(self, replies: Iterable[tuple[Request, Completion, dict[str, ParagraphFacts], str]]) -> None:
        """Publish the facts of some requests together; a chunk without a usable reply is not done."""
        batch: list[GraphDraft] = []
        deeds: list[Deed] = []
        for request, completion, facts, problem in replies:
            self.done.usage += completion.usage
            for name, asked in (("instances", request.instances), ("triples", request.triples)):
                if asked:
                    self.done.counts[f"{name}_asked"] += len(request.paragraphs)
            if problem:
                self.done.undone += [f"{paragraph.label}: {PROMPT}: {problem}" for paragraph in request.paragraphs]
            if problem or not request.paragraphs:
                continue
            deed = self._deed(request, completion)
            deeds.append(deed)
            texts = {paragraph.chunk: paragraph.text for paragraph in request.paragraphs}
            for chunk, stated in facts.items():
                origin = Origin(ox.NamedNode(chunk), deed.iri, f"model={self.model.identity}")
                if request.triples:
                    batch.append(self._triples(stated.triples, origin, texts[chunk]))
                if request.instances:
                    batch += self._instances(stated.instances, origin, texts[chunk])
        publication = self.store.publish([*batch, provenance_draft(deeds, method=METHOD, names=self.store.names)])
        self.done.undone += publication.faults

    def _deed(self, request: Request, completion: Completion) -> Deed:
        chunks = [ox.NamedNode(paragraph.chunk) for paragraph in request.paragraphs]
        by = f"model={self.model.identity}"
        layers = " and ".join(
            name for name, asked in (("triples", request.triples), ("instances", request.instances)) if asked
        )
        said = [
            (KG.model, ox.Literal(self.model.identity)),
            (KG.inputTokens, number(completion.usage.input_tokens)),
            (KG.outputTokens, number(completion.usage.output_tokens)),
        ]
        iri = self.store.names.activity(METHOD, layers, by, *(chunk.value for chunk in chunks))
        first = request.paragraphs[0]
        return Deed(iri, f"took {layers} from {first.title or first.chunk}: {by}", chunks, said)

    def _triples(self, facts: Sequence[Fact], origin: Origin, source: str) -> GraphDraft:
        draft = layer_drafts.triples_draft(facts, origin, self.store.names, source)
        kept = sum(triple.object == KG.Statement for triple in draft.triples)
        self.done.counts["triples_extracted"] += kept
        self.done.counts["triples_refused"] += len(facts) - kept
        return draft

    def _instances(self, facts: Sequence[Fact], origin: Origin, source: str) -> list[GraphDraft]:
        draft, instances = layer_drafts.instances_draft(facts, self.ontology, origin, self.store.names, source)
        refused = instances.refused
        self.done.counts["instances_extracted"] += len(facts) - len(refused)
        self.done.counts["instances_refused"] += len(refused)
        self.done.undone += layer_drafts.faults(refused, origin)
        return [draft, *([layer_drafts.refused_draft(refused, origin, self.store.names)] if refused else [])]
