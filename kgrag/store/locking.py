"""One writer per folder: a lock that the operating system releases when the process dies."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

from filelock import FileLock, Timeout

from kgrag.errors import NotWritable, StorageFailed, StoreLocked

__all__ = ["WriterLock"]


class WriterLock:
    """The lock ``<folder>.lock``; ``<folder>.pid`` names its process in the message to whoever comes second.

    A process that serves the folder writes ``url`` and ``pid`` to ``<folder>.server``, as JSON.

    Raises:
        StoreLocked: another process, or another store of this process, writes to the folder.
        NotWritable: the folder, or its disk, may only be read.
        StorageFailed: the lock file cannot be made for another reason.
    """

    def __init__(self, folder: Path) -> None:
        self._pid = folder.with_name(f"{folder.name}.pid")
        self._served = folder.with_name(f"{folder.name}.server")
        self._lock = FileLock(folder.with_name(f"{folder.name}.lock"), thread_local=False)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(blocking=False)
            self._pid.write_text(f"{os.getpid()}\n", encoding="utf-8")
        except Timeout:
            raise self._locked(folder) from None
        except OSError as error:
            self._lock.release()
            refused = error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
            raise (NotWritable if refused else StorageFailed)(
                f"no lock file can be made next to {folder}: {error}. Make its folder writable, or open it for reading."
            ) from error

    def _locked(self, folder: Path) -> StoreLocked:
        holder, url = self._holder(), self._url()
        if url:
            return StoreLocked(
                f"{folder} is served at {url} by process {holder}. query, update and load work through it (--server "
                f"{url}, key in KGRAG_SERVER_KEY), other reading without it; for other writing, end it: kill {holder}",
                url=url,
            )
        return StoreLocked(
            f"{folder} is being written by process {holder}. "
            "Wait until it is done or end it; reading is possible meanwhile."
        )

    def _url(self) -> str:
        """Return the URL in ``<folder>.server``; "" when the process that has the lock did not write it."""
        try:
            served = json.loads(self._served.read_text(encoding="utf-8"))
            # a server that was killed leaves its file behind, and another process may write now
            return str(served["url"]) if str(served["pid"]) == self._holder() else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _holder(self) -> str:
        try:
            return self._pid.read_text(encoding="utf-8").strip() or "(unknown)"
        except OSError:
            return "(unknown)"

    def release(self) -> None:
        """Release the lock for the next writer; a second call does nothing."""
        if self._lock.is_locked:
            self._pid.unlink(missing_ok=True)
            self._lock.release()
