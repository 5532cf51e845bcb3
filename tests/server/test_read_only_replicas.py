"""Servers that only read a SPARQL server run beside each other and beside one writer, and find what it writes."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.oxigraph_server import OxigraphServer, program
from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.conftest import Server, start
from tests.server.test_failures import _until

pytestmark = pytest.mark.skipif(program() is None, reason="the program `oxigraph` (PyPI package) is absent")

_TITLES = "SELECT ?d { ?d a <https://w3id.org/kgrag/ns#Document> } ORDER BY ?d"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with OxigraphServer(tmp_path / "quads") as server:
        monkeypatch.setenv("KGRAG_STORE", server.address)
        yield server.address


def _documents(server: Server, headers: Mapping[str, str] | None = None) -> int:
    found = server.client.get("/sparql", params={"query": _TITLES}, headers=headers).json()
    return len(found["results"]["bindings"])


def test_two_servers_only_read_while_another_process_writes_and_find_what_it_wrote(store: str, tmp_path: Path) -> None:
    replicas: list[Server] = []
    with KnowledgeBase(tmp_path / "kb", settings=Settings(store=store), embedder=HashEmbedder()) as writer:
        writer.add(Document("Rye is sown in September.", id="rye"))
        try:
            for folder in ("kb", "elsewhere"):  # one beside the writer, one on its own
                replicas.append(start(tmp_path / folder, "--read-only", "--readers", "1"))
            assert [_documents(each) for each in replicas] == [1, 1]
            writer.add(Document("Spelt is sown in October.", id="spelt"))
            written = {"Kgrag-Revision": str(writer.store.revision)}
            assert [_documents(each, written) for each in replicas] == [2, 2]  # at once
            for each in replicas:
                refused = each.update("CLEAR ALL")
                assert refused.status_code == 403
                assert "without --read-only" in refused.text
                assert each.writer.post("/documents", json={"text": "Oats."}).status_code == 403
            writer.forget("rye")
            _until(lambda: all(_documents(each) == 1 for each in replicas))
        finally:
            for each in replicas:
                each.stop()
    assert [each.process.returncode for each in replicas] == [0, 0]
    assert not (tmp_path / "kb" / "store.server").exists()
    assert not list((tmp_path / "kb").glob("cache/snapshots*"))


def test_a_server_that_only_reads_answers_while_its_store_is_gone_and_follows_it_again(tmp_path: Path) -> None:
    said = tmp_path / "said.txt"
    with OxigraphServer(tmp_path / "quads") as store, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGRAG_STORE", store.address)
        settings = Settings(store=store.address)
        with KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder()) as writer:
            writer.add(Document("Rye is sown in September.", id="rye"))
        replica = start(tmp_path / "elsewhere", "--read-only", "--readers", "1", errors=said)
        try:
            assert _documents(replica) == 1
            assert replica.client.get("/health/ready").status_code == 200
            store.kill()
            _until(lambda: "not seen" in said.read_text(encoding="utf-8"))
            assert _documents(replica) == 1
            _until(lambda: replica.client.get("/health/ready").status_code == 503)
            assert "the SPARQL server does not answer" in replica.client.get("/health/ready").json()["detail"]
            assert replica.client.get("/health").status_code == 200
            store.start()
            _until(lambda: replica.client.get("/health/ready").status_code == 200)
            with KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder()) as writer:
                writer.add(Document("Spelt is sown in October.", id="spelt"))
            _until(lambda: _documents(replica) == 2)
        finally:
            replica.stop()
    assert said.read_text(encoding="utf-8").count("not seen") == 1
