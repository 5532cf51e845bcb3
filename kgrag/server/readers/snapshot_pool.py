"""Copies of the store by hard links: one a revision that somebody asks for, kept while a reader has it open."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

__all__ = ["Snapshot", "Snapshots"]


@dataclass(eq=False)
class Snapshot:
    """A folder that holds one state of the store."""

    folder: Path
    revision: int
    users: int = 0


class Snapshots:
    """Gives the snapshot of the present state, and deletes those that nobody uses any more.

    Args:
        folder: where they lie, on the store's file system; whatever lies there is deleted first.
        take: writes a copy of the store into a new folder.
        revision: counts the changes of the store so far.
    """

    def __init__(self, folder: Path, take: Callable[[Path], None], revision: Callable[[], int]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._folder = folder
        self._take = take
        self._revision = revision
        self._turn = asyncio.Lock()
        self._copying = asyncio.Lock()
        """Not the same: a copy waits for the writer, and a reader that wants what is there must not wait behind it."""
        self._numbers = count(1)
        self._current: Snapshot | None = None

    async def acquire(self) -> Snapshot:
        """Give a snapshot of all that was acknowledged before this call; hand it back with ``release``.

        Raises:
            StorageFailed: it cannot be written.
        """
        async with self._turn:
            if self._current is None or self._current.revision != self._revision():
                await self._renew()
            assert self._current is not None
            self._current.users += 1
            return self._current

    def is_present(self, snapshot: Snapshot) -> bool:
        """Say whether a snapshot that somebody holds has all that was acknowledged before this call."""
        return snapshot is self._current and snapshot.revision == self._revision()

    async def _renew(self) -> None:
        revision = self._revision()  # read first: the copy may hold more than its label says, never less
        fresh = Snapshot(self._folder / str(next(self._numbers)), revision)
        await asyncio.to_thread(self._take, fresh.folder)
        old, self._current = self._current, fresh
        if old is not None and not old.users:
            self._drop(old)

    @asynccontextmanager
    async def copy(self) -> AsyncIterator[Path]:
        """Lend a copy of the present state that may be written to, and delete it afterwards.

        Raises:
            StorageFailed: it cannot be written.
        """
        folder = self._folder / f"trial-{next(self._numbers)}"
        try:
            async with self._copying:
                await asyncio.to_thread(self._take, folder)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def release(self, snapshot: Snapshot) -> None:
        """Take back one use of a snapshot."""
        snapshot.users -= 1
        if not snapshot.users and snapshot is not self._current:
            self._drop(snapshot)

    def _drop(self, snapshot: Snapshot) -> None:
        shutil.rmtree(snapshot.folder, ignore_errors=True)

    def close(self) -> None:
        """Delete all of them."""
        shutil.rmtree(self._folder, ignore_errors=True)
