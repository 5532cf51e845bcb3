"""What may be asked of a method beyond ``build`` and ``retrieve``: one protocol per capability.

====================  ====================================================================================
protocol              where it is used
====================  ====================================================================================
``Answers``           ``kgrag ask``: the method's own answer, in place of one from its hits
``HasWorkerStages``   ``kgrag build --runner``: what workers do of its build besides asking and embedding
``Trains``            ``kgrag train``; ``kgrag eval`` refuses questions that were learned from
``Counts``            ``kgrag stats METHOD``
``Draws``             ``kgrag draw``
``Traverses``         ``kgrag tree``
``Proposes``          ``kgrag proposals``
``ChecksQueries``     ``kgrag check``, ``KnowledgeBase.check``
``ChecksFiles``       ``kgrag doctor``
``RetrievesWithout``  ``kgrag eval``, of questions with documents that cannot be the answer
``RetrievesAmong``    a filter (``--where``) on ``kgrag retrieve``, ``ask`` and ``eval``
``AnswersAmong``      the same for a method that has an answer of its own
``AnswersExactly``    ``auto``, which asks these before it looks for evidence
``ClaimsQuestions``   ``auto``, which leaves these questions to the method
``RanksChunks``       ``auto``, which joins these rankings with its own
====================  ====================================================================================

A method has a capability when its class has the methods of the protocol; nothing is registered.

>>> from kgrag.methods.obqc.method import Obqc
>>> issubclass(Obqc, Answers), issubclass(Obqc, Trains)
(True, False)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from kgrag import plugins
from kgrag.answering.labelled_questions import Labelled
from kgrag.drawing.tree_picture import TreeView
from kgrag.errors import InvalidSettings, PluginBroken
from kgrag.index.array_files import FileFault
from kgrag.model import Allowed, Answer, BuildReport, Hit
from kgrag.ports import Progress, Stage
from kgrag.querying.ontology_check import Check

__all__ = [
    "Answers",
    "AnswersAmong",
    "AnswersExactly",
    "ChecksFiles",
    "ChecksQueries",
    "ClaimsQuestions",
    "Counts",
    "Draws",
    "HasWorkerStages",
    "LeftToEvidence",
    "OwnAnswer",
    "Proposed",
    "Proposes",
    "RanksChunks",
    "RetrievesAmong",
    "RetrievesWithout",
    "Trains",
    "Traverses",
    "among",
    "capable",
    "having",
]


@dataclass(frozen=True, slots=True)
class LeftToEvidence:
    """No answer of a method's own: it is to be written from what the method retrieves.

    ``explain`` are lines for ``Answer.explain``: what could have answered, and why it did not.
    """

    explain: tuple[str, ...] = ()


OwnAnswer: TypeAlias = Answer | LeftToEvidence
"""What a method that may answer by itself returns."""


@runtime_checkable
class Answers(Protocol):
    """Answers by itself, as methods do whose evidence is not text alone."""

    def answer(self, question: str, k: int) -> OwnAnswer:
        """Return an answer from at most k pieces of evidence, or *unknown*, unless it is left to what is retrieved.

        Raises NotBuilt.
        """


@runtime_checkable
class HasWorkerStages(Protocol):
    """Has parts of its build done by workers, which its field ``workers`` reaches."""

    def worker_stages(self, options: Any) -> Mapping[str, Stage]:
        """Return the stages by name; ``options`` are those of the build. Raises StateError: it cannot be built."""


@runtime_checkable
class Trains(Protocol):
    """Learns from questions whose documents are known."""

    def recipe(self) -> Any:
        """Return how it is trained by default: a frozen dataclass."""

    def train(
        self,
        questions: Sequence[Labelled],
        *,
        held_out: Sequence[Labelled] = (),
        recipe: Any = ...,
        progress: Progress | None = None,
    ) -> BuildReport:
        """Learn from questions, none of which may be among ``held_out``. Raises NotBuilt, InvalidSettings."""

    def trained_on(self, questions: Sequence[str]) -> list[str]:
        """Return those of the questions that it has learned from."""


@runtime_checkable
class Counts(Protocol):
    """Counts what its graphs contain."""

    def statistics(self) -> Mapping[str, Any]:
        """Return figures by name."""


@runtime_checkable
class Draws(Protocol):
    """Draws what a hit is linked to."""

    def picture(self, subject: str) -> str:
        """Return a web page about the node with this IRI. Raises UnknownName."""


@runtime_checkable
class Traverses(Protocol):
    """Has a tree that can be walked down."""

    def traverse(self, question: str = "", *, node: str = "", width: int = 3) -> TreeView:
        """Return part of the tree, from a node (default: the top) towards a question. Raises NotBuilt, UnknownName."""


class Proposed(Protocol):
    """A triple that is proposed for the ontology, with its weight and what a person decided."""

    @property
    def iri(self) -> str:
        """Its name in the store."""

    @property
    def label(self) -> str:
        """The proposal in words."""

    @property
    def subject(self) -> str:
        """IRI of the subject."""

    @property
    def predicate(self) -> str:
        """IRI of the predicate."""

    @property
    def object(self) -> str:
        """IRI of the object."""

    @property
    def weight(self) -> float:
        """Between 0 and 1: how strong the evidence is."""

    @property
    def decision(self) -> str:
        """``open``, ``accepted`` or ``rejected``."""

    @property
    def evidence(self) -> Sequence[str]:
        """IRIs of the statements that it rests on."""

    @property
    def layer(self) -> str:
        """The graph that it is kept in."""


@runtime_checkable
class Proposes(Protocol):
    """Proposes changes of the ontology, which a person decides."""

    def proposals(self) -> Sequence[Proposed]:
        """Return every proposal."""

    def wordings(self) -> Mapping[str, str]:
        """Return IRI of a proposal -> the words of a statement that it rests on."""

    def decide(self, name: str, decision: Literal["open", "accepted", "rejected"]) -> Proposed:
        """Decide about a proposal, by IRI or label. Raises UnknownName."""

    def proposals_picture(self) -> str:
        """Propose anew, and return a picture of what was compared, as SVG. Raises NotBuilt, InvalidSettings."""


@runtime_checkable
class ChecksQueries(Protocol):
    """Checks SPARQL against ontologies."""

    def checked(self, sparql: str) -> Check:
        """Return where a query departs from the ontologies. Raises NotBuilt."""


@runtime_checkable
class ChecksFiles(Protocol):
    """Keeps files next to the store, and can compare them with it."""

    def file_faults(self) -> Sequence[FileFault]:
        """Return the files that are not what the store says; nothing is changed."""


@runtime_checkable
class RetrievesWithout(Protocol):
    """Retrieves as if some documents were not there."""

    def retrieve_without(self, question: str, k: int, excluded: Collection[str]) -> list[Hit]:
        """Return at most k hits, as if the documents with these identifiers were not in the collection."""


@runtime_checkable
class RetrievesAmong(Protocol):
    """Retrieves from the documents that a filter lets through, as if there were no others."""

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Return at most k hits, best first, of which every source document is allowed. Raises NotBuilt.

        The limit is applied where candidates are searched, not to hits that were found without it. What was made of
        several documents counts only if all of them are allowed.
        """


