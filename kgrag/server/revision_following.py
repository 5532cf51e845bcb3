"""A server that only reads finds what others write to its SPARQL server, without being asked a question."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from kgrag.errors import StorageFailed
from kgrag.server.worker_threads import WorkerThreads

__all__ = ["SECONDS_BEHIND", "following"]

_LOG = logging.getLogger(__name__)

SECONDS_BEHIND = 1.0
"""How long after a change of another process a query is still answered from before it, at most while nothing waits."""


@contextlib.asynccontextmanager
async def following(workers: WorkerThreads) -> AsyncIterator[None]:
    """Ask for the revision of the store of a knowledge base every second, until the context ends.

    A store that cannot be reached is logged once, and asked again until it can.
    """
    task = asyncio.create_task(_follow(workers))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _follow(workers: WorkerThreads) -> None:
    reached = True
    while True:
        await asyncio.sleep(SECONDS_BEHIND)
        try:
            await asyncio.to_thread(workers.alone, workers.kb.follow)
            reached = True
        except StorageFailed as error:
            if reached:
                _LOG.warning("what others write is not seen until the store answers: %s", error)
            reached = False
