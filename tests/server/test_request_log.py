"""Metrics, request ids and logs."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.server.conftest import Server, start
from tests.server.test_failures import _until

SECRET = "SELECT ('a-secret-text' AS ?x) {}"


@dataclass
class Watched:
    server: Server
    said: Path

    def row(self, request: str) -> dict[str, object]:
        """The line about a request, which comes after its answer."""
        _until(lambda: f'"{request}"' in self.said.read_text(encoding="utf-8"))
        rows = [json.loads(line) for line in self.said.read_text(encoding="utf-8").splitlines() if request in line]
        return dict(rows[0])


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    running = start(folder / "kb", "--log", "json", "--rows", "100", errors=folder / "said.txt")
    yield Watched(running, folder / "said.txt")
    running.stop()


def _value(server: Server, name: str) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(name)), 0.0)


def test_requests_writes_and_the_store_are_counted(watched: Watched) -> None:
    server = watched.server
    asked = 'kgrag_requests_total{method="GET",path="/sparql",status="200"}'
    before = _value(server, asked)
    server.query(SECRET)
    assert _value(server, asked) == before + 1
    server.update("INSERT DATA { GRAPH <urn:m> { <urn:s> <urn:p:p> 1 , 2 , 3 } }")
    assert _value(server, 'kgrag_writes_total{operation="update",status="204"}') == 1
    assert _value(server, "kgrag_revision") == server.client.get("/health").json()["revision"]
    assert _value(server, "kgrag_quads") == 3
    assert _value(server, "kgrag_readers_busy") == 0
    assert _value(server, 'kgrag_request_seconds_count{path="/sparql"}') >= 1


def test_paths_that_nobody_serves_are_one_row_of_the_metrics(watched: Watched) -> None:
    for path in ("/nothing", "/no/thing", "/%0A%00"):
        watched.server.client.get(path)
    text = watched.server.client.get("/metrics").text
    assert 'path="other"' in text
    assert "nothing" not in text


@pytest.mark.parametrize(
    ("sent", "kept"), [("my-id.1", True), ("a b", False), ("x" * 65, False), ('"}{', False), ("", False)]
)
def test_a_request_keeps_a_decent_id_and_gets_one_otherwise(watched: Watched, sent: str, kept: bool) -> None:
    given = watched.server.client.get("/health", headers={"X-Request-Id": sent}).headers["x-request-id"]
    assert (given == sent) is kept
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", given)


def test_the_log_tells_a_request_in_one_line_without_its_query(watched: Watched) -> None:
    watched.server.client.get("/sparql", params={"query": SECRET}, headers={"X-Request-Id": "told-1"})
    row = watched.row("told-1")
    assert (row["method"], row["path"], row["status"], row["rows"], row["whole"]) == ("GET", "/sparql", 200, 1, True)
    assert isinstance(row["milliseconds"], float)
    assert "a-secret-text" not in watched.said.read_text(encoding="utf-8")


def test_a_refusal_is_told_with_its_status(watched: Watched) -> None:
    watched.server.client.post("/update", content="CLEAR ALL", headers={"X-Request-Id": "refused-1"})
    row = watched.row("refused-1")
    assert row["status"] == 401


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/graphs/../../etc/passwd", "/static/..%2f..%2fapp.py", "/%2e%2e/%2e%2e/etc/passwd", "/static/%2e%2e/%2e%2e/app.py"])  # fmt: skip
def test_no_path_leads_out_of_what_is_served(watched: Watched, path: str) -> None:
    import http.client

    url = watched.server.client.base_url
    connection = http.client.HTTPConnection(url.host, url.port or 80, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status in (400, 404)
    assert b"root:" not in body
    assert b"import" not in body
