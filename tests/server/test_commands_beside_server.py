"""The command line beside a running server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgrag import cli
from kgrag.knowledge_base import KnowledgeBase
from kgrag.testing import HashEmbedder
from tests.conftest import QUICK
from tests.server.conftest import KEY, Server, start

Run = Callable[..., "subprocess.CompletedProcess[str]"]

ONTOLOGY = "<http://example.org/o> a <http://www.w3.org/2002/07/owl#Ontology> ."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beside")


@pytest.fixture(scope="module")
def beside(folder: Path) -> Iterator[Server]:
    running = start(folder / "kb", **QUICK)
    yield running
    running.stop()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run one command in this process, with a quick embedder where none of a server is used."""
    for name in os.environ:
        if name.startswith("KGRAG_"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder())

    def go(*arguments: object, key: str = KEY) -> subprocess.CompletedProcess[str]:
        monkeypatch.setenv("KGRAG_SERVER_KEY", key)
        monkeypatch.setattr("sys.argv", ["kgrag", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return subprocess.CompletedProcess(arguments, int(stop.value.code or 0), *capfd.readouterr())

    return go


def test_a_command_that_is_a_process_of_its_own_finds_the_server(run: Run, folder: Path, beside: Server) -> None:
    command = [
        sys.executable,
        "-m",
        "kgrag",
        "update",
        "INSERT DATA { GRAPH <urn:u> { <urn:s> <urn:p:p> 2 } }",
        "--kb",
        str(folder / "kb"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "KGRAG_SERVER_KEY": KEY}
    )
    assert (done.returncode, "done by http://127.0.0.1" in done.stdout) == (0, True), done.stderr


def test_an_update_goes_through_the_server_that_holds_the_folder(run: Run, folder: Path, beside: Server) -> None:
    done = run("update", "INSERT DATA { GRAPH <urn:u> { <urn:s> <urn:p:p> 1 } }", "--kb", folder / "kb")
    assert done.returncode == 0, done.stderr
    assert "done by http://127.0.0.1" in done.stdout
    assert beside.query("ASK { GRAPH <urn:u> { ?s ?p 1 } }").json()["boolean"] is True
    assert KEY not in done.stdout + done.stderr


def test_a_file_is_loaded_through_the_server_into_the_graph_it_names(run: Run, folder: Path, beside: Server) -> None:
    (folder / "o.ttl").write_text(ONTOLOGY, encoding="utf-8")
    done = run("load", folder / "o.ttl", "--kb", folder / "kb")
    assert done.stdout == "loaded http://example.org/o\n", done.stderr
    named = run("load", folder / "o.ttl", "--graph", "urn:named", "--server", beside.client.base_url)
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
def test_a_query_is_answered_by_a_server(run: Run, beside: Server, query: str, form: str, said: str) -> None:
    done = run("query", query, "--server", f"{beside.client.base_url}/sparql", "--format", form)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


def test_reading_works_beside_the_server(run: Run, folder: Path, beside: Server) -> None:
    for command in (("doctor",), ("query", "ASK {}"), ("backup", folder / "copy")):
        done = run(*command, "--kb", folder / "kb")
        assert done.returncode == 0, done.stderr
    assert run("stats", "--kb", folder / "copy").returncode == 0


@pytest.mark.parametrize("command", [("init",), ("doctor", "--repair")])
def test_a_command_that_must_own_the_folder_says_who_does(
    run: Run, folder: Path, beside: Server, command: tuple[str, ...]
) -> None:
    done = run(*command, "--kb", folder / "kb")
    assert done.returncode == 2
    assert f"process {beside.process.pid}" in done.stderr
    assert str(beside.client.base_url).rstrip("/") in done.stderr


def test_documents_come_in_and_go_out_through_the_server_as_they_do_without_it(
    run: Run, folder: Path, beside: Server
) -> None:
    docs = folder / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Lamp\n\nThe lamp of Ostrel is green.\n", encoding="utf-8")
    (docs / "b.jsonl").write_text(
        '{"id": "1", "text": "First record.", "due": "2024-05-01", "share": 0.5}\n{"id": "2", "text": "Second one."}\n',
        encoding="utf-8",
    )
    (docs / "c.pdf").write_bytes(b"%PDF-1.4 nothing")
    alone, through = folder / "alone", folder / "kb"

    def both(*command: object) -> list[subprocess.CompletedProcess[str]]:
        done = [run(*command, "--kb", kb) for kb in (alone, through)]
        assert done[0].stdout == done[1].stdout, done[1].stderr
        assert done[0].returncode == done[1].returncode
        return done

    def stored(kb: Path) -> set[tuple[str, ...]]:
        query = """SELECT ?d ?p ?o { GRAPH ?g { ?d a <https://w3id.org/kgrag/ns#Document> } GRAPH ?any { ?d ?p ?o } }"""
        return set(run("query", query, "--kb", kb, "--format", "csv").stdout.splitlines())

    assert "3 documents" in both("ingest", docs)[1].stdout
    assert both("ingest", docs)[0].returncode == 4
    assert stored(alone) == stored(through)
    (docs / "b.jsonl").write_text('{"id": "1", "text": "First record, changed."}\n', encoding="utf-8")
    assert "2 replaced" in both("ingest", docs)[1].stdout
    (docs / "a.md").unlink()
    assert "1 forgotten" in both("sync", docs)[1].stdout
    assert stored(alone) == stored(through)
    assert "passages: " in both("build", "passages")[1].stdout
    both("forget", f"{docs / 'b.jsonl'}#1")
    assert stored(alone) == stored(through)
    assert both("forget", "nobody")[1].returncode == 2


def test_a_source_is_named_synced_and_listed_through_the_server(run: Run, folder: Path, beside: Server) -> None:
    docs = folder / "handbook"
    docs.mkdir()
    for name in ("lamp", "door"):
        (docs / f"{name}.txt").write_text(f"The {name} of the handbook is green.")
    named = run("sync", docs, "--name", "manual", "--kb", folder / "kb")
    assert named.returncode == 0, named.stderr
    (docs / "door.txt").unlink()
    assert "1 forgotten" in run("sync", "manual", "--kb", folder / "kb").stdout
    listed = json.loads(run("sources", "--kb", folder / "kb", "--format", "json").stdout)["sources"]
    (own,) = (one for one in listed if one["name"] == "manual")
    assert (own["kind"], own["root"], own["documents"]) == ("folder", str(docs), 1)
    assert own["synced"]


def test_a_wrong_key_and_a_server_that_is_not_there_are_told(run: Run, folder: Path, beside: Server) -> None:
    refused = run("update", "CLEAR DEFAULT", "--kb", folder / "kb", key="wrong")
    assert (refused.returncode, "KGRAG_SERVER_KEY" in refused.stderr) == (3, True)
    wrong = run("query", "SELECT * {", "--server", beside.client.base_url)
    assert (wrong.returncode, "refuses" in wrong.stderr) == (2, True)
    gone = run("query", "ASK {}", "--server", "http://127.0.0.1:1")
    assert (gone.returncode, "Is it running?" in gone.stderr) == (3, True)
    assert run("query", "ASK {}", "--server", "file:///etc/passwd").returncode == 2


def test_the_note_of_a_server_that_was_killed_misleads_nobody(run: Run, tmp_path: Path) -> None:
    server = start(tmp_path / "kb")
    server.stop(signal.SIGKILL)
    assert json.loads((tmp_path / "kb" / "store.server").read_text(encoding="utf-8"))["pid"] == server.process.pid
    done = run("update", "INSERT DATA { GRAPH <urn:u> { <urn:s> <urn:p:p> 1 } }", "--kb", tmp_path / "kb")
    assert done.stdout.startswith("revision 1"), done.stderr
