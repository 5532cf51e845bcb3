"""The embedding model of this package in a process of its own.

A pass through the model is hundreds of small steps, before each of which Python's lock is taken again: in a server, one
pass waits for every other thread hundreds of times. In a process of its own it waits for none, and the server's answers
do not wait for it.

A request is a frame of JSON, the list of texts; a reply is a frame of float32 rows, or of a message behind an ``!``. A
frame begins with its length, 8 bytes. The process ends when its standard input does, so also with its parent.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from kgrag.errors import ServiceError
from kgrag.ports import Vectors
from kgrag.store.child_environment import child_environment

__all__ = ["DONE", "FAILED", "EmbeddingProcess", "read_frame", "write_frame"]

_LENGTH = struct.Struct("<Q")
FAILED = b"!"
DONE = b"."
_MAX_STARTS = 2  # of one request: it may be what ends the process
_SECONDS_BETWEEN_KILLS = 0.05  # while a request that is under way takes note that its process was ended


class EmbeddingProcess:
    """Computes rows of texts in another process, which is started at the first call and again when it has died."""

    def __init__(self, precision: str, dimension: int) -> None:
        self._precision = precision
        self._dimension = dimension
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = False

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array of shape (len(texts), d), rows of any length.

        Raises:
            ServiceError: the process ended twice, or was closed meanwhile, or the model failed.
        """
        request = json.dumps(list(texts)).encode()
        with self._lock:
            for _ in range(_MAX_STARTS):
                try:
                    reply = self._asked(request)
                except (OSError, EOFError):
                    self._end()
                    if self._closing:
                        raise ServiceError("the embedding model was closed while it worked. Ask again.") from None
                    continue
                if reply.startswith(FAILED):
                    raise ServiceError(f"the embedding model failed: {reply[1:].decode()}")
                return np.frombuffer(reply[1:], "<f4").reshape(len(texts), self._dimension)
        raise ServiceError(
            "the process of the embedding model ended while it worked. If the system ended it for its memory, give it "
            "more; about 700 MB are needed."
        )

    def close(self) -> None:
        """End the process at once, whatever it does: it may load its model for seconds. A later call starts another."""
        self._closing = True
        while not self._lock.acquire(timeout=_SECONDS_BETWEEN_KILLS):
            if process := self._process:
                process.kill()
        try:
            self._end()
        finally:
            self._closing = False
            self._lock.release()

    def _asked(self, request: bytes) -> bytes:
        process = self._process
        if process is None:
            process = self._process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        write_frame(process.stdin, request)
        return read_frame(process.stdout)

    def _started(self) -> subprocess.Popen[bytes]:
        root = str(Path(__file__).parents[2])
        paths = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH", "")])])
        threads = str(max(1, (os.cpu_count() or 1) - 1))  # one is the server's
        environment = {"OMP_NUM_THREADS": threads, **child_environment(PYTHONPATH=paths, HF_HUB_OFFLINE="1")}
        command = [sys.executable, "-m", "kgrag.llm.embedding_program", self._precision]
        # a session of its own: Ctrl-C ends the server, which ends this when it has answered
        return subprocess.Popen(  # noqa: S603 - this program itself
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
        )

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def write_frame(stream: IO[bytes], frame: bytes) -> None:
    """Write a frame."""
    stream.write(_LENGTH.pack(len(frame)) + frame)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes:
    """Return the next frame. Raises EOFError."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    frame = stream.read(length)
    if len(frame) < length:
        raise EOFError
    return frame
