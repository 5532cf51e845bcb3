"""The command pipeline, and the hooks, the action and the template that call it, run as their runners would."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kgrag import cli

ROOT = Path(__file__).parents[2]
PREFIXES = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix ex: <https://example.org/tools#> .
"""
ONTOLOGY = (
    PREFIXES
    + """
<https://example.org/tools> a owl:Ontology ; rdfs:label "Tools"@en .
ex:Drill a owl:Class ; rdfs:label "drill"@en .
ex:weight a owl:DatatypeProperty ; rdfs:label "weight"@en ; rdfs:domain ex:Drill .
"""
)
CYCLE = ONTOLOGY + "ex:Drill rdfs:subClassOf ex:Saw .\nex:Saw a owl:Class ; rdfs:subClassOf ex:Drill .\n"
SHAPES = (
    PREFIXES
    + "ex:Shape a sh:NodeShape ; sh:targetClass ex:Drill ; sh:property [ sh:path ex:weight ; sh:minCount 1 ] .\n"
)
DATA = PREFIXES + "\nex:one a ex:Drill .\n"
QUERY = "PREFIX ex: <https://example.org/tools#>\nSELECT ?d WHERE {\n  ?d ex:wieght 3 .\n}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {"tools.ttl": CYCLE, "other.ttl": ONTOLOGY, "shapes.ttl": SHAPES, "a data.ttl": DATA, "find.rq": QUERY}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*arguments: object) -> int:
    command = ["kgrag", *map(str, arguments)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stop:
            cli.main()
    return int(stop.value.code or 0)


def _places(sarif: Path) -> set[tuple[str, str, int]]:
    """Rule, file and line of each result."""
    (run,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"]
    found = set()
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        found.add((result["ruleId"], place["artifactLocation"]["uri"], place.get("region", {}).get("startLine", 0)))
    return found


def test_ontologies_data_and_queries_are_looked_at_in_one_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = _run("pipeline", ".", "--shapes", "shapes.ttl", "--report", "sarif=all.sarif", "--report", "markdown=all.md")
    assert code == 1
    found = _places(folder / "all.sarif")
    assert ("HIE-01", "tools.ttl", 7) in found
    assert {file for rule, file, _ in found if rule.startswith("MET-")} == {"tools.ttl", "other.ttl"}
    assert ("https://example.org/tools#Shape", "a%20data.ttl", 6) in found
    assert ("query-incorrect-property", "find.rq", 3) in found
    assert "# Audit of 4 files" in (folder / "all.md").read_text(encoding="utf-8")
    assert "query-" in capsys.readouterr().out


def test_a_file_that_does_not_parse_is_a_finding_beside_those_of_the_others(folder: Path) -> None:
    (folder / "broken.ttl").write_text(f"{PREFIXES}ex:a ex:b ", encoding="utf-8")
    every = ("pipeline", ".", "--shapes", "shapes.ttl")
    assert _run(*every, "--report", "sarif=all.sarif", "--report", "junit=all.xml") == 1
    found = _places(folder / "all.sarif")
    assert {("rdf-syntax", "broken.ttl", 5), ("HIE-01", "tools.ttl", 7)} <= found
    assert ("query-incorrect-property", "find.rq", 3) in found
    assert "rdf-syntax" in (folder / "all.xml").read_text(encoding="utf-8")


def test_what_a_baseline_has_does_not_count_again_whatever_found_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    every = ("pipeline", ".", "--shapes", "shapes.ttl", "--fail-on", "Info")
    assert _run(*every, "--write-baseline", "known.json") == 1
    capsys.readouterr()
    (folder / "a data.ttl").write_text(f"{DATA}ex:two a ex:Drill .\n", encoding="utf-8")
    assert _run(*every, "--baseline", "known.json") == 1
    assert "Violation :Shape    (1)" in capsys.readouterr().out
    (folder / "a data.ttl").write_text(DATA, encoding="utf-8")
    assert _run(*every, "--baseline", "known.json") == 0
    (folder / "find.rq").write_text(QUERY.replace("wieght", "wheight"), encoding="utf-8")
    assert _run(*every, "--baseline", "known.json") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["find.rq"], "--ontology"),
        (["a data.ttl"], "--shapes"),
        (["nothing.ttl"], "no such file"),
        (["other.ttl", "--report", "sarif"], "FORM=FILE"),
        ([__file__], "neither RDF nor a query"),
    ],
)
def test_a_pipeline_that_cannot_decide_says_what_it_lacks(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert _run("pipeline", *arguments) == 2
    assert said in capsys.readouterr().err


# --- runners --------------------------------------------------------------------------------------------------------


@pytest.fixture
def runner(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs that comes first: kgrag, and a `gh` that writes down what it is called with."""
    programs = folder / ".bin"
    programs.mkdir()
    scripts = {
        "kgrag": f'echo run >> "{folder}/.calls"\nexec "{sys.executable}" -m kgrag "$@"',
        "gh": f'printf "%s\\n" "$@" > "{folder}/.gh"',
    }
    for name, text in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return folder


def _script(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip


def _filled(value: str, known: dict[str, str]) -> str:
    """What GitHub puts in the place of its expressions."""
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda match: known[match[1]], value)


def test_the_action_does_in_each_step_what_its_inputs_ask_for(runner: Path) -> None:
    action = yaml.safe_load((ROOT / ".github/actions/kgrag/action.yml").read_text(encoding="utf-8"))
    inputs = {name: str(declared.get("default", "")) for name, declared in action["inputs"].items()}
    inputs |= {
        "files": "tools.ttl\na data.ttl\nfind.rq\n",
        "shapes": "shapes.ttl",
        "comment": "true",
    }
    (runner / ".temp").mkdir()
    given = {"RUNNER_TEMP": str(runner / ".temp"), "GITHUB_OUTPUT": str(runner / ".out")}
    given |= {
        "GITHUB_STEP_SUMMARY": str(runner / ".summary"),
        "GITHUB_ACTION_PATH": str(ROOT / ".github/actions/kgrag"),
    }
    known = {f"inputs.{name}": value for name, value in inputs.items()}
    known |= {"github.token": "t", "github.event.pull_request.number": "7"}
    codes: dict[str, int] = {}
    for step in action["runs"]["steps"]:
        if "run" not in step:
            continue
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # an expression in a script is an injection
        environment = {name: _filled(value, known) for name, value in step.get("env", {}).items()}
        codes[step["name"]] = _script(step["run"], **given, **environment).returncode
        outputs = (runner / ".out").read_text().split("=") if (runner / ".out").exists() else ["", ""]
        known["steps.run.outputs.exit-code"] = outputs[1].strip()
    assert codes == {"Install kgrag": 0, "Run kgrag": 0, "Comment on the pull request": 0, "Pass or fail": 1}
    assert (runner / ".calls").read_text() == "run\n"
    assert {file for _, file, _ in _places(runner / "kgrag.sarif")} == {"tools.ttl", "a%20data.ttl", "find.rq"}
    assert "# Audit of 3 files" in (runner / ".summary").read_text()
    said = (runner / ".gh").read_text().split("\n")
    assert said[:3] == ["pr", "comment", "7"]
    assert "# Audit of 3 files" in Path(said[said.index("--body-file") + 1]).read_text()


def test_inputs_of_the_action_are_never_run(runner: Path) -> None:
    action = yaml.safe_load((ROOT / ".github/actions/kgrag/action.yml").read_text(encoding="utf-8"))
    (step,) = (each for each in action["runs"]["steps"] if each.get("id") == "run")
    environment = dict.fromkeys(step["env"], "") | {
        "KGRAG_FILES": "$(touch hacked)\n`touch hacked`; touch hacked\n--help"
    }
    environment |= {"KGRAG_PROFILE": "default", "KGRAG_FAIL_ON": "never", "KGRAG_SARIF": "kgrag.sarif"}
    environment |= {
        "RUNNER_TEMP": str(runner),
        "GITHUB_OUTPUT": str(runner / ".out"),
        "GITHUB_STEP_SUMMARY": "/dev/null",
    }
    _script(step["run"], **environment)
    assert (runner / ".out").read_text() == "exit-code=2\n"
    assert not (runner / "hacked").exists()


def test_the_template_of_gitlab_runs(runner: Path) -> None:
    job = yaml.safe_load((ROOT / ".gitlab/kgrag.yml").read_text(encoding="utf-8"))["kgrag"]
    variables = {**job["variables"], "KGRAG_FILES": "other.ttl find.rq", "KGRAG_FAIL_ON": "never"}
    done = _script("\n".join([*job["before_script"], *job["script"]]), **variables)
    assert done.returncode == 0, done.stderr
    for name in (job["artifacts"]["reports"]["junit"], *job["artifacts"]["paths"]):
        assert (runner / name).stat().st_size > 100


def test_each_hook_of_pre_commit_runs_once_for_all_its_files(folder: Path) -> None:
    hooks: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    arguments = {
        "kgrag-audit": [],
        "kgrag-validate": ["--shapes", "shapes.ttl"],
        "kgrag-check": ["--ontology", "other.ttl"],
    }
    given = ["tools.ttl", "other.ttl", "a data.ttl", "find.rq", "README.md", "notes.txt"]
    codes = {}
    for hook in hooks:
        assert hook["require_serial"]  # else pre-commit would start several processes
        files = [name for name in given if re.search(hook["files"], name)]
        codes[hook["id"]] = _run(*shlex.split(hook["entry"])[1:], *arguments[hook["id"]], *files)
    assert codes == dict.fromkeys(arguments, 1)


def test_pre_commit_accepts_the_hooks() -> None:
    clientlib = pytest.importorskip("pre_commit.clientlib")
    assert len(clientlib.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))) == 3
