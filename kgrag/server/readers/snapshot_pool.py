"""Copies of the store by hard links: at most one per revision, kept for as long as a reader has it open.

What a write changed may be missing in what a query reads until that write is acknowledged. So a copy of before is good
enough for others while the copy of after is made and opened, and nobody waits for that but whoever wrote.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

__all__ = ["PendingWrite", "Snapshot", "SnapshotPool"]

_TRIAL_CHECK_SECONDS = 0.02
_MAX_SECONDS_BEHIND = 1.0
"""A write that goes on for longer after a change, as a build does, is seen by others before it is acknowledged."""


@dataclass(eq=False)
class PendingWrite:
    """A write that is not acknowledged yet, and the revision of the store after it; None: it is not known."""

    revision: int | None = None


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
        revision: the function of this name.
    """

    def __init__(self, folder: Path, take: Callable[[Path], None], revision: Callable[[], int]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True)
        self.folder = folder
        self._take = take
        self.revision = revision
        self._renewal_lock = asyncio.Lock()
        self._copy_lock = asyncio.Lock()
        """Not the same lock: a copy waits for the writer, and a reader that is content with the current snapshot must
        not wait behind it."""
        self._numbers = count(1)
        self._current: Snapshot | None = None
        self._trials: set[Path] = set()
        self._pending = 0
        self._acknowledged = 0
        """The revision that a copy must have at least, while there are pending writes."""
        self._behind_since: float | None = None

    @contextmanager
    def pending_write(self) -> Iterator[PendingWrite]:
        """Let copies of before do for others until the context ends, where the write is acknowledged."""
        if not self._pending:
            self._acknowledged = self.revision()
        self._pending += 1
        write = PendingWrite()
        try:
            yield write
        finally:
            self._pending -= 1
            reached = self.revision() if write.revision is None else write.revision
            if reached > self._acknowledged:
                self._acknowledged, self._behind_since = reached, None

    def _needed_revision(self) -> int:
        revision = self.revision()
        if not self._pending or revision == self._acknowledged:
            self._behind_since = None
            return revision
        now = time.monotonic()
        if self._behind_since is None:
            self._behind_since = now
        return self._acknowledged if now - self._behind_since < _MAX_SECONDS_BEHIND else revision

    async def acquire(self, *, newest: bool = True) -> Snapshot:
        """Return a snapshot that contains all acknowledged writes; give it back with ``release``.

        Args:
            newest: whether it is to contain all that was done before this call, acknowledged or not.

        Raises:
            StorageFailed: it cannot be written.
        """
        async with self._renewal_lock:
            if self._current is None or not self.is_current(self._current, newest=newest):
                revision = self.revision()  # read first: the copy may contain more than its label says, never less
                fresh = Snapshot(self.folder / str(next(self._numbers)), revision)
                await asyncio.to_thread(self._take, fresh.folder)
                old, self._current = self._current, fresh
                if old is not None and not old.users:
                    self._delete(old)
            self._current.users += 1
            return self._current

    def reuse(self) -> Snapshot | None:
        """Return the last snapshot that was taken, if there is one; give it back with ``release``."""
        if self._current is not None:
            self._current.users += 1
        return self._current

    def is_current(self, snapshot: Snapshot, *, newest: bool = True) -> bool:
        """Return whether a snapshot contains all acknowledged writes, or, with ``newest``, all that was done."""
        return snapshot.revision >= (self.revision() if newest else self._needed_revision())

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
