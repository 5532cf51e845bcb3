"""A request to a reader: what it may use, the request under way, and the reader process that works on it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kgrag.errors import ServiceUnavailable
from kgrag.server.readers import reader_program
from kgrag.server.readers.frame_spool import FrameSpool, SpoolRoom
from kgrag.server.readers.reader_link import Frame, ReaderLink
from kgrag.server.readers.snapshot_pool import Snapshot

if TYPE_CHECKING:
    from kgrag.llm.budget import Budget

__all__ = ["Overloaded", "Reader", "ReaderRequest", "ReaderRun", "RunKind", "RunOwner", "ServerLimits", "TookTooLong"]

_STACK_BYTES = 256 << 20
"""The engine's parser and evaluator recurse; a query may be nested as deep as the gate lets it."""
_MESSAGE_HEAD = struct.Struct(">IIIQ")
_NUMBER_BYTES = 4
_MAX_BUFFERED_BYTES = 1 << 18
"""Frames in memory for a client that takes them slowly; more are written to disk."""
_SLOW_AFTER_SECONDS = 0.05
_REPEATABLE_TASKS = frozenset(("query", "dump", "parse", "check_update"))
_LAST_LETTERS = frozenset((b"W", b"Z"))
_CLOCK_OF_PROCESS = 2
"""CPUCLOCK_SCHED: with the complement of a process's number, Linux's clock of its time on the processor."""
_MAX_RUNS_AHEAD = 16
"""Requests that a reader has at most, the one that it works on included."""
_MAX_SECONDS_OF_FIRST = 0.003
"""Once a reader works on a request for longer, no other is sent behind it."""
_MAX_SECONDS_AHEAD = 0.002
"""Expected work before a request that is sent ahead: it should not wait longer than a process takes to wake up."""
_MAX_SECONDS_OF_SHORT, _MAX_SECONDS_AHEAD_OF_SHORT = 0.01, 0.008
"""The same where all are known to be short: it is the system that keeps the process waiting, and to wake it once for
many of them takes less of the processor. After the first of these times they are taken back in any case."""


class Overloaded(ServiceUnavailable):
    """Every reader was busy for as long as a request may wait for one.

    ``retry_after`` is in how many seconds there is likely room.
    """

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TookTooLong(ServiceUnavailable):
    """A request worked longer than it may; its reader was killed."""


@dataclass(frozen=True)
class ServerLimits:
    """What a request may use; a reader that uses more is killed.

    Attributes:
        readers: reader processes that work at once, at most. Where there are two or more, two more work on short
            queries while all of these work on long ones, and a third opens the copy of the store that has a write.
        seconds: how long a request may work; a request may ask for less.
        waiting: seconds that a request may wait for a free reader; a long one, for as long as others may work.
        memory: bytes of private memory of a reader process.
        queue: requests that may wait for a free reader at once.
        result: bytes of a result.
        spool: bytes on disk of all results that slow clients have not taken yet, of one result an eighth; beyond that,
            readers wait for their clients.
        rows: rows of a result; 0: any number.
        body: bytes that a client may send.
        answer: what one answer may ask of a language model; None: what it takes.
    """

    readers: int = 4
    seconds: float = 30.0
    waiting: float = 10.0
    memory: int = 4 << 30
    queue: int = 256
    result: int = 4 << 30
    spool: int = 512 << 20
    rows: int = 0
    body: int = 256 << 20
    answer: Budget | None = None

    def waiting_of(self, *, is_long: bool) -> float:
        """Return how many seconds a request may wait."""
        return max(self.waiting, self.seconds) if is_long else self.waiting


@dataclass(frozen=True, slots=True)
class ReaderRequest:
    """A task of ``reader_program``, its header (or that as JSON), its body, and how many seconds it may work."""

    task: str
    header: Mapping[str, object] | bytes
    body: bytes = b""
    seconds: float = 30.0
    reads_store: bool = True
    """Whether the reader needs a snapshot of the store for it."""
    client: str = ""
    """Whose request it is: who has fewer at work goes first."""
    written: str = ""
    """The query as who sent it wrote it, where the body is another form of it."""
    newest: bool = True
    """Whether it must see what was done by writes that nobody was told of yet."""

    @property
    def can_begin_again(self) -> bool:
        """Whether a reader may be killed in the middle of it and another begin anew: it writes to no copy."""
        return self.task in _REPEATABLE_TASKS

    @property
    def is_small(self) -> bool:
        """Whether it may be sent ahead or have others behind it: what is sent must fit into one message."""
        packed = isinstance(self.header, bytes) and len(self.header) + len(self.body) < 1 << 14
        return packed and self.task == "query" and ReaderLink.keeps_messages_apart


