"""What each layer of the pyramid gives for a question, and why it gives nothing (PolyRAG, section 4).

Queries read: ``poly_rag/*``, ``templates/*``. Prompts read: ``poly_rag/sufficient``, ``obqc/*``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgrag import mapping, prompting, queries
from kgrag.answering import fusion
from kgrag.answering.passage_hits import passage_hits
from kgrag.errors import NotBuilt, ReplyUnusable, UnsupportedTask
from kgrag.index import bm25, vector_spaces
from kgrag.llm import structured_output
from kgrag.methods.poly_rag.aliases import aliases, with_aliases
from kgrag.methods.poly_rag.question_templates import Answered, answered, templated
from kgrag.model import Answer, Hit, Span, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore, VectorIndex, VectorSpaces
from kgrag.querying.text_to_sparql import Asker, mentions, row_evidence, story_of
from kgrag.text import documents
from kgrag.text.sentences import entity_key
from kgrag.vocab import digest

__all__ = ["Found", "GraphLayer", "Layer", "OntologyLayer", "TextLayer"]

Layer = Literal["ontology", "graph", "text"]

_READ: WeakKeyDictionary[TripleStore, tuple[mapping.Ontology, int]] = WeakKeyDictionary()
_SUFFICIENT = "poly_rag/sufficient"
_DEPTH = 100
_MOST_SOURCES = 3


@dataclass(frozen=True, slots=True)
class Found:
    """What a layer gave: hits, and the answers in words where the layer knows them; or ``why`` it gave nothing.

    ``answer`` is what the ontology layer made of a query that a model wrote; ``sparql`` is the query that was run.
    """

    layer: Layer
    hits: tuple[Hit, ...] = ()
    answers: tuple[str, ...] = ()
    why: str = ""
    sparql: str = ""
    usage: Usage = field(default_factory=Usage)
    answer: Answer | None = None
    story: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OntologyLayer:
    """Instances, asked by SPARQL: a query of the model's, checked; a stored question; or a question of a fixed form."""

    asker: Asker
    templates: bool = True

    def search(self, question: str, k: int) -> Found:
        """Give the rows that answer; nothing for no row, an ASK that is false, or a COUNT of 0.

        A question of a fixed form is read first, since that costs no completion.

        Raises:
            ServiceError: the model could not be reached or refused.
        """
        try:
            self.asker.ontologies()
        except NotBuilt:
            return Found("ontology", why="no ontology is loaded")
        read = self._templated(question, k) if self.templates else Found("ontology")
        return read if read.hits else self._asked(question, k, read.why)

    def _asked(self, question: str, k: int, before: str) -> Found:
        reading, outcome = self.asker.repaired(question)
        if outcome is None:
            why = before or (_unread(reading.unmatched) if reading.unmatched else reading.refusal)
            return Found("ontology", why=why, usage=reading.usage)
        story = story_of(reading, outcome)
        execution = outcome.best.execution
        if execution is None or execution.problem:
            why = "no valid query was found: " + "; ".join(outcome.reasons)
            return Found("ontology", why=why, usage=outcome.usage, story=story)
        if execution.empty or _says_nothing(execution.values()):
            return Found("ontology", why="the query finds nothing", usage=outcome.usage, story=story)
        answer = self.asker.answer_from_rows(question, reading, outcome, k)
        values = tuple(dict.fromkeys(answer.sentences))
        return Found("ontology", answer.hits, values, "", answer.sparql, outcome.usage, answer, story)

    def _templated(self, question: str, k: int) -> Found:
        store = self.asker.store
        template = templated(question, mentions(question, store), _ontology(store))
        if template is None:
            return Found("ontology")
        things, others = with_aliases(template.things, store), with_aliases(template.others, store)
        rows = answered(replace(template, things=things, others=others), k, store=store)
        read = f"read as {template.form} of {', '.join(template.properties)} for {', '.join(template.names)}"
        if rows.empty:
            return Found("ontology", why=f"{read}: no instance states it", sparql=rows.sparql)
        return Found("ontology", rows.hits, rows.values, "", rows.sparql, story=(read, _counted(rows), *rows.inferred))


def _ontology(store: TripleStore) -> mapping.Ontology:
    """Give the loaded ontologies, read again when the store changed."""
    known, revision = _READ.get(store, (None, -1))
    if known is None or revision != store.revision:
        known = mapping.read_ontology(store)
        _READ[store] = (known, store.revision)
    return known


def _unread(unmatched: str) -> str:
    """Say why a question has no query, in short: what the model lacks is told elsewhere, not in each answer."""
    return (
        "the model writes no SPARQL (see KGRAG_MODEL), and the question is of no fixed form such as 'What is the "
        f"ATTRIBUTE of NAME?'; {unmatched[:1].lower()}{unmatched[1:]}"
    )


def _counted(rows: Answered) -> str:
    return f"{rows.total:,} rows"


def _says_nothing(values: Sequence[Sequence[str]]) -> bool:
    """Say whether the only row is a no, or a count of 0."""
    return len(values) == 1 and len(values[0]) == 1 and values[0][0] in ("false", "0")


