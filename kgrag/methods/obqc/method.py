"""OBQC and LLM Repair: ask in words, get checked SPARQL and its rows, or *unknown*.

OBQC, sections 3 to 5. A question is turned into SPARQL over a slice of the loaded ontologies, checked against them,
mended, repaired by the model at most three times, and run only when it is valid: read-only, over the facts, with limits
on rows and time. What can't be repaired gives *unknown* with the reasons. Without a model, stored competency questions
answer when the nearest one is near enough. Graphs written: the graph of competency questions. Prompts read: ``obqc/*``.
Queries read: ``schema/*``, ``competency/*``, ``facts/*``, and those of the stages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import ClassVar, Literal

from kgrag.errors import InvalidSettings
from kgrag.index import vector_spaces
from kgrag.methods.obqc import ObqcOptions
from kgrag.model import NO_COMPLETIONS, Answer, BuildReport, Hit
from kgrag.ports import Embedder, LanguageModel, Progress, Scratch, TripleStore, VectorSpaces
from kgrag.querying import text_to_sparql as asking
from kgrag.querying.ontology_check import Check
from kgrag.querying.text_to_sparql import CYCLES, Asker, Outcome, Reading, Runner

__all__ = ["Obqc"]

_TERMS, _QUESTIONS = "schema-term", "competency-question"


@dataclass(frozen=True, slots=True)
class Obqc:
    """Text to SPARQL, checked by the ontology.

    Args:
        store: holds ontologies and facts.
        spaces: keep the vectors of schema terms and competency questions.
        embedder: embeds them, and questions.
        model: writes and repairs queries.
        runner: runs a query over the facts, in a process that can be killed.
        open_scratch: gives a small store in memory, for the check.
        prompt: "default", or "paper" to repair with the paper's own words.
        profile: rules of the check: "default", or "paper" for the paper's eight.
        cycles: how often the model may repair (paper: 3).
        examples: how many competency questions the model is shown.
        near: cosine from which the nearest competency question answers where there is no model, 0 to 1.
        rows: the largest number of rows that a query gives.
        seconds: how long a query may run.
        data: whether the check also looks into the data.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        The paper shows the model the whole ontology; here a slice, since a large one yields nothing.
    """

    name: ClassVar[str] = "obqc"

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

    def __post_init__(self) -> None:
        for value, name in ((self.prompt, "prompt"), (self.profile, "profile")):
            if value not in ("default", "paper"):
                raise InvalidSettings(f"obqc: {name} {value!r} is unknown. Use 'default' or 'paper'.")
        if min(self.cycles, self.examples) < 0 or min(self.rows, self.seconds) <= 0 or not 0 <= self.near <= 1:
            raise InvalidSettings(
                "obqc: cycles and examples are at least 0, rows and seconds above 0, near from 0 to 1."
            )

    def build(
        self, options: ObqcOptions = ObqcOptions(), *, progress: Progress | None = None, dry_run: bool = False
    ) -> BuildReport:
        """Embed the terms of the ontologies and the competency questions; building again changes nothing.

        Args:
            options: ``competency`` is a file of JSON Lines ``{"question": …, "sparql": …}``, which replace those of an
                earlier file. Questions in RDF are loaded like any RDF.
            progress: called after each batch.
            dry_run: read the file, count what would be embedded, and write nothing.

        Raises:
            NotBuilt: no ontology is loaded.
            InputError: a line of ``competency`` is no question with a query.
            ServiceError: the embedder is a service that does not answer.
        """
        asker = self._asker
        asker.ontologies()
        pairs = asking.read_pairs(options.competency) if options.competency is not None else []
        if dry_run:
            count = partial(vector_spaces.missing, store=self.store, spaces=self.spaces)
            embedded = count(_TERMS) + (len(pairs) or count(_QUESTIONS))
            return BuildReport(self.name, {"embedded": embedded, **NO_COMPLETIONS})
        if options.competency is not None:
            self.store.publish([asking.draft(pairs, names=self.store.names, source=str(options.competency))])
        terms, questions = asker.space(_TERMS, progress), asker.space(_QUESTIONS, progress)
        return BuildReport(self.name, {"terms": len(terms), "competency_questions": len(questions)})

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Give the first k rows of the query that answers a question; [] when it is unknown.

        Raises:
            NotBuilt: no ontology is loaded.
            InvalidSettings: k is below 1.
            ServiceError: the model could not be reached or refused.
        """
        return list(self.answer(question, k).hits)

    def answer(self, question: str, k: int) -> Answer:
        """Answer from the rows of a checked query, or say *unknown* and why.

        Returns:
            ``text`` has one sentence a row, of the first 20 rows; values that stand in a stored text are cited;
            ``sparql`` is what was run; ``explain`` tells the query, findings, repairs and rows.

        Raises:
            NotBuilt: no ontology is loaded.
            InvalidSettings: k is below 1.
            ServiceError: the model could not be reached or refused.
        """
        return self._asker.answer(question, k)

    def repaired(self, question: str) -> tuple[Reading, Outcome | None]:
        """Give how a question was read and what became of its query; None when there is no query at all.

        Raises:
            NotBuilt: no ontology is loaded.
            ServiceError: the model could not be reached or refused.
        """
        return self._asker.repaired(question)

    def judged(self, question: str, sparql: str) -> Outcome:
        """Give what becomes of a ready-made query: checked, mended without a model, and run when it is valid.

        Raises:
            NotBuilt: no ontology is loaded.
        """
        return self._asker.judged(question, sparql)

    def checked(self, sparql: str) -> Check:
        """Check a query against the ontologies and, unless ``data`` is off, the data of the store.

        Raises:
            NotBuilt: no ontology is loaded.
        """
        return self._asker.checked(sparql)

    def mended(self, sparql: str, *, question: str = "") -> Outcome:
        """Give what the model makes of a query, in at most ``cycles`` repairs; nothing is run, valid is good enough.

        Raises:
            NotBuilt: no ontology is loaded.
            ServiceError: the model could not be reached or refused.
        """
        return self._asker.mended(sparql, question=question)

    @property
    def _asker(self) -> Asker:
        return Asker(self.name, **{field.name: getattr(self, field.name) for field in fields(self)})
