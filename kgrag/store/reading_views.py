"""A store's files as they were at one moment, linked into a folder of their own for somebody who reads beside a writer.

The engine reads the list of its files, then opens them, and takes it in silence that one is gone: a writer merges
files and deletes what it merged, and a reader of the same folder fails at the first question that needs such a file.
A hard link keeps a file whoever deletes it, and costs no space while both are there.

The folder is ``<folder>.views/NAME``; ``NAME/owner.lock`` is held while it is in use, and whoever comes next deletes
those that nobody holds. What links to deleted text is found by an erasure's search, as everything in the folder is.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

__all__ = ["ReadingView", "link_copy", "sweep"]

_MAX_ATTEMPTS = 400  # about two seconds; the engine changes its files some times a second
_SECONDS_BETWEEN_ATTEMPTS = 0.005
_MAX_LOG_BYTES = 1 << 20
"""A longer log takes longer to replay, at each opening, than the engine needs to write it out once."""

_Link = Callable[[Path, Path], object]


class ReadingView:
    """The files of a store's folder as they were at one moment.

    Args:
        folder: of the store. A folder beside which no writer's lock was ever made is used as it is, and so is one
            where no folder may be made.

    Raises:
        OSError: files went at each of many attempts, or a file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = os.getpid()
        self._lock: FileLock | None = None
        if folder.with_name(f"{folder.name}.lock").exists():
            with suppress(_NotPossible):
                self._link(folder)

    def _link(self, folder: Path) -> None:
        views = _views(folder)
        with _alone(views):
            _sweep(views)
            own = views / uuid.uuid4().hex
            own.mkdir(mode=0o700)
            self._lock = FileLock(own / "owner.lock", thread_local=False)
            self._lock.acquire()
        self.folder = own
        try:
            _link(folder, own, os.link)
        except BaseException:
            self.release()
            self.folder = folder
            raise

    def release(self) -> None:
        """Delete the links; a second call does nothing, and so does one of a process that inherited them by fork."""
        if self._lock is None or os.getpid() != self._process:
            return
        lock, self._lock = self._lock, None
        shutil.rmtree(self.folder, ignore_errors=True)
        lock.release()


def link_copy(folder: Path, own: Path) -> bool:
    """Put a copy of a store into a new folder, and return whether that was possible; if not, nothing is left of it.

    The caller has the store open and lets nobody write meanwhile. Files that never change are linked; the log of what
    is not in them yet is copied, so that the copy is the store of now, and may be written to. Nothing is flushed: that
    is 16 ms of the processor and some writes that wait for the disk, for each copy.

    Raises:
        OSError: the disk refused.
    """
    if sum(file.stat().st_size for file in folder.glob("*.log")) > _MAX_LOG_BYTES:
        return False
    own.mkdir(mode=0o700)
    try:
        _link(folder, own, lambda file, to: shutil.copyfile(file, to) if file.suffix == ".log" else os.link(file, to))
    except _NotPossible:
        shutil.rmtree(own)
        return False
    except BaseException:
        shutil.rmtree(own, ignore_errors=True)
        raise
    return True


def sweep(folder: Path) -> None:
    """Delete the views of a store's folder that nobody holds: of processes that were killed."""
    views = _views(folder)
    if views.is_dir():
        with suppress(_NotPossible), _alone(views):
            _sweep(views)


class _NotPossible(Exception):
    """No folder or lock can be made here."""


def _views(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.views")


@contextmanager
def _alone(views: Path) -> Iterator[None]:
    """Let one process at a time make or delete views. Raises _NotPossible."""
    lock = FileLock(views / "views.lock", thread_local=False)
    try:
        views.mkdir(mode=0o700, exist_ok=True)
        lock.acquire()
    except OSError as error:
        raise _NotPossible from error
    try:
        yield
    finally:
        lock.release()


def _sweep(views: Path) -> None:
    for view in views.iterdir():
        if view.is_dir():
            held = FileLock(view / "owner.lock", thread_local=False)
            with suppress(Timeout, OSError):
                held.acquire(blocking=False)
                shutil.rmtree(view, ignore_errors=True)
                held.release()


def _link(folder: Path, own: Path, link: _Link) -> None:
    """Put a folder's files into an empty one. Raises OSError, _NotPossible."""
    for _ in range(_MAX_ATTEMPTS):
        if _linked(folder, own, link):
            return
        time.sleep(_SECONDS_BETWEEN_ATTEMPTS)
    raise OSError("another process changes its files faster than they can be linked")


def _linked(folder: Path, own: Path, link: _Link) -> bool:
    """Put a folder's files into an empty one; return whether none is missing.

    A file is deleted after the engine's list of files says that it is not needed. So all that a copy of the list names
    is there as long as the list does not grow.
    """
    for leftover in own.iterdir():
        if leftover.name != "owner.lock":
            leftover.unlink()
    current = (folder / "CURRENT").read_bytes()
    name = current.decode().strip()
    copied = (own / name).write_bytes((folder / name).read_bytes())
    (own / "CURRENT").write_bytes(current)
    files = [file for file in folder.iterdir() if file.suffix in (".sst", ".log")]
    if (folder / "CURRENT").read_bytes() != current or (folder / name).stat().st_size != copied:
        return False
    for file in files:
        try:
            link(file, own / file.name)
        except FileNotFoundError:
            return False
        except OSError as error:  # a file system without links
            raise _NotPossible from error
    return True
