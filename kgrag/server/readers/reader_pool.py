"""Starts, feeds and kills reader processes.

A reader is sent its next requests before it is done with the first, so that it need not sleep in between; how many
depends on how quick it was so far. What it has not begun is taken back from a reader that is slow for once, and goes to
another.

A request is short, long, or of a kind that nobody knows yet, by what requests of its shape took. One that uses the
processor for more than a moment is long: its reader becomes one of those for long requests, which give way at the
processor to all others, and another process takes its place. Where as many work on long ones as may, it has a little
more time, and then waits for one of them to end. Beside long ones, and where short ones are asked, one reader at least
is kept for those that are known to be short, with the current copy open (``reader_places``). Of those that wait, the
client goes first that has fewest at work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import chain
from pathlib import Path

from kgrag.errors import ServiceUnavailable
from kgrag.server.readers.frame_spool import SpoolRoom
from kgrag.server.readers.reader_places import ReaderPlaces
from kgrag.server.readers.reader_renewal import ReaderRenewal
from kgrag.server.readers.reader_request import Reader, ReaderRequest, ReaderRun, RunKind, ServerLimits
from kgrag.server.readers.snapshot_pool import Snapshot, SnapshotPool
from kgrag.server.readers.waiting_runs import RunQueue, ShapeCosts

__all__ = ["ReaderPool"]

_CHECK_SECONDS = 0.01
"""Time between two checks of what takes long; a request that works longer loses those that were sent behind it."""
_MAX_FAILED_TRIES = 2
"""A request that was sent to this many readers which died before they began with it may be what kills them."""
_MOMENT_SECONDS = 0.05
"""Of the processor: a request that used more is long, where there may be one more of them."""
_LONG_SECONDS = 0.25
"""A request that used more is long in any case."""
_TRIAL_SECONDS = 1.0
"""By the clock: where the system is so busy that a request which gave way gets nowhere, others do not wait for it."""
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
        self._costs = ShapeCosts()
        self._loop = asyncio.get_running_loop()
        self._snapshots = snapshots
        self._queues = {kind: RunQueue(limits.queue, at_once=limits.readers) for kind in RunKind}
        self._idle: list[Reader] = []
        self._busy: dict[Reader, None] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._at_rest = False
        self._renewal = ReaderRenewal(snapshots, self._idle, self._busy, self._open_copy)
        self._places = ReaderPlaces(limits, self._idle, self._busy)

    @property
    def waiting(self) -> int:
        """How many requests wait for a reader."""
        return sum(map(len, self._queues.values()))

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
        every = [*self._at_work(), *chain.from_iterable(self._queues.values())]
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
        self._costs.look_up(run)
        self._places.note_asked(run)
        queue = self._queues[run.kind]
        if queue or not self._assign(run):
            queue.add(run)
        self._schedule_check(_CHECK_SECONDS)
        return run

    def _at_work(self) -> list[ReaderRun]:
        return [run for reader in self._busy for run in reader.runs]

    def trial_copy(self) -> AbstractAsyncContextManager[Path]:
        """Return a context with a copy of the store that a request may write to; it is deleted afterwards."""
        return self._snapshots.trial_copy()

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Let readers end what they are at, and then themselves; until the context ends, requests wait in the queue."""
        self._at_rest = True
        self._renewal.stop()
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

    def write(self, turn: asyncio.Lock) -> AbstractAsyncContextManager[None]:
        """Return a context in which a write has its turn; it ends when a reader can answer from what was written."""
        return self._renewal.write(turn)

    # --- assigning requests to readers --------------------------------------------------------------------------

    def _assign(self, run: ReaderRun) -> bool:
        """Send a request to the reader that suits best, and return whether there is one."""
        if self._at_rest:
            return False
        self._renewal.was_read |= not run.request.newest
        if self._places.has_place(run, opening=self._renewal.at_work):
            reader = self._idle_reader(run) or self._another_reader(run)
        else:
            reader = self._reader_with_room(run)
            if reader is None and run.kind is RunKind.UNKNOWN:
                self._start_spare()
        if reader is not None:
            self._send_to(reader, run)
            if run.kind is RunKind.LONG:
                self._start_spare()
        return reader is not None

    def _idle_reader(self, run: ReaderRun) -> Reader | None:
        """Return the reader that can begin soonest; one that must open a copy first where no other is soon free."""
        ready = [reader for reader in self._idle if reader.ready]
        fit = [reader for reader in ready if not run.request.reads_store or self._has_current_snapshot(reader, run)]
        near = [each for each in self._busy if each.kind is not RunKind.LONG and self._has_current_snapshot(each, run)]
        if self._places.keeps_last_from(run):
            reader = self._places.left_by_short(ready, fit, near)
        else:
            reader = fit[-1] if fit else self._reader_with_room(run)
            if reader is None and ready and (run.waiting_seconds > _CHECK_SECONDS or not near):
                reader = ready[-1]
        if reader in self._idle:
            self._idle.remove(reader)
        return reader

    def _another_reader(self, run: ReaderRun) -> Reader | None:
        """Start a process where one has waited, or all are at something long; return it where there is no other."""
        kept = self._places.keeps_last_from(run)
        if not self._busy and not kept:
            return self._idle.pop() if self._idle else self._new_reader()
        now = time.monotonic()
        late = run.waiting_seconds > _CHECK_SECONDS or all(now - each.since > _CHECK_SECONDS for each in self._busy)
        if late and all(kept and each.ready for each in self._idle) and self._places.may_start():
            self._idle.insert(0, self._new_reader())
        return None

    def _new_reader(self) -> Reader:
        return Reader(self.limits, on_frame=self._accept_frame, on_end=self._replace_reader)

    def _start_spare(self) -> None:
        """Start a process ahead of the next request, where too few others may take it."""
        if self._places.lacks_spare() and not self._at_rest:
            with suppress(ServiceUnavailable):  # whoever needs it will be told
                self._idle.append(self._new_reader())

    def _send_to(self, reader: Reader, run: ReaderRun) -> None:
        run.is_trial = run.kind is not RunKind.LONG and self._places.for_short > 0 and run.request.can_begin_again
        if not reader.runs:
            self._busy[reader] = None
            reader.kind = run.kind
            reader.takes_no_more = not run.may_have_others_behind
            reader.since = time.monotonic()
        reader.runs.append(run)
        run.reader = reader
        if run.request.reads_store and not self._has_current_snapshot(reader, run):
            reader.takes_no_more = True  # until it has its snapshot
            self._begin(self._renew_snapshot_and_send(reader, run))
        else:
            reader.send(run)

    def _reader_with_room(self, run: ReaderRun) -> Reader | None:
        """Return the reader with the fewest requests among those that can be sent one more."""
        if not run.may_have_others_behind:
            return None
        now = time.monotonic()
        fit = [
            reader
            for reader in self._busy
            if reader.can_take_another(now, run.kind) and self._has_current_snapshot(reader, run)
        ]
        if self._places.are_kept_for_short():  # what is not known might be long
            fit = [reader for reader in fit if reader.kind is run.kind is RunKind.SHORT]
        return min(fit, key=lambda reader: len(reader.runs), default=None)

    def _has_current_snapshot(self, reader: Reader, run: ReaderRun) -> bool:
        return reader.snapshot is not None and self._snapshots.is_current(reader.snapshot, newest=run.request.newest)

    def _open_copy(self, reader: Reader, snapshot: Snapshot) -> ReaderRun:
        """Send an idle reader the request to open a copy of the store, and nothing behind it."""
        run = ReaderRun(self, ReaderRequest("ping", b"{}"), seconds=self.limits.seconds)
        run.kind, run.is_noted = RunKind.SHORT, True
        self._idle.remove(reader)
        self._release_snapshot(reader)
        reader.snapshot = snapshot
        self._send_to(reader, run)
        self._schedule_check(_CHECK_SECONDS)
        return run

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)  # the loop itself keeps weak references only
        task.add_done_callback(self._tasks.discard)

    async def _renew_snapshot_and_send(self, reader: Reader, run: ReaderRun) -> None:
        """Replace the snapshot of a reader by the current one, then send it the request."""
        try:
            snapshot = await self._snapshots.acquire(newest=run.request.newest)
        except Exception as error:  # raised to the sender of the request, not in this task
            run.stop(error)
            return
        if run.reader is not reader:
            self._snapshots.release(snapshot)
            return
        self._release_snapshot(reader)
        reader.snapshot, reader.takes_no_more = snapshot, not run.may_have_others_behind
        reader.since = time.monotonic()
        reader.send(run)

    def _release_snapshot(self, reader: Reader) -> None:
        if reader.snapshot is not None:
            self._snapshots.release(reader.snapshot)
            reader.snapshot = None

    def _assign_waiting(self) -> None:
        """Send as many of the waiting requests to readers as there is room for."""
        queues = list(self._queues.values())
        if not self._places.for_short:  # all share one reader, and long ones must have their turn too
            queues.sort(key=RunQueue.waiting_since)
        for queue in queues:
            while (run := queue.next(self._at_work())) is not None and self._assign_or_move(run):
                queue.remove(run)

    def _assign_or_move(self, run: ReaderRun) -> bool:
        """Send a waiting request to a reader or to the queue of what is known of it by now; return whether that was."""
        kind = run.kind
        if kind is RunKind.UNKNOWN:
            self._costs.look_up(run)
        try:
            if run.kind is kind:
                return self._assign(run)
            self._queues[run.kind].add(run)
        except ServiceUnavailable as error:
            run.stop(error)
        return True

    # --- what readers write, and their end ----------------------------------------------------------------------

    def _accept_frame(self, reader: Reader, letter: bytes, number: int, payload: bytes) -> None:
        if letter == b"R":
            reader.ready, reader.since = True, time.monotonic()
            self._assign_waiting()
            self._renewal.go_on()
            return
        if not reader.runs:  # it was killed
            return
        if number != reader.runs[0].number:  # nobody may get the answer to another question, whatever went wrong
            self._replace_reader(reader)
            return
        if not reader.runs[0].accept_frame(letter, payload):
            return
        now = time.monotonic()
        run = reader.runs.popleft()
        self._note_done(reader, run, now)
        seconds = int.from_bytes(payload[:4], "big") / 1e6 if letter == b"W" else now - reader.since
        # capped, so that one long request does not keep small ones from being sent ahead for long after it
        reader.seconds_per_request += (min(seconds, _CHECK_SECONDS) - reader.seconds_per_request) / 8
        reader.since = now
        if not reader.runs:
            self._make_idle(reader)
        else:
            reader.kind = reader.runs[0].kind
            if reader.runs[0].closed:
                self.leave(reader.runs[0])
        if self.waiting:
            self._assign_waiting()

    def _note_done(self, reader: Reader, run: ReaderRun, now: float) -> None:
        self._queues[run.kind].note_done(now - reader.since)
        if reader.kind is RunKind.LONG:
            seconds = reader.seconds_computed(now)
            self._costs.note(run, seconds, is_long=seconds > _LONG_SECONDS)
            reader.takes_no_more = False
        else:
            self._costs.note(run, now - reader.since, is_long=False)

    def _make_idle(self, reader: Reader) -> None:
        del self._busy[reader]
        self._idle.append(reader)
        self._renewal.go_on()

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
        again = list(runs)
        for kind, queue in self._queues.items():
            queue.put_first(run for run in again if run.kind is kind)
        self._assign_waiting()
        for queue in self._queues.values():
            queue.refuse_surplus()

    def leave(self, run: ReaderRun) -> None:
        """End a request; a reader in the middle of it is killed, and what was sent behind it goes to another."""
        reader = run.reader
        if reader is None:
            self._queues[run.kind].remove(run)
            return
        again = reader.take_back_unbegun()
        if run.reader is None:  # the reader had not begun with it
            again.remove(run)
            if not reader.runs:
                self._make_idle(reader)
        elif run is reader.runs[0]:
            again = [behind for behind in reader.runs if behind is not run and not behind.closed] + again
            self._kill(reader)
            if any(each.kind is RunKind.LONG for each in self._busy):
                self._start_spare()
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
        for kind, queue in self._queues.items():
            queue.check_times(now, self.limits.waiting_of(is_long=kind is RunKind.LONG))
        self._assign_waiting()
        for reader in self._idle[:-1]:
            if now - reader.since > _IDLE_SECONDS:
                self._end(reader)
        self._timer = None
        if self._busy or self.waiting:
            self._schedule_check(_CHECK_SECONDS)
        elif len(self._idle) > 1:
            self._schedule_check(_IDLE_SECONDS)

    def _check_long(self, reader: Reader, now: float) -> None:
        """Let a reader with a long request give way, and end its trial: the request goes on, or waits for its turn."""
        run = reader.runs[0] if reader.runs else None
        if run is None or not reader.ready or not run.sent_bytes:
            return
        computed = reader.seconds_computed(now)
        if computed > _LONG_SECONDS:
            self._costs.note(run, computed, is_long=True)
        if reader.kind is not RunKind.LONG and self._places.has_long_place():
            if run.waits_for_client or computed > _MOMENT_SECONDS:
                run.kind = reader.kind = RunKind.LONG
                reader.takes_no_more = True
                run.end_trial()
                self._start_spare()
        elif run.is_trial and (run.waits_for_client or computed > _LONG_SECONDS or self._keeps_others(reader, now)):
            self._end_trial(reader, run)
        # what a write waits for does not, and one that nothing is known of only after a moment
        if run.request.can_begin_again and (reader.kind is RunKind.LONG or computed > _MOMENT_SECONDS):
            reader.give_way()

    def _keeps_others(self, reader: Reader, now: float) -> bool:
        """Return whether others of a kind that nobody knows wait for one that gave way a while ago."""
        waited = now - reader.since > _TRIAL_SECONDS and reader.gave_way
        return waited and len(self._queues[RunKind.UNKNOWN]) > 0

    def _end_trial(self, reader: Reader, run: ReaderRun) -> None:
        """Let a request wait for its turn among long ones, and kill the reader that began with it."""
        run.kind = RunKind.LONG
        again = reader.take_back_unbegun()
        begun = [other for other in reader.runs if not other.closed]
        self._kill(reader)
        for other in begun:
            other.begin_again()
        self._start_spare()
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

    async def close(self) -> None:
        """Kill all readers and delete the snapshots."""
        await self.kill_readers()
        self._snapshots.close()

    async def kill_readers(self) -> None:
        """Kill all readers, and stop the requests that they work on."""
        for run in [*chain.from_iterable(self._queues.values()), *self._at_work()]:
            run.stop(ServiceUnavailable("the server stops. Try again later."))
        for queue in self._queues.values():
            queue.clear()
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
