"""Revisions over HTTP: a server that only reads finds what others write, and a client what it wrote itself.

Each answer names in ``Kgrag-Revision`` how many changes the store had when the answer began, so that a write is among
them. A client that sends the number with its next request, to whichever server over the same store, is answered
from a state that has those changes: a server that is behind looks at once, and waits a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgrag.errors import StorageFailed
from kgrag.server.problems import Problem, problem_response
from kgrag.server.worker_threads import WorkerThreads

__all__ = ["HEADER", "SECONDS_BEHIND", "RevisionFollower", "RevisionHeader"]

_LOG = logging.getLogger(__name__)

HEADER = "Kgrag-Revision"
SECONDS_BEHIND = 1.0
"""How long after a change of another process a query is still answered from before it, at most while nothing waits."""
_MAX_SECONDS_WAITED = 5.0
_SECONDS_BETWEEN_LOOKS = 0.05
_MAX_DIGITS = 18


class RevisionFollower:
    """Asks for the revision of the store of a knowledge base that others write to, every second and when told to.

    A store that cannot be reached is logged once, and asked again until it can.
    """

    def __init__(self, workers: WorkerThreads) -> None:
        self._workers = workers
        self._looking: asyncio.Task[None] | None = None
        self._reached = True

    @contextlib.asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Ask every second, until the context ends."""
        task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def reaches(self, revision: int) -> bool:
        """Return whether the store has a revision, now or within five seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_MAX_SECONDS_WAITED):
                while self._revision < revision:
                    await self._look()
                    if self._revision < revision:
                        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
        return self._revision >= revision

    @property
    def _revision(self) -> int:
        return self._workers.kb.store.revision

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(SECONDS_BEHIND)
            await self._look()

    async def _look(self) -> None:
        """Ask once; all who want it meanwhile wait for the same request."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._ask())
        await asyncio.shield(self._looking)

    async def _ask(self) -> None:
        try:
            await asyncio.to_thread(self._workers.alone, self._workers.kb.follow)
            self._reached = True
        except StorageFailed as error:
            if self._reached:
                _LOG.warning("what others write is not seen until the store answers: %s", error)
            self._reached = False


class RevisionHeader:
    """ASGI middleware that names the revision in each answer, and holds a request back until that which it names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request once the store is at the revision that it names, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope["app"].state

        async def send_with_revision(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = str(state.server.dataset.revision)
            await send(message)

        try:
            if (named := Headers(scope=scope).get(HEADER)) is not None:
                await _wait_for(named, state.server.dataset.revision, state.follower)
        except Problem as problem:
            response = await problem_response(Request(scope), problem)
            await response(scope, receive, send_with_revision)
            return
        await self._app(scope, receive, send_with_revision)


async def _wait_for(named: str, present: int, follower: RevisionFollower | None) -> None:
    """Return when the store has the revision that a request names. Raises Problem: it has not, or names none."""
    if not (named.isascii() and named.isdigit() and len(named) <= _MAX_DIGITS):
        raise Problem(400, f"{HEADER} is the number that an answer had in this header, not {named[:40]!r}.")
    if int(named) <= present:
        return
    if follower is None:
        raise Problem(
            412,
            f"the store is at revision {present:,}, and {int(named):,} is wanted. This server follows no other writer: "
            f"the number is of another store, or of before a backup was restored. Leave {HEADER} out.",
        )
    if not await follower.reaches(int(named)):
        raise Problem(
            503,
            f"revision {int(named):,} of the store is not here yet. Ask again, or another server.",
            {"Retry-After": "1"},
        )
