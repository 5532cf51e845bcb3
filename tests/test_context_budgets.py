"""What stands in a context of a given size."""

import pytest

from benchmarks.context_budgets import Budgets, RecordingRetriever, fitting, score_within, with_budgets
from kgrag import KnowledgeBase
from kgrag.evaluation import evaluate
from kgrag.evaluation.datasets import Question
from kgrag.model import Document, Hit
from kgrag.text import ingestion

HITS = [
    Hit("urn:a", "aggregate", "Ann sang. Bob left.", 0.9),
    Hit("urn:b", "passage", "Carol stayed in York.", 0.5, attributes={"title": "Carol"}),
]
HELD = [["1", "2"], ["3"]]
QUESTION = Question("q", "Who?", answers=("York",), relevant=frozenset({"2", "3"}))


def test_an_entry_carries_every_document_that_it_cites() -> None:
    scores = score_within(QUESTION, HITS, HELD, Budgets(entries=(1, 2)))
    assert (scores["recall in 1 entries"], scores["all in 1 entries"], scores["answer in 1 entries"]) == (0.5, 0.0, 0.0)
    assert (scores["recall in 2 entries"], scores["all in 2 entries"], scores["answer in 2 entries"]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(("tokens", "entries"), [(1, 0), (6, 1), (11, 1), (12, 2), (100, 2)])
def test_only_whole_entries_fit_with_their_titles(tokens: int, entries: int) -> None:
    assert fitting(HITS, tokens) == entries


def test_a_budget_that_holds_nothing_scores_nothing() -> None:
    assert score_within(QUESTION, HITS, HELD, Budgets(tokens=(1,))) == {
        "recall in 1 tokens": 0.0,
        "all in 1 tokens": 0.0,
        "answer in 1 tokens": 0.0,
    }


def test_what_the_gold_does_not_allow_is_left_out() -> None:
    assert set(score_within(Question("q", "Who?", answers=("yes",)), HITS, HELD, Budgets(tokens=(9,)))) == set()


def test_an_experiment_gains_the_metrics(kb: KnowledgeBase) -> None:
    ingestion.ingest([Document("Carol stayed in York.", "Carol", id="3")], store=kb.store)
    kb.build("passages")
    methods = {"passages": RecordingRetriever(kb.method("passages"))}
    outcome = with_budgets(
        evaluate(kb, methods, [QUESTION], k=2), methods, Budgets(entries=(1,), tokens=(50,)), store=kb.store
    )
    assert outcome.mean("passages", "recall in 50 tokens") == 0.5
    assert outcome.mean("passages", "answer in 1 entries") == 1.0
