"""Propositions and entities of chunks: asked of a language model by two prompts, or loaded ready-made.

SiReRAG, section 4.2, figures 6 and 7: a chunk is rewritten with the one before it in view, then its facts are listed.
Chunks are published some at a time, each with all that it states, so that a killed build goes on where it stopped. A
chunk whose reply breaks the form that the prompt asks for is reported and asked again by the next build.

Queries read: ``sire_rag/extracted``, ``sire_rag/passages``. Prompts: ``sire_rag/rewrite``, ``sire_rag/facts``. Graphs
written: one proposition graph per chunk, and provenance.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from kgrag.text.sentences import entity_key
from kgrag.vocab import KG, RDF, RDFS, Names, number

__all__ = [
    "FACTS_PROMPT",
    "REWRITE_PROMPT",
    "ChunkInContext",
    "ExtractedProposition",
    "ExtractionReport",
    "chunks_in_context",
    "extract",
    "load",
    "unasked",
]

REWRITE_PROMPT = "sire_rag/rewrite"
FACTS_PROMPT = "sire_rag/facts"
_CHUNKS_PER_PUBLICATION = 64
_LOADED = "extraction="  # how the origin of a ready-made extraction begins in the catalogue


@dataclass(frozen=True, slots=True)
class ChunkInContext:
    """A chunk as it is asked about; ``before`` is the text of the chunk before it in the document."""

    chunk: str
    text: str
    title: str
    identifier: str
    before: str = ""

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
        chunks.append(ChunkInContext(chunk, text, title, identifier, last[4] if last[0] == document else ""))
    return chunks


def extract(
    chunks: Sequence[ChunkInContext], *, store: TripleStore, model: LanguageModel, progress: Progress
) -> ExtractionReport:
    """Ask for the propositions of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; what came before is published.
    """
    origin = f"model={model.identity}"
    left = unasked(chunks, store=store, model=model)
    report = ExtractionReport(unchanged=len(chunks) - len(left))
    for first in range(0, len(left), _CHUNKS_PER_PUBLICATION):
        batch = left[first : first + _CHUNKS_PER_PUBLICATION]
        _publish(store, _asked(batch, model, report), origin, report)
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


_Extraction = tuple[ChunkInContext, list[ExtractedProposition], Deed]


def _asked(batch: Sequence[ChunkInContext], model: LanguageModel, report: ExtractionReport) -> Iterator[_Extraction]:
    """Yield what each chunk of a batch states."""
    rewriting = [prompting.render(REWRITE_PROMPT, title=c.title, before=c.before, text=c.text) for c in batch]
    rewritten: list[tuple[ChunkInContext, Usage, Prompt]] = []
    for chunk, reply in zip(batch, model.complete(rewriting), strict=True):
        report.usage += reply.usage
        try:
            text = structured_output.text_of(reply)
        except ReplyUnusable as error:
            report.pending.append(f"{chunk.label}: not rewritten: {error}")
            continue
        rewritten.append((chunk, reply.usage, prompting.render(FACTS_PROMPT, title=chunk.title, text=text)))
    replies = model.complete([prompt for *_, prompt in rewritten]) if rewritten else []
    for (chunk, first, prompt), second in zip(rewritten, replies, strict=True):
        report.usage += second.usage
        usage = first + second.usage
        try:
            facts = structured_output.json_of(second)["facts"]
        except ReplyUnusable as error:
            report.pending.append(f"{chunk.label}: no facts were taken: {error}")
            continue
        details = [
            (KG.model, ox.Literal(second.model)),
            (KG.promptHash, ox.Literal(hashlib.sha256(prompt.text.encode("utf-8", "replace")).hexdigest())),
            (KG.inputTokens, number(usage.input_tokens)),
            (KG.outputTokens, number(usage.output_tokens)),
        ]
        yield chunk, _merged(facts), _activity(chunk, model.identity, details)


def _activity(chunk: ChunkInContext, origin: str, details: Sequence[tuple[ox.NamedNode, ox.Literal]] = ()) -> Deed:
    node = ox.NamedNode(chunk.chunk)
    return Deed(node, f"took propositions from {chunk.title or chunk.chunk}: {origin}", [node], details)


def _merged(facts: Iterable[Mapping[str, Any]]) -> list[ExtractedProposition]:
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


def _publish(store: TripleStore, extractions: Iterable[_Extraction], origin: str, report: ExtractionReport) -> None:
    """Publish what chunks state in one step, each with the activity that extracted it."""
    drafts, activities = [], []
    for chunk, propositions, activity in extractions:
        node = ox.NamedNode(chunk.chunk)
        iri = store.names.activity(METHOD, origin, node.value)
        activities.append(Deed(iri, activity.label, activity.used, activity.said))
        drafts.append(_proposition_draft(node, propositions, activity=iri, origin=origin, names=store.names))
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
        extractions = ((chunk, stated[chunk.chunk], _activity(chunk, origin)) for chunk in batch)
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
        propositions = _merged(_facts(line, f"{path}, line {place}"))
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
