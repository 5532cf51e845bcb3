"""A reader process and the two pipes to it, met from the event loop.

It belongs to the loop of the thread that made it. What a small request needs is one write, one wake-up and one read:
all frames of a small result come in one block. A reader that writes faster than anybody takes is left to wait.
"""

from __future__ import annotations

import array
import asyncio
import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

from kgrag.errors import ServiceUnavailable

__all__ = ["Frame", "Link"]

Frame = tuple[bytes, bytes]
_BLOCK = 1 << 16
_MOST = 1 << 18
_HEAD = 5


class Link:
    """Starts a process, sends it bytes and gives the frames that it writes.

    Args:
        command: the program and its arguments.

    Raises:
        ServiceUnavailable: the process cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._loop = asyncio.get_running_loop()
        self._process, self._to, self._from = _spawned(command)
        os.set_blocking(self._to, False)
        os.set_blocking(self._from, False)
        self.pid = self._process.pid
        self._unsent = memoryview(b"")
        self._block = memoryview(bytearray(_BLOCK))
        self._kept = bytearray()
        self._waiter: asyncio.Future[bool] | None = None
        self._refused = False
        self._listening = False
        self._closed = False
        self.ended = False
        """Whether the process ended by itself, or somebody killed it."""
        self._listen()

    def send(self, data: bytes) -> None:
        """Send a request, now or as the process takes it; one that has ended is met again in ``frame``."""
        sent = self._write(memoryview(data))
        if sent < len(data) and not self._refused:
            self._unsent = memoryview(data)[sent:]
            self._loop.add_writer(self._to, self._writable)

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._to, data)
        except BlockingIOError:
            return 0
        except OSError:
            self._refused = True
            return 0

    def _writable(self) -> None:
        self._unsent = self._unsent[self._write(self._unsent) :]
        if self._refused or not self._unsent:
            self._unsent = memoryview(b"")
            self._loop.remove_writer(self._to)

    @property
    def took_nothing(self) -> bool:
        """Whether a process that has ended left what was sent last unread, so that it can't have caused its end."""
        if self._closed:
            return False
        if self._refused or self._unsent:
            return True
        with suppress(ImportError, OSError):
            import fcntl
            import termios

            left = array.array("i", [0])
            fcntl.ioctl(self._to, termios.FIONREAD, left)
            return left[0] > 0
        return False

    async def frame(self, seconds: float) -> Frame:
        """Give the next frame.

        Raises:
            TimeoutError: it does not come within these seconds.
            EOFError: the process has ended.
        """
        if (found := self._cut()) is not None:
            return found
        ends = time.monotonic() + seconds
        while True:
            if self.ended:
                raise EOFError
            self._listen()
            if not await self._more(ends - time.monotonic()):
                raise TimeoutError
            if (found := self._cut()) is not None:
                return found

    async def _more(self, seconds: float) -> bool:
        """Wait for bytes or the end; False when the time is up before."""
        waiter = self._waiter = self._loop.create_future()
        timer = self._loop.call_later(max(seconds, 0.0), _settle, waiter, False)
        try:
            more: bool = await waiter
            return more
        finally:
            timer.cancel()
            self._waiter = None

    def interrupt(self, error: Exception) -> None:
        """Raise an error in whoever waits for a frame."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    def _cut(self) -> Frame | None:
        """Take the first frame out of what came, if it is there as a whole."""
        kept = self._kept
        if len(kept) < _HEAD:
            return None
        end = _HEAD + int.from_bytes(kept[1:_HEAD], "big")
        if len(kept) < end:
            return None
        found = bytes(kept[:1]), bytes(kept[_HEAD:end])
        del kept[:end]
        return found

    def _readable(self) -> None:
        try:
            size = os.readv(self._from, [self._block])
        except BlockingIOError:
            return
        except OSError:
            size = 0
        self._kept += self._block[:size]
        if not size:
            self.ended = True
        if not size or len(self._kept) > _MOST:
            self._loop.remove_reader(self._from)
            self._listening = False
        if self._waiter is not None:
            _settle(self._waiter, True)

    def _listen(self) -> None:
        if not self._listening and not self._closed and not self.ended:
            self._loop.add_reader(self._from, self._readable)
            self._listening = True

    async def close(self) -> None:
        """Kill the process, and wait until it is gone."""
        if not self._closed:
            self._closed = self.ended = True
            self._loop.remove_reader(self._from)
            self._loop.remove_writer(self._to)
            self._process.kill()
            os.close(self._to)
            os.close(self._from)
            self.interrupt(EOFError())
            await asyncio.to_thread(self._process.wait)


def _spawned(command: Sequence[str]) -> tuple[subprocess.Popen[bytes], int, int]:
    """Give a process, our end of the pipe to it, and our end of the pipe from it."""
    ends: list[int] = []
    try:
        ends += os.pipe()
        ends += os.pipe()
        process = subprocess.Popen(command, stdin=ends[0], stdout=ends[3], stderr=subprocess.DEVNULL)  # noqa: S603
    except OSError as error:
        for end in ends:
            os.close(end)
        raise ServiceUnavailable(f"no reader process can be started: {error.strerror}. Try again later.") from error
    os.close(ends[0])
    os.close(ends[3])
    return process, ends[1], ends[2]


def _settle(waiter: asyncio.Future[bool], value: bool) -> None:
    if not waiter.done():
        waiter.set_result(value)
