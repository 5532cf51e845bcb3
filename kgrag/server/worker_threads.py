"""Where questions are worked on: threads beside the event loop, as many as are good, and a queue that ends.

Retrieval keeps a knowledge base's vectors and indexes up with the store, and is done by one thread at a time; while a
language model writes an answer, the next question is already retrieved for. Audits wait for each other only.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from kgrag.errors import ServiceUnavailable
from kgrag.settings import MINILM

if TYPE_CHECKING:
    from kgrag.audit import Audit, AuditOptions
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.model import Answer, Hit

__all__ = ["Desk"]

_Value = TypeVar("_Value")
_AUDITS = 8
"""Audits that are kept."""


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
        self._auditing = threading.Lock()
        self._audits: OrderedDict[tuple[int, str, AuditOptions], Audit] = OrderedDict()
        self._room = threads + waiting
        self._taken = 0
        self._warm = False

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

    def warm(self) -> None:
        """Begin to load an embedding model of this process, once, so that the first question need not wait for it."""
        if not self._warm and self.kb.settings.embedder == MINILM:
            self._warm = True
            self._pool.submit(self.alone, lambda: self.kb.embedder.embed(["warm"], "query"))

    def ask(self, question: str, *, method: str, k: int, found: Callable[[list[Hit]], None]) -> Answer:
        """Answer a question as ``KnowledgeBase.ask`` does, and tell the hits as soon as they are there."""
        own = self.alone(lambda: self.kb.own_answer(question, method=method, k=k))
        if own is not None:
            found(list(own.hits))
            return own
        hits, _ = self.alone(lambda: (self.kb.retrieve(question, method=method, k=k), self.kb.model))  # made once
        found(hits)
        return self.kb.answer_from(question, hits, method=method)

    def audit(self, target: str, options: AuditOptions) -> Audit:
        """Audit a graph, or with "" all ontology graphs; the last few audits are kept for as long as the store stays.

        Raises:
            InputError: there is no such graph, or no ontology at all.
        """
        from kgrag.knowledge_base.audit_runs import audit_graphs

        with self._auditing:
            wanted = (self.kb.store.revision, target, options)
            if wanted not in self._audits:
                self._audits[wanted] = audit_graphs(self.kb.store, [target] if target else [], options)
            self._audits.move_to_end(wanted)
            while len(self._audits) > _AUDITS:
                self._audits.popitem(last=False)
            return self._audits[wanted]

    def close(self) -> None:
        """Take no more work; what waits is dropped, and nobody waits for what was begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
