"""What stands in a context of a given size: the fair comparison where entries of a ranking differ in length.

An aggregate or a summary stands on several passages and is longer than one. So a ranking is cut off twice: after so
many entries, and where the texts of its entries (each under its title) no longer fit into so many tokens (words and
marks).

==============================  =====================================================================
``recall in 5 entries``          share of the documents wanted that the first entries cite
``all in 20 entries``            1 when they cite every one of them
``recall in 1000 tokens`` …      the same for the entries that fit into the context, whole
``all in 1000 tokens``
``answer in 1000 tokens``        a right answer of at most ten words stands in that context
==============================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.evaluation import metrics
from kgrag.evaluation.datasets import Question
from kgrag.evaluation.experiment_report import Experiment, Row
from kgrag.evaluation.experiments import Retriever
from kgrag.evaluation.retrieval_scores import phrases
from kgrag.model import Hit, plain
from kgrag.ports import TripleStore
from kgrag.text.chunking import count_tokens

__all__ = ["Budgets", "Recorded", "entry_text", "fitting", "score_within", "with_budgets"]

_DEPTH = 100
"""Hits asked for where those that were scored do not fill the largest context."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """Where a ranking is cut off: after so many ``entries``, and at so many ``tokens``; each at least 1."""

    entries: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


class Recorded:
    """A method that keeps what it gave, so that a ranking is scored twice and asked for once."""

    def __init__(self, inner: Retriever) -> None:
        self._inner = inner
        self._given: dict[str, list[Hit]] = {}

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Give at most k hits, best first."""
        self._given[question] = self._inner.retrieve(question, k)
        return self._given[question]

    def filling(self, question: str, tokens: int) -> list[Hit]:
        """Give the hits of before, or more of them where their texts do not fill so many tokens."""
        hits = self._given.get(question) or []
        if not hits or fitting(hits, tokens) == len(hits):
            hits = self._inner.retrieve(question, max(_DEPTH, 3 * len(hits)))
        return hits


def with_budgets(
    experiment: Experiment, methods: Mapping[str, Recorded], budgets: Budgets, *, store: TripleStore
) -> Experiment:
    """Give an experiment whose rows have the metrics of this module too.

    Args:
        experiment: what ``evaluate`` gave for the recorded methods.
        methods: those, by name.
        budgets: where to cut off.
        store: says which document a hit stands in.
    """
    return replace(
        experiment, rows=tuple(_budgeted(row, methods[row.method], budgets, store) for row in experiment.rows)
    )


def _budgeted(row: Row, method: Recorded, budgets: Budgets, store: TripleStore) -> Row:
    hits = method.filling(row.question.text, max(budgets.tokens, default=0))
    scores = score_within(row.question, hits, _held(store, hits), budgets)
    return replace(row, scores={**row.scores, **scores})


def _held(store: TripleStore, hits: Sequence[Hit]) -> list[list[str]]:
    """Give the identifiers of the documents that each hit cites; the IRI of one that has none."""
    iris = dict.fromkeys(span.document for hit in hits for span in hit.sources)
    query = queries.bind("evaluation/identifiers", documents=[ox.NamedNode(iri) for iri in iris])
    known = {plain(document): plain(identifier) for document, identifier in store.select(query)}
    return [[known.get(span.document, span.document) for span in hit.sources] for hit in hits]


def score_within(
    question: Question, hits: Sequence[Hit], held: Sequence[Sequence[str]], budgets: Budgets
) -> dict[str, float]:
    """Give every metric of this module that the question's gold allows.

    Args:
        question: what was asked, with its gold.
        hits: best first; as many as the largest budget can hold, for the figures to mean what they say.
        held: the identifiers of the documents that each hit cites.
        budgets: where to cut off.
    """
    scores: dict[str, float] = {}
    for name, count in _cuts(hits, budgets):
        cited = list(dict.fromkeys(document for documents in held[:count] for document in documents))
        if question.relevant:
            scores[f"recall in {name}"] = metrics.recall(cited, question.relevant, len(cited))
            scores[f"all in {name}"] = metrics.all_found(cited, question.relevant, len(cited))
        if answers := phrases(question):
            context = "\n".join(entry_text(hit) for hit in hits[:count])
            scores[f"answer in {name}"] = metrics.contains_answer(context, answers)
    return scores


def _cuts(hits: Sequence[Hit], budgets: Budgets) -> Iterator[tuple[str, int]]:
    for entries in budgets.entries:
        yield f"{entries} entries", entries
    for tokens in budgets.tokens:
        yield f"{tokens} tokens", fitting(hits, tokens)


def fitting(hits: Sequence[Hit], tokens: int) -> int:
    """Count the first hits whose texts fit into so many tokens together.

    >>> fitting([Hit("urn:a", "passage", "one two", 1.0), Hit("urn:b", "passage", "three four", 0.5)], 3)
    1
    """
    left = tokens
    for count, hit in enumerate(hits):
        left -= count_tokens(entry_text(hit))
        if left < 0:
            return count
    return len(hits)


def entry_text(hit: Hit) -> str:
    """Give the text of a hit as it stands in a context: under its title, where it has one."""
    title = hit.attributes.get("title", "")
    return f"{title}\n{hit.text}" if title else hit.text
