"""A reader process, the socket to it and the pipe from it, used from the event loop of the thread that started it.

Messages sent within one turn of the loop are written at its end, so that a sleeping process is woken once for all of
them. On Linux a message can be taken back until the process reads it: a SOCK_SEQPACKET socket keeps messages apart, and
this process keeps the reader's end of the socket open too, from which it can read them itself.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from kgrag.errors import ServiceUnavailable
from kgrag.store.child_environment import child_environment

__all__ = ["Frame", "ReaderLink"]

Frame = tuple[bytes, bytes]
"""Letter and payload, as described in ``reader_program``."""

_BLOCK_BYTES = 1 << 16
_FRAME_HEAD = struct.Struct(">cII")
_PRIORITY_OF_WAITING = 15


def _give_way() -> None:
    if sys.platform == "linux":  # elsewhere the priority would be that of the whole process
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PRIORITY_OF_WAITING)


_ENDING = ThreadPoolExecutor(4, "kgrag-reader-end", initializer=_give_way)
"""Threads that wait for killed processes. One of low priority takes seconds to end beside others, and to take it off
the system's list can take half a second of the processor: threads that write must not be kept by that, nor the loop."""
_GLIBC = {
    "MALLOC_ARENA_MAX": "1",  # freed memory is returned only from the first arena
    # the engine starts 16 threads for each of its tables when it opens a folder; with their stacks kept that takes
    # 8 ms of the processor instead of 14
    "GLIBC_TUNABLES": f"glibc.pthread.stack_cache_size={128 << 20}",
}


class ReaderLink:
    """Starts a process, sends it messages, and passes on the frames that it writes.

    Args:
        command: the program and its arguments.
        on_frame: called with the letter of each frame, the number of the request that it answers, and its payload; in
            order.
        on_end: called once when the process has ended by itself or was killed from outside; not after ``close``.

    Raises:
        ServiceUnavailable: the process cannot be started.
    """

    keeps_messages_apart = sys.platform == "linux"
    """Whether a process can be sent several messages, and they can be taken back until it reads them."""

    def __init__(
        self, command: Sequence[str], *, on_frame: Callable[[bytes, int, bytes], None], on_end: Callable[[], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._process, self._socket, self._readers_socket, self._pipe = _start(command)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * _BLOCK_BYTES)
        os.set_blocking(self._pipe, False)
        self.pid = self._process.pid
        self._on_frame = on_frame
        self._on_end = on_end
        self._unsent: deque[memoryview] = deque()
        self._socket_full = self._send_scheduled = False
        self._block = memoryview(bytearray(_BLOCK_BYTES))
        self._partial_frame = b""
        self._listening = self._ended = self._closed = False
        self.resume()

    def send(self, message: bytes) -> None:
        """Send a message at the end of this turn of the loop, or as soon as the process takes it."""
        if len(message) <= _BLOCK_BYTES:
            self._unsent.append(memoryview(message))
        else:
            whole = memoryview(message)
            self._unsent.extend(whole[at : at + _BLOCK_BYTES] for at in range(0, len(whole), _BLOCK_BYTES))
        if not self._send_scheduled and not self._socket_full:
            self._send_scheduled = True
            self._loop.call_soon(self._write_unsent)

    def _write_unsent(self) -> None:
        self._send_scheduled = False
        while self._unsent and not self._closed:
            piece = self._unsent.popleft()
            try:
                sent = self._socket.send(piece)
            except BlockingIOError:
                sent = 0
            except OSError:  # the process is gone, and the end of its pipe reports that
                self._unsent.appendleft(piece)
                return
            if sent < len(piece):
                self._unsent.appendleft(piece[sent:])
                if not self._socket_full:
                    self._socket_full = True
                    self._loop.add_writer(self._socket.fileno(), self._write_unsent)
                return
        self._stop_waiting_for_room()

    def _stop_waiting_for_room(self) -> None:
        if self._socket_full:
            self._socket_full = False
            self._loop.remove_writer(self._socket.fileno())

    def take_back(self) -> list[bytes | memoryview]:
        """Take back what the process has not begun to read, and return it in pieces of at most 64 KiB.

        The process may read on meanwhile: what it got is not always what was sent first.
        """
        unread: list[bytes | memoryview] = []
        if not self._closed:
            self._stop_waiting_for_room()
            with suppress(OSError):
                while piece := self._readers_socket.recv(_BLOCK_BYTES, socket.MSG_DONTWAIT):
                    unread.append(piece)
        unread += self._unsent
        self._unsent.clear()
        return unread

    def _read_pipe(self) -> None:
        try:
            size = os.readv(self._pipe, [self._block])
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if size:
            self._pass_on(
                self._partial_frame + self._block[:size] if self._partial_frame else bytes(self._block[:size])
            )
        else:
            self.pause()
            self._ended = True
            self._on_end()

    def _pass_on(self, data: bytes) -> None:
        """Pass on all whole frames, and keep the rest for the next block."""
        at = 0
        while len(data) - at >= _FRAME_HEAD.size:
            letter, number, length = _FRAME_HEAD.unpack_from(data, at)
            begin = at + _FRAME_HEAD.size
            end = begin + length
            if end > len(data):
                break
            self._on_frame(letter, number, data[begin:end])
            at = end
        self._partial_frame = data[at:]

    def pause(self) -> None:
        """Read no more frames, so that the process blocks once the pipe is full."""
        if self._listening:
            self._listening = False
            self._loop.remove_reader(self._pipe)

    def resume(self) -> None:
        """Read frames again after ``pause``."""
        if not (self._listening or self._ended or self._closed):
            self._listening = True
            self._loop.add_reader(self._pipe, self._read_pipe)

    async def close(self) -> None:
        """Kill the process, and wait until it is gone; a second call does nothing."""
        if not self._closed:
            self.pause()
            self._stop_waiting_for_room()
            self._closed = True
            self._process.kill()
            self._socket.close()
            self._readers_socket.close()
            os.close(self._pipe)
            await self._loop.run_in_executor(_ENDING, self._process.wait)


def _start(command: Sequence[str]) -> tuple[subprocess.Popen[bytes], socket.socket, socket.socket, int]:
    """Return the process, our end of the socket to it, its own end of that, and our end of the pipe from it."""
    pipe: list[int] = []
    sockets: list[socket.socket] = []
    kind = socket.SOCK_SEQPACKET if ReaderLink.keeps_messages_apart else socket.SOCK_STREAM
    try:
        pipe += os.pipe()
        sockets += socket.socketpair(socket.AF_UNIX, kind)
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=sockets[1].fileno(),
            stdout=pipe[1],
            stderr=subprocess.DEVNULL,
            env=child_environment(**_GLIBC),
        )
    except OSError as error:
        for descriptor in pipe:
            os.close(descriptor)
        for opened in sockets:
            opened.close()
        raise ServiceUnavailable(f"no reader process can be started: {error.strerror}. Try again later.") from error
    os.close(pipe[1])
    return process, sockets[0], sockets[1], pipe[0]
