"""Text to SPARQL measured: the paper's tables, and the check's own errors."""

import json
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InputError, UnknownName
from kgrag.evaluation.sparql_accuracy import (
    Benchmark,
    ReadyQuery,
    Report,
    ScoredQuery,
    measure,
    read_benchmark,
    read_queries,
)
from kgrag.testing import ScriptedModel
from tests.methods.test_obqc import DATA, HEAD, ONTOLOGY, RIGHT, TURNED, WRONG

NUMBERS = [['"P-2"'], ['"P-1"']]


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    inquiries = [
        {
            "id": "q1",
            "question": "Which policies did Ada Byron sell?",
            "quadrant": "LQLS",
            "expected": {"rows": NUMBERS},
        },
        {"id": "q2", "question": "Is there a policy?", "quadrant": "HQLS", "expected": {"kind": "ask", "value": True}},
        {"id": "q3", "question": "Nothing?", "expected": {"rows": []}},
        {"id": "q4", "question": "Broken?", "expected": {"kind": "error"}},
    ]
    (tmp_path / "inquiries.jsonl").write_text("\n".join(map(json.dumps, inquiries)), encoding="utf-8")
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY, encoding="utf-8")
    (tmp_path / "acme.ttl").write_text(DATA, encoding="utf-8")
    return read_benchmark(tmp_path)


def _filled(kb: KnowledgeBase, benchmark: Benchmark) -> KnowledgeBase:
    kb.load(benchmark.ontology, *benchmark.data)
    return kb


def _judged(kb: KnowledgeBase, benchmark: Benchmark, *queries: str) -> Report:
    method = _filled(kb, benchmark).method("obqc")
    return measure(method, benchmark, [ReadyQuery("q1", query) for query in queries])  # type: ignore[arg-type]


def test_questions_without_rows_are_left_out(benchmark: Benchmark) -> None:
    assert benchmark.left_out == {"gold fails": 1, "gold is empty": 1}
    assert [inquiry.expected for inquiry in benchmark.scored] == [(("P-2",), ("P-1",)), (("true",),)]


def test_ready_made_queries_are_scored_before_and_after_the_mend(kb: KnowledgeBase, benchmark: Benchmark) -> None:
    extra = RIGHT.replace("SELECT ?number", "SELECT ?number ?a")
    other = RIGHT.replace("Ada Byron", "Max Born")
    report = _judged(kb, benchmark, RIGHT, TURNED, WRONG.format("vendor"), extra, other)
    found = [(run.flagged, run.first_right, run.right, run.unknown, run.extra) for run in report.runs]
    assert found == [
        (False, True, True, False, False),
        (True, False, True, False, False),
        (True, False, False, True, False),
        (False, False, False, False, True),
        (False, False, False, False, False),
    ]


def test_a_model_s_run_counts_repairs(kb: KnowledgeBase, benchmark: Benchmark) -> None:
    replies = {"obqc/ask": [WRONG.format("vendor"), HEAD + "ASK { ?p a in:Policy }"], "obqc/repair": [RIGHT]}
    kb._given_model = ScriptedModel(replies)
    kb.settings = kb.settings.model_copy(update={"completions": "off"})
    report = measure(_filled(kb, benchmark).method("obqc"), benchmark)  # type: ignore[arg-type]
    assert report.accuracy()["all"]["with_repairs"] == 1.0
    assert report.accuracy()["LQLS"]["first_time"] == 0.0
    assert report.achievable() == {"all": 1.0, "HQLS": 0.0, "LQLS": 1.0}
    assert report.json()["usage"]["completions"] == 3


def _run(flagged: bool, first: bool, right: bool, unknown: bool = False, rules: tuple[str, ...] = ()) -> ScoredQuery:
    return ScoredQuery("q", "", "", flagged=flagged, first_right=first, right=right, unknown=unknown, rules=rules)


def test_the_tables_add_up() -> None:
    runs = (
        _run(False, True, True),
        _run(True, False, True, rules=("domain", "domain")),
        _run(True, False, False, unknown=True, rules=("range",)),
        _run(True, True, False, unknown=True, rules=("domain",)),
        _run(False, False, False),
    )
    report = Report("toy", runs)
    shares = report.accuracy()["all"]
    assert (shares["first_time"], shares["with_repairs"], shares["unknown"], shares["error"]) == (
        0.2,
        0.4,
        0.4,
        pytest.approx(0.2),
    )
    assert report.achievable() == {"all": 0.25}
    assert report.rules() == {"domain": 0.75, "range": 0.25}
    found = report.confusion()
    assert [found[key] for key in ("flagged_wrong", "flagged_right", "passed_wrong", "passed_right")] == [2, 1, 1, 1]
    assert (found["precision"], found["caught"], found["false_alarms"]) == (2 / 3, 2 / 3, 0.5)
    assert "toy: 5 runs" in report.text()


def test_a_query_for_a_question_that_is_not_there_is_refused(kb: KnowledgeBase, benchmark: Benchmark) -> None:
    with pytest.raises(InputError, match="no question 'q9'"):
        measure(kb.method("obqc"), benchmark, [ReadyQuery("q9", RIGHT)])  # type: ignore[arg-type]


@pytest.mark.parametrize("line", ["[]", "{", '{"id": "a"}', '{"id": "a", "sparql": null}'])
def test_a_file_of_queries_that_is_wrong_names_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "q1", "sparql": "ASK {}"}\n' + line, encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_queries(path)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"inquiries\.jsonl"):
        read_benchmark(tmp_path)


def test_the_gold_queries_of_acme_are_right_and_pass(kb: KnowledgeBase, data: Path) -> None:
    benchmark = read_benchmark(data / "acme_insurance")
    lines = (data / "acme_insurance" / "inquiries.jsonl").read_text(encoding="utf-8").splitlines()
    records = [record for record in map(json.loads, lines) if "date_diff" not in record["sparql"]]
    ready = [
        ReadyQuery(record["id"], record.get("sparql_repaired") or record["sparql_standalone"]) for record in records
    ]
    report = measure(_filled(kb, benchmark).method("obqc"), benchmark, ready)  # type: ignore[arg-type]
    assert report.accuracy()["all"]["first_time"] == 1.0
    assert report.confusion()["flagged_right"] == 0