class RunKind(Enum):
    """How much work a request is, as far as requests of its shape and the request itself have shown."""

    SHORT = "short"
    UNKNOWN = "unknown"
    LONG = "long"


class RunOwner(Protocol):
    """The pool that a run belongs to."""

    @property
    def waiting(self) -> int:
        """How many requests wait for a reader."""

    @property
    def spool_room(self) -> SpoolRoom:
        """The disk for results that slow clients have not taken yet."""

    def leave(self, run: ReaderRun) -> None:
        """End a run."""


class ReaderRun:
    """A request under way; only the time that the reader works counts, not that of the client.

    Frames that the client has not taken are kept in memory, then on disk, so that the reader is soon free for others.

    Attributes:
        request: the request.
        reader: the process that works on it, or will once it is done with earlier ones; None while it waits for one.
        seconds: how long it may work.
        waiting_since: when it came, or was taken back from a reader.
        on_slow: called once when the request has been under way for some time.
        reported_slow: whether ``on_slow`` was due already.
        failed_tries: how often a reader ended before it began with this request.
        number: of the message to the reader; each frame of its answer carries it.
        sent_bytes: length of the message to the reader; 0: not sent yet.
        rows: of the result, once it is done and where they are counted.
        closed: whether nobody wants the answer any more.
        is_trial: whether its reader may be killed and another begin anew; its frames are kept until it is done, or
            its reader has become one for long requests.
        kind: how much work it is.
        shape: a number that it has in common with requests like it; 0: nobody asked yet.
        expected_seconds: what those took; 0: unknown.
        is_noted: whether what it took is among that.
        begun: when it came, by ``time.monotonic``.
        name: by which it can be ended; no other run of this server has it.
    """

    __slots__ = (
        "_buffered_bytes", "_error", "_frames", "_later_frames", "_paused", "_pool", "_seconds_left", "_spool",
        "_waiter", "_working_since", "begun", "closed", "expected_seconds", "failed_tries", "is_noted", "is_trial",
        "kind", "name", "number", "on_slow", "reader", "reported_slow", "request", "rows", "seconds", "sent_bytes",
        "shape", "waiting_since",
    )  # fmt: skip

    def __init__(self, pool: RunOwner, request: ReaderRequest, *, seconds: float) -> None:
        self.request = request
        self.reader: Reader | None = None
        self.seconds = self._seconds_left = seconds
        self.begun = self.waiting_since = time.monotonic()
        self.name = secrets.token_hex(8)
        self.on_slow: Callable[[], None] | None = None
        self.reported_slow = False
        self.failed_tries = self.number = self.sent_bytes = 0
        self.rows: int | None = None
        self._pool = pool
        self._frames: deque[Frame] = deque()
        self._spool = FrameSpool(pool.spool_room)
        self._later_frames: deque[Frame] = deque()
        """Frames in memory that came after those on disk."""
        self._buffered_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._working_since = 0.0
        self._error: Exception | None = None
        self.closed = self._paused = self.is_trial = self.is_noted = False
        self.kind, self.shape, self.expected_seconds = RunKind.UNKNOWN, 0, 0.0

    @property
    def may_have_others_behind(self) -> bool:
        """Whether it may be sent ahead, or have others sent behind it."""
        return self.kind is not RunKind.LONG and self.request.is_small

    @property
    def waiting_seconds(self) -> float:
        """How long ago it came, or was taken back from a reader."""
        return time.monotonic() - self.waiting_since

    @property
    def waits_for_client(self) -> bool:
        """Whether its reader cannot go on before the client takes something."""
        return self._paused

    @property
    def is_in_the_way(self) -> bool:
        """Whether it has a reader that waits for its client, while others wait for a reader."""
        return self._paused and self.reader is not None and self._pool.waiting > 0

    @property
    def _has_frame(self) -> bool:
        return not self.is_trial and bool(self._frames or self._spool or self._later_frames)

    async def next_frame(self) -> Frame:
        """Return the next frame; the last one is ``Z``, or ``W`` for a small result as a whole.

        Raises:
            Overloaded: no reader was free in time.
            TookTooLong: the time is used up.
            ServiceUnavailable: the reader ended, or none can be started.
            StorageFailed: no snapshot can be written.
        """
        if self._error is None and not self._has_frame:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        if self._error is not None:
            raise self._error
        frame = self._pop_frame()
        if self._paused and self._buffered_bytes < _MAX_BUFFERED_BYTES:
            self._paused = False
            self._working_since = time.monotonic()
            if self.reader is not None:
                self.reader.link.resume()
        return frame

    def _pop_frame(self) -> Frame:
        if not self._frames:
            if self._spool:
                try:
                    return self._spool.pop()
                except OSError as error:
                    raise ServiceUnavailable("the result was kept on disk and cannot be read. Try again.") from error
            self._frames, self._later_frames = self._later_frames, self._frames
        frame = self._frames.popleft()
        self._buffered_bytes -= len(frame[1])
        return frame

    def seconds_worked(self, now: float) -> float:
        """Return how long the reader has worked on this request, since it last had to wait for the client."""
        reader = self.reader
        if self._paused or reader is None or reader.runs[0] is not self:  # it is done, or its turn has not come
            return 0.0
        return max(now - max(self._working_since, reader.since), 0.0)

    def accept_frame(self, letter: bytes, payload: bytes) -> bool:
        """Store a frame from the reader, and return whether it was the last."""
        last = letter in _LAST_LETTERS
        if not self.closed:
            self._keep(letter, payload)
        if last:
            self.is_trial = False
            if self._paused and self.reader is not None:  # the reader is done with this client, however slow
                self.reader.link.resume()
            self.reader = None
            if letter == b"Z" and payload:
                self.rows = int.from_bytes(payload, "big")
        if self._has_frame:
            self._wake_waiter()
        return last

    def _keep(self, letter: bytes, payload: bytes) -> None:
        """Keep a frame: in memory, else on disk, else in memory while the reader has to wait."""
        later = bool(self._spool or self._later_frames)
        if not later and self._buffered_bytes < _MAX_BUFFERED_BYTES:
            self._frames.append((letter, payload))
            self._buffered_bytes += len(payload)
        elif self._later_frames or not self._spool.add(letter, payload):
            self._later_frames.append((letter, payload))
            self._buffered_bytes += len(payload)
            if self.reader is not None and not self._paused and self._buffered_bytes >= _MAX_BUFFERED_BYTES:
                self._seconds_left -= self.seconds_worked(time.monotonic())
                self._paused = True
                self.reader.link.pause()

    def begin_again(self) -> None:
        """Forget what a reader wrote so far; the request goes to another."""
        self._frames.clear()
        self._later_frames.clear()
        self._spool.close()
        self._buffered_bytes = 0
        self._paused = self.is_trial = False

    def end_trial(self) -> None:
        """Go on as an ordinary run, whose frames can be taken as they come."""
        self.is_trial = False
        if self._has_frame:
            self._wake_waiter()

    def check_time(self, now: float) -> bool:
        """Stop the run if its time is used up and return whether it is; call ``on_slow`` when it is due."""
        used_up = self.seconds_worked(now) > self._seconds_left
        if used_up:
            message = f"the request was stopped after {self.seconds:g} seconds. "
            self.stop(TookTooLong(message + "Join patterns that share no variable, or narrow it."))
        if not self.reported_slow and now - self.waiting_since > _SLOW_AFTER_SECONDS:
            self.reported_slow = True
            if self.on_slow is not None:
                self.on_slow()
        return used_up

    def stop(self, error: Exception) -> None:
        """Raise an error in ``next_frame``, now or when it is called; the first error counts."""
        if self._error is None:
            self._error = error
        self._wake_waiter()

    def _wake_waiter(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """End the request, and kill a reader that is in the middle of it; a second call does nothing."""
        if not self.closed:
            self.closed = True
            self._pool.leave(self)
            self._spool.close()


class Reader:
    """A reader process, and the requests that were sent to it.

    Args:
        limits: what a request may use.
        on_frame: called with this reader, and what ``ReaderLink`` says of each frame.
        on_end: called with this reader when its process has ended.

    Attributes:
        link: the process.
        runs: the request that it works on, and those that were sent behind it.
        since: when it was started, began with the first of them, or became idle.
        seconds_per_request: its average; measured by the process itself where it can, since we may hear of it late.
        ready: whether the process has started.
        takes_no_more: whether nothing may be sent behind its first request.
        kind: of the request that it works on.
        snapshot: the one that it read last; it stays in use until it is to read another.
    """

    __slots__ = (
        "_computed_before", "_limits", "_lowered_since", "_measured_since", "_numbers", "_packed_header", "kind",
        "link", "ready", "runs", "seconds_per_request", "since", "snapshot", "takes_no_more",
    )  # fmt: skip

    def __init__(
        self,
        limits: ServerLimits,
        *,
        on_frame: Callable[[Reader, bytes, int, bytes], None],
        on_end: Callable[[Reader], None],
    ) -> None:
        self.runs: deque[ReaderRun] = deque()
        self.since = time.monotonic()
        self.seconds_per_request = self._lowered_since = self._measured_since = self._computed_before = 0.0
        self.ready = self.takes_no_more = False
        self.kind = RunKind.UNKNOWN
        self.snapshot: Snapshot | None = None
        self._limits = limits
        self._numbers = count(1)
        self._packed_header: tuple[tuple[str, str], bytes] | None = None
        confinement = json.dumps({"memory": limits.memory, "stack": _STACK_BYTES})
        self.link = ReaderLink(
            # -P: the folder of the program is no place to import from
            [sys.executable, "-P", str(Path(reader_program.__file__)), confinement],
            on_frame=lambda letter, number, payload: on_frame(self, letter, number, payload),
            on_end=lambda: on_end(self),
        )

    def send(self, run: ReaderRun) -> None:
        """Send a request to the process."""
        request = run.request
        header = request.header if isinstance(request.header, bytes) else json.dumps(request.header).encode()
        own_header = self._own_header(request)
        run.number = next(self._numbers) & 0xFFFFFFFF
        head = _MESSAGE_HEAD.pack(run.number, len(header), len(own_header), len(request.body))
        message = b"".join((head, header, own_header, request.body))
        run.sent_bytes = len(message)
        self.link.send(message)

    def seconds_computed(self, now: float) -> float:
        """Return what the request at work took of the processor since it was first asked about.

        Other processes may keep it waiting for as long as they like, and it is no longer for that. Where a process
        cannot be asked, the time that went by counts.
        """
        try:
            computed = time.clock_gettime(~self.link.pid << 3 | _CLOCK_OF_PROCESS)
        except OSError:
            return now - self.since
        if self._measured_since != self.since:
            self._measured_since, self._computed_before = self.since, computed
        return computed - self._computed_before

    @property
    def gave_way(self) -> bool:
        """Whether other processes go first until it is done with its request."""
        return self._lowered_since == self.since

    def give_way(self) -> None:
        """Let other processes go first until the process is done with its request; once per request."""
        if self.gave_way:
            return
        self._lowered_since = self.since
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(self.link.pid, reader_program.GIVE_WAY)

    def take_back_unbegun(self) -> list[ReaderRun]:
        """Return the requests that the process has not begun to read, the oldest first; they are no longer its own."""
        pieces = self.link.take_back()
        size, numbers = sum(map(len, pieces)), {int.from_bytes(piece[:_NUMBER_BYTES], "big") for piece in pieces}
        # a message of several pieces is the only one, and unbegun if all of them came back
        unbegun = [run for run in self.runs if not run.sent_bytes or (run.number in numbers and run.sent_bytes <= size)]
        for run in unbegun:
            self.runs.remove(run)
            run.reader, run.sent_bytes = None, 0
        return unbegun

    def _own_header(self, request: ReaderRequest) -> bytes:
        """Return what this process adds to the header of a request; that of the last one mostly fits the next."""
        folder = str(self.snapshot.folder) if request.reads_store and self.snapshot is not None else ""
        if self._packed_header is None or self._packed_header[0] != (request.task, folder):
            limits = {"max_bytes": self._limits.result, "max_rows": self._limits.rows}
            packed = json.dumps({"task": request.task, "folder": folder, **limits}).encode()
            self._packed_header = (request.task, folder), packed
        return self._packed_header[1]

    def can_take_another(self, now: float, kind: RunKind) -> bool:
        """Return whether a request of a kind that is sent now is likely to be done soon."""
        ahead, of_first, most = len(self.runs), _MAX_SECONDS_OF_FIRST, _MAX_SECONDS_AHEAD
        if self.kind is kind is RunKind.SHORT:
            of_first, most = _MAX_SECONDS_OF_SHORT, _MAX_SECONDS_AHEAD_OF_SHORT
        quick = now - self.since < of_first and ahead * self.seconds_per_request < most
        return quick and self.ready and not self.takes_no_more and ahead < _MAX_RUNS_AHEAD
