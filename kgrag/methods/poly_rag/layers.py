"""The three layers of the pyramid: each returns what it answers, or why it does not (PolyRAG, section 4).

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
from kgrag.index.revision_cache import RevisionCache
from kgrag.llm import structured_output
from kgrag.methods.poly_rag.aliases import aliases, with_aliases
from kgrag.methods.poly_rag.computed_rows import answer_from_rows, more_in, unread
from kgrag.methods.poly_rag.question_templates import answered, counts, templated
from kgrag.methods.poly_rag.row_questions import precedes_templates
from kgrag.model import Answer, Citation, Hit, Usage, Value
from kgrag.ports import Embedder, LanguageModel, TripleStore, VectorIndex, VectorSpaces
from kgrag.querying.data_profile import profile_of
from kgrag.querying.text_to_sparql import Asker, mentions, row_evidence, story_of
from kgrag.querying.text_to_sparql.fact_sentences import FactSentence, StatedFact, in_words
from kgrag.sparql.query_reader import read
from kgrag.text import stored_passages
from kgrag.text.sentences import attribute_words, entity_key
from kgrag.vocab import digest

__all__ = ["Found", "GraphLayer", "Layer", "OntologyLayer", "TextLayer", "ontology_of"]

Layer = Literal["ontology", "graph", "text"]

_RECORDS = RevisionCache[frozenset[str]]()
_ONTOLOGIES: WeakKeyDictionary[TripleStore, tuple[mapping.Ontology, int]] = WeakKeyDictionary()
_SUFFICIENCY_PROMPT = "poly_rag/sufficient"
_CANDIDATES_PER_ALIAS = 3  # times the triples that are judged: several statements may have the same words
_CHUNKS_PER_SIGNAL = 100  # ranked before their scores are fused
_MAX_SOURCES_PER_TRIPLE = 3


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a layer, with the answers as sentences where it knows them; or ``why`` it has none.

    ``cited`` are the citations of ``answers`` where the layer knows them, ``values`` the short answers where those are
    not the values of the sentences. ``answer`` is the ontology layer's, from a query that was written for the question;
    ``unproven`` whether nobody has judged yet that its rows answer it, and ``remarks`` what to know beside these rows.
    ``sparql`` is the query that was run; ``story`` are the steps of the layer, a line each, for ``explain``.
    """

    layer: Layer
    hits: tuple[Hit, ...] = ()
    answers: tuple[FactSentence, ...] = ()
    why: str = ""
    sparql: str = ""
    usage: Usage = field(default_factory=Usage)
    answer: Answer | None = None
    story: tuple[str, ...] = ()
    unproven: bool = False
    remarks: tuple[str, ...] = ()
    cited: tuple[Citation, ...] = ()
    values: tuple[Value, ...] = ()


def ontology_of(store: TripleStore) -> mapping.Ontology:
    """Return the loaded ontologies, read once for each revision of the store."""
    ontology, revision = _ONTOLOGIES.get(store, (None, -1))
    if ontology is None or revision != store.revision:
        ontology = mapping.read_ontology(store)
        _ONTOLOGIES[store] = (ontology, store.revision)
    return ontology


