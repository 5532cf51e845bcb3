"""Where questions are worked on: threads beside the event loop, as many as are good, and a queue that ends.

Retrieval keeps a knowledge base's vectors and indexes up with the store, and is done by one thread at a time; while a
language model writes an answer, the next question is already retrieved for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from kgrag.errors import ServiceUnavailable

if TYPE_CHECKING:
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.model import Answer, Hit

__all__ = ["Desk"]

_Value = TypeVar("_Value")


class Desk:
    """Works on a knowledge base for requests.

    Args:
        kb: the knowledge base.
        threads: requests at work at once; only a language model lets them overlap.
        waiting: requests that may wait behind these.
    """

    def __init__(self, kb: KnowledgeBase, *, threads: int = 8, waiting: int = 32) -> None:
        self.kb = kb
        self._pool = ThreadPoolExecutor(threads, "kgrag-desk")
        self._alone = threading.Lock()
        self._room = threads + waiting
        self._taken = 0

    async def do(self, work: Callable[[], _Value]) -> _Value:
        """Give what a function returns that is run in a thread; one that was begun goes on when nobody waits for it.

        Raises:
            ServiceUnavailable: too many requests wait already.
        """
        if self._taken >= self._room:
            raise ServiceUnavailable(f"{self._taken} questions are being worked on already. Ask again later.")
        self._taken += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, work)
        future.add_done_callback(self._left)
        return await asyncio.shield(future)

    def _left(self, done: asyncio.Future[_Value]) -> None:
        self._taken -= 1
        if not done.cancelled():
            done.exception()  # taken note of, also when nobody waits for it any more

    def alone(self, work: Callable[[], _Value]) -> _Value:
        """Give what a function returns that no other thread of this desk may run beside."""
        with self._alone:
            return work()

    def ask(self, question: str, *, method: str, k: int, found: Callable[[list[Hit]], None]) -> Answer:
        """Answer a question as ``KnowledgeBase.ask`` does, and tell the hits as soon as they are there."""
        own = self.alone(lambda: self.kb.own_answer(question, method=method, k=k))
        if own is not None:
            found(list(own.hits))
            return own
        hits = self.alone(lambda: self.kb.retrieve(question, method=method, k=k))
        found(hits)
        return self.kb.answer_from(question, hits, method=method)

    def close(self) -> None:
        """Take no more work; what waits is dropped, what was begun is waited for."""
        self._pool.shutdown(wait=True, cancel_futures=True)
