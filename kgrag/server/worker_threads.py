"""Threads that work on the knowledge base for requests, and a bounded queue of what waits for them.

Retrieval brings a knowledge base's vectors and indexes up to date with the store, and is done by one thread at a time;
while a language model writes an answer, the next question can be retrieved for. Searches of queries have threads of
their own, and so have reports (audits, figures, proofs), which read the store alone: however many there are, a question
finds one. So have indexes of users, which may take minutes to be made: a search does not wait for that, and it goes on
without one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from kgrag.answering.cited_answers import sentences_of
from kgrag.answering.conversation import FullQuestion, answer_in_turn, likeness, said_without_search
from kgrag.capabilities import LeftToEvidence, OwnAnswer
from kgrag.errors import ServiceError, ServiceUnavailable
from kgrag.knowledge_base.question_calls import answer_attributes
from kgrag.settings import MINILM
from kgrag.telemetry import in_context, spanned

if TYPE_CHECKING:
    from kgrag.answering.conversation import History
    from kgrag.audit import Audit, AuditOptions
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.llm.budget import Budget
    from kgrag.model import Answer, AnswerSentence, Hit
    from kgrag.querying.document_filters import Where

__all__ = ["Turn", "WorkerThreads"]

_Value = TypeVar("_Value")
_MAX_CACHED_AUDITS = 8
_MAX_CACHED_FIGURES = 16
_LIMIT_OF_SERVER = "That is what one answer may cost here: another method or fewer hits cost less (POST /ask/cost)."
_MAX_SECONDS_ALONE = 0.05
_SECONDS_FOR_OTHERS = 0.001
_SEARCH_THREADS, _MAX_SEARCHES_WAITING = 2, 64
_REPORT_THREADS, _MAX_REPORTS_WAITING = 3, 32
_INDEX_THREADS = 2
_SECONDS_BETWEEN_LOOKS = 0.01


class _Lane:
    """Threads for one kind of work, and a bounded queue before them; nothing begins while ``may_begin`` is not set."""

    def __init__(self, name: str, threads: int, waiting: int, may_begin: asyncio.Event) -> None:
        self.threads = ThreadPoolExecutor(threads, f"kgrag-{name}")
        self.requests = 0
        self.begun = 0
        self._may_begin = may_begin
        self._max_requests = threads + waiting
        self._name = name

    async def run(self, work: Callable[[], _Value]) -> _Value:
        if self.requests >= self._max_requests:
            raise ServiceUnavailable(f"{self.requests} {self._name} are being worked on already. Ask again later.")
        self.requests += 1
        try:
            await self._may_begin.wait()
        except asyncio.CancelledError:
            self.requests -= 1
            raise
        self.begun += 1
        future = asyncio.get_running_loop().run_in_executor(self.threads, in_context(work))
        future.add_done_callback(self._count_done)
        return await asyncio.shield(future)

    def _count_done(self, future: asyncio.Future[_Value]) -> None:
        self.requests -= 1
        self.begun -= 1
        if not future.cancelled():
            future.exception()  # retrieved, or asyncio would complain where nobody waits for it any more


class Turn:
    """The turn of a thread that works alone on the knowledge base for longer than others can wait."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock
        self._begun = time.monotonic()

    def pause(self) -> None:
        """Release the turn for a moment, where it has lasted for a while; others come in."""
        if time.monotonic() - self._begun > _MAX_SECONDS_ALONE:
            with self.away():
                time.sleep(_SECONDS_FOR_OTHERS)  # else this thread would have the lock again before another wakes up

    @contextmanager
    def away(self) -> Iterator[None]:
        """Release the turn for as long as this lasts; others come in."""
        self._lock.release()
        try:
            yield
        finally:
            self._lock.acquire()
            self._begun = time.monotonic()


