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


@pytest.mark.parametrize("command", [("init",), ("doctor", "--repair")])
def test_a_command_that_must_own_the_folder_says_who_does(
    folder: Path, beside: Server, command: tuple[str, ...]
) -> None:
    done = _run(*command, "--kb", folder / "kb")
    assert done.returncode == 2
    assert f"process {beside.process.pid}" in done.stderr
    assert str(beside.client.base_url).rstrip("/") in done.stderr


def test_documents_come_in_and_go_out_through_the_server_as_they_do_without_it(folder: Path, beside: Server) -> None:
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
        done = [_run(*command, "--kb", kb) for kb in (alone, through)]
        assert done[0].stdout == done[1].stdout, done[1].stderr
        assert done[0].returncode == done[1].returncode
        return done

    def stored(kb: Path) -> set[tuple[str, ...]]:
        query = """SELECT ?d ?p ?o { GRAPH ?g { ?d a <https://w3id.org/kgrag/ns#Document> } GRAPH ?any { ?d ?p ?o } }"""
        return set(_run("query", query, "--kb", kb, "--format", "csv").stdout.splitlines())

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


def test_a_source_is_named_synced_and_listed_through_the_server(folder: Path, beside: Server) -> None:
    docs = folder / "handbook"
    docs.mkdir()
    for name in ("lamp", "door"):
        (docs / f"{name}.txt").write_text(f"The {name} of the handbook is green.")
    named = _run("sync", docs, "--name", "manual", "--kb", folder / "kb")
    assert named.returncode == 0, named.stderr
    (docs / "door.txt").unlink()
    assert "1 forgotten" in _run("sync", "manual", "--kb", folder / "kb").stdout
    listed = json.loads(_run("sources", "--kb", folder / "kb", "--format", "json").stdout)["sources"]
    (own,) = (one for one in listed if one["name"] == "manual")
    assert (own["kind"], own["root"], own["documents"]) == ("folder", str(docs), 1)
    assert own["synced"]


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
