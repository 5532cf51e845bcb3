"""A question to an answer by SPARQL: slice, query, check, repair, rows; or *unknown* with the reasons.

OBQC, sections 3 to 5, as one object, so that every method that asks ontologies does it in the same way: ``obqc`` by
itself, ``poly_rag`` as its topmost layer. Prompts read: ``obqc/*``. Queries read: ``schema/*``, ``competency/*``,
``facts/*``. Nothing is written but vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal

import pyoxigraph as ox

from kgrag import prompting
from kgrag.errors import InvalidSettings, NotBuilt, ReplyCut, ReplyUnusable, UnsupportedTask
from kgrag.index import vector_spaces
from kgrag.index.ontology_prefixes import ontologies, ontology_prefixes
from kgrag.index.revision_cache import RevisionCache
from kgrag.llm import structured_output
from kgrag.model import Answer, Citation, Prompt, Term, Usage
from kgrag.ports import Embedder, LanguageModel, Scratch, TripleStore, VectorIndex, VectorSpaces
from kgrag.querying.ontology_check import Check, DataView, OntologyIndex, Options, check, index_of_graphs, mend
from kgrag.querying.text_to_sparql import competency_questions, named_entities, schema_slices
from kgrag.querying.text_to_sparql.cautions import cautions
from kgrag.querying.text_to_sparql.competency_questions import Competency, Match, matching
from kgrag.querying.text_to_sparql.empty_results import explained
from kgrag.querying.text_to_sparql.name_words import name_words
from kgrag.querying.text_to_sparql.named_entities import NamedEntity
from kgrag.querying.text_to_sparql.repair import CYCLES, Outcome, Repair, Version, query_in
from kgrag.querying.text_to_sparql.row_answers import answer_of_rows
from kgrag.querying.text_to_sparql.row_evidence import Execution, Runner
from kgrag.querying.text_to_sparql.schema_slices import Slice
from kgrag.sparql.query_reader import read
from kgrag.vocab import KG, OWL, RDF, RDFS, XSD, digest

__all__ = ["Asker", "FirstQuery", "marked", "story_of"]

_TERMS, _QUESTIONS = schema_slices.SPACE, competency_questions.SPACE
_MAX_STORED_QUESTIONS = 5
_MAX_ROWS_COMPARED = 10_000
_DOUBTFUL = frozenset({"empty-class", "literal-datatype", "needs-subclass", "unused-in-data"})
_ABSENT_SCOPES = frozenset({"not exists", "minus"})
_ABSENCE = "That something is not so is concluded from what the data do not state; no text that is cited says it."
_UNKNOWN = "No query was found that matches the ontology and answers the question."
_NOT_RUN = Execution(("valid",), ((ox.Literal("true", datatype=XSD.boolean),),))
_TERMS_OF_ONTOLOGIES = (OWL.Class, RDFS.Class, OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property)
_TERM_CLASSES = frozenset(kind.value for kind in _TERMS_OF_ONTOLOGIES)
"""Terms of an ontology are in the schema, and no things that a question names."""
_LOADED = RevisionCache[tuple[OntologyIndex, DataView]](kinds=(KG.OntologyGraph,))


@dataclass(frozen=True, slots=True)
class FirstQuery:
    """The first query for a question and where it is from, or why there is none.

    ``stored`` is the competency question that answers it, when no model could; ``unmatched`` is the part of the refusal
    that explains why there is none; ``is_unusable`` is whether the model replied, and not with one that is whole.
    """

    sparql: str = ""
    origin: Literal["model", "stored"] = "model"
    stored: Match | None = None
    refusal: str = ""
    unmatched: str = ""
    is_unusable: bool = False
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Asker:
    """Turns questions into checked SPARQL and its rows; ``name`` is that of the method that it answers for.

    Args:
        store: holds ontologies and facts.
        spaces: keep the vectors of schema terms and competency questions.
        embedder: embeds them, and questions.
        model: writes and repairs queries.
        runner: runs a query over the facts, in a process that can be killed.
        open_scratch: returns a small store in memory, for the check.
        prompt: "default", or "paper" to repair with the paper's own words.
        profile: rules of the check: "default", or "paper" for the paper's eight.
        cycles: how often the model may repair (paper: 3).
        examples: how many competency questions the model is shown.
        near: cosine from which the nearest competency question answers where there is no model, 0 to 1.
        rows: the largest number of rows that a query returns.
        seconds: how long a query may run.
        data: whether the check also looks into the data.
    """

    name: ClassVar[str]

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    runner: Runner
    open_scratch: Callable[[], Scratch]
    prompt: Literal["default", "paper"] = "default"
    profile: Literal["default", "paper"] = "default"
    cycles: int = CYCLES
    examples: int = 3
    near: float = 0.9
    rows: int = 1000
    seconds: float = 10.0
    data: bool = True

    def answer(self, question: str, k: int) -> Answer:
        """Answer from the rows of a checked query, or say *unknown* and why.

        Returns:
            ``text`` has one sentence per row, of the first 20 rows; values that a stored text contains are cited;
            ``sparql`` is what was run; ``explain`` lists query, findings, repairs and rows.

        Raises:
            NotBuilt: no ontology is loaded.
            InvalidSettings: k is below 1.
            ServiceError: the model could not be reached or refused.
        """
        if k < 1:
            raise InvalidSettings(f"{self.name}: k is {k}. Ask for at least 1 row.")
        first, outcome = self.repaired(question)
        if outcome is None:
            unknown = self.unknown(question, (first.refusal,), usage=first.usage)
            return replace(unknown, failure=first.refusal if first.is_unusable else "")
        story = story_of(first, outcome)
        best = outcome.best
        if not outcome.known:
            unknown = self.unknown(question, (*story, *outcome.reasons), usage=outcome.usage)
            return replace(unknown, failure=outcome.failure)
        if best.execution is None or best.execution.empty:
            unknown = self.unknown(question, story, usage=outcome.usage)
            why = next(issue.message for issue in best.issues if issue.rule == "empty")
            return replace(unknown, text=why, sparql=best.sparql, failure=outcome.failure)
        return self.answer_from_rows(question, first, outcome, k)

    def repaired(self, question: str) -> tuple[FirstQuery, Outcome | None]:
        """Return the first query for a question and what became of it; None when there is no query at all.

        Raises:
            NotBuilt: no ontology is loaded.
            ServiceError: the model could not be reached or refused.
        """
        index, _ = self._loaded()
        vector = self.embedder.embed([question], "query")[0]
        part = schema_slices.schema_slice(question, vector, store=self.store, index=self.space(_TERMS, None))
        found = named_entities.mentions(question, self.store)
        stored = competency_questions.nearest(
            vector, _MAX_STORED_QUESTIONS, store=self.store, index=self.space(_QUESTIONS, None)
        )
        reading = self._read(question, part, found, stored)
        if reading.refusal:
            return reading, None
        repair = self.repair(question, part, index, with_model=reading.origin == "model")
        return reading, repair.outcome(reading.sparql, reading.origin, usage=reading.usage)

    def judged(self, question: str, sparql: str) -> Outcome:
        """Return what becomes of a ready-made query: checked, mended without a model, and run when it is valid.

        Raises:
            NotBuilt: no ontology is loaded.
        """
        part = Slice((), "", {}, whole=False)
        return self.repair(question, part, self._loaded()[0], with_model=False).outcome(sparql, "given")

    def checked(self, sparql: str) -> Check:
        """Check a query against the ontologies and, unless ``data`` is off, the data of the store.

        Prefixes that a query of the store may use without declaring them need no declaration here.

        Raises:
            NotBuilt: no ontology is loaded.
        """
        index, view = self._loaded()
        return self._checked(sparql, index, view if self.data else None, ontology_prefixes(self.store))

    def _checked(
        self, sparql: str, index: OntologyIndex, view: DataView | None, prefixes: Mapping[str, str] | None = None
    ) -> Check:
        options = Options(profile=self.profile, prefixes=prefixes or {})
        return check(sparql, index, open_scratch=self.open_scratch, data=view, options=options)

    def mended(self, sparql: str, *, question: str = "") -> Outcome:
        """Return what the model makes of a query, in at most ``cycles`` repairs; nothing is run, valid is good enough.

        Raises:
            NotBuilt: no ontology is loaded.
            ServiceError: the model could not be reached or refused.
        """
        about = question or sparql
        vector = self.embedder.embed([about], "query")[0]
        part = schema_slices.schema_slice(about, vector, store=self.store, index=self.space(_TERMS, None))
        repair = self.repair(question, part, self._loaded()[0], with_model=True)
        return replace(repair, run=lambda _: _NOT_RUN).outcome(sparql, "given")

    def repair(self, question: str, part: Slice, index: OntologyIndex, *, with_model: bool) -> Repair:
        """Return what brings a query for a question to its best version."""
        loaded = self._loaded()[1]
        view = loaded if self.data else None
        return Repair(
            question=question,
            slice=part,
            check=lambda sparql: self._checked(sparql, index, view),
            mend=mend,
            run=lambda sparql: self.runner(sparql, rows=self.rows, seconds=self.seconds),
            explain=partial(explained, index=index, view=loaded, run=self.runner, rows=self.rows, seconds=self.seconds),
            model=self.model if with_model else None,
            prompt=self.prompt,
            cycles=self.cycles,
        )

    def answer_from_rows(self, question: str, first: FirstQuery, outcome: Outcome, k: int) -> Answer:
        """Return the rows of a query that ran as an answer with citations; at most k of them as hits."""
        best = outcome.best
        execution = best.execution or Execution()
        found = answer_of_rows(
            question,
            execution,
            best.sparql,
            k,
            run=lambda sparql: self.runner(sparql, rows=self.rows, seconds=self.seconds),
            store=self.store,
        )
        shown, cited = found.sentences, found.citations
        if found.unsupported and not shown:
            story = (*story_of(first, outcome), "No text states what the rows of the query have.")
            unknown = self.unknown(question, story, usage=outcome.usage)
            return replace(unknown, unsupported=found.unsupported, sparql=best.sparql)
        stored = first.stored
        head = [f"Answered as the stored question: {stored.question.question}"] if stored and not stored.exact else []
        remarks = self.remarks(question, outcome, len(shown))
        return Answer(
            question=question,
            text="\n".join([*head, *([best.note] if best.note else []), *marked(shown, cited), *remarks]),
            method=self.name,
            sentences=shown,
            citations=cited,
            hits=found.hits,
            values=found.values,
            usage=outcome.usage,
            dropped={"quotes": 0, "sentences": 0, "unsupported": len(found.unsupported)},
            sparql=best.sparql,
            explain=(*story_of(first, outcome), *_computed(found.computed)),
            unsupported=found.unsupported,
        )

    def remarks(self, question: str, outcome: Outcome, shown: int) -> list[str]:
        """Return what to know beside the rows that are shown: what none can cite, more rows, a cut, what to doubt."""
        execution = outcome.best.execution or Execution()
        more = len(set(execution.rows)) - shown
        scopes = {scope.kind for pattern in read(outcome.best.sparql).patterns for scope in pattern.context}
        return [
            *([_ABSENCE] if shown and not scopes.isdisjoint(_ABSENT_SCOPES) else []),
            *([f"… and {more:,} more rows."] if more > 0 else []),
            *([f"The query was cut off after {self.rows:,} rows."] if execution.truncated else []),
            *(f"Caution: {doubt}" for doubt in self._doubts(question, outcome.best)),
        ]

    def _doubts(self, question: str, version: Version) -> list[str]:
        """Return what to doubt in the rows of a query: what the check warns of, and what the question did not ask."""
        index, view = self._loaded()
        warned = [issue.message for issue in version.warnings if issue.rule in _DOUBTFUL] if self.data else []
        valueless = [issue.message for issue in version.issues if issue.rule == "valueless"]
        return [*valueless, *warned, *cautions(question, read(version.sparql), index, view)]

    def unknown(self, question: str, reasons: Sequence[str], *, usage: Usage) -> Answer:
        """Return the answer *unknown*, with its reasons."""
        return Answer(
            question=question,
            text=_UNKNOWN,
            method=self.name,
            unknown=True,
            usage=usage,
            dropped={"quotes": 0, "sentences": 0},
            explain=tuple(reasons),
        )

    # reading the question

    def _read(
        self, question: str, part: Slice, found: Sequence[NamedEntity], stored: Sequence[Competency]
    ) -> FirstQuery:
        named = [mention for mention in found if not _TERM_CLASSES.intersection(mention.classes)]
        more = name_words(question, named, self.store)
        prompt = _ask_prompt(question, part, [*named, *more.linked], stored[: self.examples], more.unlinked)
        try:
            completion = self.model.complete([prompt])[0]
        except UnsupportedTask as error:
            return self._from_stored(question, found, stored, str(error))
        try:
            return FirstQuery(query_in(structured_output.text_of(completion)), "model", usage=completion.usage)
        except ReplyCut as error:
            return FirstQuery(
                refusal=f"The model's query could not be used: {error}", is_unusable=True, usage=completion.usage
            )
        except ReplyUnusable:
            return FirstQuery(usage=completion.usage)  # without a query the repair asks again

    def _from_stored(
        self, question: str, found: Sequence[NamedEntity], stored: Sequence[Competency], refusal: str
    ) -> FirstQuery:
        found_match = matching(question, found, stored, embedder=self.embedder, near=self.near)
        if found_match is None:
            why = f"The nearest one is: {stored[0].question}" if stored else "There is none."
            unmatched = f"No stored competency question is near enough. {why}"
            return FirstQuery(refusal=f"{refusal} {unmatched}", unmatched=unmatched)
        return FirstQuery(found_match.sparql, "stored", found_match)

    # what is loaded

    def ontologies(self) -> list[ox.NamedNode]:
        """Return the graphs of the loaded ontologies. Raises NotBuilt without any."""
        graphs = [ox.NamedNode(graph) for graph in dict.fromkeys(graph for graph, _, _ in ontologies(self.store))]
        if not graphs:
            raise NotBuilt(
                f"method '{self.name}' has no ontology to check queries against. "
                f"Run `kgrag load ONTOLOGY` and `kgrag build {self.name}` first."
            )
        return graphs

    def _loaded(self) -> tuple[OntologyIndex, DataView]:
        """Return the index of all ontologies together, made again when one changed, and a view of the data."""
        graphs = self.ontologies()

        def load() -> tuple[OntologyIndex, DataView]:
            return index_of_graphs(self.store, graphs), DataView(self.store, self._rows_of)

        return _LOADED.get(self.store, "", load)

    def _rows_of(self, sparql: str) -> tuple[tuple[Term | None, ...], ...] | None:
        """Return the rows of a query over the facts; None when it failed or has too many."""
        execution = self.runner(sparql, rows=_MAX_ROWS_COMPARED, seconds=self.seconds)
        return None if execution.problem or execution.truncated else execution.rows

    def space(self, name: str, progress: vector_spaces.Progress) -> VectorIndex:
        """Return a vector space, up to date."""
        return vector_spaces.fresh(
            name, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )


def _ask_prompt(
    question: str, part: Slice, found: Sequence[NamedEntity], examples: Sequence[Competency], unlinked: Sequence[str]
) -> Prompt:
    shown = [{"question": example.question.replace(":text}", "}"), "sparql": example.shown} for example in examples]
    named = [
        {
            "text": mention.text,
            "value": mention.value,
            "iri": mention.entity,
            "property": mention.property,
            "classes": ", ".join(mention.classes[:3]),
        }
        for mention in found
    ]
    content = (question, part.text, *unlinked, *(str(item) for item in [*shown, *named]))
    return prompting.render(
        "obqc/ask",
        question=question,
        declarations=part.declarations,
        slice=part.text,
        examples=shown,
        entities=named,
        unlinked=unlinked,
        boundary=f"=== {digest(*content)[:12]} ===",
    )


def _computed(count: int) -> Iterator[str]:
    if count:
        yield f"{count} of the sentences have numbers that the query computed; no text states these."


def story_of(first: FirstQuery, outcome: Outcome) -> tuple[str, ...]:
    """Return what happened, version by version, as lines."""
    lines = [f"stored question: {first.stored.question.question}"] if first.stored else []
    for number, version in enumerate(outcome.versions, start=1):
        lines.append(f"query {number} ({version.origin}): {' '.join(version.sparql.split()) or 'none'}")
        for issue in version.issues:
            place = f" ({issue.place})" if issue.place else ""
            lines.append(f"  {issue.rule}: {issue.message}{place}" + (f" Hint: {issue.hint}" if issue.hint else ""))
        if version.note:
            lines.append(f"  {version.note}")
        if version.answers and version.execution is not None:
            lines.append(f"  ran: {len(version.execution.rows):,} rows")
    lines.append(f"repairs by the model: {outcome.cycles}")
    return tuple(lines)


def marked(sentences: Sequence[str], cited: Sequence[Citation]) -> list[str]:
    """Put after each sentence the numbers of its citations, counted from 1 through all of them."""
    numbers = dict.fromkeys(range(len(sentences)), "")
    for number, citation in enumerate(cited, start=1):
        numbers[citation.sentence] += f"[{number}]"
    return [f"{text} {numbers[place]}".rstrip() for place, text in enumerate(sentences)]
