"""Propositions and entities of chunks: asked of a language model, or loaded ready-made.

SiReRAG, section 4.2, figures 6 and 7. Neighbouring chunks of a document are asked about together, under its title and
with the chunk before them in view. Requests are published some at a time, so that a killed build goes on where it
stopped. A request whose reply is cut is asked in halves, and a chunk that a reply about several leaves out by itself;
a chunk without a usable reply is asked again by the next build.

Deviations:
    The paper rewrites each chunk first, so that references are resolved, and asks for the facts of what came out. The
    prompt for facts forbids pronouns and ambiguous references itself, and sees the title and the chunk before, so that
    the rewriting is left out; ``rewrite`` brings it back.

Queries read: ``sire_rag/extracted``, ``sire_rag/passages``. Prompts: ``sire_rag/rewrite``, ``sire_rag/facts``. Graphs
written: one proposition graph per chunk, and provenance.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag import prompting, queries
from kgrag.errors import InputError, ReplyUnusable
from kgrag.index.vector_spaces import Progress
from kgrag.llm import structured_output
from kgrag.methods.sire_rag.tree_drafts import METHOD
from kgrag.model import GraphDraft, Prompt, Usage
from kgrag.ports import LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text.chunking import context_before, count_tokens
from kgrag.text.sentences import entity_key
from kgrag.vocab import KG, RDF, RDFS, Names, digest, number

__all__ = [
    "FACTS_PROMPT",
    "REWRITE_PROMPT",
    "ChunkInContext",
    "ExtractedProposition",
    "ExtractionReport",
    "chunks_in_context",
    "extract",
    "facts_prompt",
    "groups",
    "load",
    "merged",
    "unasked",
]

REWRITE_PROMPT = "sire_rag/rewrite"
FACTS_PROMPT = "sire_rag/facts"
_CHUNKS_PER_PUBLICATION = 64
_TOKENS_PER_REQUEST = 400  # of text: its facts are about twice as long, and stay below common limits
_LOADED = "extraction="  # how the origin of a ready-made extraction begins in the catalogue


@dataclass(frozen=True, slots=True)
class ChunkInContext:
    """A chunk as it is asked about; ``before`` is the text of the chunk before it in the document."""

    chunk: str
    text: str
    title: str
    identifier: str
    before: str = ""
    document: str = ""

    @property
    def label(self) -> str:
        """Its document and its own IRI, for a person."""
        return f"{self.title or self.identifier or 'untitled'}, chunk <{self.chunk}>"

    @property
    def titled(self) -> str:
        """The text under its title, as it is embedded."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True)
class ExtractedProposition:
    """A proposition in words, and the names of the entities that it mentions."""

    text: str
    entities: tuple[str, ...]


@dataclass(slots=True)
class ExtractionReport:
    """Numbers of chunks that were published and that were done before, the cost, notes, and what is pending and why."""

    extracted: int = 0
    unchanged: int = 0
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)


def chunks_in_context(store: TripleStore) -> list[ChunkInContext]:
    """Return every chunk in reading order."""
    rows = store.select(queries.bind("sire_rag/passages", catalogue=store.names.catalogue)).values()
    chunks = []
    for last, (document, title, identifier, chunk, text) in pairwise([("", "", "", "", ""), *rows]):
        before = last[4] if last[0] == document else ""
        chunks.append(ChunkInContext(chunk, text, title, identifier, before, document))
    return chunks


def extract(
    chunks: Sequence[ChunkInContext],
    *,
    store: TripleStore,
    model: LanguageModel,
    rewrite: bool = False,
    progress: Progress,
) -> ExtractionReport:
    """Ask for the propositions of every chunk that this model was not asked about, and publish them.

    Args:
        chunks: every chunk, in reading order.
        store: contains them.
        model: the model.
        rewrite: whether each chunk is rewritten first, as in the paper.
        progress: called after each publish.

    Raises:
        ServiceError: the model failed; what came before is published.
    """
    origin = f"model={model.identity}"
    left = unasked(chunks, store=store, model=model)
    report = ExtractionReport(unchanged=len(chunks) - len(left))
    for first in range(0, len(left), _CHUNKS_PER_PUBLICATION):
        batch = left[first : first + _CHUNKS_PER_PUBLICATION]
        readable = _rewritten(batch, model, report) if rewrite else batch
        _publish(store, _asked(groups(readable), model, report), origin, report)
        if progress:
            progress("sire_rag propositions", first + len(batch), len(left))
    return report


