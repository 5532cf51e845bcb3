"""Propositions and entities of chunks: asked of a language model by two prompts, or loaded ready-made.

SiReRAG, section 4.2, figures 6 and 7: a chunk is rewritten with the one before it in view, then its facts are listed.
Chunks are published some at a time, each with all that it states, so that a killed build goes on where it stopped. A
chunk whose reply keeps no contract is reported and asked again by the next build.

Queries read: ``sire_rag/extracted``, ``sire_rag/passages``. Prompts: ``sire_rag/rewrite``, ``sire_rag/facts``.
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
from kgrag.methods.sire_rag import tree_drafts
from kgrag.methods.sire_rag.tree_drafts import Statement
from kgrag.model import Prompt, Usage
from kgrag.ports import LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.vocab import KG, number

__all__ = ["FACTS", "REWRITE", "Outcome", "Passage", "extract", "load", "passages", "unasked"]

REWRITE = "sire_rag/rewrite"
FACTS = "sire_rag/facts"
_AT_ONCE = 64  # chunks asked for and published together
_LOADED = "extraction="


@dataclass(frozen=True, slots=True)
class Passage:
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


@dataclass(slots=True)
class Outcome:
    """What an extraction did: chunks published, chunks done before, cost, notes, and what was not done and why."""

    extracted: int = 0
    unchanged: int = 0
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)


def passages(store: TripleStore) -> list[Passage]:
    """Give every chunk in reading order."""
    rows = store.select(queries.bind("sire_rag/passages", catalogue=store.names.catalogue)).values()
    found = []
    for last, (document, title, identifier, chunk, text) in pairwise([("", "", "", "", ""), *rows]):
        found.append(Passage(chunk, text, title, identifier, last[4] if last[0] == document else ""))
    return found


def extract(wanted: Sequence[Passage], *, store: TripleStore, model: LanguageModel, progress: Progress) -> Outcome:
    """Ask for the propositions of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; what came before is published.
    """
    origin = f"model={model.identity}"
    left = unasked(wanted, store=store, model=model)
    outcome = Outcome(unchanged=len(wanted) - len(left))
    for first in range(0, len(left), _AT_ONCE):
        batch = left[first : first + _AT_ONCE]
        _publish(store, _asked(batch, model, outcome), origin, outcome)
        if progress:
            progress("sire_rag propositions", first + len(batch), len(left))
    return outcome


def unasked(wanted: Sequence[Passage], *, store: TripleStore, model: LanguageModel) -> list[Passage]:
    """Return the chunks that this model was not asked about and that no file gave propositions for."""
    origin = f"model={model.identity}"
    done = {chunk for chunk, by in _extracted(store) if by == origin or by.startswith(_LOADED)}
    return [passage for passage in wanted if passage.chunk not in done]


def _extracted(store: TripleStore) -> list[tuple[str, ...]]:
    return store.select(queries.bind("sire_rag/extracted", catalogue=store.names.catalogue)).values()


_Found = tuple[Passage, list[Statement], Deed]


def _asked(batch: Sequence[Passage], model: LanguageModel, outcome: Outcome) -> Iterator[_Found]:
    """Yield what each chunk of a batch states."""
    asked = [prompting.render(REWRITE, title=one.title, before=one.before, text=one.text) for one in batch]
    rewritten: list[tuple[Passage, Usage, Prompt]] = []
    for passage, reply in zip(batch, model.complete(asked), strict=True):
        outcome.usage += reply.usage
        try:
            text = structured_output.text_of(reply)
        except ReplyUnusable as error:
            outcome.undone.append(f"{passage.label}: not rewritten: {error}")
            continue
        rewritten.append((passage, reply.usage, prompting.render(FACTS, title=passage.title, text=text)))
    replies = model.complete([prompt for *_, prompt in rewritten]) if rewritten else []
    for (passage, first, prompt), second in zip(rewritten, replies, strict=True):
        outcome.usage += second.usage
        usage = first + second.usage
        try:
            facts = structured_output.json_of(second)["facts"]
        except ReplyUnusable as error:
            outcome.undone.append(f"{passage.label}: no facts were taken: {error}")
            continue
        said = [
            (KG.model, ox.Literal(second.model)),
            (KG.promptHash, ox.Literal(hashlib.sha256(prompt.text.encode("utf-8", "replace")).hexdigest())),
            (KG.inputTokens, number(usage.input_tokens)),
            (KG.outputTokens, number(usage.output_tokens)),
        ]
        yield passage, _statements(facts), _deed(passage, model.identity, said)


def _deed(passage: Passage, origin: str, said: Sequence[tuple[ox.NamedNode, ox.Literal]] = ()) -> Deed:
    chunk = ox.NamedNode(passage.chunk)
    return Deed(chunk, f"took propositions from {passage.title or passage.chunk}: {origin}", [chunk], said)


def _statements(facts: Iterable[Mapping[str, Any]]) -> list[Statement]:
    found: dict[str, dict[str, None]] = {}
    for fact in facts:
        if text := " ".join(_sound(fact["fact"]).split()):
            found.setdefault(text, {}).update(dict.fromkeys(_sound(name) for name in fact["entities"] if name.strip()))
    return [Statement(text, tuple(entities)) for text, entities in found.items()]


def _publish(store: TripleStore, found: Iterable[_Found], origin: str, outcome: Outcome) -> None:
    """Publish what chunks state in one step, each with the activity that found it."""
    batch, deeds = [], []
    for passage, statements, deed in found:
        chunk = ox.NamedNode(passage.chunk)
        activity = store.names.activity(tree_drafts.METHOD, origin, chunk.value)
        deeds.append(Deed(activity, deed.label, deed.used, deed.said))
        batch.append(
            tree_drafts.proposition_draft(chunk, statements, activity=activity, origin=origin, names=store.names)
        )
    if batch:
        publication = store.publish([*batch, provenance_draft(deeds, method=tree_drafts.METHOD, names=store.names)])
        outcome.extracted += len(batch) - len(publication.quarantined)
        outcome.undone += publication.faults


def load(path: Path, wanted: Sequence[Passage], *, store: TripleStore) -> Outcome:
    """Publish a ready-made extraction, JSON Lines of ``idx``, ``title``, ``entities``, ``propositions`` or ``triples``.

    A line is about the chunks of the document whose identifier is ``idx``, else of the one document with that title. A
    triple is read as a sentence. A proposition (text, or {"text", "entities"}) that names no entities mentions those of
    the line whose names it holds.

    Raises:
        InputError: the file cannot be read, or a line is not such an object.
    """
    lines = _lines(path)
    origin = _LOADED + hashlib.sha256(json.dumps([line for _, line in lines]).encode()).hexdigest()[:16]
    done = {chunk for chunk, by in _extracted(store) if by == origin}
    found, unmatched = _matched(lines, wanted)
    outcome = Outcome(unchanged=len(found.keys() & done))
    if unmatched:
        outcome.notes.append(f"{unmatched} of {len(lines)} lines of {path.name} are about no stored document")
    if bare := len(wanted) - len(found):
        outcome.notes.append(f"{bare} chunks are in no line of {path.name}; they have no propositions from it")
    left = [passage for passage in wanted if passage.chunk in found and passage.chunk not in done]
    for first in range(0, len(left), _AT_ONCE):
        batch = ((one, found[one.chunk], _deed(one, origin)) for one in left[first : first + _AT_ONCE])
        _publish(store, batch, origin, outcome)
    return outcome


def _matched(
    lines: Sequence[tuple[int, Mapping[str, Any]]], wanted: Sequence[Passage]
) -> tuple[dict[str, list[Statement]], int]:
    """Give the statements of each chunk that a line is about, and the number of lines about none."""
    by_identifier: dict[str, list[Passage]] = defaultdict(list)
    by_title: dict[str, list[Passage]] = defaultdict(list)
    for passage in wanted:
        by_identifier[passage.identifier].append(passage)
        by_title[passage.title].append(passage)
    found: dict[str, list[Statement]] = {}
    unmatched = 0
    for place, line in lines:
        about = by_identifier.get(str(line.get("idx", ""))) or by_title.get(str(line.get("title", ""))) or []
        unmatched += not about
        statements = _statements(_facts(line, place))
        for passage in about:
            found[passage.chunk] = [*found.get(passage.chunk, []), *_inside(statements, passage, alone=len(about) == 1)]
    return found, unmatched


def _inside(statements: Sequence[Statement], passage: Passage, *, alone: bool) -> list[Statement]:
    """Give the statements that a chunk can carry: all where it is the only one, else those whose entities it names."""
    if alone:
        return list(statements)
    text = tree_drafts.entity_key(passage.text)
    return [one for one in statements if any(tree_drafts.entity_key(name) in text for name in one.entities)]


def _lines(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
        lines = [(place, json.loads(line)) for place, line in enumerate(text.splitlines(), 1) if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON Lines: {error}. Give one JSON object a line.") from error
    for place, line in lines:
        if not isinstance(line, dict) or not ({"triples", "propositions"} & line.keys()):
            raise InputError(
                f"{path}, line {place}: an object with idx or title, entities, and triples or propositions is expected."
            )
    return lines


def _facts(line: Mapping[str, Any], place: int) -> Iterator[Mapping[str, Any]]:
    """Yield the propositions of a line as facts."""
    entities = [str(name) for name in line.get("entities") or []]
    for triple in line.get("triples") or []:
        if isinstance(triple, list) and len(triple) == 3:
            subject, relation, value = map(str, triple)
            known = {tree_drafts.entity_key(name) for name in [subject, *entities]}
            ends = [name for name in (subject, value) if tree_drafts.entity_key(name) in known]
            yield {"fact": f"{subject} {relation} {value}.", "entities": ends}
    for said in line.get("propositions") or []:
        text = said if isinstance(said, str) else said.get("text") if isinstance(said, dict) else None
        if not isinstance(text, str):
            raise InputError(
                f"line {place}: {said!r} is no proposition. Give a text, or an object with text and entities."
            )
        named = said.get("entities") if isinstance(said, dict) else None
        plain = tree_drafts.entity_key(text)
        yield {"fact": text, "entities": named or [name for name in entities if tree_drafts.entity_key(name) in plain]}


def _sound(text: Any) -> str:
    """Replace what is no Unicode text, so that any reply can be kept."""
    return str(text).encode("utf-8", "replace").decode()
