"""The command ``reason`` and ``audit --competency``, as scripts and people use them; every exit code."""

import json
import shutil
from pathlib import Path

import pytest

from kgrag import cli
from tests.audit.conftest import ONTOLOGY

java = pytest.mark.skipif(shutil.which("java") is None, reason="HermiT needs Java, which is not installed here")
PLAIN = ONTOLOGY + "ex:Rye a owl:Class ; rdfs:subClassOf ex:Crop . ex:Crop a owl:Class ; owl:disjointWith ex:Zone .\n"
WRONG = (
    PLAIN
    + "ex:Zone a owl:Class . ex:one a ex:Rye , ex:Zone . ex:Bad a owl:Class ; rdfs:subClassOf ex:Crop , ex:Zone .\n"
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """Run one command in a folder that holds o.ttl (sound), bad.ttl (inconsistent), circle.ttl and q.rq (a question)."""
    monkeypatch.chdir(tmp_path)
    Path("o.ttl").write_text(PLAIN + "ex:one a ex:Rye .\n", encoding="utf-8")
    Path("bad.ttl").write_text(WRONG, encoding="utf-8")
    circle = (f"ex:c{n} owl:equivalentClass ex:c{(n + 1) % 400} ." for n in range(400))
    Path("circle.ttl").write_text(ONTOLOGY + "\n".join(circle), encoding="utf-8")
    Path("q.rq").write_text("# question: Is rye a crop?\n# expect: false\nASK { ?a ?b ?c }\n", encoding="utf-8")

    def go(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["kgrag", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capfd.readouterr()
        return int(stop.value.code or 0), out, err

    return go


CODES = {
    "something follows": (("o.ttl",), 0),
    "a contradiction": (("bad.ttl", "--profile", "owl-rl"), 1),
    "no such file": (("none.ttl",), 2),
    "files and graphs": (("o.ttl", "urn:x"), 2),
    "no such profile": (("o.ttl", "--profile", "magic"), 2),
    "explaining rules": (("o.ttl", "--explain"), 2),
    "dropping a verdict": (("--profile", "owl-dl", "--drop"), 2),
    "dropping files": (("o.ttl", "--drop"), 2),
    "no time": (("o.ttl", "--profile", "owl-dl", "--timeout", "0.1"), 3),
    "no time for rules": (("circle.ttl", "--profile", "owl-rl", "--timeout", "0.2"), 3),
}


@pytest.mark.parametrize(("arguments", "code"), CODES.values(), ids=CODES)
def test_the_exit_code_says(run, arguments: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if code == 3:
        monkeypatch.setenv("PATH", "")  # no Java, or no time: not decided
    assert run("reason", *arguments)[0] == code


def test_what_follows_from_a_file_is_printed_as_n_triples(run) -> None:
    _, out, _ = run("reason", "o.ttl")
    assert out == (
        "<https://example.org/o#one> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://example.org/o#Crop> .\n"
    )


def test_contradictions_are_told_with_their_rule(run) -> None:
    assert "contradiction (cax-dw): https://example.org/o#one" in run("reason", "bad.ttl", "--profile", "owl-rl")[2]


def test_what_follows_from_graphs_is_kept_named_when_stale_and_dropped(run) -> None:
    run("load", "o.ttl")
    _, out, _ = run("reason", "--format", "json")
    kept = json.loads(out)
    assert (kept["triples"], kept["sources"]) == (1, ["https://example.org/o"])
    assert "unchanged" in run("reason")[1]
    Path("o.ttl").write_text(PLAIN, encoding="utf-8")
    run("load", "o.ttl")
    code, out, _ = run("status")
    assert (code, f"stale: {kept['graph']} was inferred" in out) == (0, True)
    code, out, _ = run("doctor")
    assert (code, f"<{kept['graph']}> was inferred from what changed since" in out) == (0, True)
    assert f"stale: {kept['graph']}" in run("reason", "--profile", "owl-rl")[2]
    assert run("reason", "--drop")[1] == "1 inference graph dropped\n"


@java
def test_hermit_decides_and_explains(run) -> None:
    code, out, _ = run("reason", "o.ttl", "bad.ttl", "--profile", "owl-dl", "--explain", "--format", "json")
    told = json.loads(out)
    assert (code, told["consistent"]) == (1, False)
    assert sorted(told["explanations"]["http://www.w3.org/2002/07/owl#Thing"]) == [
        "Crop DisjointWith Zone",
        "Rye SubClassOf Crop",
        "one Type Rye",
        "one Type Zone",
    ]


def test_a_competency_question_that_fails_fails_the_audit(run) -> None:
    code, out, _ = run("audit", "o.ttl", "--profile", "light", "--competency", "q.rq")
    assert code == 1
    assert "Is rye a crop? Expected false: found true." in out


@java
def test_the_profile_owl_dl_finds_an_inconsistent_ontology_without_being_asked_for_a_reasoner(run) -> None:
    code, out, _ = run("audit", "bad.ttl", "--profile", "owl-dl")
    assert code == 1
    assert "LOG-01  Inconsistent ontology  (1)" in out


def test_the_profile_owl_dl_is_not_decided_where_the_reasoner_fails(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    code, out, _ = run("audit", "o.ttl", "--profile", "owl-dl", "--fail-on", "never")
    assert code == 3
    assert "not decided  LOG-01" in out