@runtime_checkable
class AnswersAmong(Protocol):
    """Answers by itself from the documents that a filter lets through."""

    def answer_among(self, question: str, k: int, allowed: Allowed) -> Answer:
        """Return an answer from at most k pieces of evidence, all from allowed documents, or *unknown*."""


@runtime_checkable
class AnswersExactly(Protocol):
    """Answers some questions from stated facts alone, without a language model."""

    def exact_answer(self, question: str, k: int) -> OwnAnswer:
        """Return what the facts answer, from at most k rows, unless they do not, or the question is not clear."""


@runtime_checkable
class ClaimsQuestions(Protocol):
    """Knows questions that name what no other method can tell, and retrieves for these with or without a filter."""

    def claims(self, question: str) -> bool:
        """Return whether a question is of that kind; False where nothing is built."""

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return at most k hits, best first."""

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Return at most k hits, best first, of which every source document is allowed."""


@runtime_checkable
class RanksChunks(Protocol):
    """Ranks chunks by what it has built of them, where that says something of a question."""

    def chunk_ranking(self, question: str, depth: int, allowed: Allowed | None) -> Sequence[tuple[str, float]]:
        """Return at most ``depth`` chunks, best first, with scores of 0 to 1, the best 1; none where nothing is built.

        ``allowed`` is a filter, None for none.
        """

    def knows_chunks(self, chunks: Sequence[str]) -> Sequence[bool]:
        """Return of each chunk whether it could have been in a ranking: one that is not known is not ranked lower."""


_Capability = TypeVar("_Capability")


def capable(method: object, capability: type[_Capability], spec: str) -> _Capability:
    """Return the method as one that has a capability.

    Args:
        method: what ``KnowledgeBase.method`` returned.
        capability: one of the protocols above.
        spec: what it was asked for as, for the message.

    Raises:
        InvalidSettings: it does not have it; the message lists the methods that have.
    """
    if isinstance(method, capability):
        return method
    verbs = ", ".join(sorted(name for name in vars(capability) if not name.startswith("_")))
    have = ", ".join(having(capability)) or "none"
    raise InvalidSettings(f"method '{spec}' does not offer {verbs}. Methods that do: {have}.")


def among(method: object, spec: str) -> RetrievesAmong:
    """Return the method as one that keeps to a filter.

    Raises:
        InvalidSettings: it does not, so that its evidence could be from any document.
    """
    if isinstance(method, RetrievesAmong):
        return method
    have = ", ".join(having(RetrievesAmong)) or "none"
    raise InvalidSettings(f"method '{spec}' cannot keep to a filter (where). Methods that can: {have}.")


def having(capability: type) -> list[str]:
    """Return the names of the methods that have a capability, sorted; their classes are imported."""
    found = []
    for name in plugins.methods():
        with suppress(PluginBroken):
            if issubclass(plugins.implementation(name), capability):
                found.append(name)
    return sorted(found)
