"""A client finds what it wrote, whichever server over the same store it asks next."""

from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from benchmarks.oxigraph_server import OxigraphServer, program
from kgrag import KnowledgeBase
from kgrag.server import revision_following
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

pytestmark = pytest.mark.skipif(program() is None, reason="the program `oxigraph` (PyPI package) is absent")

_HEADER = revision_following.HEADER


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Inside]]:
    """One that writes, and two that read."""
    folder = tmp_path_factory.mktemp("replicas")
    with OxigraphServer(folder / "quads") as store, ExitStack() as stack:
        running = []
        for name in ("writer", "one", "two"):
            settings = Settings(store=store.address)
            kb = KnowledgeBase(folder / name, settings=settings, embedder=HashEmbedder(), read_only=name != "writer")
            running.append(stack.enter_context(served(stack.enter_context(kb), limits=ServerLimits(readers=1))))
        yield running


def _write(server: Inside, value: int) -> httpx.Response:
    key = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/sparql-update"}
    update = f"INSERT DATA {{ GRAPH <urn:t:g> {{ <urn:t:s> <urn:t:p> {value} }} }}"
    return server.client.post("/update", content=update, headers=key)


def _values(server: Inside, revision: str, **headers: str) -> httpx.Response:
    query = {"query": "SELECT ?v { GRAPH <urn:t:g> { ?s ?p ?v } } ORDER BY ?v"}
    return server.client.get("/sparql", params=query, headers={_HEADER: revision, **headers})


def test_a_reader_that_is_told_of_a_write_answers_from_after_it(servers: list[Inside]) -> None:
    writer, *readers = servers
    for value in range(3):
        revision = _write(writer, value).headers[_HEADER]
        for reader in readers:
            found = _values(reader, revision)
            assert [row["v"]["value"] for row in found.json()["results"]["bindings"]] == [*map(str, range(value + 1))]
            assert found.headers[_HEADER] == revision
    assert _values(readers[0], revision, Origin="http://elsewhere").headers[_HEADER] == revision  # the longer way
    assert writer.client.get("/stats", headers={_HEADER: revision}).status_code == 200


def test_a_revision_that_does_not_come_is_not_waited_for_for_ever(
    servers: list[Inside], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revision_following, "_MAX_SECONDS_WAITED", 0.2)
    writer, reader, _ = servers
    late = _values(reader, "1000000")
    assert (late.status_code, late.headers["Retry-After"]) == (503, "1")
    assert "revision 1,000,000 of the store is not here yet" in late.json()["detail"]
    refused = _values(writer, "1000000")
    assert refused.status_code == 412
    assert "of another store, or of before a backup was restored" in refused.json()["detail"]


@pytest.mark.parametrize("named", ["", "-1", "1.0", "W/1", "9" * 19])
def test_what_is_no_revision_is_refused(servers: list[Inside], named: str) -> None:
    assert _values(servers[1], named).status_code == 400
