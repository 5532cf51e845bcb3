"""A package that adds a method, a reader and an embedder, with no edit in kgrag: installed, used, forgotten, audited."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import DEMO
from tests.server.conftest import Server, start

PACKAGE = Path(__file__).parent / "kgrag_hippo"
LECTURE = """\
1
00:00:01,000 --> 00:00:04,000
Marta Quillfeather leads the trial station of Ostrel.

2
00:00:04,500 --> 00:00:09,000
<i>The trial station of Ostrel</i> grows
chickpea since 1974.
"""
QUESTION = "Who leads the trial station of Ostrel?"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install the package into a folder of its own; returns the environment in which it is found."""
    folder = tmp_path_factory.mktemp("hippo")
    shutil.copytree(PACKAGE, folder / "source")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run(
        [*pip, "--target", str(folder / "site"), str(folder / "source")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KGRAG_", "OPENAI_"))}
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(folder / "site"))))
    return kept | {"PYTHONPATH": path, "KGRAG_EMBEDDER": "ngrams"}


ONE_AFTER_THE_OTHER = """\
import contextlib, io, json, sys
from kgrag import cli

answers = sys.stdout
for line in sys.stdin:
    sys.argv, code = ["kgrag", *json.loads(line)], 0
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "12")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
    answers.write(json.dumps([code, *(said.buffer.getvalue().decode() for said in (out, err))]) + "\\n")
    answers.flush()
"""


@pytest.fixture(scope="module")
def run(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run commands of kgrag one after the other in one process that finds the package, in a folder of its own."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "lecture.srt").write_text(LECTURE)
    with subprocess.Popen(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None and answers is not None

        def go(*arguments: str) -> tuple[int, str, str]:
            asked.write(json.dumps(arguments) + "\n")
            asked.flush()
            code, out, err = json.loads(answers.readline())
            return code, out, err

        yield go


@pytest.fixture(scope="module")
def built(run: Run) -> Run:
    """The demonstration's texts and the lecture, with facts."""
    for arguments in (("ingest", str(DEMO / "texts"), "lecture.srt"), ("build", "hippo")):
        code, _, err = run(*arguments)
        assert code == 0, err
    return run


def test_it_is_listed_with_its_package_and_version(run: Run) -> None:
    code, out, err = run("plugins", "--format", "json")
    assert code == 0, err
    its = {(row["group"], row["name"]) for row in json.loads(out) if row["distribution"] == "kgrag-hippo"}
    assert its == {("kgrag.methods", "hippo"), ("kgrag.readers", "srt"), ("kgrag.embedders", "ngrams")}


def test_its_build_has_a_help_of_its_own(run: Run) -> None:
    assert "passages by a walk over facts" in run("build", "--help")[1]
    out = run("build", "hippo", "--help")[1]
    assert "--batch" in out
    assert "--mapped" not in out


def test_its_stored_queries_are_listed_and_shown_with_the_prefix(run: Run) -> None:
    assert "hippo:mentions" in run("queries")[1]
    assert "The phrases that the facts of each chunk mention" in run("queries", "hippo:mentions")[1]


def test_it_passes_the_checks_of_methods(environment: dict[str, str]) -> None:
    check = "from kgrag.testing import check_method; check_method('hippo')"
    done = subprocess.run([sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_it_retrieves_with_its_own_embedder_what_its_own_reader_read(built: Run) -> None:
    code, out, err = built("retrieve", QUESTION, "-m", "hippo", "-k", "1", "--format", "json")
    assert code == 0, err
    (hit,) = json.loads(out)["hits"]
    assert "Marta Quillfeather leads" in hit["text"]
    assert json.loads(built("stats", "hippo", "--format", "json")[1])["facts"] > 10


def test_it_answers_with_citations_of_stored_text(built: Run) -> None:
    answer = json.loads(built("ask", QUESTION, "-m", "hippo", "--format", "json")[1])
    assert not answer["unknown"]
    assert "Marta Quillfeather leads the trial station of Ostrel." in answer["citations"][0]["quote"]


def test_its_graphs_are_healthy_and_audited_without_a_finding(built: Run) -> None:
    code, out, err = built("audit", "--profile", "kg", "--kb", "kgrag.kb", "--format", "json")
    assert code == 0, err
    assert json.loads(out)["findings"] == []
    assert built("doctor")[1].strip() == "healthy"


@pytest.fixture(scope="module")
def served(environment: dict[str, str], built: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    assert built("backup", "copy.kb")[0] == 0
    folder = next(tmp_path_factory.getbasetemp().glob("work*")) / "copy.kb"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("PYTHONPATH", "KGRAG_EMBEDDER"):
            patch.setenv(name, environment[name])
        running = start(folder)
    yield running
    running.stop()


def test_it_is_on_the_pages_and_behind_the_interface(served: Server) -> None:
    page = served.client.get("/", headers={"Accept": "text/html"}).text
    assert "hippo – passages by a walk over facts" in page
    answer = served.client.post("/ask", json={"question": QUESTION, "method": "hippo"}).json()
    assert "Marta Quillfeather" in answer["citations"][0]["quote"]


def test_a_forgotten_document_leaves_no_fact_of_it(built: Run, served: Server) -> None:
    code, out, err = built("forget", "lecture.srt")
    assert code == 0, err
    assert "0 traces found" in out
    assert "Quillfeather" not in built("retrieve", QUESTION, "-m", "hippo", "--format", "json")[1]
    query = "SELECT ?s { ?s ?p ?o FILTER(CONTAINS(LCASE(STR(?o)), 'quillfeather')) }"
    assert built("query", query, "--format", "csv")[1].split() == ["s"]
    found = json.loads(built("audit", "--profile", "kg", "--kb", "kgrag.kb", "--format", "json")[1])
    assert found["findings"] == []
    assert built("doctor")[1].strip() == "healthy"