@dataclass(frozen=True, slots=True)
class OntologyLayer:
    """Instances, queried by SPARQL: from a question of a fixed form, a stored question, or the model, checked."""

    asker: Asker
    templates: bool = True

    def search(self, question: str, k: int) -> Found:
        """Return the rows that answer; none for no row, an ASK that is false, or a COUNT of 0.

        The fixed forms are tried first, because they cost no completion. The model is not asked a question that names
        no entity of the instances, and no class or attribute but such as no instance has.

        Raises:
            ServiceError: the model could not be reached or refused.
        """
        try:
            self.asker.ontologies()
        except NotBuilt:
            return Found("ontology", why="no ontology is loaded")
        by_template = self._templated(question, k) if self.templates else Found("ontology")
        if by_template.hits:
            return by_template
        unused = self._unused_terms(question)
        if unused:
            return Found("ontology", why=f"no instance has what the question names: {', '.join(unused)}")
        return self._asked(question, k, by_template.why)

    def _unused_terms(self, question: str) -> list[str]:
        """Return the labels of the classes and attributes that a question names when no instance has any of them."""
        store, ontology = self.asker.store, ontology_of(self.asker.store)
        terms: dict[str, mapping.Concept | mapping.Property] = {**ontology.concepts, **ontology.properties}
        if any(mention.entity not in terms for mention in mentions(question, store)):
            return []
        words = attribute_words(question)
        named = [iri for iri, term in terms.items() if (label := attribute_words(term.label)) and label <= words]
        below = [iri for iri, above in ontology.above.items() if above.intersection(named)]
        profile = profile_of(store)
        in_use = any(iri in profile.classes or iri in profile.properties for iri in (*named, *below))
        return [] if in_use else sorted(terms[iri].label for iri in named)

    def exact(self, question: str, k: int) -> Found | None:
        """Return the rows that answer a question of a fixed form, or why none does; None without an ontology.

        No model is asked.
        """
        try:
            self.asker.ontologies()
        except NotBuilt:
            return None
        return self._templated(question, k)

    def _asked(self, question: str, k: int, why_no_template: str) -> Found:
        reading, outcome = self.asker.repaired(question)
        if outcome is None:
            why = why_no_template or reading.refusal
            if not why_no_template and reading.unmatched:
                # Without the refusal of the model, which is long and the same for every question.
                why = (
                    "the model writes no SPARQL (see KGRAG_MODEL), and the question is of no fixed form such as 'What "
                    f"is the ATTRIBUTE of NAME?'; {reading.unmatched[:1].lower()}{reading.unmatched[1:]}"
                )
            return Found("ontology", why=why, usage=reading.usage)
        story = story_of(reading, outcome)
        execution = outcome.best.execution
        if execution is None or execution.problem:
            why = "no valid query was found: " + "; ".join(outcome.reasons)
            return Found("ontology", why=why, usage=outcome.usage, story=story)
        values = execution.values()
        no_or_zero = len(values) == 1 and len(values[0]) == 1 and values[0][0] in ("false", "0")
        if execution.empty or no_or_zero:
            return Found("ontology", why="the query finds nothing", usage=outcome.usage, story=story)
        answer = self.asker.answer_from_rows(question, reading, outcome, k)
        if answer.unknown:
            return Found("ontology", why="no text states what its rows have", usage=outcome.usage, story=story)
        unproven = reading.origin == "model" and not read(answer.sparql).aggregates
        remarks = tuple(self.asker.remarks(question, outcome, len(answer.sentences)))
        return Found("ontology", answer.hits, (), "", answer.sparql, outcome.usage, answer, story, unproven, remarks)

    def _templated(self, question: str, k: int) -> Found:
        store, ontology = self.asker.store, ontology_of(self.asker.store)
        template = templated(question, mentions(question, store), ontology)
        rows = None
        if template is None or precedes_templates(question):
            rows = answer_from_rows(question, k, asker=self.asker, ontology=ontology)
        if rows is not None and not rows.why:
            sentence = FactSentence(rows.text, rows.facts)
            return Found("ontology", rows.hits, (sentence,), "", rows.sparql, story=rows.story, values=rows.values)
        other_form = template is not None and (template.form == "ask" or counts(question) > (template.form == "count"))
        if template is None or (rows is not None and other_form):
            return Found("ontology", why=rows.why if rows is not None else "")
        if template.form == "count" and (document := unread(template.names, store)):
            return Found("ontology", why=f"a count may be too small: {more_in(document, template.names)}")
        things, others = with_aliases(template.things, store), with_aliases(template.others, store)
        stated = answered(replace(template, things=things, others=others), k, store=store)
        read = f"read as {template.form} of {', '.join(template.properties)} for {', '.join(template.names)}"
        if stated.empty:
            return Found("ontology", why=f"{read}: no instance states it", sparql=stated.sparql)
        story = (read, f"{stated.total:,} rows", *stated.inferred)
        return Found("ontology", stated.hits, stated.answers, "", stated.sparql, story=story)


