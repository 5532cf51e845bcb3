"""What goes wrong on purpose: long queries, killed readers, attempts to reach the network, bombs, a killed server."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.server.conftest import Server, start

VALUES = " ".join(str(number) for number in range(200))
ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"VALUES ?{name} {{ {VALUES} }}" for name in "abcdef") + " }"
LONG = "SELECT * { " + " ".join(f"VALUES ?{name} {{ {VALUES} }}" for name in "abcdef") + " }"
ONE = "SELECT (1 AS ?one) {}"


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start(tmp_path_factory.mktemp("fragile") / "kb", "--readers", "2", "--timeout", "20")
    yield running
    running.stop()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        opened.settimeout(0.0)
        yield opened


def _busy(server: Server) -> list[int]:
    """The readers that use the processor."""

    def used(number: int) -> int:
        fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    return [number for number in server.readers() if used(number) > 20]


def _computing(server: Server) -> list[int]:
    """The readers that use the processor at this moment."""

    def used() -> dict[int, int]:
        found = {}
        for number in server.readers():
            with suppress(FileNotFoundError):  # it has just ended
                fields = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                found[number] = int(fields[11]) + int(fields[12])
        return found

    before = used()
    threading.Event().wait(0.3)
    return [number for number, ticks in used().items() if ticks > before.get(number, ticks) + 1]


def _until(condition: object, seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < ends, "it did not come about in time"
        threading.Event().wait(0.02)


def test_a_query_that_takes_too_long_is_stopped_and_the_next_one_works(fragile: Server) -> None:
    begun = time.monotonic()
    answer = fragile.query(ENDLESS, timeout="0.5")
    assert answer.status_code == 504
    assert "0.5 seconds" in answer.json()["detail"]
    assert time.monotonic() - begun < 20
    assert fragile.query(ONE).status_code == 200


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_a_reader_killed_in_mid_query_answers_503_and_the_next_query_works(fragile: Server) -> None:
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(fragile.query, ENDLESS)
        ends = time.monotonic() + 60
        while not answer.done() and time.monotonic() < ends:  # the first that is busy may be one that only starts
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                for number in _busy(fragile):
                    os.kill(number, signal.SIGKILL)
        assert answer.result(60).status_code == 503
    assert fragile.query(ONE).status_code == 200


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_everybody_gets_the_answer_to_the_own_question_while_readers_die(fragile: Server) -> None:
    def ask(client: int) -> list[int]:
        found = []
        with httpx.Client(base_url=fragile.client.base_url, timeout=30.0, trust_env=False) as own:
            for number in range(client * 1000, client * 1000 + 40):
                answer = own.get("/sparql", params={"query": f"SELECT ({number} AS ?n) {{}}"})
                found.append(answer.status_code)
                if answer.status_code == 200:
                    assert answer.json()["results"]["bindings"][0]["n"]["value"] == str(number)
        return found

    killed = 0
    with ThreadPoolExecutor(8) as threads:
        asking = [threads.submit(ask, client) for client in range(8)]
        while not all(each.done() for each in asking):
            fragile.query(ONE)  # so that a reader is up again
            for number in fragile.readers()[:1]:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
                    killed += 1
        told = [status for each in asking for status in each.result()]
    assert set(told) <= {200, 503}
    assert told.count(200) > 0
    assert told.count(503) <= killed


def test_a_result_that_is_cut_short_does_not_look_whole(fragile: Server) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        fragile.query(LONG, timeout="1")
    assert fragile.query(ONE).status_code == 200


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_a_client_that_leaves_frees_its_reader(fragile: Server) -> None:
    for _ in range(4):
        with pytest.raises(httpx.ReadTimeout):
            fragile.client.get("/sparql", params={"query": ENDLESS}, timeout=0.3)
    _until(lambda: fragile.query(ONE).status_code == 200)
    _until(lambda: not _computing(fragile), seconds=15.0)  # a query's time is 20 seconds


def test_small_queries_are_answered_beside_a_large_one(fragile: Server) -> None:
    with ThreadPoolExecutor(1) as threads:
        large = threads.submit(fragile.query, ENDLESS, timeout="2")
        assert all(fragile.query(ONE).status_code == 200 for _ in range(10))
        assert large.result(60).status_code == 504


@pytest.mark.parametrize(
    ("form", "status"), [("SERVICE <{}> {{ ?s ?p ?o }}", 400), ("SERVICE SILENT <{}> {{ ?s ?p ?o }}", 200)]
)
def test_service_reaches_no_listener(fragile: Server, listener: socket.socket, form: str, status: int) -> None:
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    answer = fragile.query("SELECT * { " + form.format(address) + " }")
    assert answer.status_code == status
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_from_load_and_graph_names_reach_no_listener(fragile: Server, listener: socket.socket) -> None:
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    assert fragile.query(f"SELECT * FROM <{address}> {{ ?s ?p ?o }}").json()["results"]["bindings"] == []
    assert fragile.query(f"SELECT * FROM NAMED <{address}> {{ GRAPH ?g {{ ?s ?p ?o }} }}").status_code == 200
    assert fragile.query("SELECT * { ?s ?p ?o }", **{"default-graph-uri": address}).status_code == 200
    assert fragile.update(f"LOAD <{address}>").status_code == 400
    assert fragile.update(f"LOAD SILENT <{address}> INTO GRAPH <urn:g>").status_code == 204
    assert fragile.client.get("/graphs", params={"graph": address}).status_code == 404
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize("mark", ["{", "(", "[", "<<("])
def test_a_nesting_bomb_is_refused(fragile: Server, mark: str) -> None:
    text = "SELECT * { ?s ?p " + mark * 5000
    assert fragile.client.post("/sparql", data={"query": text}).status_code == 400
    assert fragile.update("INSERT DATA { <urn:s> <urn:p:p> " + mark * 5000).status_code == 400
    assert fragile.query(ONE).status_code == 200


def test_without_keys_and_with_read_only_nobody_writes(tmp_path: Path) -> None:
    for options, keys in (((), ""), (("--read-only",), "secret-for-tests")):
        server = start(tmp_path / "kb", *options, keys=keys)
        try:
            assert server.update("CLEAR ALL").status_code == 403
            assert server.query(ONE).status_code == 200
        finally:
            server.stop()


def test_a_server_killed_under_writes_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    server = start(tmp_path / "kb")
    acknowledged: list[int] = []

    def write(form: int) -> None:
        for number in range(form, 100_000, 3):
            triple = f"<urn:s> <urn:p:n> {number}"
            try:
                if form == 0:
                    answer = server.update(f"INSERT DATA {{ GRAPH <urn:kept> {{ {triple} }} }}")
                elif form == 1:
                    answer = server.update(f"INSERT {{ GRAPH <urn:kept> {{ {triple} }} }} WHERE {{}}")
                else:
                    sent = {"content": f"{triple} .", "headers": {"Content-Type": "text/turtle"}}
                    answer = server.writer.post("/graphs", params={"graph": "urn:kept"}, **sent)
            except httpx.TransportError:
                return
            if answer.status_code in (201, 204):
                acknowledged.append(number)

    with ThreadPoolExecutor(3) as threads:
        writing = [threads.submit(write, form) for form in range(3)]
        _until(lambda: {number % 3 for number in acknowledged[-10:]} == {0, 1, 2} and len(acknowledged) >= 30, 30)
        server.stop(signal.SIGKILL)
        for each in writing:
            each.result(60)
    again = start(tmp_path / "kb")
    try:
        rows = again.query("SELECT ?n { GRAPH <urn:kept> { ?s ?p ?n } }").json()["results"]["bindings"]
        assert set(acknowledged) <= {int(row["n"]["value"]) for row in rows}
    finally:
        again.stop()
    logged = [json.loads(line) for line in (tmp_path / "kb" / "writes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(acknowledged) <= len(logged) <= len(acknowledged) + 3
    assert all(row["before"] < row["after"] for row in logged)


def test_a_server_that_is_asked_to_stop_ends_with_its_readers(tmp_path: Path) -> None:
    server = start(tmp_path / "kb")
    assert server.query(ONE).status_code == 200
    readers = server.readers() if Path("/proc/self/task").is_dir() else []
    server.stop()
    assert server.process.returncode == 0
    _until(lambda: not [number for number in readers if Path(f"/proc/{number}").is_dir()])
    assert not list((tmp_path / "kb" / "cache" / "snapshots").glob("*"))
