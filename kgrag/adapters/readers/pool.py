"""Starts, lends and kills reader processes."""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgrag.adapters.readers import program
from kgrag.adapters.readers.snapshots import Snapshot, Snapshots
from kgrag.errors import ServiceUnavailable

__all__ = ["Frame", "Limits", "Overloaded", "ReaderPool", "Request", "Run", "TookTooLong"]

Frame = tuple[bytes, bytes]
_STACK = 256 << 20


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
    """A task of ``program``, its header, its body, and how many seconds it may work."""

    task: str
    header: dict[str, Any]
    body: bytes = b""
    seconds: float = 30.0
    of_store: bool = True
    """Whether it reads the store: the header then gains the folder of a snapshot."""


@dataclass(eq=False)
class _Reader:
    process: asyncio.subprocess.Process
    snapshot: Snapshot | None = field(default=None)
    used: bool = False
    """Whether it worked for a request before."""


class ReaderPool:
    """Lends readers; each holds the snapshot that it read last until it is lent again."""

    def __init__(self, snapshots: Snapshots, limits: Limits) -> None:
        self.limits = limits
        self._snapshots = snapshots
        self._places = asyncio.Semaphore(limits.readers)
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
        return sorted(reader.process.pid for reader in self._busy)

    async def run(self, request: Request) -> Run:
        """Give a request to a reader; whoever calls closes the run.

        Raises:
            Overloaded: no reader was free in time.
            ServiceUnavailable: a reader cannot be started.
            StorageFailed: no snapshot can be written.
        """
        await self._place()
        reader = None
        try:
            reader = await self._lent()
            await self._hand(reader, request)
            return Run(self, reader, request)
        except BaseException:
            if reader is not None:
                self._kill(reader)
            self._places.release()
            raise

    async def _hand(self, reader: _Reader, request: Request) -> None:
        header = {**request.header, "task": request.task, "room": self.limits.result, "rows": self.limits.rows}
        if request.of_store:
            header["folder"] = str((await self._snapshot_for(reader)).folder)
        await _send(reader.process, header, request.body)

    async def again(self, reader: _Reader, request: Request) -> _Reader:
        """Give a request to a new reader, since the one that was to have it was dead before it began.

        Raises:
            ServiceUnavailable: a reader cannot be started.
            StorageFailed: no snapshot can be written.
        """
        self._kill(reader)
        fresh = await self._started()
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
        if self._places.locked() and self.waiting >= self.limits.queue:
            raise Overloaded(f"{self.waiting} requests wait for a reader already. Try again later.")
        self.waiting += 1
        try:
            async with asyncio.timeout(self.limits.waiting):
                await self._places.acquire()
        except TimeoutError:
            raise Overloaded(
                f"all {self.limits.readers} readers were busy for {self.limits.waiting:g} seconds. Try again later."
            ) from None
        finally:
            self.waiting -= 1

    async def _lent(self) -> _Reader:
        reader = None
        while self._idle and reader is None:
            candidate = self._idle.pop()
            if candidate.process.returncode is None:
                reader = candidate
            else:
                self._kill(candidate)
        if reader is None:
            reader = await self._started()
        self._busy.add(reader)
        return reader

    async def _started(self) -> _Reader:
        limits = json.dumps({"memory": self.limits.memory, "stack": _STACK})
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                str(Path(program.__file__)),
                limits,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
        except OSError as error:
            raise ServiceUnavailable(f"no reader process can be started: {error.strerror}. Try again later.") from error
        return _Reader(process)

    async def _snapshot_for(self, reader: _Reader) -> Snapshot:
        """Give the present snapshot to a reader, and take back the one before."""
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
        with suppress(ProcessLookupError):
            reader.process.kill()
        ending = asyncio.ensure_future(_ended(reader.process))
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
        self._places.release()

    async def close(self) -> None:
        """Kill all readers and delete the snapshots."""
        for reader in [*self._idle, *self._busy]:
            self._kill(reader)
        self._idle.clear()
        await asyncio.gather(*self._ending)
        self._snapshots.close()


async def _send(process: asyncio.subprocess.Process, header: dict[str, Any], body: bytes) -> None:
    assert process.stdin is not None
    packed = json.dumps(header).encode()
    process.stdin.write(struct.pack(">IQ", len(packed), len(body)) + packed + body)
    with suppress(ConnectionError):  # a reader that just died is met again when its reply is read
        await process.stdin.drain()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a process that was killed, which comes only after its output was read."""
    assert process.stdout is not None
    with suppress(RuntimeError, ConnectionError):  # somebody else is reading, or nothing is left
        await process.stdout.read()
    await process.wait()


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
            try:
                letter, payload = await self._read()
            except (asyncio.IncompleteReadError, ConnectionError):
                if not self._retry:
                    raise ServiceUnavailable(
                        "the process that read for this request ended: it needed too much memory, or was stopped. "
                        "Narrow the request, or try again."
                    ) from None
                self._retry = False
                self._reader = await self._pool.again(self._reader, self._request)
                continue
            if letter != b"B":
                break
            self._retry = False
        self._done = letter == b"Z"
        if self._done and payload:
            self.rows = int.from_bytes(payload, "big")
        return letter, payload

    async def _read(self) -> Frame:
        output = self._reader.process.stdout
        assert output is not None
        begun = time.monotonic()
        try:
            async with asyncio.timeout(max(self._left, 0.0)):
                head = await output.readexactly(5)
                payload = await output.readexactly(int.from_bytes(head[1:], "big"))
        except TimeoutError:
            raise TookTooLong(
                f"the request was stopped after {self.seconds:g} seconds. "
                "Join patterns that share no variable, or narrow it."
            ) from None
        self._left -= time.monotonic() - begun
        return head[:1], payload

    def close(self) -> None:
        """Hand the reader back, or kill it in mid work; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._pool.give_back(self._reader, usable=self._done)
