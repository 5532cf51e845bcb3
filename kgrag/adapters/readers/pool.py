"""Starts, lends and kills reader processes."""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from kgrag.adapters.readers import program
from kgrag.adapters.readers.link import Frame, Link
from kgrag.adapters.readers.snapshots import Snapshot, Snapshots
from kgrag.errors import ServiceUnavailable

__all__ = ["Frame", "Limits", "Overloaded", "ReaderPool", "Request", "Run", "TookTooLong"]

_STACK = 256 << 20
_LENGTHS = struct.Struct(">IIQ")


class Overloaded(ServiceUnavailable):
    """Every reader was busy for as long as a request may wait for one."""


class TookTooLong(ServiceUnavailable):
    """A request worked longer than it may; its reader was killed."""


@dataclass(frozen=True)
class Limits:
    """What a request may use; a reader that goes beyond is killed.

    Attributes:
        readers: how many processes work at once at most.
        seconds: how long a request may work; a request may ask for less.
        waiting: seconds that a request may wait for a free reader.
        memory: bytes of private memory of a reader process.
        queue: how many requests may wait for a free reader at once.
        result: bytes of a result.
        rows: rows of a result; 0: any number.
        body: bytes that a client may send.
    """

    readers: int = 4
    seconds: float = 30.0
    waiting: float = 10.0
    memory: int = 4 << 30
    queue: int = 256
    result: int = 4 << 30
    rows: int = 0
    body: int = 256 << 20


@dataclass(frozen=True)
class Request:
    """A task of ``program``, its header (or that as JSON), its body, and how many seconds it may work."""

    task: str
    header: dict[str, Any] | bytes
    body: bytes = b""
    seconds: float = 30.0
    of_store: bool = True
    """Whether it reads the store: it then comes with the folder of a snapshot."""


@dataclass(eq=False)
class _Reader:
    link: Link
    snapshot: Snapshot | None = field(default=None)
    used: bool = False
    """Whether it worked for a request before."""


