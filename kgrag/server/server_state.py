"""The state that the endpoints share: the dataset, the readers, the keys, and one write at a time.

A write is done in a thread, which also logs it and changes the ETags of the graphs concerned: a write that is done has
its line in the log of writes, whatever became of its request meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest
from starlette.types import Scope

from kgrag.server.access_keys import Key, Keys, Rights, authorization_of
from kgrag.server.backing_servers import BackingServers
from kgrag.server.graph_etags import GraphETags
from kgrag.server.jobs import JobQueue
from kgrag.server.paid_access import PaidAccess, is_from_here
from kgrag.server.problems import Problem, problem_of
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.request_log import RequestLog, RequestRecord, record_of
from kgrag.server.served_data import ServedDataset
from kgrag.server.server_metrics import ServerMetrics
from kgrag.server.worker_threads import WorkerThreads
from kgrag.server.write_gate import WriteGate
from kgrag.server.write_log import WriteEntry, WriteLog

__all__ = [
    "AccessRules",
    "ServerLogs",
    "ServerState",
    "address",
    "log_refused_write",
    "state_of",
    "workers_of",
    "writer_of",
]

_MAX_CACHED_HOST_BYTES = 256
"""Longer Host headers are not cached: their sender decides how much memory they take."""


@dataclass(frozen=True)
class ServerLogs:
    """The log of requests, that of writes if there is one, and what counts both."""

    requests: RequestLog = field(default_factory=RequestLog)
    writes: WriteLog | None = None
    metrics: ServerMetrics = field(default_factory=ServerMetrics)


@dataclass(frozen=True)
class AccessRules:
    """Who may do what: keys, who may ask where that costs money, and the profile that ontologies are judged by.

    With ``keep_chats`` whoever may ask adds the conversations of the chat page, and feedback on them, to the store.
    """

    keys: Keys = field(default_factory=Keys)
    paid_access: PaidAccess = field(default_factory=PaidAccess)
    gate: str | None = None
    keep_chats: bool = False


@dataclass(eq=False)
class ServerState:
    """The parts of one running server.

    Attributes:
        dataset: what is served.
        pool: the readers.
        rules: who may do what.
        gate: refuses writes that make ontologies worse.
        metrics: counts requests and writes.
        write_log: the log of writes.
        workers: threads that work on the knowledge base; None where a plain dataset is served.
        jobs: what takes longer than a request may.
        write_lock: whoever writes holds it.
        etags: of the graphs.
        backing: the servers that the knowledge base is on; None where a plain dataset is served.
    """

    dataset: ServedDataset
    pool: ReaderPool
    rules: AccessRules
    gate: WriteGate | None
    metrics: ServerMetrics
    write_log: WriteLog | None
    workers: WorkerThreads | None
    jobs: JobQueue = field(default_factory=JobQueue)
    write_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    etags: GraphETags = field(init=False)
    backing: BackingServers | None = field(init=False)

    def __post_init__(self) -> None:
        """Start counting the changes of graphs."""
        self.etags = GraphETags(self.dataset.epoch, lambda: self.dataset.revision)
        self.backing = None if self.workers is None else BackingServers(self.workers.kb)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way: no job, no query, and no work that goes on when its client is gone."""
        at_work = self.workers is not None and self.workers.at_work
        return not (at_work or self.jobs.under_way or self.pool.busy or self.pool.waiting or self.write_lock.locked())

    async def close(self) -> None:
        """End the jobs, the gate and the readers."""
        await self.jobs.close()
        if self.gate is not None:
            await self.gate.close()
        await self.pool.close()

    @asynccontextmanager
    async def without_copies(self) -> AsyncIterator[None]:
        """Let readers rest, and delete every copy of the store, until the context ends; requests wait meanwhile."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.pool.at_rest())
            if self.gate is not None:
                await stack.enter_async_context(self.gate.at_rest())
            await stack.enter_async_context(self.pool.copies_withdrawn())
            yield

    def turn_to_write(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which nobody else writes; it ends when a reader can answer from what was written."""
        return self.pool.write(self.write_lock)

    async def write(self, record: RequestRecord, work: Callable[[], object], *, status: int = 204) -> None:
        """Do a write in a thread, in ``turn_to_write``; the caller has put operation and graphs into the record.

        Raises:
            KgragError: what the work raises.
            Problem: what the work raises.
            StorageFailed: the log of writes cannot be written; nothing was done.
        """
        if self.write_log is not None:
            self.write_log.check()
        record.written = True
        await asyncio.to_thread(self._write_and_log, record, work, status)

    def _write_and_log(self, record: RequestRecord, work: Callable[[], object], status: int) -> None:
        before, changed = self.dataset.revision, self._changed_graphs(record.graphs)
        try:
            work()
        except Exception as error:
            status, changed = problem_of(error).status, None
            raise
        finally:
            after = self.dataset.revision
            self.etags.note_write(changed, before, after)
            self.log_write(record, before, after, status)

    def _changed_graphs(self, graphs: Collection[str] | None) -> set[str] | None:
        """Return every graph that changes with these; None: any."""
        if graphs is None:
            return None
        names = self.dataset.names
        stored = {self.dataset.stored_as(graph) for graph in graphs}
        return stored | {names.lexical_graph(graph).value for graph in stored} | {names.catalogue.value, ""}

    def log_write(self, record: RequestRecord, before: int, after: int, status: int) -> None:
        """Count a write that was done or refused, and append its line to the log of writes."""
        self.metrics.count_write(record.operation, status)
        if self.write_log is not None:
            key, operation, graphs = record.key, record.operation, record.graphs
            entry = WriteEntry(
                record.id, key, operation, graphs, before, after, record.received, status, record.documents
            )
            self.write_log.add(entry)