def unasked(chunks: Sequence[ChunkInContext], *, store: TripleStore, model: LanguageModel) -> list[ChunkInContext]:
    """Return the chunks that this model was not asked about and that no file gave propositions for."""
    origin = f"model={model.identity}"
    done = {chunk for chunk, by in _origins(store) if by == origin or by.startswith(_LOADED)}
    return [chunk for chunk in chunks if chunk.chunk not in done]


def _origins(store: TripleStore) -> list[tuple[str, ...]]:
    """Return (chunk, origin of its propositions) pairs."""
    return store.select(queries.bind("sire_rag/extracted", catalogue=store.names.catalogue)).values()


_Stated = Mapping[str, Sequence[ExtractedProposition]]  # by chunk


def groups(chunks: Sequence[ChunkInContext]) -> list[list[ChunkInContext]]:
    """Return chunks in groups that are asked about together: neighbours in one document, of at most 400 tokens."""
    found: list[list[ChunkInContext]] = []
    tokens = 0
    for last, chunk in pairwise([None, *chunks]):
        length = count_tokens(chunk.text) if chunk else 0
        if last and chunk and chunk.document and chunk.document == last.document and chunk.before == last.text:
            tokens += length
            if tokens <= _TOKENS_PER_REQUEST:
                found[-1].append(chunk)
                continue
        if chunk:
            found.append([chunk])
            tokens = length
    return found


def facts_prompt(group: Sequence[ChunkInContext]) -> Prompt:
    """Return the prompt for the facts of neighbouring chunks."""
    first, texts = group[0], [chunk.text for chunk in group]
    # the line that introduces and the last paragraph have the names; all of a chunk was a sixth of the request
    before = context_before(f"{first.before}\n\n", len(first.before) + 2) if first.before else ""
    prompt = prompting.render(
        FACTS_PROMPT,
        title=first.title,
        before=before,
        paragraphs=[{"number": number, "text": text} for number, text in enumerate(texts, start=1)],
        boundary=f"=== {digest(first.title, before, *texts)[:12]} ===",
    )
    return replace(prompt, divisible=len(group) > 1)


def _rewritten(batch: Sequence[ChunkInContext], model: LanguageModel, report: ExtractionReport) -> list[ChunkInContext]:
    """Return those chunks that the model rewrote, with its text and without the chunk before."""
    prompts = [prompting.render(REWRITE_PROMPT, title=one.title, before=one.before, text=one.text) for one in batch]
    rewritten = []
    for chunk, reply in zip(batch, model.complete(prompts), strict=True):
        report.usage += reply.usage
        try:
            rewritten.append(replace(chunk, text=structured_output.text_of(reply), before=""))
        except ReplyUnusable as error:
            report.pending.append(f"{chunk.label}: not rewritten: {error}")
    return rewritten