class ReaderPool:
    """Lends readers; each holds the snapshot that it read last until it is lent again."""

    def __init__(self, snapshots: Snapshots, limits: Limits) -> None:
        self.limits = limits
        self._snapshots = snapshots
        self._places = limits.readers
        self._queue: deque[asyncio.Future[bool]] = deque()
        self._idle: list[_Reader] = []
        self._busy: set[_Reader] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self.waiting = 0
        self.killed = 0
        """Readers that were stopped in mid work, or found dead."""

    @property
    def busy(self) -> int:
        """How many readers are at work now."""
        return len(self._busy)

    @property
    def processes(self) -> list[int]:
        """The ids of the processes at work now."""
        return sorted(reader.link.pid for reader in self._busy)

    async def run(self, request: Request) -> Run:
        """Give a request to a reader; whoever calls closes the run.

        Raises:
            Overloaded: no reader was free in time.
            ServiceUnavailable: a reader cannot be started.
            StorageFailed: no snapshot can be written.
        """
        if self._places:
            self._places -= 1
        else:
            await self._place()
        reader = None
        try:
            reader = self._lent()
            await self._hand(reader, request)
            return Run(self, reader, request)
        except BaseException:
            if reader is not None:
                self._kill(reader)
            self._vacate()
            raise

    async def _hand(self, reader: _Reader, request: Request) -> None:
        folder = str((await self._snapshot_for(reader)).folder) if request.of_store else ""
        told = request.header if isinstance(request.header, bytes) else json.dumps(request.header).encode()
        own = _own(request.task, self.limits, folder)
        lengths = _LENGTHS.pack(len(told), len(own), len(request.body))
        reader.link.send(b"".join((lengths, told, own, request.body)))

    async def again(self, reader: _Reader, request: Request) -> _Reader:
        """Give a request to a new reader, since the one that was to have it was dead before it began.

        Raises:
            ServiceUnavailable: a reader cannot be started.
            StorageFailed: no snapshot can be written.
        """
        self._kill(reader)
        fresh = self._started()
        self._busy.add(fresh)
        try:
            await self._hand(fresh, request)
        except BaseException:
            self._kill(fresh)
            raise
        return fresh

    @asynccontextmanager
    async def trial(self) -> AsyncIterator[Path]:
        """Lend a copy of the store that a request may write to."""
        async with self._snapshots.copy() as folder:
            yield folder

    async def _place(self) -> None:
        """Wait for a place; whoever leaves one gives it to the first in the queue."""
        if self.waiting >= self.limits.queue:
            raise Overloaded(f"{self.waiting} requests wait for a reader already. Try again later.")
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(self.limits.waiting, _give_up, turn)
        self._queue.append(turn)
        self.waiting += 1
        try:
            given = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self._vacate()
            raise
        finally:
            timer.cancel()
            self.waiting -= 1
        if not given:
            raise Overloaded(
                f"all {self.limits.readers} readers were busy for {self.limits.waiting:g} seconds. Try again later."
            )

    def _vacate(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(True)
                return
        self._places += 1

    def _lent(self) -> _Reader:
        reader = None
        while self._idle and reader is None:
            candidate = self._idle.pop()
            if candidate.link.ended:
                self._kill(candidate)
            else:
                reader = candidate
        if reader is None:
            reader = self._started()
        self._busy.add(reader)
        return reader

    def _started(self) -> _Reader:
        limits = json.dumps({"memory": self.limits.memory, "stack": _STACK})
        return _Reader(Link([sys.executable, "-P", str(Path(program.__file__)), limits]))

    async def _snapshot_for(self, reader: _Reader) -> Snapshot:
        """Give the present snapshot to a reader, and take back the one before."""
        if reader.snapshot is not None and self._snapshots.is_present(reader.snapshot):
            return reader.snapshot
        fresh = await self._snapshots.acquire()
        self._let_go(reader)
        reader.snapshot = fresh
        return fresh

    def _let_go(self, reader: _Reader) -> None:
        if reader.snapshot is not None:
            self._snapshots.release(reader.snapshot)
            reader.snapshot = None

    def _kill(self, reader: _Reader) -> None:
        self.killed += 1
        self._busy.discard(reader)
        ending = asyncio.ensure_future(reader.link.close())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        self._let_go(reader)

    def give_back(self, reader: _Reader, *, usable: bool) -> None:
        """End a loan; a reader that is in the middle of something is killed."""
        if usable:
            reader.used = True
            self._busy.discard(reader)
            self._idle.append(reader)
        else:
            self._kill(reader)
        self._vacate()

    async def close(self) -> None:
        """Kill all readers and delete the snapshots."""
        for reader in [*self._idle, *self._busy]:
            self._kill(reader)
        self._idle.clear()
        await asyncio.gather(*self._ending)
        self._snapshots.close()


def _give_up(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)


@lru_cache(maxsize=64)
def _own(task: str, limits: Limits, folder: str) -> bytes:
    """Give what the pool itself tells a reader, as JSON."""
    return json.dumps({"task": task, "room": limits.result, "rows": limits.rows, "folder": folder}).encode()


class Run:
    """One request under way; only the time that the reader needs counts, not that of the client."""

    def __init__(self, pool: ReaderPool, reader: _Reader, request: Request) -> None:
        self._pool = pool
        self._reader = reader
        self._request = request
        self.seconds = self._left = min(request.seconds, pool.limits.seconds)
        self._retry = reader.used
        self._done = False
        self._closed = False
        self._stopped: Exception | None = None
        self.rows: int | None = None
        """Rows of the result, once it is done and where they are counted."""

    @property
    def wanted(self) -> bool:
        """Whether other requests wait for a reader."""
        return self._pool.waiting > 0

    async def frame(self) -> Frame:
        """Give the next frame; the last one is ``Z``.

        A reader that somebody killed while it had nothing to do is found out here, and another takes the request.

        Raises:
            TookTooLong: the time is used up.
            ServiceUnavailable: the reader ended.
        """
        while True:
            if self._stopped is not None:
                raise self._stopped
            try:
                letter, payload = await self._read()
                break
            except EOFError:
                if not (self._retry and self._reader.link.took_nothing):
                    raise ServiceUnavailable(
                        "the process that read for this request ended: it needed too much memory, or was stopped. "
                        "Narrow the request, or try again."
                    ) from None
                self._retry = False
                self._reader = await self._pool.again(self._reader, self._request)
        self._done = letter == b"Z"
        if self._done and payload:
            self.rows = int.from_bytes(payload, "big")
        return letter, payload

    async def _read(self) -> Frame:
        begun = time.monotonic()
        try:
            return await self._reader.link.frame(self._left)
        except TimeoutError:
            raise TookTooLong(
                f"the request was stopped after {self.seconds:g} seconds. "
                "Join patterns that share no variable, or narrow it."
            ) from None
        finally:
            self._left -= time.monotonic() - begun

    def stop(self, error: Exception) -> None:
        """Raise an error in whoever waits for a frame, or will."""
        self._stopped = error
        self._reader.link.interrupt(error)

    def close(self) -> None:
        """Hand the reader back, or kill it in mid work; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._pool.give_back(self._reader, usable=self._done)
