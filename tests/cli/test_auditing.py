"""The command ``audit``, as scripts and people use it; every exit code."""

import json
from pathlib import Path

import pytest

from kgrag import KnowledgeBase, cli
from kgrag.audit.reports import forms
from tests.audit.conftest import CHECK, FLAWED, ONTOLOGY

VIOLATING = ONTOLOGY + "ex:A a owl:Class ; rdfs:subClassOf ex:Missing .\n"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    """Run one command in an empty folder that holds o.ttl (warnings) and bad.ttl (violations)."""
    monkeypatch.chdir(tmp_path)
    Path("o.ttl").write_text(FLAWED, encoding="utf-8")
    Path("bad.ttl").write_text(VIOLATING, encoding="utf-8")

    def go(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["kgrag", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        out, err = capfd.readouterr()
        return int(stop.value.code or 0), out, err

    return go


def test_a_file_is_audited_without_a_knowledge_base(run) -> None:
    code, out, _ = run("audit", "o.ttl")
    assert code == 0
    assert "ANN-01  Term without a label  (2)" in out
    assert not Path("kgrag.kb").exists()


CODES = {
    "clean under the threshold": (("o.ttl",), 0),
    "a violation": (("bad.ttl",), 1),
    "warnings, when they count": (("o.ttl", "--fail-on", "Warning"), 1),
    "never": (("bad.ttl", "--fail-on", "never"), 0),
    "no such file": (("none.ttl",), 2),
    "no such profile": (("o.ttl", "--profile", "none"), 2),
    "no such option": (("o.ttl", "--nonsense"), 2),
    "files and graphs": (("o.ttl", "urn:x"), 2),
    "no knowledge base": ((), 2),
    "a knowledge base without an ontology": (("--kb", "empty.kb"), 3),
    "not decided though asked": (("o.ttl", "--profile", "p.toml"), 3),
}


@pytest.mark.parametrize(("arguments", "code"), CODES.values(), ids=CODES)
def test_the_exit_code_says(run, arguments: tuple[str, ...], code: int) -> None:
    head = CHECK[: CHECK.index("aud:OWN-01-shape a")].replace("aud:shape aud:OWN-01-shape", 'aud:step "augury"')
    Path("own.ttl").write_text(head, encoding="utf-8")
    Path("p.toml").write_text('shapes = ["own.ttl"]\nfamilies = ["own"]\n', encoding="utf-8")
    if "empty.kb" in arguments:
        KnowledgeBase("empty.kb").close()
    assert run("audit", *arguments)[0] == code


@pytest.mark.parametrize("form", forms())
def test_every_form_can_be_written_to_a_file(run, form: str) -> None:
    code, out, err = run("audit", "o.ttl", "--format", form, "--output", "report.out")
    assert (code, out) == (0, "")
    assert "0 violations" in err
    assert Path("report.out").read_text(encoding="utf-8").strip()


def test_json_goes_to_stdout_and_nothing_else(run) -> None:
    _, out, _ = run("audit", "o.ttl", "--format", "json", "--limit", "1")
    found = json.loads(out)
    assert found["target"] == "o.ttl"
    assert sum(f["check"] == "ANN-01" for f in found["findings"]) == 1


def test_a_baseline_is_written_and_then_hides_what_is_known(run) -> None:
    run("audit", "bad.ttl", "--write-baseline", "base.json")
    code, out, _ = run("audit", "bad.ttl", "--baseline", "base.json")
    assert code == 0
    assert "0 violations" in out


def test_audits_and_versions_are_compared(run) -> None:
    run("audit", "o.ttl", "--format", "json", "--output", "old.json")
    Path("new.ttl").write_text(FLAWED + "ex:Millet a owl:Class .\n", encoding="utf-8")
    _, out, _ = run("audit", "new.ttl", "--diff", "old.json")
    assert "+ Warning   ANN-01  https://example.org/o#Millet" in out
    code, out, _ = run("audit", "new.ttl", "--diff", "o.ttl")
    assert code == 1
    assert "1 added, 0 removed, 0 changed" in out


def test_a_review_of_changes_fails_on_what_breaks_and_is_written_for_a_pull_request(run) -> None:
    Path("new.ttl").write_text(FLAWED + "ex:Millet a owl:Class .\n", encoding="utf-8")
    assert run("audit", "new.ttl", "--diff", "o.ttl", "--breaking")[0] == 0
    code, out, _ = run("audit", "o.ttl", "--diff", "new.ttl", "--breaking")
    assert code == 1
    assert "! :Millet (class) is gone" in out
    assert run("audit", "o.ttl", "--diff", "new.ttl", "--breaking", "--format", "markdown", "--output", "r.md")[0] == 1
    assert "**1 breaking change, 0 others**" in Path("r.md").read_text(encoding="utf-8")
    assert run("audit", "o.ttl", "--breaking")[0] == 2
    assert run("audit", "o.ttl", "--diff", "new.ttl", "--breaking", "--format", "html")[0] == 2


def test_the_checks_are_listed_and_explained(run) -> None:
    code, out, _ = run("audit", "--list-checks", "--profile", "publish")
    assert code == 0
    assert "ANN-01   Violation" in out
    code, out, _ = run("audit", "--explain", "ann-01")
    assert code == 0
    assert out.startswith("ANN-01  Term without a label")
    assert run("audit", "--explain", "ANN-99")[0] == 2


def test_a_mend_is_shown_then_written_beside_and_never_over_the_input_unasked(run) -> None:
    text = ONTOLOGY + 'ex:A a owl:Class ; rdfs:label " a "@en .\n'
    Path("o.ttl").write_text(text, encoding="utf-8")
    code, out, _ = run("audit", "o.ttl", "--fix")
    assert (code, Path("o.mended.ttl").exists()) == (0, False)
    assert '" a "@en' in out
    assert run("audit", "o.ttl", "--fix", "--apply")[0] == 0
    assert Path("o.ttl").read_text(encoding="utf-8") == text
    assert '"a"@en' in Path("o.mended.ttl").read_text(encoding="utf-8")
    assert run("audit", "o.ttl", "--fix", "--apply")[0] == 2
    assert run("audit", "o.ttl", "--fix", "--apply", "--in-place")[0] == 0
    assert '"a"@en' in Path("o.ttl").read_text(encoding="utf-8")
    assert run("audit", "o.ttl", "--apply")[0] == 2


def test_an_audit_of_a_knowledge_base_is_kept(run) -> None:
    assert run("load", "o.ttl", "--kb", "kb")[0] == 0
    code, _, err = run("audit", "--kb", "kb", "--keep")
    assert code == 0
    assert "kept as urn:kgrag:graph/audit/" in err
    assert run("doctor", "--kb", "kb")[0] == 0


def test_loading_is_refused_by_a_profile_with_the_report(run) -> None:
    code, _, err = run("load", "o.ttl", "--kb", "kb", "--profile", "publish")
    assert code == 1
    assert "ANN-01" in err
