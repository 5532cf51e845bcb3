"""Starts, feeds and kills reader processes.

A reader is sent its next requests before it is done with the first, so that it need not sleep in between; how many
depends on how quick it was so far. What it has not begun is taken back from a reader that is slow for once, and goes to
another.

While all readers work on something long, one more is for short requests: what takes it longer than a moment goes back
to the queue, and waits for an ordinary reader. Of those that wait, the client goes first that has fewest at work. A
reader that works on something long gives way at the processor to this process, and to those with short requests.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from kgrag.errors import ServiceUnavailable
from kgrag.server.readers.frame_spool import SpoolRoom
from kgrag.server.readers.reader_request import Overloaded, Reader, ReaderRequest, ReaderRun, ServerLimits
from kgrag.server.readers.snapshot_pool import SnapshotPool

__all__ = ["ReaderPool"]

_CHECK_SECONDS = 0.01
"""Time between two checks of what takes long; a request that works longer loses those that were sent behind it."""
_MAX_FAILED_TRIES = 2
"""A request that was sent to this many readers which died before they began with it may be what kills them."""
_LONG_SECONDS = 0.25
"""A request that works longer is a long one; the reader for short ones gives it back to the queue."""
_MAX_RETRY_SECONDS = 60
_IDLE_SECONDS = 60.0
"""A reader without work for longer ends, unless it is the last."""


class ReaderPool:
    """Distributes requests among readers; each keeps the snapshot that it read last until it is to read another.

    Args:
        snapshots: of the store that is read.
        limits: what a request may use.

    Attributes:
        killed: readers that were stopped in mid work, or found dead.
        spool_room: the disk for results that slow clients have not taken yet.
    """

    def __init__(self, snapshots: SnapshotPool, limits: ServerLimits) -> None:
        self.limits = limits
        self.killed = 0
        self.spool_room = SpoolRoom(snapshots.folder, limits.spool)
        self._extra_readers = 1 if limits.readers > 1 else 0
        self._seconds_per_request = 0.0
        self._loop = asyncio.get_running_loop()
        self._snapshots = snapshots
        self._queue: deque[ReaderRun] = deque()
        self._idle: list[Reader] = []
        self._busy: dict[Reader, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._at_rest = False

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

    def under_way(self) -> list[ReaderRun]:
        """Return the queries at work and those that wait, the oldest first."""
        every = [run for reader in self._busy for run in reader.runs] + list(self._queue)
        return sorted(
            (run for run in every if run.request.task == "query" and not run.closed), key=lambda run: run.begun
        )

    def cancel(self, name: str) -> bool:
        """End a query by its name, and return whether there is one; a reader in the middle of it is killed."""
        for run in self.under_way():
            if run.name == name:
                run.stop(ServiceUnavailable("the query was cancelled by somebody who runs this server."))
                self.leave(run)
                return True
        return False

    def run(self, request: ReaderRequest) -> ReaderRun:
        """Send a request to a reader, now or as soon as one is free; the caller closes the run.

        Raises:
            Overloaded: too many requests wait already.
            ServiceUnavailable: a reader cannot be started.
        """
        run = ReaderRun(self, request, seconds=min(request.seconds, self.limits.seconds))
        if any(not other.was_long for other in self._queue) or not self._assign(run):
            if len(self._queue) >= self.limits.queue:
                raise self._queue_full()
            self._queue.append(run)
        self._schedule_check(_CHECK_SECONDS)
        return run

    def _queue_full(self) -> Overloaded:
        message = f"{self.limits.queue} requests wait for a reader already. Try again later."
        return Overloaded(message, retry_after=self._retry_after())

    def _retry_after(self) -> int:
        """Return in how many seconds the requests that wait now are likely to be done."""
        seconds = (len(self._queue) + 1) * self._seconds_per_request / self.limits.readers
        return min(max(math.ceil(seconds), 1), _MAX_RETRY_SECONDS)

    def trial_copy(self) -> AbstractAsyncContextManager[Path]:
        """Return a context with a copy of the store that a request may write to; it is deleted afterwards."""
        return self._snapshots.trial_copy()

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Let readers end what they are at, and then themselves; until the context ends, requests wait in the queue."""
        self._at_rest = True
        try:
            begun = time.monotonic()
            while self._busy and time.monotonic() - begun < self.limits.seconds:
                await asyncio.sleep(_CHECK_SECONDS)
            for reader in list(self._busy):
                self._replace_reader(reader)
            for reader in list(self._idle):
                self._end(reader)
            yield
        finally:
            self._at_rest = False
            self._assign_waiting()

    def copies_withdrawn(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which there is no copy of the store, and none is made; readers have to be at rest."""
        return self._snapshots.withdrawn()

    # --- assigning requests to readers --------------------------------------------------------------------------

    def _assign(self, run: ReaderRun) -> bool:
        """Send a request to the reader that suits best, and return whether there is one."""
        if self._at_rest:
            return False
        beyond = len(self._busy) - self.limits.readers  # 0: only the reader for short requests is left
        if beyond >= (0 if run.was_long else self._extra_readers):
            reader = None if run.was_long else self._reader_with_room(run.request)
            if reader is None:
                return False
            self._send_to(reader, run)
            return True
        reader = self._idle.pop() if self._idle else self._reader_with_room(run.request)
        if reader is None:
            now = time.monotonic()
            # a new process is worth its start when a request has waited, or all of them are at something long
            late = now - run.waiting_since > _CHECK_SECONDS or all(
                now - busy.since > _CHECK_SECONDS for busy in self._busy
            )
            if beyond >= 0:
                late = all(now - busy.since > _LONG_SECONDS for busy in self._busy)
            if not late or not all(busy.ready for busy in self._busy):
                return False
            reader = Reader(self.limits, on_frame=self._accept_frame, on_end=self._replace_reader)
        self._send_to(reader, run)
        return True

    def _send_to(self, reader: Reader, run: ReaderRun) -> None:
        run.is_trial = reader.runs[0].is_trial if reader.runs else len(self._busy) >= self.limits.readers
        if not reader.runs:
            self._busy[reader] = None
            reader.takes_no_more = not run.request.is_small
            reader.since = time.monotonic()
        reader.runs.append(run)
        run.reader = reader
        if run.request.reads_store and not self._has_current_snapshot(reader):
            reader.takes_no_more = True  # until it has its snapshot
            self._begin(self._renew_snapshot_and_send(reader, run))
        else:
            reader.send(run)

    def _reader_with_room(self, request: ReaderRequest) -> Reader | None:
        """Return the reader with the fewest requests among those that can be sent one more."""
        if not request.is_small:
            return None
        now = time.monotonic()
        fit = [reader for reader in self._busy if reader.can_take_another(now) and self._has_current_snapshot(reader)]
        return min(fit, key=lambda reader: len(reader.runs), default=None)

    def _has_current_snapshot(self, reader: Reader) -> bool:
        return reader.snapshot is not None and self._snapshots.is_current(reader.snapshot)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)  # the loop itself keeps weak references only
        task.add_done_callback(self._tasks.discard)

    async def _renew_snapshot_and_send(self, reader: Reader, run: ReaderRun) -> None:
        """Replace the snapshot of a reader by the current one, then send it the request."""
        try:
            snapshot = await self._snapshots.acquire()
        except Exception as error:  # raised to the sender of the request, not in this task
            run.stop(error)
            return
        if run.reader is not reader:
            self._snapshots.release(snapshot)
            return
        self._release_snapshot(reader)
        reader.snapshot, reader.takes_no_more = snapshot, not run.request.is_small
        reader.since = time.monotonic()
        reader.send(run)

    def _release_snapshot(self, reader: Reader) -> None:
        if reader.snapshot is not None:
            self._snapshots.release(reader.snapshot)
            reader.snapshot = None

    def _assign_waiting(self) -> None:
        """Send as many of the waiting requests to readers as there is room for."""
        while self._queue:
            run = self._next_waiting()
            if run is None:
                return
            try:
                if not self._assign(run):
                    return
                self._queue.remove(run)
            except ServiceUnavailable as error:
                self._queue.remove(run)
                run.stop(error)

    def _next_waiting(self) -> ReaderRun | None:
        """Return the request that is next: of the client with fewest at work, the oldest."""
        ordinary = len(self._busy) < self.limits.readers
        ready = [run for run in self._queue if ordinary or not run.was_long]
        if len(ready) < 2:
            return ready[0] if ready else None
        at_work = Counter(run.request.client for reader in self._busy for run in reader.runs)
        return min(ready, key=lambda run: at_work[run.request.client])

    # --- what readers write, and their end ----------------------------------------------------------------------

    def _accept_frame(self, reader: Reader, letter: bytes, number: int, payload: bytes) -> None:
        if letter == b"R":
            reader.ready, reader.since = True, time.monotonic()
            self._assign_waiting()
            return
        if not reader.runs:  # it was killed
            return
        if number != reader.runs[0].number:  # nobody may get the answer to another question, whatever went wrong
            self._replace_reader(reader)
            return
        if not reader.runs[0].accept_frame(letter, payload):
            return
        now = time.monotonic()
        reader.runs.popleft()
        self._seconds_per_request += (now - reader.since - self._seconds_per_request) / 8
        seconds = int.from_bytes(payload[:4], "big") / 1e6 if letter == b"W" else now - reader.since
        # capped, so that one long request does not keep small ones from being sent ahead for long after it
        reader.seconds_per_request += (min(seconds, _CHECK_SECONDS) - reader.seconds_per_request) / 8
        reader.since = now
        if not reader.runs:
            self._make_idle(reader)
        elif reader.runs[0].closed:
            self.leave(reader.runs[0])
        if self._queue:
            self._assign_waiting()

    def _make_idle(self, reader: Reader) -> None:
        del self._busy[reader]
        self._idle.append(reader)

    def _replace_reader(self, reader: Reader) -> None:
        """Stop the request that a dead or broken reader worked on, and queue those again that it had not begun."""
        unbegun = reader.take_back_unbegun()
        for run in reader.runs:
            run.reader = None
            run.stop(_reader_ended())
        for run in unbegun:
            run.failed_tries += 1
            if run.failed_tries > _MAX_FAILED_TRIES:
                run.stop(_reader_ended())
        self._kill(reader)
        self._queue_again(run for run in unbegun if run.failed_tries <= _MAX_FAILED_TRIES)

    def _queue_again(self, runs: Iterable[ReaderRun]) -> None:
        """Put requests before all that wait; what is then too many is refused from the end."""
        now = time.monotonic()
        for run in reversed(list(runs)):
            run.waiting_since = now
            self._queue.appendleft(run)
        self._assign_waiting()
        while len(self._queue) > self.limits.queue:
            self._queue.pop().stop(self._queue_full())

    def leave(self, run: ReaderRun) -> None:
        """End a request; a reader in the middle of it is killed, and what was sent behind it goes to another."""
        reader = run.reader
        if reader is None:
            if self._queue and run in self._queue:
                self._queue.remove(run)
            return
        again = reader.take_back_unbegun()
        if run.reader is None:  # the reader had not begun with it
            again.remove(run)
            if not reader.runs:
                self._make_idle(reader)
        elif run is reader.runs[0]:
            again = [behind for behind in reader.runs if behind is not run and not behind.closed] + again
            self._kill(reader)
        # else its turn to end comes once the answer to the one before, which is written already, is read
        self._queue_again(again)

    def _kill(self, reader: Reader) -> None:
        self.killed += 1
        self._end(reader)

    def _end(self, reader: Reader) -> None:
        self._busy.pop(reader, None)
        if reader in self._idle:
            self._idle.remove(reader)
        for run in reader.runs:
            run.reader, run.sent_bytes = None, 0
        reader.runs.clear()
        self._begin(reader.link.close())
        self._release_snapshot(reader)

    # --- checking what takes long -------------------------------------------------------------------------------

    def _check(self) -> None:
        now = time.monotonic()
        for reader in list(self._busy):
            if len(reader.runs) > 1 and now - reader.since > _CHECK_SECONDS:
                self._take_runs_from_slow_reader(reader)
            used_up = [run.check_time(now) for run in reader.runs]
            if any(used_up):
                self.leave(reader.runs[0])  # also where its client is slow to learn of it
            else:
                self._check_long(reader, now)
        for run in list(self._queue):
            run.check_time(now)
            if now - run.waiting_since > self.limits.waiting:
                self._queue.remove(run)
                readers, seconds = self.limits.readers, self.limits.waiting
                message = f"all {readers} readers were busy for {seconds:g} seconds. Try again later."
                run.stop(Overloaded(message, retry_after=self._retry_after()))
        self._assign_waiting()
        for reader in self._idle[:-1]:
            if now - reader.since > _IDLE_SECONDS:
                self._end(reader)
        self._timer = None
        if self._busy or self._queue:
            self._schedule_check(_CHECK_SECONDS)
        elif len(self._idle) > 1:
            self._schedule_check(_IDLE_SECONDS)

    def _check_long(self, reader: Reader, now: float) -> None:
        """Let a reader with a long request give way; end a trial, by the request going on or back to the queue."""
        if reader.ready and now - reader.since > _LONG_SECONDS:
            reader.give_way()
        run = reader.runs[0] if reader.runs else None
        if run is None or not run.is_trial:
            return
        if len(self._busy) <= self.limits.readers:
            run.end_trial()
        elif reader.ready and run.sent_bytes and run.seconds_worked(now) > _LONG_SECONDS:
            again = reader.take_back_unbegun()
            begun = [other for other in reader.runs if not other.closed]
            self._kill(reader)
            for other in begun:
                other.begin_again()
            run.was_long = run in begun
            self._queue_again([*begun, *again])

    def _take_runs_from_slow_reader(self, reader: Reader) -> None:
        unbegun = reader.take_back_unbegun()
        if len(reader.runs) > 1:  # the rest of the first answer is written, and must not wait for a slow client
            reader.link.resume()
        if not reader.runs:  # the system did not let it run, though it had nothing long to do: others first
            del self._busy[reader]
            self._idle.insert(0, reader)
        self._queue_again(unbegun)

    def _schedule_check(self, seconds: float) -> None:
        """Check after so many seconds, unless an earlier check is scheduled."""
        if self._timer is not None:
            if self._timer.when() <= self._loop.time() + seconds:
                return
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self._check)

    # --- the end ------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Kill all readers and delete the snapshots."""
        await self.kill_readers()
        self._snapshots.close()

    async def kill_readers(self) -> None:
        """Kill all readers, and stop the requests that they work on."""
        for run in [*self._queue, *(run for reader in self._busy for run in reader.runs)]:
            run.stop(ServiceUnavailable("the server stops. Try again later."))
        self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        for reader in [*self._idle, *self._busy]:
            self._kill(reader)
        await asyncio.gather(*self._tasks)


def _reader_ended() -> ServiceUnavailable:
    return ServiceUnavailable(
        "the process that read for this request ended: it needed too much memory, or was stopped. "
        "Narrow the request, or try again."
    )