def log_refused_write(scope: Scope, record: RequestRecord) -> None:
    """Log a write that was refused to a key before it could begin."""
    state: ServerState = scope["app"].state.server
    revision = state.dataset.revision
    state.log_write(record, revision, revision, record.status)


def state_of(request: HttpRequest) -> ServerState:
    """Return the state of the server that a request came to."""
    state: ServerState = request.scope["app"].state.server
    return state


def writer_of(request: HttpRequest, *, needed: Rights = Rights.WRITE, every_graph: bool = True) -> Key:
    """Return the key of a request that writes, whose name its record gets.

    Args:
        request: brings the key, or comes from this machine where that is enough.
        needed: what the key has to allow.
        every_graph: whether it has to allow writes to every graph; if not, the caller checks the graphs.

    Raises:
        Problem: 401, 403, as of ``Keys.writer``.
    """
    keys = state_of(request).rules.keys
    find = keys.check if every_graph else keys.writer
    key = find(authorization_of(request), needed=needed, from_here=is_from_here(request))
    record_of(request).key = key.name
    return key


def workers_of(request: HttpRequest) -> WorkerThreads:
    """Return the threads that work on questions; only for paths that are not served without a knowledge base."""
    workers = state_of(request).workers
    assert workers is not None
    return workers


def address(request: HttpRequest, path: str) -> str:
    """Return the address of a path of this server, as the client reached it."""
    scope = request.scope
    host = b""
    for name, value in scope["headers"]:
        if name == b"host":
            host = value
            break
    if not 0 < len(host) < _MAX_CACHED_HOST_BYTES:
        return f"{str(request.base_url).rstrip('/')}{path}"
    return _base_address(scope["scheme"], scope.get("app_root_path", scope.get("root_path", "")), host) + path


@lru_cache(maxsize=64)
def _base_address(scheme: str, root: str, host: bytes) -> str:
    """Return ``Request.base_url``, which takes long to compute; most requests name one of few hosts.

    Raises:
        Problem: 400: the Host header makes no address.
    """
    scope = {"type": "http", "scheme": scheme, "root_path": root, "path": "/", "headers": [(b"host", host)]}
    base = str(HttpRequest(scope).base_url).rstrip("/")
    try:
        ox.NamedNode(base)
    except ValueError:
        raise Problem(400, "the Host header is no host name with or without a port.") from None
    return base
