"""Runs the searches of a query (``kgv:near``, ``kgv:matches``) within the time of the query, while its client is there.

They run in this process, which has the embedder and the indexes, and not in a reader. So what one search can cost is
bounded by its form (``kgrag.querying.searches``), and between two of them it is looked whether anybody still waits, and
others may search. An index of a user that takes long to be brought up to date is not waited for: the client is asked to
come again, and it goes on.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest

import kgrag
from kgrag.errors import InvalidSPARQL, ServiceUnavailable
from kgrag.late_patterns import late_re
from kgrag.model import Term
from kgrag.querying.searches import Resolved, Scored, Search, Select
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_request import ReaderRequest, TookTooLong
from kgrag.server.server_state import address, state_of
from kgrag.server.streaming import collect_result, disconnected
from kgrag.server.worker_threads import WorkerThreads
from kgrag.sparql.gate import check_query

__all__ = ["run_searches"]

_TABLE = "text/tab-separated-values"
_COMPARED = late_re(r"similarity>?\s*\(")
_MAX_SECONDS_FOR_INDEX = 5.0
_SECONDS_BETWEEN_LOOKS = 0.05


class _QueryClock:
    """The time that the searches of a query have, and whether its client is still there.

    Attributes:
        client_left: set when nobody waits for the query any more.
    """

    def __init__(self, seconds: float) -> None:
        self.client_left = False
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        return max(self._end - time.monotonic(), 0.0)

    def too_long(self) -> TookTooLong:
        return TookTooLong(
            f"the searches of the query were stopped after {self._seconds:g} seconds. Search for less, or try again."
        )

    def check(self) -> None:
        """Raise if the searches are to end: Problem 499, TookTooLong."""
        if self.client_left:
            raise Problem(499, "the client left.")
        if not self.seconds_left:
            raise self.too_long()


async def run_searches(
    request: HttpRequest, workers: WorkerThreads, text: str, *, seconds: float
) -> tuple[str, dict[str, object] | None]:
    """Run the searches of a query.

    Returns:
        The query without searches, and what a reader needs to compute ``kgv:similarity`` (None: it is not called).

    Raises:
        Problem: 401, 403: a search costs money here. 499: the client left.
        InvalidSPARQL: too many searches, one of another form, or of an unknown space; with line and column.
        TookTooLong: they take longer than ``seconds``.
        ServiceUnavailable: too many searches are being worked on, or an index of a user is being made.
    """
    rules = state_of(request).rules
    if rules.paid_access.searches_cost:
        rules.paid_access.check(request, rules.keys)
    clock = _QueryClock(seconds)
    select = _selection(request, clock)

    def resolve() -> tuple[str, dict[str, object] | None]:
        search = workers.alone(lambda: workers.kb.search)
        resolved = _resolved(workers, search, text, clock, select)
        return resolved.text, _similarity_data(workers, resolved) if resolved.compares else None

    searching = asyncio.create_task(workers.search(resolve))
    leaving = asyncio.create_task(_client_left(request))
    try:
        await asyncio.wait({searching, leaving}, timeout=clock.seconds_left, return_when=asyncio.FIRST_COMPLETED)
        if searching.done():
            return searching.result()
        clock.client_left = leaving.done()
        clock.check()
        raise clock.too_long()
    finally:
        for task in (searching, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _client_left(request: HttpRequest) -> None:
    try:
        await disconnected(request.receive)
    except RuntimeError:  # a request from within this process has no connection
        await asyncio.Event().wait()


def _selection(request: HttpRequest, clock: _QueryClock) -> Select:
    """Return what runs a SELECT that was made of the query, in a reader, and returns the terms of its one variable.

    A default graph that the query does not name itself is the union of all graphs, which has at least what the query's
    own has.
    """
    state, loop, base = state_of(request), asyncio.get_running_loop(), address(request, "/sparql")

    def select(query: str) -> list[Term]:
        clock.check()
        union = not check_query(query).chooses_dataset
        form = {"base": base, "results": _TABLE, "rdf": "", "union": union, "dataset": None}
        header = {**form, "prefixes": dict(state.dataset.prefixes)}
        asked = ReaderRequest("query", header, query.encode(), clock.seconds_left)
        rows = asyncio.run_coroutine_threadsafe(collect_result(state.pool, asked), loop)
        solutions = ox.parse_query_results(rows.result(), ox.QueryResultsFormat.TSV)
        if not isinstance(solutions, ox.QuerySolutions):
            raise TypeError("what a search may find is asked by a SELECT")
        return [row[0] for row in solutions if row[0] is not None]

    return select


def _resolved(workers: WorkerThreads, search: Search, text: str, clock: _QueryClock, select: Select) -> Resolved:
    """Run one search after the other, each alone on the knowledge base."""
    clock.check()

    def alone(work: Callable[[], Scored]) -> Scored:
        def checked() -> Scored:
            clock.check()  # others may have searched for long before it was this one's turn
            return work()

        return workers.alone(checked)

    def aside(index: str, work: Callable[[], Scored]) -> Scored:
        searching = workers.begin_search_of_index(work)
        wait = _MAX_SECONDS_FOR_INDEX
        while True:
            clock.check()
            with suppress(TimeoutError):
                return searching.result(timeout=min(_SECONDS_BETWEEN_LOOKS, clock.seconds_left))
            wait -= _SECONDS_BETWEEN_LOOKS
            if wait < 0:
                raise ServiceUnavailable(f"{search.indexes.progress(index)}. Ask again in a moment.")

    return search.resolve(text, step=alone, aside=aside, select=select)


def _similarity_data(workers: WorkerThreads, resolved: Resolved) -> dict[str, object] | None:
    """Return where the vectors are, and those of the texts; loads the embedder, for its name and dimension.

    None where they are in a database and the query does not call the function after all.

    Raises:
        InvalidSPARQL: vectors are in a database, which readers do not reach, and whose address they are not to know.
    """
    kb = workers.kb
    if kb.settings.index.get_secret_value():
        if not _COMPARED.search(resolved.text):
            return None
        raise InvalidSPARQL("kgv:similarity compares vectors in files, and those here are in PostgreSQL. Use kgv:near.")
    texts = {text: base64.b64encode(vector.tobytes()).decode() for text, vector in resolved.similar.items()}
    return {
        "root": str(Path(kgrag.__file__).parents[1]),
        "folder": str(kb.vectors),
        "identity": kb.embedder.identity,
        "dimension": kb.embedder.dimension,
        "revision": kb.store.revision,
        "texts": texts,
    }