@dataclass(frozen=True, slots=True)
class GraphLayer:
    """Triples nearest to the question, when the model judges that they suffice to answer it."""

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    triples: int
    space: str

    def search(self, question: str, k: int) -> Found:
        """Give the triples that answer, at most k; nothing when they don't suffice.

        Raises:
            ServiceError: the model could not be reached or refused.
        """
        index = vector_spaces.fresh(self.space, store=self.store, spaces=self.spaces, embedder=self.embedder)
        if not len(index):
            return Found("graph", why="there is no triple")
        named = self._aliases(question)
        found = self._hits(self._nearest(question, named, index))[: self.triples]
        shown = [_shown(number, hit, named) for number, hit in enumerate(found, start=1)]
        boundary = f"=== {digest(question, *map(str, shown))[:12]} ==="
        prompt = prompting.render(_SUFFICIENT, question=question, triples=shown, boundary=boundary)
        try:
            completion = self.model.complete([prompt])[0]
        except UnsupportedTask as error:
            return Found("graph", why=str(error))
        try:
            judged = structured_output.json_of(completion)
        except ReplyUnusable as error:
            return Found("graph", why=str(error), usage=completion.usage)
        if not judged["sufficient"]:
            return Found("graph", why=f"the {len(found)} nearest triples do not suffice", usage=completion.usage)
        return self._judged(found, judged.get("answers") or (), k, completion.usage)

    def _aliases(self, question: str) -> dict[str, str]:
        """Give the other names of what a question names -> the name that stands in the question."""
        found: dict[str, str] = {}
        for mention in mentions(question, self.store):
            others = [[ox.NamedNode(iri)] for iri in aliases([mention.entity], self.store)]
            found.update(dict.fromkeys(row_evidence.labels(others, self.store).values(), mention.text))
        return found

    def _nearest(self, question: str, named: Mapping[str, str], index: VectorIndex) -> fusion.Ranking:
        """Give the triples nearest to a question under any name of what it names, best first."""
        wordings = [question, *(question.replace(asked, other) for other, asked in named.items())]
        scores: dict[str, float] = {}
        for vector in self.embedder.embed(wordings, "query"):
            for iri, score in index.search(vector, 3 * self.triples):
                scores[iri] = max(score, scores.get(iri, score))
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))

    def _judged(self, found: Sequence[Hit], answers: Sequence[Mapping[str, object]], k: int, usage: Usage) -> Found:
        """Keep the triples that were named, with the answers that stand in them; all when none was named."""
        named: dict[int, str] = {}
        for item in answers:
            place, text = int(str(item["triple"])) - 1, " ".join(str(item["text"]).split())
            if 0 <= place < len(found) and text and text.casefold() in found[place].text.casefold():
                named.setdefault(place, text)
        hits = [replace(found[place], attributes={**found[place].attributes, "value": named[place]}) for place in named]
        chosen = sorted(hits, key=lambda hit: -hit.score) or list(found)
        story = (f"{len(found)} triples were judged to suffice, {len(named)} of them give an answer",)
        values = tuple(dict.fromkeys(named.values()))
        return Found("graph", tuple(chosen[:k]), values, usage=usage, story=story)

    def _hits(self, near: fusion.Ranking) -> list[Hit]:
        """Give statements as hits, the same words once, with the chunks that state them."""
        scores = dict(near)
        nodes = [ox.NamedNode(iri) for iri in scores]
        rows: dict[str, tuple[str, ...]] = {}
        for statement, *rest, _ in self.store.select(queries.bind("poly_rag/statements", statements=nodes)).values():
            rows.setdefault(statement, tuple(rest))
        behind: dict[str, list[str]] = defaultdict(list)
        for statement, chunk in self.store.select(queries.bind("poly_rag/origins", statements=nodes)).values():
            behind[statement].append(chunk)
        spans = documents.spans(self.store, [chunk for found in behind.values() for chunk in found])
        first: dict[str, Hit] = {}
        for iri, score in scores.items():
            if iri in rows:
                hit = _triple_hit(iri, score, rows[iri], [spans[one] for one in behind[iri] if one in spans])
                first.setdefault(hit.text.casefold(), hit)
        return list(first.values())


def _shown(number: int, hit: Hit, named: Mapping[str, str]) -> dict[str, object]:
    """Give a triple as the model sees it: what has another name in the question goes by that name."""
    known = {entity_key(other): asked for other, asked in named.items()}
    ends = {name: str(hit.attributes[name]) for name in ("subject", "relation", "object")}
    ends |= {name: known.get(entity_key(ends[name]), ends[name]) for name in ("subject", "object")}
    return {"number": number, "text": hit.text, **ends}


def _triple_hit(iri: str, score: float, row: Sequence[str], sources: Sequence[Span]) -> Hit:
    text, subject, relation, value = row
    attributes = {"subject": subject, "relation": relation, "object": value}
    return Hit(iri, "triple", text, score, tuple(sources[:_MOST_SOURCES]), attributes)


@dataclass(frozen=True, slots=True)
class TextLayer:
    """Chunks of the documents that were read; those of mapped records belong to the layers above."""

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    folder: Path | None
    signal: Literal["dense", "fusion"]
    read_only: bool = False

    def search(self, question: str, k: int) -> Found:
        """Give the k best chunks, best first; ties by IRI."""
        index = vector_spaces.fresh("chunk", store=self.store, spaces=self.spaces, embedder=self.embedder)
        records = self._records()
        depth = max(k, _DEPTH) + len(records)
        ranking = index.search(self.embedder.embed([question], "query")[0], depth)
        if self.signal == "fusion":
            words = bm25.fresh(self.store, self.folder, save=not self.read_only)
            ranking = fusion.score_fusion([ranking, words.search(question, depth)], weights=[0.5, 0.5])
        best = [(iri, score) for iri, score in ranking if iri not in records][:k]
        hits = passage_hits(self.store, best)
        return Found("text", tuple(hits), why="" if hits else "there is no text")

    def _records(self) -> set[str]:
        query = queries.bind("poly_rag/records", catalogue=self.store.names.catalogue)
        return {chunk for (chunk,) in self.store.select(query).values()}
