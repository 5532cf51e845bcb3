"""Limits on results, waiting, bodies and updates; readers that were killed while they had nothing to do."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from kgrag.server import protocol_requests
from tests.server.conftest import KEY, Server, kill, start
from tests.server.inside import Inside
from tests.server.test_failures import ENDLESS, ONE, VALUES

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
TABLES = ["application/sparql-results+json", "application/sparql-results+xml", "text/csv", "text/tab-separated-values"]


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    options = ("--readers", "1", "--queue", "1", "--rows", "100", "--timeout", "3")
    running = start(tmp_path_factory.mktemp("narrow") / "kb", *options)
    yield running
    running.stop()


def _rows(count: int) -> str:
    return "SELECT ?a { VALUES ?a { " + " ".join(str(number) for number in range(count)) + " } }"


@pytest.mark.parametrize("media", TABLES)
def test_a_result_has_as_many_rows_as_are_allowed_and_no_more(narrow: Server, media: str) -> None:
    asked = {"headers": {"Accept": media, "Content-Type": "application/sparql-query"}}
    assert narrow.client.post("/sparql", content=_rows(100), **asked).status_code == 200
    refused = narrow.client.post("/sparql", content=_rows(101), **asked)
    assert refused.status_code == 413
    assert "more than 100 rows" in refused.json()["detail"]


def test_rows_that_are_too_many_after_the_beginning_was_sent_never_look_whole(narrow: Server) -> None:
    text = "SELECT * { VALUES ?a { " + VALUES + " } VALUES ?b { " + VALUES + " } BIND('" + "x" * 2000 + "' AS ?c) }"
    with pytest.raises(httpx.RemoteProtocolError):
        narrow.client.post("/sparql", data={"query": text})


def test_a_request_that_finds_the_queue_full_is_told_to_come_back(narrow: Server) -> None:
    begun = threading.Barrier(4)

    def ask(_: int) -> httpx.Response:
        begun.wait()
        return narrow.query(ENDLESS, timeout="1")

    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(ask, range(4)))
    full = [answer for answer in answers if answer.status_code == 503]
    assert full
    assert all(answer.headers["retry-after"] for answer in full)
    assert narrow.query(ONE).status_code == 200


def test_an_update_that_searches_too_long_is_stopped_and_holds_nobody_up(narrow: Server) -> None:
    before = narrow.client.get("/health").json()["revision"]
    where = " ".join(f"VALUES ?{name} {{ {VALUES} }}" for name in "abcdef")
    answer = narrow.update(f"INSERT {{ GRAPH <urn:g> {{ <urn:s> <urn:p:p> ?z }} }} WHERE {{ {where} FILTER(?z = 0) }}")
    assert answer.status_code == 504
    assert narrow.client.get("/health").json()["revision"] == before
    assert narrow.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p:p> 1 } }").status_code == 204


def test_an_update_that_searches_does_what_it_says_once(narrow: Server) -> None:
    narrow.update("INSERT DATA { GRAPH <urn:count> { <urn:s> <urn:p:n> 1 } }")
    text = "WITH <urn:count> DELETE { ?s ?p ?n } INSERT { ?s ?p ?m } WHERE { ?s ?p ?n BIND(?n + 1 AS ?m) }"
    assert narrow.update(text).status_code == 204
    rows = narrow.query("SELECT ?n { GRAPH <urn:count> { ?s ?p ?n } }").json()["results"]["bindings"]
    assert [row["n"]["value"] for row in rows] == ["2"]


@needs_proc
def test_a_reader_that_was_killed_while_idle_is_replaced_unseen(narrow: Server) -> None:
    for _ in range(5):
        assert narrow.query(ONE).status_code == 200
        for number in narrow.readers():
            kill(number)
        assert narrow.query(ONE).status_code == 200


def _raw(server: Server, *lines: str) -> socket.socket:
    connection = socket.create_connection((server.client.base_url.host, server.client.base_url.port), timeout=30)
    head = ["PUT /graphs?graph=urn:large HTTP/1.1", "Host: localhost", "Content-Type: text/turtle", *lines, "", ""]
    connection.sendall("\r\n".join(head).encode())
    return connection


def _memory(server: Server) -> int:
    """Bytes that the server holds, as it tells itself."""
    lines = server.client.get("/metrics").text.splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("process_resident_memory_bytes"))))


@needs_proc
def test_an_upload_of_a_gigabyte_in_chunks_is_refused_before_it_is_all_sent(narrow: Server) -> None:
    before, block, sent = _memory(narrow), b"100000\r\n" + b"#" * (1 << 20) + b"\r\n", 0
    with _raw(narrow, f"Authorization: Bearer {KEY}", "Transfer-Encoding: chunked") as connection:
        try:
            while sent < 1024:
                connection.sendall(block)
                sent += 1
        except (BrokenPipeError, ConnectionResetError):
            pass
    assert sent < 300
    assert _memory(narrow) - before < 700 << 20
    assert narrow.query(ONE).status_code == 200


def test_an_upload_without_a_key_is_refused_before_its_body_is_read(narrow: Server) -> None:
    with _raw(narrow, f"Content-Length: {1 << 30}") as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 401")


@needs_proc
def test_a_client_that_reads_slowly_holds_neither_memory_nor_the_writer(narrow: Server, tmp_path: Path) -> None:
    wide = start(tmp_path / "kb", "--readers", "2", "--timeout", "20")
    try:
        before = _memory(wide)
        text = "SELECT * { " + " ".join(f"VALUES ?{name} {{ {VALUES} }}" for name in "abcdef") + " }"
        with wide.client.stream("POST", "/sparql", data={"query": text}) as answer:
            blocks = answer.iter_raw(1024)
            for number in range(30):
                assert next(blocks)
                written = wide.update(f"INSERT DATA {{ GRAPH <urn:slow> {{ <urn:s> <urn:p:n> {number} }} }}")
                assert written.status_code == 204
            assert _memory(wide) - before < 30 << 20
            assert wide.query(ONE).status_code == 200
        rows = wide.query("SELECT ?n { GRAPH <urn:slow> { ?s ?p ?n } }").json()["results"]["bindings"]
        assert len(rows) == 30
    finally:
        wide.stop()


@needs_proc
def test_a_slow_client_gives_its_reader_up_when_another_waits_for_it(tmp_path: Path) -> None:
    lone = start(tmp_path / "kb", "--readers", "1", "--timeout", "1")
    try:
        text = "SELECT * { " + " ".join(f"VALUES ?{name} {{ {VALUES} }}" for name in "abcdef") + " }"
        with lone.client.stream("POST", "/sparql", data={"query": text}) as answer:
            blocks = answer.iter_raw(1024)
            assert next(blocks)
            assert lone.query(ONE).status_code == 200
            with pytest.raises(httpx.RemoteProtocolError):
                for _ in blocks:
                    pass
    finally:
        lone.stop()


@pytest.mark.parametrize("path", ["/sparql", "/retrieve"])
def test_a_body_that_comes_too_slowly_is_refused(demo: Inside, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(protocol_requests, "_BODY_SECONDS", 0.2)
    media = "application/sparql-query" if path == "/sparql" else "application/json"
    address = urlsplit(demo.url)
    with socket.create_connection((address.hostname, address.port), timeout=20) as slow:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media}\r\nContent-Length: 100\r\n\r\nASK"
        slow.sendall(head.encode())
        reply = b"".join(iter(lambda: slow.recv(65536), b""))  # until the server closes
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"of the body 3 bytes came in 0 s" in reply