class WorkerThreads:
    """Works on a knowledge base for requests.

    Args:
        kb: the knowledge base.
        threads: requests at work at once; only a language model lets them overlap.
        waiting: requests that may wait behind these.
        answer_budget: what one answer may ask of the language model, whoever asks; None: what it takes.
    """

    def __init__(
        self, kb: KnowledgeBase, *, threads: int = 8, waiting: int = 32, answer_budget: Budget | None = None
    ) -> None:
        self.kb = kb
        self._answer_budget = answer_budget
        self._may_begin = asyncio.Event()
        self._may_begin.set()
        self._questions = _Lane("questions", threads, waiting, self._may_begin)
        self._searches = _Lane("searches", _SEARCH_THREADS, _MAX_SEARCHES_WAITING, self._may_begin)
        self._reports = _Lane("reports", _REPORT_THREADS, _MAX_REPORTS_WAITING, self._may_begin)
        self._index_threads = ThreadPoolExecutor(_INDEX_THREADS, "kgrag-index")
        self._indexing: set[Future[Any]] = set()
        self._kb_lock = threading.Lock()
        self._audit_lock = threading.Lock()
        self._audits: OrderedDict[tuple[int, str, AuditOptions], Audit] = OrderedDict()
        self._figures: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._warmed = False

    @property
    def at_work(self) -> bool:
        """Whether anything is worked on, or waits; also what nobody waits for any more."""
        return bool(self._indexing) or any(lane.requests for lane in self._lanes)

    @property
    def is_asked(self) -> bool:
        """Whether questions wait for an answer."""
        return self._questions.requests > 0

    @property
    def _lanes(self) -> tuple[_Lane, ...]:
        return self._questions, self._searches, self._reports

    @asynccontextmanager
    async def at_rest(self, seconds: float) -> AsyncIterator[None]:
        """Let nothing begin until the context ends, which itself begins once what was begun is done, or after so long.

        While the files of the store are put in the place of others, whoever reads it would find it closed.
        """
        self._may_begin.clear()
        try:
            latest = time.monotonic() + seconds
            while any(lane.begun for lane in self._lanes) and time.monotonic() < latest:
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            yield
        finally:
            self._may_begin.set()

    async def run(self, work: Callable[[], _Value]) -> _Value:
        """Run a function in a thread and return its result; once begun it goes on when nobody waits for it any more.

        Raises:
            ServiceUnavailable: too many requests wait already.
        """
        return await self._questions.run(work)

    async def search(self, work: Callable[[], _Value]) -> _Value:
        """Run a function in one of the threads for the searches of queries, as ``run`` does.

        Raises:
            ServiceUnavailable: too many searches wait already.
        """
        return await self._searches.run(work)

    async def report(self, work: Callable[[], _Value]) -> _Value:
        """Run a function that reads the store alone in one of the threads for reports, as ``run`` does.

        Raises:
            ServiceUnavailable: too many reports wait already.
        """
        return await self._reports.run(work)

    async def figures(self, name: Hashable, count: Callable[[], _Value]) -> _Value:
        """Return what a report of a name counts; the last few are kept until the store changes.

        Raises:
            ServiceUnavailable: too many reports wait already.
        """
        revision = self.kb.store.revision
        at, known = self._figures.get(name, (-1, None))
        if at != revision:
            known = await self.report(count)
            self._figures[name] = (revision, known)
        self._figures.move_to_end(name)
        while len(self._figures) > _MAX_CACHED_FIGURES:
            self._figures.popitem(last=False)
        return known  # type: ignore[no-any-return]

    def begin_search_of_index(self, work: Callable[[], _Value]) -> Future[_Value]:
        """Begin a search of an index of a user, which is brought up to date before; it ends when nobody waits too."""
        future = self._index_threads.submit(in_context(work))
        self._indexing.add(future)
        future.add_done_callback(self._indexing.discard)
        return future

    def alone(self, work: Callable[[], _Value]) -> _Value:
        """Return the result of a function that no two threads may run at the same time."""
        with self._kb_lock:
            return work()

    def alone_in_parts(self, work: Callable[[Turn], _Value]) -> _Value:
        """Return the result of a function as ``alone`` does; what it is called with lets others in between."""
        with self._kb_lock:
            return work(Turn(self._kb_lock))

    def warm(self) -> None:
        """Begin to load an embedding model of this process, once, so that the first question need not wait for it."""
        if not self._warmed and self.kb.settings.embedder == MINILM:
            self._warmed = True
            self._questions.threads.submit(self.alone, lambda: self.kb.embedder.embed(["warm"], "query"))

    @spanned("invoke_agent kgrag", "invoke_agent", answer_attributes)
    def ask(  # noqa: PLR0913 - what `/ask` takes, and who is told on the way
        self,
        question: str,
        *,
        method: str,
        k: int,
        where: Where | None,
        on_hits: Callable[[list[Hit]], None],
        history: History = (),
        on_sentence: Callable[[AnswerSentence], None] | None = None,
        budget: Budget | None = None,
    ) -> Answer:
        """Answer a question as ``KnowledgeBase.ask`` does, and call ``on_hits`` as soon as they are known.

        Raises:
            BudgetSpent: it may cost more than its budget, than any answer here may, or than is left of the tenant's;
                nothing was asked of the language model.
        """
        asked = {"history": history, "method": method, "k": k, "where": where}
        kb = self.alone(lambda: self.within_limit().affording(budget, question, **asked))
        full = self._full_question(question, history, kb)
        if (reply := said_without_search(full, method)) is not None:
            on_hits([])
            return answer_in_turn(reply, question, full)
        self._embed(full.text)

        def own_answer() -> OwnAnswer:
            from_hits = kb.answers_from_hits(method)
            return LeftToEvidence() if from_hits else kb.own_answer(full.text, method=method, k=k, where=where)

        own = self.alone(own_answer)
        if not isinstance(own, LeftToEvidence):
            on_hits(list(own.hits))
            if on_sentence is not None:
                for sentence in sentences_of(own):
                    on_sentence(sentence)
            return answer_in_turn(own, question, full)
        # the model is made on first use, which no two threads may do
        found, _ = self.alone(lambda: (kb.found(full.text, method=method, k=k, where=where), kb.model))
        on_hits(list(found.hits))
        answer = kb.answer_from(
            full.text,
            found.hits,
            method=method,
            where=where,
            on_sentence=on_sentence,
            found=found,
            explain=own.explain,
            look_up=lambda name: self.alone(lambda: kb.looked_up(name, method=method, where=where)),
        )
        return answer_in_turn(answer, question, full)

    def within_limit(self) -> KnowledgeBase:
        """Return the knowledge base for one answer: with what that may ask of the language model."""
        own = self._answer_budget
        return self.kb if own is None else self.kb.asking(self.kb.within(replace(own, advice=_LIMIT_OF_SERVER)))

    def _embed(self, question: str) -> None:
        """Have the vector of a question kept, before its turn comes: what many ask at once is embedded together."""
        embedder = self.alone(lambda: self.kb.embedder)
        with suppress(ServiceError):  # a method that needs the vector says so; there are some that do without
            embedder.embed([question], "query")

    def _full_question(self, question: str, history: History, kb: KnowledgeBase) -> FullQuestion:
        """Return a message as a full question; what embeds words for that does it alone."""
        if not history:
            return FullQuestion(question)
        self.alone(lambda: kb.model)

        def alike(text: str, others: Sequence[str]) -> Sequence[float]:
            return self.alone(lambda: likeness(kb.embedder)(text, others))

        return kb.full_question(question, history, alike=alike)

    def audit(self, target: str, options: AuditOptions) -> Audit:
        """Audit a graph, or with "" all ontology graphs; the last few audits are kept until the store changes.

        Raises:
            InputError: there is no such graph, or no ontology at all.
        """
        from kgrag.knowledge_base.audit_runs import audit_graphs

        with self._audit_lock:
            key = (self.kb.store.revision, target, options)
            if key not in self._audits:
                self._audits[key] = audit_graphs(self.kb.store, [target] if target else [], options)
            self._audits.move_to_end(key)
            while len(self._audits) > _MAX_CACHED_AUDITS:
                self._audits.popitem(last=False)
            return self._audits[key]

    def forget_reports(self) -> None:
        """Drop the audits and figures that are kept: they may have words of what was erased."""
        with self._audit_lock:
            self._audits.clear()
        self._figures.clear()

    def close(self) -> None:
        """Begin no more work; what waits is dropped, and what was begun is not waited for."""
        for threads in (*(lane.threads for lane in self._lanes), self._index_threads):
            threads.shutdown(wait=False, cancel_futures=True)
