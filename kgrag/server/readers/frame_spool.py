"""Frames of results that their clients have not taken yet, on disk: a slow client does not hold a reader.

Each spool is a file without a name in the folder of the snapshots: nobody else can open it, and it is gone with its
process. All of them share one bound.
"""

from __future__ import annotations

import os
import struct
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from kgrag.server.readers.reader_link import Frame

__all__ = ["FrameSpool", "SpoolRoom"]

_HEAD = struct.Struct(">cI")


class SpoolRoom:
    """The disk that spools may take together.

    Args:
        folder: where their files are.
        max_bytes: of all of them; one may take an eighth of it.

    Attributes:
        used: bytes that are taken.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.used = 0
        self.max_bytes_each = max_bytes // 8
        self._max_bytes = max_bytes

    def take(self, size: int) -> bool:
        """Take so many bytes, and return whether there was room for them."""
        if self.used + size > self._max_bytes:
            return False
        self.used += size
        return True


class FrameSpool:
    """A queue of frames on disk; its room is given back when it is empty, or closed.

    Args:
        room: what it may take of the disk.
    """

    def __init__(self, room: SpoolRoom) -> None:
        self._room = room
        self._file: IO[bytes] | None = None
        self._begin = self._end = 0

    def __bool__(self) -> bool:
        """Whether it has a frame."""
        return self._begin < self._end

    def add(self, letter: bytes, payload: bytes) -> bool:
        """Add a frame, and return whether there was room for it."""
        data = _HEAD.pack(letter, len(payload)) + payload
        if self._end + len(data) > self._room.max_bytes_each or not self._room.take(len(data)):
            return False
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._room.folder)  # noqa: SIM115 - closed by ``close``
            if os.pwrite(self._file.fileno(), data, self._end) == len(data):
                self._end += len(data)
                return True
        except OSError:  # the disk is full: the reader has to wait for its client, as if there were no spool
            pass
        self._room.used -= len(data)
        return False

    def pop(self) -> Frame:
        """Return the oldest frame.

        Raises:
            OSError: the disk cannot be read.
        """
        assert self._file is not None
        letter, size = _HEAD.unpack(os.pread(self._file.fileno(), _HEAD.size, self._begin))
        payload = os.pread(self._file.fileno(), size, self._begin + _HEAD.size)
        self._begin += _HEAD.size + size
        if not self:
            self.close()
        return letter, payload

    def close(self) -> None:
        """Drop all frames, and give the room back."""
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None
        self._room.used -= self._end
        self._begin = self._end = 0
