"""One writer a folder: a lock that the operating system lets go of when the process dies."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from kgrag.errors import StorageFailed, StoreLocked

__all__ = ["WriterLock"]


class WriterLock:
    """Holds ``<folder>.lock``; the process id stands in ``<folder>.pid``, for the message to whoever comes second.

    Raises:
        StoreLocked: another process, or another store of this process, writes to the folder.
        StorageFailed: the lock file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._pid = folder.with_name(f"{folder.name}.pid")
        self._lock = FileLock(folder.with_name(f"{folder.name}.lock"), thread_local=False)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(blocking=False)
            self._pid.write_text(f"{os.getpid()}\n", encoding="utf-8")
        except Timeout:
            raise StoreLocked(
                f"{folder} is being written by process {self._holder()}. "
                "Wait until it is done or end it; reading is possible meanwhile."
            ) from None
        except OSError as error:
            self._lock.release()
            raise StorageFailed(
                f"no lock file can be made beside {folder}: {error}. Make its folder writable."
            ) from error

    def _holder(self) -> str:
        try:
            return self._pid.read_text(encoding="utf-8").strip() or "(unknown)"
        except OSError:
            return "(unknown)"

    def release(self) -> None:
        """Let the next writer in; a second call does nothing."""
        if self._lock.is_locked:
            self._pid.unlink(missing_ok=True)
            self._lock.release()
