"""The servers that a knowledge base is on, where it is on any: whether they answer, for ``/health/ready``.

A question needs the SPARQL server that has the triples and the PostgreSQL server that has the vectors, while a reader
goes on answering from its copy without them. Both are asked once for all who want to know within two seconds. Who may
know that is anybody, so that a reply names neither hosts nor databases; the log does, once while a server is gone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from kgrag.errors import ServiceUnavailable, StorageFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgrag.knowledge_base import KnowledgeBase

__all__ = ["BackingServers"]

_LOG = logging.getLogger(__name__)
_SECONDS_A_REPLY_IS_KEPT = 2.0
_MAX_SECONDS_WAITED = 5.0


class BackingServers:
    """Asks the servers that a knowledge base is on; for the requests of one event loop.

    Args:
        kb: the knowledge base.
        clock: returns seconds that never go back.
    """

    def __init__(self, kb: KnowledgeBase, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._kb = kb
        self._clock = clock
        self._asking: asyncio.Task[str] | None = None
        self._asked_at = 0.0
        self._missing = ""

    async def refuse_missing(self) -> None:
        """Return if all answer, or did less than two seconds ago.

        Raises:
            ServiceUnavailable: one cannot be reached, refuses, or does not answer within five seconds.
        """
        waiting = self._asking is not None and not self._asking.done()
        if self._asking is None or (not waiting and self._clock() - self._asked_at > _SECONDS_A_REPLY_IS_KEPT):
            self._asking, self._asked_at = asyncio.create_task(self._ask()), self._clock()
        try:
            missing = await asyncio.wait_for(asyncio.shield(self._asking), _MAX_SECONDS_WAITED)
        except TimeoutError:
            raise ServiceUnavailable("a server that this knowledge base is on does not answer in time.") from None
        if missing:
            raise ServiceUnavailable(f"{missing} does not answer: questions cannot be answered until it does.")

    async def _ask(self) -> str:
        """Return which server is missing, "" where none is."""
        for name, reach in (
            ("the SPARQL server", self._kb.reach_store),
            ("the PostgreSQL server", self._kb.spaces.reach),
        ):
            try:
                await asyncio.to_thread(reach)
            except StorageFailed as error:
                if self._missing != name:
                    _LOG.warning("not ready, since %s does not answer: %s", name, error)
                self._missing = name
                return name
        self._missing = ""
        return ""
