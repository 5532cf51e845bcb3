"""The command line beside a running server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import KEY, Server, start

ONTOLOGY = "<http://example.org/o> a <http://www.w3.org/2002/07/owl#Ontology> ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beside")


@pytest.fixture(scope="module")
def beside(folder: Path) -> Iterator[Server]:
    running = start(folder / "kb")
    yield running
    running.stop()


def _run(*arguments: object, key: str = KEY) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KGRAG_")}
    return subprocess.run(
        [sys.executable, "-m", "kgrag", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "KGRAG_SERVER_KEY": key},
    )


def test_an_update_goes_through_the_server_that_holds_the_folder(folder: Path, beside: Server) -> None:
    done = _run("update", "INSERT DATA { GRAPH <urn:u> { <urn:s> <urn:p:p> 1 } }", "--kb", folder / "kb")
    assert done.returncode == 0, done.stderr
    assert "done by http://127.0.0.1" in done.stdout
    assert beside.query("ASK { GRAPH <urn:u> { ?s ?p 1 } }").json()["boolean"] is True
    assert KEY not in done.stdout + done.stderr


def test_a_file_is_loaded_through_the_server_into_the_graph_it_names(folder: Path, beside: Server) -> None:
    (folder / "o.ttl").write_text(ONTOLOGY, encoding="utf-8")
    done = _run("load", folder / "o.ttl", "--kb", folder / "kb")
    assert done.stdout == "loaded http://example.org/o\n", done.stderr
    named = _run("load", folder / "o.ttl", "--graph", "urn:named", "--server", beside.client.base_url)
    assert named.stdout == "loaded urn:named\n", named.stderr
    graphs = beside.query("SELECT DISTINCT ?g { GRAPH ?g { <http://example.org/o> a ?class } } ORDER BY ?g").json()
    assert {row["g"]["value"] for row in graphs["results"]["bindings"]} >= {"http://example.org/o", "urn:named"}


@pytest.mark.parametrize(
    ("query", "form", "said"),
    [
        ("SELECT (1 AS ?one) {}", "csv", "one\r\n1\r\n"),
        ("SELECT (1 AS ?one) {}", "table", "one"),
        ("ASK {}", "table", "true\n"),
        ("CONSTRUCT { <urn:a> <urn:b> <urn:c> } {}", "ntriples", "<urn:a> <urn:b> <urn:c> .\n"),
        ("CONSTRUCT { <urn:a> <urn:b> <urn:c> } {}", "table", "<urn:a> <urn:b> <urn:c> .\n"),
    ],
)
def test_a_query_is_answered_by_a_server(beside: Server, query: str, form: str, said: str) -> None:
    done = _run("query", query, "--server", f"{beside.client.base_url}/sparql", "--format", form)
    assert done.returncode == 0, done.stderr
    assert said.replace("\r\n", "\n") in done.stdout


def test_reading_works_beside_the_server(folder: Path, beside: Server) -> None:
    for command in (("doctor",), ("query", "ASK {}"), ("backup", folder / "copy")):
        done = _run(*command, "--kb", folder / "kb")
        assert done.returncode == 0, done.stderr
    assert _run("stats", "--kb", folder / "copy").returncode == 0


@pytest.mark.parametrize("command", [("ingest", "README.md"), ("build", "passages"), ("doctor", "--repair")])
def test_a_command_that_must_own_the_folder_says_who_does(
    folder: Path, beside: Server, command: tuple[str, ...]
) -> None:
    done = _run(*command, "--kb", folder / "kb")
    assert done.returncode == 2
    assert f"process {beside.process.pid}" in done.stderr
    assert str(beside.client.base_url).rstrip("/") in done.stderr


def test_a_wrong_key_and_a_server_that_is_not_there_are_told(folder: Path, beside: Server) -> None:
    refused = _run("update", "CLEAR DEFAULT", "--kb", folder / "kb", key="wrong")
    assert (refused.returncode, "KGRAG_SERVER_KEY" in refused.stderr) == (3, True)
    wrong = _run("query", "SELECT * {", "--server", beside.client.base_url)
    assert (wrong.returncode, "refuses" in wrong.stderr) == (2, True)
    gone = _run("query", "ASK {}", "--server", "http://127.0.0.1:1")
    assert (gone.returncode, "Is it running?" in gone.stderr) == (3, True)
    assert _run("query", "ASK {}", "--server", "file:///etc/passwd").returncode == 2


def test_the_note_of_a_server_that_was_killed_misleads_nobody(tmp_path: Path) -> None:
    server = start(tmp_path / "kb")
    server.stop(signal.SIGKILL)
    assert json.loads((tmp_path / "kb" / "store.server").read_text(encoding="utf-8"))["pid"] == server.process.pid
    done = _run("update", "INSERT DATA { GRAPH <urn:u> { <urn:s> <urn:p:p> 1 } }", "--kb", tmp_path / "kb")
    assert done.stdout.startswith("revision 1"), done.stderr
