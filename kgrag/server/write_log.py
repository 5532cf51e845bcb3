"""The log of writes: JSON Lines that are only ever appended to, one line a write.

A line stands there before the client hears that its write is done, and outlives the process; a write that was cut off
by the end of the server may lack its line, and shows as a gap between ``after`` and the next ``before``. No key, no
query and no data is written.

==============  ===================================================================
field           what it is
==============  ===================================================================
``time``        when it was done, UTC
``request``     id of the request, as in the server's log
``key``         name of the key
``operation``   update, put, post, delete, keep
``graphs``      graphs that it may have written to, 100 at most; null: any
``before``      revision of the store before
``after``       revision afterwards; equal when nothing was changed
``bytes``       length of the body
``status``      HTTP status of the answer
==============  ===================================================================
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from kgrag.errors import InvalidSettings, StorageFailed

__all__ = ["Entry", "WriteLog"]

_GRAPHS = 100
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One write."""

    request: str
    key: str
    operation: str
    graphs: Collection[str] | None
    before: int
    after: int
    bytes: int
    status: int


class WriteLog:
    """Appends to a file that only its owner can read.

    Raises:
        InvalidSettings: the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._turn = threading.Lock()
        self._pending = b""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            size = os.fstat(self._file).st_size
            if size and os.pread(self._file, 1, size - 1) != b"\n":
                os.write(self._file, b"\n")
        except OSError as error:
            raise InvalidSettings(
                f"the log of writes {path} cannot be written: {error.strerror}. Name another."
            ) from None

    def add(self, entry: Entry) -> None:
        """Append a line; what the disk refuses is tried again with the next."""
        graphs = None if entry.graphs is None else sorted(entry.graphs)[:_GRAPHS]
        row = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **asdict(entry), "graphs": graphs}
        with self._turn:
            self._pending += json.dumps(row, ensure_ascii=False).encode() + b"\n"
            self._write()

    def check(self) -> None:
        """Let a write begin.

        Raises:
            StorageFailed: the lines of those before could not be written.
        """
        with self._turn:
            self._write()
            if self._pending:
                raise StorageFailed(f"the log of writes {self.path} cannot be written. Make room, or mend its folder.")

    def _write(self) -> None:
        try:
            while self._pending:
                self._pending = self._pending[os.write(self._file, self._pending) :]
        except OSError:
            return

    def last(self, lines: int) -> bytes:
        """Give the last lines."""
        with self._turn:
            size = os.fstat(self._file).st_size
            data = os.pread(self._file, min(size, _BLOCK), max(size - _BLOCK, 0))
        whole = data.splitlines(keepends=True)
        return b"".join((whole[1:] if size > _BLOCK else whole)[-lines:])

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)
