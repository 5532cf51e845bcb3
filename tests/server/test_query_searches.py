"""Searches of queries end with the time of their query, and when its client leaves; others search meanwhile."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import httpx
import pytest

from kgrag.knowledge_base import KnowledgeBase
from kgrag.ports import Vectors
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import Inside, served

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
    started = time.monotonic()
    reply = running.client.get("/sparql", params={"query": TEN_SEARCHES, "timeout": "0.5"})
    assert (reply.status_code, time.monotonic() - started < 2.5) == (504, True)
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