@dataclass(frozen=True, slots=True)
class GraphLayer:
    """Triples nearest to the question, when the model judges that they suffice; ``within`` alone, unless it is None."""

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    triples: int
    space: str
    within: frozenset[str] | None = None

    def search(self, question: str, k: int) -> Found:
        """Return the triples that answer, at most k; none when they don't suffice.

        Raises:
            ServiceError: the model could not be reached or refused.
        """
        index = vector_spaces.fresh(self.space, store=self.store, spaces=self.spaces, embedder=self.embedder)
        if not len(index):
            return Found("graph", why="there is no triple")
        asked_names = self._asked_names(question)
        nearest = self._hits(self._nearest(question, asked_names, index))[: self.triples]
        if not nearest:
            return Found("graph", why="no triple comes from the documents that may be found")
        shown = [_shown(number, hit, asked_names) for number, hit in enumerate(nearest, start=1)]
        boundary = f"=== {digest(question, *map(str, shown))[:12]} ==="
        prompt = prompting.render(_SUFFICIENCY_PROMPT, question=question, triples=shown, boundary=boundary)
        try:
            completion = self.model.complete([prompt])[0]
        except UnsupportedTask as error:
            return Found("graph", why=str(error))
        try:
            judged = structured_output.json_of(completion)
        except ReplyUnusable as error:
            return Found("graph", why=str(error), usage=completion.usage)
        if not judged["sufficient"]:
            return Found("graph", why=f"the {len(nearest)} nearest triples do not suffice", usage=completion.usage)
        return self._judged(nearest, judged.get("answers") or (), k, completion.usage)

    def _asked_names(self, question: str) -> dict[str, str]:
        """Return each alias of an entity that the question names -> its name in the question."""
        asked_names: dict[str, str] = {}
        for mention in mentions(question, self.store):
            others = [[ox.NamedNode(iri)] for iri in aliases([mention.entity], self.store)]
            asked_names.update(dict.fromkeys(row_evidence.labels(others, self.store).values(), mention.text))
        return asked_names

    def _nearest(self, question: str, asked_names: Mapping[str, str], index: VectorIndex) -> fusion.Ranking:
        """Return the triples nearest to the question with any alias in the place of a name, best first."""
        wordings = [question, *(question.replace(name, alias) for alias, name in asked_names.items())]
        scores: dict[str, float] = {}
        for vector in self.embedder.embed(wordings, "query"):
            for iri, score in index.search(vector, _CANDIDATES_PER_ALIAS * self.triples, self.within):
                scores[iri] = max(score, scores.get(iri, score))
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))

    def _judged(self, nearest: Sequence[Hit], answers: Sequence[Mapping[str, object]], k: int, usage: Usage) -> Found:
        """Return the triples that the model named with an answer that they contain; all when it named none."""
        answer_of: dict[int, str] = {}
        for item in answers:
            place, text = int(str(item["triple"])) - 1, " ".join(str(item["text"]).split())
            if 0 <= place < len(nearest) and text and text.casefold() in nearest[place].text.casefold():
                answer_of.setdefault(place, text)
        hits = [
            replace(nearest[place], attributes={**nearest[place].attributes, "value": text})
            for place, text in answer_of.items()
        ]
        chosen = sorted(hits, key=lambda hit: -hit.score) or list(nearest)
        story = (f"{len(nearest)} triples were judged to suffice, {len(answer_of)} of them give an answer",)
        by_answer: dict[str, Hit] = {}
        for hit in hits:
            by_answer.setdefault(str(hit.attributes["value"]), hit)
        sentences = tuple(_sentence(hit, text) for text, hit in by_answer.items())
        return Found("graph", tuple(chosen[:k]), sentences, usage=usage, story=story)

    def _hits(self, ranking: fusion.Ranking) -> list[Hit]:
        """Return statements as hits with the chunks that state them; of those with the same words the best only."""
        nodes = [ox.NamedNode(iri) for iri, _ in ranking]
        rows: dict[str, Sequence[str]] = {}
        chunks: dict[str, list[str]] = defaultdict(list)
        query = queries.bind("poly_rag/found_statements", statements=nodes)
        for statement, *columns, chunk in self.store.select(query).values():
            if chunk:
                chunks[statement].append(chunk)
            else:
                rows.setdefault(statement, columns)
        spans = stored_passages.spans(self.store, [chunk for stating in chunks.values() for chunk in stating])
        hits: dict[str, Hit] = {}
        for iri, score in ranking:
            if iri in rows:
                text, subject, relation, value = rows[iri]
                sources = [spans[chunk] for chunk in chunks[iri] if chunk in spans][:_MAX_SOURCES_PER_TRIPLE]
                attributes = {"subject": subject, "relation": relation, "object": value}
                hits.setdefault(text.casefold(), Hit(iri, "triple", text, score, tuple(sources), attributes))
        return list(hits.values())


