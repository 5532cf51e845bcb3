"""Experiments over a real store in memory, with methods made for the test."""

import io
import json

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import UnknownName
from kgrag.evaluation import Question, evaluate, read_dataset, run
from kgrag.evaluation.experiment_report import Experiment, Row
from kgrag.model import Answer, Document, Usage
from kgrag.text import ingestion

DOCUMENTS = [
    Document("Rye is sown in autumn. " * 30 + "It wants loam.", title="Rye", id="d1"),
    Document("Peas climb.", title="Peas", id="d2"),
    Document("Oats feed horses.", title="Oats", id="d3"),
]
QUESTIONS = (
    Question("q1", "When is rye sown?", answers=("autumn",), relevant=frozenset({"d1"})),
    Question("q2", "What do peas do?", relevant=frozenset({"d2"})),
)


class Reversed:
    """Gives the passages of another method, worst first."""

    def __init__(self, inner):
        self._inner = inner
        self.asked = 0

    def retrieve(self, question, k):
        self.asked += 1
        return self._inner.retrieve(question, k)[::-1]


@pytest.fixture
def bench(kb: KnowledgeBase) -> KnowledgeBase:
    ingestion.ingest(DOCUMENTS, store=kb.store, chunk_tokens=20)
    kb.build("passages")
    return kb


def test_the_chunks_of_one_document_are_one_document_in_the_ranking(bench):
    outcome = evaluate(bench, {"passages": bench.method("passages")}, QUESTIONS)
    assert outcome.mean("passages", "hit@1") == 1.0
    assert outcome.mean("passages", "ndcg@10") == 1.0


def test_a_worse_method_shows_in_the_paired_difference(bench):
    good = bench.method("passages")
    outcome = evaluate(bench, {"good": good, "bad": Reversed(good)}, QUESTIONS)
    difference = outcome.difference("good", "bad", "mrr")
    assert difference is not None
    assert difference.mean > 0
    assert difference.n == 2


def test_every_method_is_asked_every_question_and_one_more_to_warm_up(bench):
    method = Reversed(bench.method("passages"))
    outcome = evaluate(bench, {"m": method}, QUESTIONS)
    assert (method.asked, len(outcome.rows), outcome.questions) == (3, 2, 2)


def test_latency_leaves_out_the_time_in_the_embedder(bench):
    outcome = evaluate(bench, {"passages": bench.method("passages")}, QUESTIONS)
    assert 0 < outcome.latency("passages")["p50"] <= outcome.latency("passages")["p95"]


def test_answers_are_scored_and_their_cost_is_added_up(bench):
    def answerer(question, hits, method):
        return Answer(question, "In autumn.", method, usage=Usage(1, 10, 2))

    outcome = evaluate(bench, {"passages": bench.method("passages")}, QUESTIONS, answerer=answerer)
    assert outcome.mean("passages", "token F1") == pytest.approx(2 / 3)
    assert outcome.usage("passages") == Usage(2, 20, 4)
    assert outcome.json()["methods"]["passages"]["usage"] == {"completions": 2, "input_tokens": 20, "output_tokens": 4}


def test_a_dataset_fills_a_knowledge_base_and_is_measured_in_one_call(kb, tmp_path):
    lines = [{"idx": i, "title": d.title, "text": d.text} for i, d in enumerate(DOCUMENTS)]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "questions.jsonl").write_text(
        json.dumps({"id": "a", "question": "What do oats feed?", "answer": "horses", "supporting": [2]})
        + "\n"
        + json.dumps({"id": "b", "question": "What?", "supporting": [0], "left_out": "gold is partial"})
    )
    outcome = run(kb, read_dataset(tmp_path), ["passages:signal=bm25", "passages"], k=2)
    found = outcome.json()
    assert (found["questions"], found["left_out"], found["baseline"]) == (
        1,
        {"gold is partial": 1},
        "passages:signal=bm25",
    )
    assert found["methods"]["passages"]["metrics"]["recall@2"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert found["differences"]["passages"]["recall@2"]["mean"] == 0.0


def test_mapped_data_is_asked_as_hyperedges_and_as_text(kb, tmp_path):
    record = {"@type": "Crop", "name": "Rye", "has_zones": [{"@type": "Zone", "name": "North", "sowing": "May"}]}
    (tmp_path / "mapped").mkdir()
    (tmp_path / "mapped" / "rye.jsonld").write_text(json.dumps({"@graph": [record]}))
    node = ["Crop has_zones Zone sowing", "May"]
    question = {"id": "q", "question": "When is rye sown in the North zone?", "answer": "May", "answer_nodes": [node]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question))
    outcome = run(kb, read_dataset(tmp_path), ["og_rag", "passages"])
    assert outcome.mean("og_rag", "answer-node recall@5") == 1.0
    assert outcome.mean("passages", "answer-node recall@5") == 1.0


def _experiment():
    rows = [
        Row(method, Question(f"q{i}", "?"), {"mrr": value, "hit@1": value, "hit@2": 1.0}, milliseconds=2.0)
        for method, values in {"a": (1.0, 0.0, 1.0), "b": (0.0, 0.0, 1.0)}.items()
        for i, value in enumerate(values)
    ]
    return Experiment(k=5, methods=("a", "b"), rows=tuple(rows), dataset="toy", left_out={"no gold": 2})


def test_the_table_names_what_was_left_out_and_shows_only_the_cutoffs_asked_for():
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(_experiment().table(baseline="b"))
    text = console.export_text()
    assert "toy: 3 questions, k = 5" in text
    assert "2 left out (no gold)" in text
    assert "0.667" in text
    assert "+0.333" in text
    assert "hit@1" in text
    assert "hit@2" not in text


def test_rows_are_written_one_json_line_a_question_and_method(tmp_path):
    _experiment().save_rows(tmp_path / "rows.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [(line["id"], line["method"]) for line in lines[2:4]] == [("q2", "a"), ("q0", "b")]
    assert lines[0]["scores"]["mrr"] == 1.0


def test_an_unknown_method_metric_or_baseline_is_refused_with_the_known_ones():
    outcome = _experiment()
    with pytest.raises(UnknownName, match="Known: a, b"):
        outcome.mean("c", "mrr")
    with pytest.raises(UnknownName, match="Did you mean 'hit@1'"):
        outcome.mean("a", "hits@1")
    with pytest.raises(UnknownName, match="baseline 'c'"):
        outcome.json(baseline="c")


def test_no_questions_give_an_empty_experiment(bench):
    outcome = evaluate(bench, {"passages": bench.method("passages")}, ())
    assert outcome.json()["methods"]["passages"]["metrics"] == {}


def test_the_document_that_a_question_was_taken_from_is_no_answer_to_it(bench):
    from dataclasses import replace

    question = replace(QUESTIONS[0], excluded=frozenset({"d1"}))
    outcome = evaluate(bench, {"passages": bench.method("passages")}, [question])
    assert outcome.mean("passages", "hit@1") == 0.0
    assert all(span.document for hit in outcome.rows[0].hits for span in hit.sources)
    assert all("Rye" not in hit.text for hit in outcome.rows[0].hits)
