"""The form of benchmarks/*.toml, the table made from them, and the runner's verdicts; no benchmark is run here."""

import dataclasses
import gzip
import tomllib
from pathlib import Path

import pytest

import benchmarks
import kgrag
from benchmarks import evidence_sets
from benchmarks.__main__ import main
from kgrag import KnowledgeBase
from kgrag.evaluation.datasets import Dataset
from kgrag.testing import HashEmbedder

FOLDER = Path(benchmarks.__file__).parent
NAMES = benchmarks.names()
SCORE_FIELDS = {"label", "path", "expected", "tolerance", "published", "source", "note"}


def test_the_benchmarks_of_the_first_methods_are_there():
    assert {
        "passages_2wiki",
        "passages_scifact",
        "passages_pubmedqa",
        "og_rag_soybean",
        "og_rag_news",
        "og_rag_table6",
    } <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_says_what_to_run_and_what_should_come_out(name):
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert content.keys() == {"title", "data", "commands", "scores"}
    benchmark = benchmarks.read(name)
    assert benchmark.scores
    assert benchmark.commands[-1][-2:] == ("--format", "json")
    assert all(command[0] in {"eval", "build", "ingest", "load", "stats"} for command in benchmark.commands)
    assert any("{data}" in part for command in benchmark.commands for part in command)
    assert not Path(benchmark.data).is_absolute()


@pytest.mark.parametrize("name", NAMES)
def test_a_score_has_a_tolerance_and_a_published_figure_its_source(name):
    for raw, score in zip(
        tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["scores"],
        benchmarks.read(name).scores,
        strict=True,
    ):
        assert raw.keys() <= SCORE_FIELDS
        assert score.tolerance >= 0
        assert score.label
        assert score.path
        assert (score.published is None) == (not score.source)
        if score.published is not None and abs(score.published - score.expected) > score.tolerance:
            assert score.note, f"{name}, {score.label}: say why it differs from what was published"


def test_the_table_has_every_score_of_every_benchmark():
    outcomes = [benchmarks.Outcome(one, score) for one in map(benchmarks.read, NAMES) for score in one.scores]
    lines = benchmarks.markdown(outcomes).splitlines()
    assert len(lines) == 2 + len(outcomes)
    assert {line.count("|") for line in lines} == {7}
    assert all(any(line.startswith(f"| `{name}` |") for line in lines) for name in NAMES)


@pytest.mark.parametrize(
    ("measured", "verdict"), [(0.51, "ok"), (0.49, "ok"), (0.525, "near"), (0.531, "off"), (0.0, "off")]
)
def test_a_figure_is_judged_by_the_tolerance(measured, verdict):
    assert benchmarks.Score("x", (), expected=0.5, tolerance=0.01).verdict(measured) == verdict


def test_an_exact_figure_allows_nothing_else():
    score = benchmarks.Score("x", (), expected=7497, tolerance=0)
    assert (score.verdict(7497), score.verdict(7498)) == ("ok", "off")


def test_a_benchmark_without_its_data_is_skipped_with_a_message(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KGRAG_DATA", str(tmp_path))
    assert main(["passages_scifact"]) == 0
    printed = capsys.readouterr()
    assert "skipped" in printed.err
    assert "Set KGRAG_DATA" in printed.err
    assert "not run" in printed.out


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys):
    assert main(["passages_2wikki"]) == 2
    assert "passages_2wiki" in capsys.readouterr().err


def _fake(path, *commands, **score):
    figure = benchmarks.Score(**{"label": "x", "path": path, "expected": 2.0, "tolerance": 0.0, **score})
    return benchmarks.Benchmark("fake", "", "", commands, (figure,))


def test_a_benchmark_runs_the_command_line_in_a_knowledge_base_of_its_own(tmp_path):
    (tmp_path / "note.txt").write_text("Rye is sown in autumn.")
    benchmark = _fake(("documents",), ("ingest", "{data}", "--no-embed"), ("stats", "--format", "json"), expected=1.0)
    (outcome,) = benchmarks.measure(benchmark, tmp_path)
    assert (outcome.measured, outcome.verdict) == (1.0, "ok")


def test_a_benchmark_is_asked_of_its_data_in_the_general_format(tmp_path):
    (tmp_path / "scifact").mkdir()
    abstract = b'{"id": 4, "title": "Mulch", "sentences": ["Mulch cools."]}'
    (tmp_path / "scifact" / "corpus.jsonl.gz").write_bytes(gzip.compress(abstract))
    (tmp_path / "scifact" / "claims.jsonl").write_text('{"id": 3, "claim": "Mulch cools.", "cited": [4]}')
    commands = ("ingest", "{data}/corpus.jsonl", "--no-embed"), ("stats", "--format", "json")
    benchmark = dataclasses.replace(_fake(("documents",), *commands, expected=1.0), data="scifact")
    (outcome,) = benchmarks.measure(benchmark, tmp_path)
    assert outcome.verdict == "ok"


def test_a_command_that_fails_or_lacks_the_figure_says_so(tmp_path):
    with pytest.raises(RuntimeError, match="ended with 2"):
        benchmarks.measure(_fake(("x",), ("no-such-verb",)), tmp_path)
    with pytest.raises(RuntimeError, match="there is only"):
        benchmarks.measure(_fake(("no", "such"), ("init",), ("stats", "--format", "json")), tmp_path)


def test_a_set_that_has_mapped_records_and_no_documents_can_be_asked():
    facts = Dataset("facts", (), mapped=Path(kgrag.__file__).parent / "demo" / "mapped")
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        evidence_sets.fill(kb, facts)
        assert kb.build("auto").counts["chunks"]
