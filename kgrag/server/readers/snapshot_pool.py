"""Copies of the store by hard links: at most one per revision, kept for as long as a reader has it open."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

__all__ = ["Snapshot", "SnapshotPool"]


_TRIAL_CHECK_SECONDS = 0.02


@dataclass(eq=False)
class Snapshot:
    """A folder with one state of the store, and how many readers use it."""

    folder: Path
    revision: int
    users: int = 0


class SnapshotPool:
    """Lends snapshots of the current state, and deletes old ones that nobody uses any more.

    Args:
        folder: where they are written, on the store's file system; whatever is in it is deleted first.
        take: writes a copy of the store into a new folder.
        revision: returns the number of changes to the store so far.

    Attributes:
        folder: where they are.
    """

    def __init__(self, folder: Path, take: Callable[[Path], None], revision: Callable[[], int]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        self.folder = folder
        self._take = take
        self._revision = revision
        self._renewal_lock = asyncio.Lock()
        self._copy_lock = asyncio.Lock()
        """Not the same lock: a copy waits for the writer, and a reader that is content with the current snapshot must
        not wait behind it."""
        self._numbers = count(1)
        self._current: Snapshot | None = None
        self._trials: set[Path] = set()

    async def acquire(self) -> Snapshot:
        """Return a snapshot that contains all writes acknowledged before this call; give it back with ``release``.

        Raises:
            StorageFailed: it cannot be written.
        """
        async with self._renewal_lock:
            if self._current is None or self._current.revision != self._revision():
                revision = self._revision()  # read first: the copy may contain more than its label says, never less
                fresh = Snapshot(self.folder / str(next(self._numbers)), revision)
                await asyncio.to_thread(self._take, fresh.folder)
                old, self._current = self._current, fresh
                if old is not None and not old.users:
                    self._delete(old)
            self._current.users += 1
            return self._current

    def is_current(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot contains all writes acknowledged before this call."""
        return snapshot is self._current and snapshot.revision == self._revision()

    @asynccontextmanager
    async def trial_copy(self) -> AsyncIterator[Path]:
        """Yield a copy of the current state that may be written to, and delete it afterwards.

        Raises:
            StorageFailed: it cannot be written.
        """
        folder = self.folder / f"trial-{next(self._numbers)}"
        try:
            async with self._copy_lock:
                self._trials.add(folder)
                await asyncio.to_thread(self._take, folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            self._trials.discard(folder)

    @asynccontextmanager
    async def withdrawn(self) -> AsyncIterator[None]:
        """Delete every copy, and make none until the context ends; no reader may have one open."""
        async with self._renewal_lock, self._copy_lock:
            while self._trials:
                await asyncio.sleep(_TRIAL_CHECK_SECONDS)
            if self._current is not None:
                self._delete(self._current)
                self._current = None
            yield

    def release(self, snapshot: Snapshot) -> None:
        """End one use of a snapshot."""
        snapshot.users -= 1
        if not snapshot.users and snapshot is not self._current:
            self._delete(snapshot)

    def _delete(self, snapshot: Snapshot) -> None:
        shutil.rmtree(snapshot.folder, ignore_errors=True)

    def close(self) -> None:
        """Delete all snapshots."""
        shutil.rmtree(self.folder, ignore_errors=True)
