"""Scores of a ranking within a context of a given size: the fair comparison where its entries differ in length.

An aggregate or a summary cites several passages and is longer than one. So a ranking is cut twice: after a number of
entries, and where the texts of its entries (each under its title) no longer fit into a number of tokens (words and
marks).

==============================  =====================================================================
``recall in 5 entries``          share of the relevant documents that the first entries cite
``all in 20 entries``            1 when they cite every one of them
``recall in 1000 tokens`` …      the same for the whole entries that fit into the context
``all in 1000 tokens``
``answer in 1000 tokens``        a right answer of at most ten words occurs in that context
==============================  =====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kgrag.evaluation import metrics
from kgrag.evaluation.datasets import Question
from kgrag.evaluation.experiment_report import Experiment
from kgrag.evaluation.experiments import Retriever, cited_documents
from kgrag.evaluation.retrieval_scores import phrases
from kgrag.model import Hit
from kgrag.ports import TripleStore
from kgrag.text.chunking import count_tokens

__all__ = ["Budgets", "RecordingRetriever", "entry_text", "fitting", "score_within", "with_budgets"]

# Hits asked for where those that were scored do not fill the largest context.
_HITS_OF_A_FULL_CONTEXT = 100


@dataclass(frozen=True, slots=True)
class Budgets:
    """Where a ranking is cut: after each number of ``entries``, and at each number of ``tokens``; all at least 1."""

    entries: tuple[int, ...] = ()
    tokens: tuple[int, ...] = ()


class RecordingRetriever:
    """A method that keeps its rankings, so that each is scored twice and asked for once."""

    def __init__(self, inner: Retriever) -> None:
        self._inner = inner
        self._rankings: dict[str, list[Hit]] = {}

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return at most k hits, best first, and keep them."""
        self._rankings[question] = self._inner.retrieve(question, k)
        return self._rankings[question]

    def filling(self, question: str, tokens: int) -> list[Hit]:
        """Return the hits kept for a question, or more where their texts do not fill so many tokens."""
        hits = self._rankings.get(question) or []
        if not hits or fitting(hits, tokens) == len(hits):
            hits = self._inner.retrieve(question, max(_HITS_OF_A_FULL_CONTEXT, 3 * len(hits)))
        return hits


def with_budgets(
    experiment: Experiment, methods: Mapping[str, RecordingRetriever], budgets: Budgets, *, store: TripleStore
) -> Experiment:
    """Return an experiment whose rows have the metrics of this module too.

    Args:
        experiment: what ``evaluate`` returned for the recording methods.
        methods: those, by name.
        budgets: where to cut.
        store: knows the identifiers of the documents.
    """
    rows = []
    for row in experiment.rows:
        hits = methods[row.method].filling(row.question.text, max(budgets.tokens, default=0))
        scores = score_within(row.question, hits, cited_documents(store, hits), budgets)
        rows.append(replace(row, scores={**row.scores, **scores}))
    return replace(experiment, rows=tuple(rows))


def score_within(
    question: Question, hits: Sequence[Hit], cited: Sequence[Sequence[str]], budgets: Budgets
) -> dict[str, float]:
    """Return every metric of this module that the question's gold allows.

    Args:
        question: what was asked, with its gold.
        hits: best first; as many as the largest budget has room for, or its figures mean nothing.
        cited: the identifiers of the documents that each hit cites.
        budgets: where to cut.
    """
    cuts = {f"{entries} entries": entries for entries in budgets.entries}
    cuts |= {f"{tokens} tokens": fitting(hits, tokens) for tokens in budgets.tokens}
    scores: dict[str, float] = {}
    for name, count in cuts.items():
        documents = list(dict.fromkeys(document for entry in cited[:count] for document in entry))
        if question.relevant:
            scores[f"recall in {name}"] = metrics.recall(documents, question.relevant, len(documents))
            scores[f"all in {name}"] = metrics.all_found(documents, question.relevant, len(documents))
        if answers := phrases(question):
            context = "\n".join(entry_text(hit) for hit in hits[:count])
            scores[f"answer in {name}"] = metrics.contains_answer(context, answers)
    return scores


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
    """Return the text of a hit as it appears in a context: under its title, where it has one."""
    title = hit.attributes.get("title", "")
    return f"{title}\n{hit.text}" if title else hit.text
