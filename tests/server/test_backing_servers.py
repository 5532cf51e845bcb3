"""Whether a server is ready goes by the servers that its knowledge base is on, asked seldom and named in plain words."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import ServiceUnavailable, StorageFailed
from kgrag.server import backing_servers
from kgrag.server.backing_servers import BackingServers
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import served


def test_a_server_without_its_postgresql_lives_and_is_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("KGRAG_INDEX", "postgresql://u:s3cret@127.0.0.1:9/d")
    with (
        KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashEmbedder()) as kb,
        served(kb) as server,
        caplog.at_level(logging.WARNING),
    ):
        assert server.client.get("/health").status_code == 200
        replies = [server.client.get("/health/ready") for _ in range(2)]
        assert [reply.status_code for reply in replies] == [503, 503]
        assert "the PostgreSQL server does not answer" in replies[0].json()["detail"]
        assert "127.0.0.1" not in replies[0].text  # anybody may ask
    said = [record.getMessage() for record in caplog.records if record.name == backing_servers.__name__]
    assert len(said) == 1
    assert "127.0.0.1:9/d" in said[0] and "s3cret" not in said[0]


class Backing:
    """A knowledge base whose PostgreSQL server can be gone, and a clock."""

    def __init__(self) -> None:
        self.asked, self.seconds, self.gone = 0, 0.0, False
        self.spaces = SimpleNamespace(reach=self._reach)

    def reach_store(self) -> None:
        """Nothing: its store is a folder."""

    def _reach(self) -> None:
        self.asked += 1
        if self.gone:
            raise StorageFailed("postgresql://host/d: connection refused")

    def servers(self) -> BackingServers:
        return BackingServers(cast("Any", self), clock=lambda: self.seconds)


def test_servers_are_asked_once_for_all_within_two_seconds_and_found_again() -> None:
    kb = Backing()

    async def story() -> None:
        servers = kb.servers()
        await asyncio.gather(*(servers.refuse_missing() for _ in range(20)))
        assert kb.asked == 1
        kb.gone, kb.seconds = True, 1.9
        await servers.refuse_missing()
        kb.seconds = 2.1
        for _ in range(2):
            with pytest.raises(ServiceUnavailable, match="the PostgreSQL server does not answer"):
                await servers.refuse_missing()
        assert kb.asked == 2
        kb.gone, kb.seconds = False, 4.2
        await servers.refuse_missing()
        assert kb.asked == 3

    asyncio.run(story())


def test_a_server_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, spoken = Backing(), asyncio.Event()
    monkeypatch.setattr(backing_servers, "_MAX_SECONDS_WAITED", 0.01)

    async def silent(reach: Callable[[], None]) -> None:
        await spoken.wait()
        reach()

    monkeypatch.setattr(backing_servers.asyncio, "to_thread", silent)

    async def story() -> None:
        servers = kb.servers()
        for _ in range(2):  # the second waits for the same reply
            with pytest.raises(ServiceUnavailable, match="in time"):
                await servers.refuse_missing()
        spoken.set()
        await servers.refuse_missing()
        assert kb.asked == 1

    asyncio.run(story())
