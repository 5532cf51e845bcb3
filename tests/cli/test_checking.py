"""``kgrag check``: verdict, places, JSON and exit codes, as a user has them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kgrag.cli import app
from kgrag.errors import InputError, InvalidRDF
from tests.querying.ontology_check.checks import BEFORE, DATA, INSURANCE, PREFIXES

WRONG = BEFORE + "\nSELECT ?i {\n  ?a :soldByAgent ?p .\n  ?a a :Agent ; :agentId ?i }"
RIGHT = BEFORE + "SELECT ?n { ?p a :Policy ; :policyNumber ?n }"


@pytest.fixture
def ontology(tmp_path: Path) -> str:
    path = tmp_path / "insurance.ttl"
    path.write_text(PREFIXES + "<urn:t:o> a owl:Ontology ; owl:imports <urn:t:absent> ." + INSURANCE, encoding="utf-8")
    return str(path)


@pytest.fixture
def facts(tmp_path: Path) -> str:
    path = tmp_path / "facts.ttl"
    path.write_text(PREFIXES + DATA, encoding="utf-8")
    return str(path)


def run(*arguments: str, text: str | None = None) -> Any:
    return CliRunner().invoke(app, ["check", *arguments], input=text)


def test_a_right_query_exits_with_0(ontology: str) -> None:
    done = run(RIGHT, "--ontology", ontology)
    assert done.exit_code == 0
    assert "nothing found" in done.stdout


def test_a_wrong_query_exits_with_1_and_a_caret_under_the_place(ontology: str) -> None:
    done = run(WRONG, "--ontology", ontology)
    assert done.exit_code == 1
    assert "error domain, line 3, column 6:" in done.stdout
    assert "      ?a :soldByAgent ?p .\n         ^^^^^^^^^^^^\n" in done.stdout


def test_the_query_may_come_from_a_file_or_standard_input(ontology: str, tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text(WRONG, encoding="utf-8")
    outputs = {run(query, "--ontology", ontology, text=WRONG).stdout for query in (WRONG, "-", str(tmp_path / "q.rq"))}
    assert len(outputs) == 1


def test_json_is_one_document_as_fixed(ontology: str) -> None:
    done = run(WRONG, "--ontology", ontology, "--format", "json", "--repair")
    document = json.loads(done.stdout)
    assert document["valid"] is False
    assert {"rule", "severity", "message", "subject", "predicate", "object", "hint"} <= document["findings"][0].keys()
    assert "?p :soldByAgent ?a" in document["repaired"]


def test_nothing_to_repair_gives_no_repaired_query(ontology: str) -> None:
    assert "repaired" not in json.loads(run(RIGHT, "--ontology", ontology, "--format", "json", "--repair").stdout)


def test_an_import_that_is_not_here_is_named(ontology: str) -> None:
    assert "urn:t:absent" in run(RIGHT, "--ontology", ontology).stdout


def test_data_from_a_file_are_looked_at(ontology: str, facts: str) -> None:
    query = BEFORE + 'SELECT ?p { ?p :policyNumber "8" }'
    assert run(query, "--ontology", ontology).exit_code == 0
    assert "unknown-entity" in run(query, "--ontology", ontology, "--data", facts).stdout


def test_ontology_and_data_of_a_knowledge_base(ontology: str, facts: str, tmp_path: Path) -> None:
    kb = str(tmp_path / "t.kb")
    assert CliRunner().invoke(app, ["load", ontology, facts, "--kb", kb]).exit_code == 0
    query = BEFORE + 'SELECT ?p { ?p :policyNumber "8" }'
    for arguments in ([], ["--ontology", "urn:t:o"]):
        assert "unknown-entity" in run(query, "--kb", kb, *arguments).stdout


def test_the_papers_profile_and_the_head_can_be_asked_for(ontology: str) -> None:
    query = BEFORE + "SELECT ?p { ?p :policyNumber ?n }"
    codes = [
        run(query, "--ontology", ontology, *more).exit_code
        for more in ([], ["--profile", "paper"], ["--head", "error"])
    ]
    assert codes == [0, 1, 1]


@pytest.mark.parametrize(
    "query", ["INSERT DATA { <urn:a> <urn:b> <urn:c> }", "SELECT ?n { SERVICE <urn:s> { ?p ?q ?n } }"]
)
def test_what_is_refused_exits_with_1(ontology: str, query: str) -> None:
    done = run(query, "--ontology", ontology)
    assert done.exit_code == 1
    assert "refused" in done.stdout


def test_no_ontology_is_wrong_usage() -> None:
    assert isinstance(run(RIGHT).exception, InputError)


def test_a_missing_ontology_is_named(tmp_path: Path) -> None:
    error = run(RIGHT, "--ontology", str(tmp_path / "none.ttl")).exception
    assert isinstance(error, InvalidRDF)
    assert "none.ttl" in str(error)


def test_a_missing_query_file_is_named(ontology: str) -> None:
    error = run("absent.rq", "--ontology", ontology).exception
    assert isinstance(error, InputError)
    assert "absent.rq" in str(error)


def test_what_is_left_after_the_mends_the_configured_model_repairs(
    ontology: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.testing import HashEmbedder
    from tests.fake_openai import FakeOpenAI

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder())
    unknown = BEFORE + "\nSELECT ?n { ?p a :Policy ; :zzzUnheardOf ?n }"
    with FakeOpenAI(reply=lambda prompt: RIGHT) as server:
        monkeypatch.setenv("KGRAG_MODEL", "fake")
        monkeypatch.setenv("KGRAG_BASE_URL", server.url)
        monkeypatch.setenv("KGRAG_API_KEY", "none")
        done = run(unknown, "--ontology", ontology, "--repair", "--question", "Which policies?", "--format", "json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["repaired"] == RIGHT.strip()


def test_without_a_model_it_says_that_one_is_needed(ontology: str) -> None:
    done = run(BEFORE + "\nSELECT ?n { ?p a :Policy ; :zzzUnheardOf ?n }", "--ontology", ontology, "--repair")
    assert "KGRAG_MODEL" in done.stderr
