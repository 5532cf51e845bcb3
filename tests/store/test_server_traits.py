"""How a SPARQL server is asked goes by how it answers: a proxy may call it whatever it likes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.oxigraph_server import OxigraphServer, program
from kgrag.store.server_profile import ServerProfile, kept_traits, probe
from kgrag.store.server_quads import ServerQuads
from kgrag.store.server_traits import FoundTraits
from kgrag.store.sparql_connection import Reply, ServerAddress, SparqlConnection
from kgrag.store.sparql_server import ServerStore

served = pytest.mark.skipif(program() is None, reason="the program `oxigraph` (PyPI package of that name) is absent")

QUERY = "SELECT (COUNT(*) AS ?n) WHERE { ?s <urn:t:p> ?o }"
TWICE = "INSERT DATA { GRAPH <urn:t:a> { <urn:t:s> <urn:t:p> 5 } GRAPH <urn:t:b> { <urn:t:s> <urn:t:p> 5 } }"
DATASETS = ("", "FROM <urn:t:a> FROM <urn:t:b> ")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a proxy before an Oxigraph server, which calls itself otherwise in each reply."""
    folder = tmp_path_factory.mktemp("oxigraph")
    with OxigraphServer(folder / "data") as server, httpx.Client(base_url=server.address, trust_env=False) as client:

        class Handler(BaseHTTPRequestHandler):
            protocol_version, server_version, sys_version = "HTTP/1.1", "nginx", ""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                sent = {name: self.headers[name] for name in ("Content-Type", "Accept") if self.headers[name]}
                reply = client.post(self.path, content=body, headers=sent)
                self.send_response(reply.status_code)
                self.send_header("Content-Type", reply.headers.get("Content-Type", "text/plain"))
                self.send_header("Content-Length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

            def log_message(self, *_: object) -> None:
                pass

        running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        running.daemon_threads = True
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.fixture(scope="module")
def stated_twice(proxy: str) -> str:
    """The address, with a triple that two graphs state."""
    with ServerStore.open(proxy, None) as store:
        store.update(TWICE)
    return proxy


def counts(store: ServerStore) -> list[str]:
    queries = (QUERY.replace("WHERE", f"{dataset}WHERE") for dataset in DATASETS)
    return [row["n"].value for query in queries for row in store.query(query, union=True)]


@served
@pytest.mark.parametrize("read_only", [False, True])
def test_a_triple_of_several_graphs_is_counted_once_behind_a_proxy(stated_twice: str, read_only: bool) -> None:
    with ServerStore.open(stated_twice, None, read_only=read_only) as store:
        assert counts(store) == ["1", "1"]
        assert not [graph for graph in store.graphs() if "probe" in graph]


@served
def test_what_a_server_is_asked_is_found_behind_a_proxy(proxy: str) -> None:
    connection = SparqlConnection(ServerAddress.of(proxy))
    profile = probe(connection)
    assert profile.traits == FoundTraits("nginx", speaks_virtuoso=False, has_triple_terms=True, merges=False)
    assert "found once for each; kgrag's queries count it once" in profile.traits.in_words()
    connection.close()


def no_traits(stored: dict[str, Any]) -> None:
    del stored["traits"]  # as versions of kgrag stored it that did not ask


CHANGES: Mapping[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "of this server": (lambda stored: None, "2"),
    "of an earlier version": (no_traits, "1"),
    "of another server": (lambda stored: stored["traits"].update(software="another"), "1"),
    "of another engine": (lambda stored: stored["traits"].update(has_triple_terms=False), "1"),
    "of another address": (lambda stored: stored.update(address="http://127.0.0.1:9/query"), "1"),
    "damaged": (lambda stored: stored.update(traits=[1]), "1"),
}


@served
@pytest.mark.parametrize(("change", "count"), CHANGES.values(), ids=CHANGES)
def test_who_only_reads_goes_by_a_profile_of_this_very_server(
    stated_twice: str, tmp_path: Path, change: Callable[[dict[str, Any]], object], count: str
) -> None:
    merging = FoundTraits("nginx", speaks_virtuoso=False, has_triple_terms=True, merges=True)  # it says so: is it read?
    path = ServerProfile(f"{stated_twice}/query", "", (), merging).save(tmp_path)
    stored = json.loads(path.read_text(encoding="utf-8"))
    change(stored)
    path.write_text(json.dumps(stored), encoding="utf-8")
    with ServerStore.open(stated_twice, tmp_path / "store", read_only=True) as store:
        assert counts(store) == [count, count]


def test_no_profile_is_none(tmp_path: Path) -> None:
    assert kept_traits(tmp_path, "http://127.0.0.1:9/query") is None


class Counting(SparqlConnection):
    """Finds a triple of two graphs so often; keeps what it was asked but for probes, and counts those for merging."""

    def __init__(self, count: int, *, is_writable: bool = True) -> None:
        super().__init__(ServerAddress.of("http://127.0.0.1:9"))
        self.asked: list[str] = []
        self.probed = 0
        self._count, self._is_writable = count, is_writable

    def _sent(self, address: str, form: Mapping[str, str], *, only_triples: bool = False) -> Reply:
        text = form.get("query") or form["update"]
        self.probed += "stated twice" in text
        if not self._is_writable and "stated twice" in text:
            raise httpx.ReadTimeout("no reply")
        if "update" not in form and "urn:kgrag:probe" not in text and "?boolean" not in text:
            self.asked.append(text)
        row = f'{{"count":{{"type":"literal","value":"{self._count}"}}}}'
        return Reply(f'{{"head":{{"vars":["count"]}},"results":{{"bindings":[{row}]}}}}'.encode(), is_triples=False)


@pytest.mark.parametrize(
    ("count", "is_writable", "as_written", "probed"), [(1, True, True, 1), (2, True, False, 1), (1, False, False, 2)]
)
def test_a_writer_finds_out_once_whether_a_server_merges(
    count: int, is_writable: bool, as_written: bool, probed: int
) -> None:
    connection = Counting(count, is_writable=is_writable)
    quads = ServerQuads(connection, writer="writer")
    quads.take_over("urn:t:resource", 1)
    quads.query("SELECT DISTINCT ?s { ?s ?p ?o }", union=True)
    assert connection.probed == 0  # it does not depend on that
    for _ in range(2):
        quads.query(QUERY, union=True)
    assert [text == QUERY for text in connection.asked[1:]] == [as_written] * 2
    assert connection.probed == probed
