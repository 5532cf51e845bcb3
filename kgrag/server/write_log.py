"""The log of writes: JSON Lines that are only ever appended to, one line per write.

The line of a write is in the file before the client gets its answer, and outlives the process; a write that was cut off
by the end of the server may lack its line, and shows as a gap between ``after`` and the next ``before``. No key, no
query and no data is written.

==============  ===================================================================
field           value
==============  ===================================================================
``time``        when it was done, UTC
``request``     id of the request, as in the server's log
``key``         name of the key
``operation``   update, put, post, delete, keep, document, documents, forget, erase, build and others
``graphs``      graphs that it may have written to, 100 at most; null: any
``documents``   IRIs of the documents that it wrote or forgot, 100 at most
``before``      revision of the store before
``after``       revision afterwards; equal when nothing was changed
``bytes``       length of the body
``status``      HTTP status of the answer; 202 for a step of a job
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

__all__ = ["WriteEntry", "WriteLog"]

_MAX_NAMES_PER_LINE = 100
_MAX_BYTES_READ_BACK = 1 << 20


@dataclass(frozen=True)
class WriteEntry:
    """One write, with the fields of a line except for the time."""

    request: str
    key: str
    operation: str
    graphs: Collection[str] | None
    before: int
    after: int
    bytes: int
    status: int
    documents: Collection[str] = ()


class WriteLog:
    """Appends to a file that only its owner can read.

    Raises:
        InvalidSettings: the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._unwritten = b""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            size = os.fstat(self._file).st_size
            if size and os.pread(self._file, 1, size - 1) != b"\n":  # a server was killed while it wrote
                os.write(self._file, b"\n")
        except OSError as error:
            raise InvalidSettings(
                f"the log of writes {path} cannot be written: {error.strerror}. Name another."
            ) from None

    def add(self, entry: WriteEntry) -> None:
        """Append a line; what the disk refuses is tried again with the next."""
        graphs = None if entry.graphs is None else sorted(entry.graphs)[:_MAX_NAMES_PER_LINE]
        named = {"graphs": graphs, "documents": sorted(entry.documents)[:_MAX_NAMES_PER_LINE]}
        row = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), **asdict(entry), **named}
        with self._lock:
            self._unwritten += json.dumps(row, ensure_ascii=False).encode() + b"\n"
            self._write()

    def check(self) -> None:
        """Check that the log can take the line of another write.

        Raises:
            StorageFailed: the lines of those before could not be written.
        """
        with self._lock:
            self._write()
            if self._unwritten:
                raise StorageFailed(f"the log of writes {self.path} cannot be written. Make room, or mend its folder.")

    def _write(self) -> None:
        try:
            while self._unwritten:
                self._unwritten = self._unwritten[os.write(self._file, self._unwritten) :]
        except OSError:  # the write in the store is done by now; the next one is refused by ``check``
            return

    def last(self, lines: int) -> bytes:
        """Return the last lines, as far as they are within the last MiB."""
        with self._lock:
            size = os.fstat(self._file).st_size
            start = max(size - _MAX_BYTES_READ_BACK, 0)
            data = os.pread(self._file, size - start, start)
        whole = data.splitlines(keepends=True)[1 if start else 0 :]
        return b"".join(whole[-lines:])

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
