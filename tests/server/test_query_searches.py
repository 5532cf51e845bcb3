"""Searches of queries end with the time of their query, and when its client leaves; others search meanwhile."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import httpx
import pytest
from pydantic import SecretStr

from kgrag.errors import InvalidSPARQL
from kgrag.knowledge_base import KnowledgeBase
from kgrag.ports import Vectors
from kgrag.querying.searches import Resolved
from kgrag.querying.text_indexes import index_queries
from kgrag.server import query_searches
from kgrag.server.worker_threads import WorkerThreads
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

_GROUPS = " UNION ".join(f'{{ ?n kgv:near ("text {number}" 1) }}' for number in range(10))
TEN_SEARCHES = f"SELECT * {{ {_GROUPS} }}"


class _Slow(HashEmbedder):
    """Takes a moment for each text that is searched for, and counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.seconds = 0.0
        self.begun = threading.Event()

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        if kind == "query" and texts:
            self.asked += texts
            self.begun.set()
            threading.Event().wait(self.seconds)
        return super().embed(texts, kind)


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Inside, _Slow]]:
    folder, embedder = tmp_path_factory.mktemp("slow"), _Slow()
    Path(folder, "rice.txt").write_text("Rice stands in water.", encoding="utf-8")
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(folder / "kb", settings=settings, embedder=embedder) as kb:
        kb.ingest(folder / "rice.txt")
        with served(kb) as running:
            running.client.get("/sparql", params={"query": 'SELECT * { ?n kgv:near ("first" 1) }'})
            embedder.seconds = 0.3
            yield running, embedder


def test_searches_end_with_the_time_of_their_query(slow: tuple[Inside, _Slow]) -> None:
    running, embedder = slow
    embedder.asked.clear()
    reply = running.client.get("/sparql", params={"query": TEN_SEARCHES, "timeout": "0.5"})
    assert (reply.status_code, len(embedder.asked) < 9) == (504, True)  # not after 3 s, when all had been asked
    assert "searches" in reply.json()["detail"]
    assert running.client.get("/sparql", params={"query": 'SELECT * { ?n kgv:matches ("rice") }'}).status_code == 200
    assert len(embedder.asked) < 10


def test_searches_end_when_their_client_leaves(slow: tuple[Inside, _Slow]) -> None:
    running, embedder = slow
    embedder.asked.clear()
    with pytest.raises(httpx.ReadTimeout):
        running.client.get("/sparql", params={"query": TEN_SEARCHES.replace("text", "left")}, timeout=0.5)
    asked = {"query": 'SELECT * { ?n kgv:matches ("water") }'}
    assert running.client.get("/sparql", params=asked, timeout=10).status_code == 200
    assert len(embedder.asked) < 10


def test_another_client_searches_between_the_searches_of_one(slow: tuple[Inside, _Slow]) -> None:
    running, embedder = slow
    embedder.asked.clear()
    embedder.begun.clear()
    query = TEN_SEARCHES.replace("text", "other")
    many = threading.Thread(target=lambda: httpx.get(f"{running.url}/sparql", params={"query": query}, timeout=30))
    many.start()
    embedder.begun.wait(10)
    asked = {"query": 'SELECT * { ?n kgv:near ("in between" 1) }'}
    assert running.client.get("/sparql", params=asked).status_code == 200
    many.join()
    assert len(embedder.asked) == 11
    assert embedder.asked[-1] != "in between"


def test_an_index_is_declared_with_a_key_and_searched_by_everybody(slow: tuple[Inside, _Slow]) -> None:
    running, _ = slow
    body = {"sparql": "SELECT ?iri ?text { ?iri <urn:x:name> ?text }", "title": "Names"}
    assert running.client.put("/indexes/names", json=body).status_code == 401
    allowed = {"Authorization": f"Bearer {KEY}"}
    running.client.post(
        "/update",
        content='INSERT DATA { GRAPH <urn:g> { <urn:x:oats> <urn:x:name> "naked oats" } }',
        headers={**allowed, "Content-Type": "application/sparql-update"},
    )
    assert running.client.put("/indexes/names", json={"sparql": "ASK {}"}, headers=allowed).status_code == 400
    made = running.client.put("/indexes/names", json=body, headers=allowed)
    assert (made.status_code, made.json()["texts"], made.json()["follows"]) == (201, 1, True)
    assert running.client.put("/indexes/names", json=body, headers=allowed).status_code == 200
    assert [each["name"] for each in running.client.get("/indexes").json()] == ["names"]
    asked = {"query": 'SELECT * { ?n kgv:near ("naked oats" 1 "names") }'}
    (row,) = running.client.get("/sparql", params=asked).json()["results"]["bindings"]
    assert row["n"]["value"] == "urn:x:oats"
    similar = {"query": 'SELECT ?s { BIND(kgv:similarity(<urn:x:oats>, "naked oats") AS ?s) }'}
    (row,) = running.client.get("/sparql", params=similar).json()["results"]["bindings"]
    assert float(row["s"]["value"]) > 0.99
    assert running.client.delete("/indexes/names", headers=allowed).status_code == 204
    assert running.client.get("/indexes/names").status_code == 404
    assert running.client.get("/sparql", params=asked).status_code == 400


def test_who_searches_an_index_that_is_being_made_is_asked_to_come_again(
    slow: tuple[Inside, _Slow], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, _ = slow
    held, released = threading.Event(), threading.Event()
    run = index_queries.run

    def waiting(*arguments: Any, **options: Any) -> dict[str, str]:
        held.set()
        released.wait(10)
        return run(*arguments, **options)

    running.kb.add_index("late", "SELECT ?iri ?text { ?iri a ?kind . ?kind <urn:x:name> ?text }")
    monkeypatch.setattr(index_queries, "run", waiting)
    monkeypatch.setattr(query_searches, "_MAX_SECONDS_FOR_INDEX", 0.1)
    reply = running.client.get("/sparql", params={"query": 'SELECT * { ?n kgv:matches ("a" 1 "late") }'})
    assert (reply.status_code, held.is_set()) == (503, True)
    assert "Retry-After" in reply.headers
    assert "being brought up to date" in reply.text
    assert running.client.get("/sparql", params={"query": 'SELECT * { ?n kgv:matches ("rice") }'}).status_code == 200
    released.set()


def test_what_a_query_asks_of_a_node_limits_its_search(slow: tuple[Inside, _Slow], tmp_path: Path) -> None:
    running, _ = slow
    for name in ("loam", "sand"):
        Path(tmp_path, f"{name}.txt").write_text(f"Barley wants {name}.", encoding="utf-8")
        running.kb.ingest(tmp_path / f"{name}.txt")
    group = "{ ?n kgv:matches ('barley wants sand' 1) ; kg:text ?text ; dcterms:isPartOf/dcterms:title 'loam' }"
    reply = running.client.get("/sparql", params={"query": f"SELECT ?text {group}"}).json()
    assert [row["text"]["value"] for row in reply["results"]["bindings"]] == ["Barley wants loam."]


@pytest.mark.parametrize(("text", "refused"), [("BIND(kgv:similarity(?a, ?b) AS ?s)", True), ('"similarity"', False)])
def test_no_reader_is_told_the_address_of_a_database_of_vectors(text: str, refused: bool) -> None:
    settings = Settings(index=SecretStr("postgresql://name:word@localhost/vectors"))
    workers = cast("WorkerThreads", SimpleNamespace(kb=SimpleNamespace(settings=settings)))
    with pytest.raises(InvalidSPARQL, match="PostgreSQL") if refused else nullcontext():
        assert query_searches._similarity_data(workers, Resolved(text, compares=True)) is None
