"""Starts, feeds and kills reader processes.

A reader is sent its next requests before it is done with the first, so that it need not sleep in between; how many
depends on how quick it was so far. What it has not begun is taken back from a reader that is slow for once, and goes to
another.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kgrag.errors import ServiceUnavailable
from kgrag.server.readers import reader_program
from kgrag.server.readers.reader_link import Link
from kgrag.server.readers.reader_request import Overloaded, Request, Run
from kgrag.server.readers.snapshot_pool import Snapshot, Snapshots

__all__ = ["Limits", "Reader", "ReaderPool"]

_STACK = 256 << 20
_LENGTHS = struct.Struct(">IIQ")
_AHEAD = 16
"""Requests that a reader has at most, the one that it works on included."""
_QUICK = 0.003
"""Seconds that a request works before no other is sent after it."""
_BEHIND = 0.002
"""Seconds of work that a reader may have before it when it is sent another request."""
_LOOK = 0.01
"""Seconds between two looks at what takes long; also how long a request works before those behind it are taken back."""
_SMALL = 1 << 14
_TRIES = 2
_REST = 60.0
"""Seconds without work after which a reader ends, unless it is the last."""


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


class Reader:
    """A reader process, and what it was given.

    Attributes:
        link: the process.
        runs: what it works on, and what it was sent after that.
        since: when it began with the first of them, or had nothing to do any more.
        pace: seconds that a request took it, on average; as it says itself where it does, for we may be late to hear.
        ready: whether the process is started.
        alone: whether it is to be given nothing beside the first run.
        snapshot: what it read last; kept until it is to read another.
    """

    __slots__ = ("_own", "alone", "link", "pace", "ready", "runs", "since", "snapshot")

    def __init__(self, pool: ReaderPool) -> None:
        limits = json.dumps({"memory": pool.limits.memory, "stack": _STACK})
        command = [sys.executable, "-P", str(Path(reader_program.__file__)), limits]
        self.runs: deque[Run] = deque()
        self.since = self.pace = 0.0
        self.ready = self.alone = False
        self.snapshot: Snapshot | None = None
        self._own: dict[tuple[str, str], bytes] = {}
        self.link = Link(
            command,
            heard=lambda letter, payload: pool.heard(self, letter, payload),
            ended=lambda: pool.ended(self),
        )

    def hand(self, run: Run, limits: Limits) -> None:
        """Send a request."""
        request = run.request
        told = request.header if isinstance(request.header, bytes) else json.dumps(request.header).encode()
        own = self._told(request, limits)
        message = b"".join((_LENGTHS.pack(len(told), len(own), len(request.body)), told, own, request.body))
        run.sent = len(message)
        self.link.send(message)

    def _told(self, request: Request, limits: Limits) -> bytes:
        """Give what the pool itself tells a reader, as JSON."""
        folder = str(self.snapshot.folder) if request.of_store and self.snapshot is not None else ""
        known = self._own.get((request.task, folder))
        if known is None:
            own = {"task": request.task, "room": limits.result, "rows": limits.rows, "folder": folder}
            known = json.dumps(own).encode()
            self._own = {(request.task, folder): known}
        return known

    def has_room(self, now: float) -> bool:
        """Say whether a request that is sent now is likely to be done soon."""
        ahead = len(self.runs)
        quick = now - self.since < _QUICK and ahead * self.pace < _BEHIND
        return quick and self.ready and not self.alone and ahead < _AHEAD


class ReaderPool:
    """Gives requests to readers; each keeps the snapshot that it read last until it is to read another.

    Args:
        snapshots: of the store that is read.
        limits: what a request may use.
    """

    def __init__(self, snapshots: Snapshots, limits: Limits) -> None:
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self._snapshots = snapshots
        self._queue: deque[Run] = deque()
        self._idle: list[Reader] = []
        self._busy: dict[Reader, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self.killed = 0
        """Readers that were stopped in mid work, or found dead."""

    @property
    def waiting(self) -> int:
        """How many requests wait for a reader."""
        return len(self._queue)

    @property
    def busy(self) -> int:
        """How many readers are at work now."""
        return len(self._busy)

    @property
    def processes(self) -> list[int]:
        """The ids of the processes at work now."""
        return sorted(reader.link.pid for reader in self._busy)

    def run(self, request: Request) -> Run:
        """Give a request to a reader, now or as soon as one is free; whoever calls closes the run.

        Raises:
            Overloaded: too many requests wait already.
            ServiceUnavailable: a reader cannot be started.
        """
        run = Run(self, request, seconds=min(request.seconds, self.limits.seconds))
        if self._queue or not self._placed(run):
            if len(self._queue) >= self.limits.queue:
                raise self._full()
            self._queue.append(run)
        self._watch(_LOOK)
        return run

    def _full(self) -> Overloaded:
        return Overloaded(f"{self.limits.queue} requests wait for a reader already. Try again later.")

    # --- giving -------------------------------------------------------------------------------------------------

    def _placed(self, run: Run) -> bool:
        """Give a request to the reader that suits best, if there is one."""
        reader = self._idle.pop() if self._idle else self._with_room(run.request)
        if reader is None:
            if not self._may_grow(run):
                return False
            reader = Reader(self)
        self._give(reader, run)
        return True

    def _may_grow(self, run: Run) -> bool:
        """Say whether another process is worth its start: a request waits, or all there are work on something long."""
        now = time.monotonic()
        slow = now - run.since > _LOOK or all(now - reader.since > _LOOK for reader in self._busy)
        return slow and all(reader.ready for reader in self._busy) and len(self._busy) < self.limits.readers

    def _with_room(self, request: Request) -> Reader | None:
        """Give the reader with the fewest requests among those that can be sent one more."""
        if not _small(request):
            return None
        now = time.monotonic()
        fit = [reader for reader in self._busy if reader.has_room(now) and self._is_present(reader)]
        return min(fit, key=lambda reader: len(reader.runs), default=None)

    def _is_present(self, reader: Reader) -> bool:
        return reader.snapshot is not None and self._snapshots.is_present(reader.snapshot)

    def _give(self, reader: Reader, run: Run) -> None:
        if not reader.runs:
            self._busy[reader] = None
            reader.alone = not _small(run.request)
            reader.since = time.monotonic()
        reader.runs.append(run)
        run.reader = reader
        if run.request.of_store and not self._is_present(reader):
            reader.alone = True  # until it has its snapshot
            self._begin(self._renewed(reader, run))
        else:
            reader.hand(run, self.limits)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _renewed(self, reader: Reader, run: Run) -> None:
        """Give the present snapshot to a reader, and take back the one before; then send it its request."""
        try:
            fresh = await self._snapshots.acquire()
        except Exception as error:  # whoever sent the request is to hear of it
            run.stop(error)
            return
        if run.reader is not reader:
            self._snapshots.release(fresh)
            return
        self._let_go(reader)
        reader.snapshot, reader.alone = fresh, not _small(run.request)
        reader.since = time.monotonic()
        reader.hand(run, self.limits)

    def _let_go(self, reader: Reader) -> None:
        if reader.snapshot is not None:
            self._snapshots.release(reader.snapshot)
            reader.snapshot = None

    def _feed(self) -> None:
        """Give as many of the requests that wait to readers as there is room for."""
        while self._queue:
            try:
                if not self._placed(self._queue[0]):
                    return
                self._queue.popleft()
            except ServiceUnavailable as error:
                self._queue.popleft().stop(error)

    # --- hearing ------------------------------------------------------------------------------------------------

    def heard(self, reader: Reader, letter: bytes, payload: bytes) -> None:
        """Take a frame from a reader."""
        if letter == b"R":
            reader.ready, reader.since = True, time.monotonic()
            self._feed()
            return
        if not reader.runs or not reader.runs[0].give(letter, payload):
            return
        now = time.monotonic()
        reader.runs.popleft()
        took = int.from_bytes(payload[:4], "big") / 1e6 if letter == b"W" else now - reader.since
        reader.pace += (min(took, _LOOK) - reader.pace) / 8
        reader.since = now
        if not reader.runs:
            self._rest(reader)
        if self._queue:
            self._feed()

    def _rest(self, reader: Reader) -> None:
        del self._busy[reader]
        self._idle.append(reader)

    def ended(self, reader: Reader) -> None:
        """Take note of the end of a reader; what it had not begun goes to another."""
        back = self._taken_back(reader)
        for run in reader.runs:
            run.reader = None
            run.stop(_ended())
        for run in back:
            run.tries += 1
            if run.tries > _TRIES:
                run.stop(_ended())
        self._kill(reader)
        self._again(run for run in back if run.tries <= _TRIES)

    def _taken_back(self, reader: Reader) -> list[Run]:
        """Take back what a reader has not begun, the oldest first."""
        size, back = reader.link.take_back(), []
        while reader.runs and size >= reader.runs[-1].sent:
            run = reader.runs.pop()
            size -= run.sent
            run.reader, run.sent = None, 0
            back.append(run)
        return back[::-1]

    def _again(self, runs: Iterable[Run]) -> None:
        """Let requests wait for another reader, before all others."""
        now = time.monotonic()
        for run in reversed(list(runs)):
            run.since = now
            self._queue.appendleft(run)
        self._feed()
        while len(self._queue) > self.limits.queue:
            self._queue.pop().stop(self._full())

    def leave(self, run: Run) -> None:
        """End a request; a reader in the middle of it is killed, and what it was sent after that goes to another."""
        reader = run.reader
        if reader is None:
            if self._queue and run in self._queue:
                self._queue.remove(run)
            return
        back = self._taken_back(reader)
        if run.reader is None:  # it was not begun
            back.remove(run)
            if not reader.runs:
                self._rest(reader)
        else:
            others = [each for each in reader.runs if each is not run]
            self._kill(reader)
            back = others + back
        self._again(back)

    def _kill(self, reader: Reader) -> None:
        self.killed += 1
        self._end(reader)

    def _end(self, reader: Reader) -> None:
        self._busy.pop(reader, None)
        if reader in self._idle:
            self._idle.remove(reader)
        for run in reader.runs:
            run.reader, run.sent = None, 0
        reader.runs.clear()
        self._begin(reader.link.close())
        self._let_go(reader)

    # --- looking ------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """See what takes long, and which readers are not needed."""
        now = time.monotonic()
        for reader in list(self._busy):
            if len(reader.runs) > 1 and now - reader.since > _LOOK:
                self._relieve(reader)
            for run in list(reader.runs):
                run.look(now)
        for run in list(self._queue):
            run.look(now)
            if now - run.since > self.limits.waiting:
                self._queue.remove(run)
                many, seconds = self.limits.readers, self.limits.waiting
                run.stop(Overloaded(f"all {many} readers were busy for {seconds:g} seconds. Try again later."))
        self._feed()
        for reader in self._idle[:-1]:
            if now - reader.since > _REST:
                self._end(reader)
        self._timer = None
        if self._busy or self._queue:
            self._watch(_LOOK)
        elif len(self._idle) > 1:
            self._watch(_REST)

    def _watch(self, seconds: float) -> None:
        """Look again after so long, or earlier where that is meant to be already."""
        if self._timer is not None:
            if self._timer.when() <= self.loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = self.loop.call_later(seconds, self._look)

    def _relieve(self, reader: Reader) -> None:
        """Take back what waits behind a request that takes long."""
        back = self._taken_back(reader)
        if not reader.runs:  # it is not slow, but was not let run by the system: others first
            del self._busy[reader]
            self._idle.insert(0, reader)
        self._again(back)

    # --- the rest -----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def trial(self) -> AsyncIterator[Path]:
        """Lend a copy of the store that a request may write to."""
        async with self._snapshots.copy() as folder:
            yield folder

    async def close(self) -> None:
        """Kill all readers and delete the snapshots."""
        await self.end()
        self._snapshots.close()

    async def end(self) -> None:
        """Kill all readers."""
        for run in [*self._queue, *(run for reader in self._busy for run in reader.runs)]:
            run.stop(ServiceUnavailable("the server stops. Try again later."))
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        for reader in [*self._idle, *self._busy]:
            self._kill(reader)
        await asyncio.gather(*self._tasks)


def _small(request: Request) -> bool:
    """Say whether a request may stand before or behind others: what is sent of it must be one message."""
    packed = isinstance(request.header, bytes) and len(request.header) + len(request.body) < _SMALL
    return packed and request.task == "query" and Link.queues


def _ended() -> ServiceUnavailable:
    return ServiceUnavailable(
        "the process that read for this request ended: it needed too much memory, or was stopped. "
        "Narrow the request, or try again."
    )