def _asked(
    asked: Sequence[Sequence[ChunkInContext]], model: LanguageModel, report: ExtractionReport
) -> Iterator[tuple[Deed, _Stated]]:
    """Yield the activity of each request, and what its chunks state."""
    waiting = list(asked)
    while waiting:
        current, waiting = waiting, []
        prompts = [facts_prompt(group) for group in current]
        for group, prompt, reply in zip(current, prompts, model.complete(prompts), strict=True):
            report.usage += reply.usage
            if reply.finish in ("length", "prompt_length") and (middle := len(group) // 2):
                waiting += [group[:middle], group[middle:]]
                continue
            try:
                facts = structured_output.json_of(reply)["facts"]
            except ReplyUnusable as error:
                report.pending += [f"{chunk.label}: no facts were taken: {error}" for chunk in group]
                continue
            stated: dict[str, list[Any]] = {chunk.chunk: [] for chunk in group}
            for fact in facts:
                if 1 <= fact["paragraph"] <= len(group):
                    stated[group[fact["paragraph"] - 1].chunk].append(fact)
            if len(group) > 1 and (lacking := [chunk for chunk in group if not stated[chunk.chunk]]):
                waiting += [[chunk] for chunk in lacking]
                stated = {chunk: facts for chunk, facts in stated.items() if facts}
            said = [
                (KG.model, ox.Literal(reply.model)),
                (KG.promptHash, ox.Literal(hashlib.sha256(prompt.text.encode("utf-8", "replace")).hexdigest())),
                (KG.inputTokens, number(reply.usage.input_tokens)),
                (KG.outputTokens, number(reply.usage.output_tokens)),
            ]
            if stated:
                read = [chunk for chunk in group if chunk.chunk in stated]
                yield _activity(read, model.identity, said), {chunk: merged(facts) for chunk, facts in stated.items()}


def _activity(
    group: Sequence[ChunkInContext], origin: str, details: Sequence[tuple[ox.NamedNode, ox.Literal]] = ()
) -> Deed:
    """Return an activity that has no name yet."""
    first, nodes = group[0], [ox.NamedNode(chunk.chunk) for chunk in group]
    return Deed(nodes[0], f"took propositions from {first.title or first.chunk}: {origin}", nodes, details)


def merged(facts: Iterable[Mapping[str, Any]]) -> list[ExtractedProposition]:
    """Return facts as propositions, those with the same words as one that mentions the entities of all."""
    entities: dict[str, dict[str, None]] = {}
    for fact in facts:
        if text := " ".join(_storable(fact["fact"]).split()):
            names = (_storable(name) for name in fact["entities"] if name.strip())
            entities.setdefault(text, {}).update(dict.fromkeys(names))
    return [ExtractedProposition(text, tuple(names)) for text, names in entities.items()]


def _storable(text: Any) -> str:
    """Return a text without halves of surrogate pairs, which a model may write and no store takes."""
    return str(text).encode("utf-8", "replace").decode()


def _publish(
    store: TripleStore, extractions: Iterable[tuple[Deed, _Stated]], origin: str, report: ExtractionReport
) -> None:
    """Publish what chunks state in one step, each with the activity that extracted it."""
    drafts, activities = [], []
    for activity, stated in extractions:
        iri = store.names.activity(METHOD, origin, *(node.value for node in activity.used))
        activities.append(replace(activity, iri=iri))
        drafts += [
            _proposition_draft(ox.NamedNode(chunk), propositions, activity=iri, origin=origin, names=store.names)
            for chunk, propositions in stated.items()
        ]
    if drafts:
        publication = store.publish([*drafts, provenance_draft(activities, method=METHOD, names=store.names)])
        report.extracted += len(drafts) - len(publication.quarantined)
        report.pending += publication.faults


def _proposition_draft(
    chunk: ox.NamedNode,
    propositions: Sequence[ExtractedProposition],
    *,
    activity: ox.NamedNode,
    origin: str,
    names: Names,
) -> GraphDraft:
    """Return the graph of what a chunk states; ``origin`` is ``model=…`` or ``extraction=…``."""
    triples: list[ox.Triple] = []
    labels: dict[ox.NamedNode, str] = {}
    for order, proposition in enumerate(propositions):
        node = names.proposition(chunk.value, str(order), proposition.text)
        triples.append(ox.Triple(node, RDF.type, KG.Proposition))
        triples.append(ox.Triple(node, KG.text, ox.Literal(proposition.text)))
        triples.append(ox.Triple(node, KG.order, number(order)))
        for name in proposition.entities:
            if key := entity_key(name):
                labels.setdefault(names.entity(key), " ".join(name.split()))
                triples.append(ox.Triple(node, KG.mentions, names.entity(key)))
    for entity, label in labels.items():
        triples.append(ox.Triple(entity, RDF.type, KG.Entity))
        triples.append(ox.Triple(entity, RDFS.label, ox.Literal(label)))
    return GraphDraft(
        names.proposition_graph(chunk),
        KG.PropositionGraph,
        list(dict.fromkeys(triples)),
        mode="replace",
        method=METHOD,
        sources=[chunk],
        activity=activity,
        described=[(KG.parameters, ox.Literal(origin))],
    )


_Line = tuple[int, Mapping[str, Any]]  # its number in the file, and what it contains


def load(path: Path, chunks: Sequence[ChunkInContext], *, store: TripleStore) -> ExtractionReport:
    """Publish a ready-made extraction, JSON Lines of ``idx``, ``title``, ``entities``, ``propositions`` or ``triples``.

    A line is about the chunks of the document whose identifier is ``idx``, else of the one document with that title. A
    triple is read as a sentence. A proposition (text, or {"text", "entities"}) that names no entities mentions those of
    the line whose names it contains. What could not be used is counted in the notes of the report.

    Raises:
        InputError: the file cannot be read, or a line is not such an object.
    """
    lines = _read_lines(path)
    origin = _LOADED + hashlib.sha256(json.dumps([line for _, line in lines]).encode()).hexdigest()[:16]
    done = {chunk for chunk, by in _origins(store) if by == origin}
    report = ExtractionReport()
    stated = _stated_by_chunk(path, lines, chunks, report)
    report.unchanged = len(stated.keys() & done)
    left = [chunk for chunk in chunks if chunk.chunk in stated and chunk.chunk not in done]
    for first in range(0, len(left), _CHUNKS_PER_PUBLICATION):
        batch = left[first : first + _CHUNKS_PER_PUBLICATION]
        extractions = ((_activity([chunk], origin), {chunk.chunk: stated[chunk.chunk]}) for chunk in batch)
        _publish(store, extractions, origin, report)
    return report


def _read_lines(path: Path) -> list[_Line]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
        lines = [(place, json.loads(line)) for place, line in enumerate(text.splitlines(), 1) if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON Lines: {error}. Write one JSON object per line.") from error
    for place, line in lines:
        if not isinstance(line, dict) or not ({"triples", "propositions"} & line.keys()):
            raise InputError(
                f"{path}, line {place}: an object with idx or title, entities, and triples or propositions is expected."
            )
        for name in ("entities", "triples", "propositions"):
            if not isinstance(line.get(name) or [], list):
                raise InputError(f"{path}, line {place}: {name} is {line[name]!r}. Write a list.")
    return lines


def _stated_by_chunk(
    path: Path, lines: Sequence[_Line], chunks: Sequence[ChunkInContext], report: ExtractionReport
) -> dict[str, list[ExtractedProposition]]:
    """Return the propositions of each chunk that a line is about, and note what is about none."""
    by_identifier: dict[str, list[ChunkInContext]] = defaultdict(list)
    by_title: dict[str, list[ChunkInContext]] = defaultdict(list)
    for chunk in chunks:
        by_identifier[chunk.identifier].append(chunk)
        by_title[chunk.title].append(chunk)
    stated: dict[str, list[ExtractedProposition]] = {}
    unmatched, broken, unplaced = 0, 0, 0
    for place, line in lines:
        about = by_identifier.get(str(line.get("idx", ""))) or by_title.get(str(line.get("title", ""))) or []
        unmatched += not about
        broken += sum(not _is_triple(triple) for triple in line.get("triples") or [])
        propositions = merged(_facts(line, f"{path}, line {place}"))
        placed: set[str] = set()
        for chunk in about:
            own = propositions
            if len(about) > 1:  # of several chunks each gets the propositions whose entities it names
                text = entity_key(chunk.text)
                own = [one for one in propositions if any(entity_key(name) in text for name in one.entities)]
            stated[chunk.chunk] = [*stated.get(chunk.chunk, []), *own]
            placed |= {one.text for one in own}
        unplaced += len(propositions) - len(placed) if about else 0
    if unmatched:
        report.notes.append(f"{unmatched} of {len(lines)} lines of {path.name} are about no stored document")
    if bare := len(chunks) - len(stated):
        report.notes.append(f"{bare} chunks are in no line of {path.name}; they have no propositions from it")
    if broken:
        report.notes.append(f"{broken} triples of {path.name} were left out: a triple is a list of three")
    if unplaced:
        reason = "no chunk of their document names one of their entities"
        report.notes.append(f"{unplaced} propositions of {path.name} were left out: {reason}")
    return stated


def _is_triple(triple: object) -> bool:
    return isinstance(triple, list) and len(triple) == 3


def _facts(line: Mapping[str, Any], where: str) -> Iterator[Mapping[str, Any]]:
    """Yield the triples and propositions of a line as facts."""
    entities = [str(name) for name in line.get("entities") or []]
    for triple in line.get("triples") or []:
        if _is_triple(triple):
            subject, relation, value = map(str, triple)
            known = {entity_key(name) for name in [subject, *entities]}
            ends = [name for name in (subject, value) if entity_key(name) in known]
            yield {"fact": f"{subject} {relation} {value}.", "entities": ends}
    for proposition in line.get("propositions") or []:
        fields = proposition if isinstance(proposition, dict) else {"text": proposition}
        text, names = fields.get("text"), fields.get("entities") or []
        if not isinstance(text, str) or not isinstance(names, list):
            form = "Write a text, or an object with text and a list of entities."
            raise InputError(f"{where}: {proposition!r} is no proposition. {form}")
        named = [str(name) for name in names] or [name for name in entities if entity_key(name) in entity_key(text)]
        yield {"fact": text, "entities": named}
