"""``AsyncKnowledgeBase``: the calls of ``KnowledgeBase`` for programs with an event loop, each in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import update_wrapper
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from kgrag.knowledge_base.facade import KnowledgeBase
from kgrag.model import Answer, AnswerSentence, BuildReport

if TYPE_CHECKING:
    from kgrag.audit import Audit

__all__ = ["AsyncKnowledgeBase"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _in_thread(
    call: Callable[Concatenate[KnowledgeBase, _P], _R],
) -> Callable[Concatenate[AsyncKnowledgeBase, _P], Coroutine[Any, Any, _R]]:
    """Return the call of a knowledge base as a coroutine, which the event loop runs beside others."""

    async def run(self: AsyncKnowledgeBase, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(call, self.knowledge_base, *args, **kwargs)

    update_wrapper(run, call)
    return run


class AsyncKnowledgeBase:
    """A knowledge base whose calls are awaited; they take and return what those of ``KnowledgeBase`` do.

    Questions run side by side; what writes waits its turn. A call that is cancelled goes on in its thread to its end.

    >>> from kgrag.testing import HashEmbedder
    >>> async def count() -> int:
    ...     async with AsyncKnowledgeBase(KnowledgeBase(embedder=HashEmbedder())) as kb:
    ...         return len(await kb.documents())
    >>> asyncio.run(count())
    0
    """

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        """Take a knowledge base, which is closed with this object."""
        self.knowledge_base = knowledge_base

    load = _in_thread(KnowledgeBase.load)
    ingest = _in_thread(KnowledgeBase.ingest)
    sync = _in_thread(KnowledgeBase.sync)
    add = _in_thread(KnowledgeBase.add)
    add_many = _in_thread(KnowledgeBase.add_many)
    documents = _in_thread(KnowledgeBase.documents)
    forget = _in_thread(KnowledgeBase.forget)
    remove = _in_thread(KnowledgeBase.remove)
    sources = _in_thread(KnowledgeBase.sources)
    move_source = _in_thread(KnowledgeBase.move_source)
    rename_source = _in_thread(KnowledgeBase.rename_source)
    retrieve = _in_thread(KnowledgeBase.retrieve)
    ask = _in_thread(KnowledgeBase.ask)
    feedback = _in_thread(KnowledgeBase.feedback)
    check = _in_thread(KnowledgeBase.check)
    query = _in_thread(KnowledgeBase.query)
    update = _in_thread(KnowledgeBase.update)
    stats = _in_thread(KnowledgeBase.stats)
    close = _in_thread(KnowledgeBase.close)

    async def stream(self, question: str, **asked: Any) -> AsyncIterator[AnswerSentence | Answer]:
        """Yield the sentences of an answer and then the answer, as ``KnowledgeBase.stream`` does."""
        stream = self.knowledge_base.stream(question, **asked)
        while (item := await asyncio.to_thread(next, stream, None)) is not None:
            yield item

    async def build(self, method: str, **options: Any) -> BuildReport:
        """Build a method, as ``KnowledgeBase.build`` does."""
        return await asyncio.to_thread(self.knowledge_base.build, method, **options)

    async def audit(self, target: str | Path | None = None, **options: Any) -> Audit:
        """Audit a file, a graph or all ontology graphs, as ``KnowledgeBase.audit`` does."""
        return await asyncio.to_thread(self.knowledge_base.audit, target, **options)

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self.close()
