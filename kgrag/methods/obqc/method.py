"""OBQC and LLM Repair: ask in words, get checked SPARQL and its rows, or *unknown*.

OBQC, sections 3 to 5. A question is turned into SPARQL over a slice of the loaded ontologies, checked against them,
mended, repaired by the model at most three times, and run only when it is valid: read-only, over the facts, with limits
on rows and time. The answer to what can't be repaired is *unknown* with the reasons. Without a model, stored competency
questions answer when the nearest one is near enough. Graphs written: those of competency questions and of the data
profile. Prompts read: ``obqc/*``. Queries read: ``schema/*``, ``competency/*``, ``facts/*``, and those of
``kgrag.querying``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from kgrag.errors import InvalidSettings
from kgrag.index import vector_spaces
from kgrag.methods.obqc import ObqcOptions
from kgrag.model import NO_COMPLETIONS, BuildReport, Hit
from kgrag.ports import Progress
from kgrag.querying import data_profile
from kgrag.querying import text_to_sparql as asking
from kgrag.querying.text_to_sparql import Asker

__all__ = ["Obqc"]

_TERMS, _QUESTIONS = "schema-term", "competency-question"


@dataclass(frozen=True, slots=True)
class Obqc(Asker):
    """Text to SPARQL, checked by the ontology; its settings are those of ``Asker``.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        The paper shows the model the whole ontology; here a slice, since a large one yields nothing.
    """

    name: ClassVar[str] = "obqc"

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
        self.ontologies()
        pairs = asking.read_pairs(options.competency) if options.competency is not None else []
        if dry_run:
            count = partial(vector_spaces.missing, store=self.store, spaces=self.spaces)
            embedded = count(_TERMS) + (len(pairs) or count(_QUESTIONS))
            return BuildReport(self.name, {"embedded": embedded, **NO_COMPLETIONS})
        if options.competency is not None:
            self.store.publish([asking.draft(pairs, names=self.store.names, source=str(options.competency))])
        data_profile.keep(self.store)
        terms, questions = self.space(_TERMS, progress), self.space(_QUESTIONS, progress)
        return BuildReport(self.name, {"terms": len(terms), "competency_questions": len(questions)})

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the first k rows of the query that answers a question; [] when it is unknown.

        Raises:
            NotBuilt: no ontology is loaded.
            InvalidSettings: k is below 1.
            ServiceError: the model could not be reached or refused.
        """
        return list(self.answer(question, k).hits)