def _sentence(hit: Hit, value: str) -> FactSentence:
    """Return a triple as a sentence with the value in it that answers."""
    subject, relation, end = (str(hit.attributes[part]) for part in ("subject", "relation", "object"))
    # as this statement words it, where its ends have several labels
    subject = hit.text[: len(subject)] if hit.text.casefold().startswith(subject.casefold()) else subject
    # a relation of one word that no verb ends like is a noun, as in files of triples: "employer"
    verbal = " " in relation or relation.endswith(("s", "ed"))
    fact = StatedFact(subject, relation, end, tuple(span.chunk for span in hit.sources), verbal=verbal)
    return FactSentence(in_words([fact]), (fact,), value)


def _shown(number: int, hit: Hit, asked_names: Mapping[str, str]) -> dict[str, object]:
    """Return a triple for the prompt, with entities under the name that the question has for them."""
    name_of = {entity_key(alias): name for alias, name in asked_names.items()}
    ends = {part: str(hit.attributes[part]) for part in ("subject", "relation", "object")}
    ends |= {part: name_of.get(entity_key(ends[part]), ends[part]) for part in ("subject", "object")}
    return {"number": number, "text": hit.text, **ends}


@dataclass(frozen=True, slots=True)
class TextLayer:
    """The chunks of documents, ``among`` these unless it is None; those of mapped records belong to layers above."""

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    folder: Path | None
    signal: Literal["dense", "fusion"]
    read_only: bool = False
    among: frozenset[str] | None = None

    def search(self, question: str, k: int) -> Found:
        """Return the k best chunks, best first; ties by IRI."""
        index = vector_spaces.fresh("chunk", store=self.store, spaces=self.spaces, embedder=self.embedder)
        records = _RECORDS.get(self.store, "chunks", self._records)
        # As many more as there are chunks of records, which are left out below.
        depth = max(k, _CHUNKS_PER_SIGNAL) + len(records)
        ranking = index.search(self.embedder.embed([question], "query")[0], depth, self.among)
        if self.signal == "fusion":
            words = bm25.fresh(self.store, self.folder, save=not self.read_only)
            ranking = fusion.score_fusion([ranking, words.search(question, depth, self.among)], weights=[0.5, 0.5])
        best = [(iri, score) for iri, score in ranking if iri not in records][:k]
        hits = passage_hits(self.store, best)
        return Found("text", tuple(hits), why="" if hits else "there is no text")

    def _records(self) -> frozenset[str]:
        query = queries.bind("poly_rag/records", catalogue=self.store.names.catalogue)
        return frozenset(chunk for (chunk,) in self.store.select(query).values())
