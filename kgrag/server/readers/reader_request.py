"""One request under way, as whoever sent it meets it: its frames, its time, and its end."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgrag.errors import ServiceUnavailable
from kgrag.server.readers.reader_link import Frame

if TYPE_CHECKING:
    from kgrag.server.readers.reader_pool import Reader, ReaderPool

__all__ = ["Overloaded", "Request", "Run", "TookTooLong"]

_MOST = 1 << 18
"""Bytes of frames that are kept for whoever takes them slowly."""
_SOON = 0.05
_LAST = frozenset((b"W", b"Z"))


class Overloaded(ServiceUnavailable):
    """Every reader was busy for as long as a request may wait for one."""


class TookTooLong(ServiceUnavailable):
    """A request worked longer than it may; its reader was killed."""


@dataclass(frozen=True, slots=True)
class Request:
    """A task of ``program``, its header (or that as JSON), its body, and how many seconds it may work."""

    task: str
    header: dict[str, Any] | bytes
    body: bytes = b""
    seconds: float = 30.0
    of_store: bool = True
    """Whether it reads the store: it then comes with the folder of a snapshot."""


class Run:
    """A request under way; only the time that the reader needs counts, not that of the client.

    Attributes:
        request: what was asked for.
        reader: who works for it, or will once what it has been sent before is done; None while it waits for one.
        seconds: how long it may work.
        since: when it came, or was taken back from a reader.
        told: whether ``noticed`` was called.
        tries: how often a reader ended before it began with this request.
        sent: bytes of the message to the reader; 0: not sent yet.
        rows: of the result, once it is done and where they are counted.
    """

    __slots__ = (
        "_closed", "_error", "_frames", "_kept", "_left", "_paused", "_pool", "_since", "_waiter",
        "noticed", "reader", "request", "rows", "seconds", "sent", "since", "told", "tries",
    )  # fmt: skip

    def __init__(self, pool: ReaderPool, request: Request, *, seconds: float) -> None:
        self.request = request
        self.reader: Reader | None = None
        self.seconds = self._left = seconds
        self.since = time.monotonic()
        self.noticed: Callable[[], None] | None = None
        """Called once the request is under way for some time."""
        self.told = False
        self.tries = self.sent = 0
        self.rows: int | None = None
        self._pool = pool
        self._frames: deque[Frame] = deque()
        self._kept = 0
        self._waiter: asyncio.Future[None] | None = None
        self._since = 0.0
        self._error: Exception | None = None
        self._closed = self._paused = False

    @property
    def wanted(self) -> bool:
        """Whether other requests wait for a reader."""
        return self._pool.waiting > 0

    async def frame(self) -> Frame:
        """Give the next frame; the last one is ``Z``, or ``W`` for a small result as a whole.

        Raises:
            Overloaded: no reader was free in time.
            TookTooLong: the time is used up.
            ServiceUnavailable: the reader ended, or none can be started.
            StorageFailed: no snapshot can be written.
        """
        if self._error is None and not self._frames:
            await self._more()
        if self._error is not None:
            raise self._error
        found = self._frames.popleft()
        self._kept -= len(found[1])
        if self._paused and self._kept < _MOST:
            self._paused = False
            if self.reader is not None:
                self.reader.link.listen()
        return found

    async def _more(self) -> None:
        """Wait for a frame or an error."""
        waiter = self._waiter = self._pool.loop.create_future()
        self._since = time.monotonic()
        try:
            await waiter
        finally:
            self._waiter = None
            self._left -= self._worked(time.monotonic())

    def _worked(self, now: float) -> float:
        """Give the seconds that the reader worked since somebody waits for the next frame."""
        reader = self.reader
        if reader is None:  # done, or waiting for one
            return 0.0
        return max(now - max(self._since, reader.since), 0.0) if reader.runs[0] is self else 0.0

    def give(self, letter: bytes, payload: bytes) -> bool:
        """Take a frame from the reader, and say whether it was the last."""
        self._frames.append((letter, payload))
        self._kept += len(payload)
        last = letter in _LAST
        if last:
            self.reader = None
            if letter == b"Z" and payload:
                self.rows = int.from_bytes(payload, "big")
        elif self._kept > _MOST and self.reader is not None:
            self._paused = True
            self.reader.link.pause()
        self._wake()
        return last

    def look(self, now: float) -> None:
        """Stop a request that has no time left, and tell of one that takes some."""
        if self._waiter is not None and self._worked(now) > self._left:
            told = f"the request was stopped after {self.seconds:g} seconds. "
            self.stop(TookTooLong(told + "Join patterns that share no variable, or narrow it."))
        if not self.told and now - self.since > _SOON:
            self.told = True
            if self.noticed is not None:
                self.noticed()

    def stop(self, error: Exception) -> None:
        """Raise an error in whoever waits for a frame, or will."""
        if self._error is None:
            self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self) -> None:
        """End the request, and a reader that is in the middle of it; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._pool.leave(self)
