"""A reader process, the socket to it and the pipe from it, met from the event loop.

It belongs to the loop of the thread that made it. What is sent within one turn of the loop goes at its end, so that a
sleeping process is woken once for all of it. On Linux each message can be taken back until the process reads it: the
socket keeps messages apart, and this side keeps the process's end of it open too.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from kgrag.errors import ServiceUnavailable

__all__ = ["Frame", "Link"]

Frame = tuple[bytes, bytes]
_BLOCK = 1 << 16
_HEAD = 5
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "1"}
"""What glibc frees in its first arena it can give back to the system."""


class Link:
    """Starts a process, sends it messages, and hands on the frames that it writes.

    Args:
        command: the program and its arguments.
        heard: takes each frame as it comes.
        ended: is told once that the process has ended by itself, or somebody killed it.

    Raises:
        ServiceUnavailable: the process cannot be started.
    """

    queues = sys.platform == "linux"
    """Whether a process can be sent several messages, and they can be taken back until it reads them."""

    def __init__(
        self, command: Sequence[str], *, heard: Callable[[bytes, bytes], None], ended: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._process, self._to, self._taking, self._from = _spawned(command)
        self._to.setblocking(False)
        self._to.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * _BLOCK)
        os.set_blocking(self._from, False)
        self.pid = self._process.pid
        self._heard = heard
        self._ended = ended
        self._unsent: deque[memoryview] = deque()
        self._full = self._soon = False
        self._block = memoryview(bytearray(_BLOCK))
        self._kept = b""
        self._listening = self._over = self._closed = False
        self.listen()

    def send(self, message: bytes) -> None:
        """Send a message at the end of this turn, or as the process takes it."""
        if len(message) <= _BLOCK:
            self._unsent.append(memoryview(message))
        else:
            whole = memoryview(message)
            self._unsent.extend(whole[at : at + _BLOCK] for at in range(0, len(whole), _BLOCK))
        if not self._soon and not self._full:
            self._soon = True
            self._loop.call_soon(self._send)

    def _send(self) -> None:
        self._soon = False
        while self._unsent and not self._closed:
            piece = self._unsent.popleft()
            try:
                sent = self._to.send(piece)
            except BlockingIOError:
                sent = 0
            except OSError:  # its end is told elsewhere
                self._unsent.appendleft(piece)
                return
            if sent < len(piece):
                self._unsent.appendleft(piece[sent:])
                if not self._full:
                    self._full = True
                    self._loop.add_writer(self._to.fileno(), self._send)
                return
        self._sent_all()

    def _sent_all(self) -> None:
        if self._full:
            self._full = False
            self._loop.remove_writer(self._to.fileno())

    def take_back(self) -> int:
        """Take back what the process has not begun to read, and say how many bytes that is."""
        size = sum(map(len, self._unsent))
        self._unsent.clear()
        if self._closed:
            return size
        self._sent_all()
        with suppress(OSError):
            while piece := self._taking.recv(_BLOCK, socket.MSG_DONTWAIT):
                size += len(piece)
        return size

    def _readable(self) -> None:
        try:
            size = os.readv(self._from, [self._block])
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if size:
            self._cut(self._kept + self._block[:size] if self._kept else bytes(self._block[:size]))
        else:
            self.pause()
            self._over = True
            self._ended()

    def _cut(self, data: bytes) -> None:
        """Hand on all whole frames, and keep the rest."""
        at = 0
        while len(data) - at >= _HEAD:
            end = at + _HEAD + int.from_bytes(data[at + 1 : at + _HEAD], "big")
            if end > len(data):
                break
            self._heard(data[at : at + 1], data[at + _HEAD : end])
            at = end
        self._kept = data[at:]

    def pause(self) -> None:
        """Let the process wait with what it writes."""
        if self._listening:
            self._listening = False
            self._loop.remove_reader(self._from)

    def listen(self) -> None:
        """Go on after ``pause``."""
        if not (self._listening or self._over or self._closed):
            self._listening = True
            self._loop.add_reader(self._from, self._readable)

    async def close(self) -> None:
        """Kill the process, and wait until it is gone."""
        if not self._closed:
            self.pause()
            self._sent_all()
            self._closed = True
            self._process.kill()
            self._to.close()
            self._taking.close()
            os.close(self._from)
            await asyncio.to_thread(self._process.wait)


def _spawned(command: Sequence[str]) -> tuple[subprocess.Popen[bytes], socket.socket, socket.socket, int]:
    """Give a process, our end of the socket to it, its own end of that, and our end of the pipe from it."""
    ends: list[int] = []
    sockets: list[socket.socket] = []
    kind = socket.SOCK_SEQPACKET if Link.queues else socket.SOCK_STREAM
    try:
        ends += os.pipe()
        sockets += socket.socketpair(socket.AF_UNIX, kind)
        taking, end = sockets[1].fileno(), ends[1]
        process = subprocess.Popen(  # noqa: S603
            command, stdin=taking, stdout=end, stderr=subprocess.DEVNULL, env={**os.environ, **_ENVIRONMENT}
        )
    except OSError as error:
        for each in ends:
            os.close(each)
        for one in sockets:
            one.close()
        raise ServiceUnavailable(f"no reader process can be started: {error.strerror}. Try again later.") from error
    os.close(end)
    return process, sockets[0], sockets[1], ends[0]
