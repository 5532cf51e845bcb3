"""Who may use a folder: one writer, by a lock that the operating system releases when the process dies."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

from filelock import FileLock, Timeout

from kgrag.errors import NotWritable, StateError, StorageFailed, StoreLocked

__all__ = ["OpenedFolder", "WriterLock"]


class OpenedFolder:
    """A store's folder as this process opened it; None for a store in memory, which any process may use.

    A reader writes nothing, so only a writer is held to the place of the folder.
    """

    def __init__(self, folder: Path | None, *, writing: bool) -> None:
        self._folder = folder
        self._process = os.getpid()
        self._inode = _inode(folder) if folder is not None and writing else None

    @property
    def inherited(self) -> bool:
        """Whether this process is a child of the one that opened the folder."""
        return self._folder is not None and os.getpid() != self._process

    @property
    def moved(self) -> bool:
        """Whether the folder is not any more where it was opened."""
        return self._folder is not None and self._inode is not None and _inode(self._folder) != self._inode

    def refuse(self) -> None:
        """Raise StateError where the folder is inherited, with threads and locks of its parent, or was moved."""
        if self.inherited:
            raise StateError(
                f"process {self._process} opened this knowledge base, and process {os.getpid()} inherited it by fork. "
                "Open it again in the new process: for reading, or for writing once the first one has closed it."
            )
        if self.moved:
            raise StateError(
                f"{self._folder} was moved or deleted while it was open. Nothing is written there any more. Close this "
                "knowledge base, and open it where it is now."
            )


def _inode(folder: Path) -> tuple[int, int]:
    """Return what names a folder whatever its path; zeros where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


class WriterLock:
    """The lock ``<folder>.lock``; ``<folder>.pid`` names its process in the message to whoever comes second.

    A process that serves the folder writes ``url``, ``pid`` and perhaps ``tenant`` to ``<folder>.server``, as JSON.

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
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # its files are for their owner alone
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
        holder, (url, tenant) = self._holder(), self._where_served()
        if url:
            return StoreLocked(
                f"{folder} is served at {url} by process {holder}. Reading is possible meanwhile (in Python: "
                f"read_only=True). Write through it: most commands do by themselves, programs by kgrag.client.Client("
                f"'{url}'); the key is in KGRAG_SERVER_KEY. For what needs the folder itself, end it: kill {holder}",
                url=url,
                tenant=tenant,
            )
        return StoreLocked(
            f"{folder} is being written by process {holder}. "
            "Wait until it is done or end it; reading is possible meanwhile."
        )

    def _where_served(self) -> tuple[str, str]:
        """Return URL and tenant in ``<folder>.server``; "" when the process that has the lock did not write it."""
        try:
            served = json.loads(self._served.read_text(encoding="utf-8"))
            # a server that was killed leaves its file behind, and another process may write now
            if str(served["pid"]) == self._holder():
                return str(served["url"]), str(served.get("tenant", ""))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return "", ""

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
