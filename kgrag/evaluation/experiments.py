"""Measures methods on the same questions: one row per question and method, means with intervals, paired differences.

A method is anything with ``retrieve(question, k)``. Passages are judged by the identifier of the document they are from
(``queries/evaluation/identifiers``), facts by the key-value pairs they contain.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import pyoxigraph as ox

from kgrag import queries
from kgrag.capabilities import RetrievesAmong, RetrievesWithout, Trains, among
from kgrag.errors import InputError
from kgrag.evaluation.datasets import Dataset, Question
from kgrag.evaluation.experiment_report import Experiment, Row
from kgrag.evaluation.retrieval_scores import Retrieved, score
from kgrag.model import Allowed, Answer, Hit, Usage, plain
from kgrag.ports import Embedder, TripleStore
from kgrag.querying.document_filters import Where
from kgrag.text import ingestion

__all__ = ["Answerer", "Bench", "Retriever", "cited_documents", "evaluate", "prepare", "run"]

_HITS_PER_RANK = 3
"""Hits asked for per rank that is scored, since several may be from one document."""
_MIN_RANKS = 10  # ndcg@10 is reported whatever k is

Progress = Callable[[str, int, int], None]


class Retriever(Protocol):
    """What is measured."""

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return at most k hits, best first."""


class Bench(Protocol):
    """What an experiment needs of a knowledge base."""

    @property
    def store(self) -> TripleStore:
        """The triple store."""

    @property
    def embedder(self) -> Embedder:
        """The embedder."""

    def build(self, method: str, **options: Any) -> Any:
        """Build the graphs and vectors of a method."""

    def method(self, spec: str) -> Retriever:
        """Return a method by name, with options as ``name:option=value,…``."""

    def allowed(self, where: Where) -> Allowed:
        """Return the documents that a filter lets through."""


Answerer = Callable[[str, Sequence[Hit], str], Answer]
"""Answers (question, hits, method name)."""


def run(  # noqa: PLR0913 - each is an option of `kgrag eval`
    bench: Bench,
    dataset: Dataset,
    methods: Sequence[str],
    *,
    k: int = 5,
    answerer: Answerer | None = None,
    where: Where | None = None,
    progress: Progress | None = None,
) -> Experiment:
    """Fill a knowledge base from a dataset, build the methods, and measure them on its questions.

    Args:
        bench: a knowledge base; a dataset without corpus and mapped data is asked of it as it is.
        dataset: what ``read_dataset`` returned.
        methods: method specs, ``passages:signal=bm25``; the first is the baseline that the others are compared with.
        k: how many hits count as retrieved.
        answerer: answers from the hits, so that answers are scored too; None scores retrieval alone.
        where: which documents may be found; None = all.
        progress: called with (stage, done, in all).

    Raises:
        UnknownName: no method of that name.
        InputError: a method was trained on some of the questions.
        InvalidSettings: a method cannot keep to a filter.
        KgragError: whatever building and retrieving raise.
    """
    prepare(bench, dataset, methods, progress=progress)
    retrievers = {spec: bench.method(spec) for spec in methods}
    _refuse_training_questions(retrievers, dataset)
    if where is not None:
        allowed = bench.allowed(where)
        retrievers = {spec: _Filtered(among(method, spec), allowed) for spec, method in retrievers.items()}
    experiment = evaluate(bench, retrievers, dataset.scored, k=k, answerer=answerer)
    return experiment.of(dataset.name, dataset.left_out)


@dataclass(frozen=True, slots=True)
class _Filtered:
    """A method that is measured on the documents that a filter lets through."""

    method: RetrievesAmong
    allowed: Allowed

    def retrieve(self, question: str, k: int) -> list[Hit]:
        return self.method.retrieve_among(question, k, self.allowed)


def _refuse_training_questions(retrievers: Mapping[str, Retriever], dataset: Dataset) -> None:
    """Raise InputError when a method was trained on a question that it is to be measured on."""
    for spec, method in retrievers.items():
        if not isinstance(method, Trains):
            continue
        if known := method.trained_on([question.text for question in dataset.scored]):
            raise InputError(
                f"'{spec}' was trained on {len(known)} of these questions, as {known[0][:80]!r}. "
                "Measure it on others, or train it without them."
            )


def prepare(bench: Bench, dataset: Dataset, methods: Sequence[str], *, progress: Progress | None = None) -> None:
    """Put what a dataset is asked of into a knowledge base and build the methods; again changes nothing.

    Questions alone are asked of the knowledge base as it is, and nothing is built.
    """
    if not (dataset.corpus or dataset.mapped):
        return
    if dataset.corpus:
        ingestion.ingest(dataset.documents(), store=bench.store, chunk_tokens=dataset.chunk_tokens, progress=progress)
    if dataset.mapped:
        bench.build("og_rag", mapped=dataset.mapped)
    for name in dict.fromkeys(spec.partition(":")[0] for spec in methods):
        if not (dataset.mapped and name == "og_rag"):
            bench.build(name)


def evaluate(
    bench: Bench,
    methods: Mapping[str, Retriever],
    questions: Sequence[Question],
    *,
    k: int = 5,
    answerer: Answerer | None = None,
) -> Experiment:
    """Ask every method every question and score what comes back.

    All questions are embedded first in one batch, and each method is asked one question untimed, so that latency is
    that of retrieval alone, with everything loaded.
    """
    if questions:
        bench.embedder.embed([question.text for question in questions], "query")
    rows = [
        row
        for name, method in methods.items()
        for row in _measured_rows(bench, name, method, questions, k=k, answerer=answerer)
    ]
    return Experiment(k=k, methods=tuple(methods), rows=tuple(rows))


def _measured_rows(
    bench: Bench, name: str, method: Retriever, questions: Sequence[Question], *, k: int, answerer: Answerer | None
) -> list[Row]:
    depth = _HITS_PER_RANK * max(k, _MIN_RANKS)

    def seconds_outside_embedder() -> float:
        return time.perf_counter() - float(getattr(bench.embedder, "seconds", 0.0))

    if questions:
        method.retrieve(questions[0].text, depth)
    rows = []
    for question in questions:
        start = seconds_outside_embedder()
        hits = _retrieved(bench.store, method, question, depth)
        milliseconds = 1000 * (seconds_outside_embedder() - start)
        answer = answerer(question.text, hits[:k], name) if answerer else None
        documents = list(dict.fromkeys(chain.from_iterable(cited_documents(bench.store, hits))))
        retrieved = Retrieved(hits=hits, documents=documents, answer=answer)
        usage = answer.usage if answer else Usage()
        rows.append(Row(name, question, score(question, retrieved, k), tuple(hits[:k]), milliseconds, usage, answer))
    return rows


def _retrieved(store: TripleStore, method: Retriever, question: Question, depth: int) -> list[Hit]:
    """Retrieve without documents that can't be the answer.

    A method that follows links gets them too, since a link from the question's own document would be the answer.
    """
    if not question.excluded:
        return method.retrieve(question.text, depth)
    if isinstance(method, RetrievesWithout):
        hits = method.retrieve_without(question.text, depth, question.excluded)
    else:
        hits = method.retrieve(question.text, depth)
    cited = cited_documents(store, hits)
    return [hit for hit, documents in zip(hits, cited, strict=True) if not question.excluded.issuperset(documents)]


def cited_documents(store: TripleStore, hits: Sequence[Hit]) -> list[list[str]]:
    """Return the identifiers of the documents that each hit cites; the IRI of a document that has none."""
    iris = dict.fromkeys(span.document for hit in hits for span in hit.sources)
    query = queries.bind("evaluation/identifiers", documents=[ox.NamedNode(iri) for iri in iris])
    identifiers = {plain(document): plain(identifier) for document, identifier in store.select(query)}
    return [[identifiers.get(span.document, span.document) for span in hit.sources] for hit in hits]
