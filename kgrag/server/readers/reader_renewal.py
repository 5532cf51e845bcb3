"""Readers that open the copy of the store that has a write, one after the other, before they are asked about it.

Opening a copy takes a reader some hundredths of a second. While one does, the others answer from the copy of before;
the write is acknowledged when it is done. Where all have work, the one with the least is sent nothing more until then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import chain

from kgrag.errors import ServiceUnavailable, StorageFailed
from kgrag.server.readers.reader_request import Reader, ReaderRun, RunKind
from kgrag.server.readers.snapshot_pool import Snapshot, SnapshotPool

__all__ = ["ReaderRenewal"]

_READERS_RENEWED = 2
"""Readers that open a new copy ahead; the others when they are asked something that needs it."""
_MAX_SECONDS, _SECONDS_BETWEEN_LOOKS = 1.0, 0.05
"""A write does not wait for longer until a reader has opened its copy, nor where all have begun something long."""


class ReaderRenewal:
    """Renews readers of a pool, where somebody reads at all.

    Args:
        snapshots: the copies.
        idle: the pool's readers without work, the last one used last; as they are at any time.
        busy: its readers at work, likewise.
        open_copy: sends an idle reader the request to open a copy, which it then uses.

    Attributes:
        was_read: whether a query was asked since a reader was renewed for a write.
    """

    def __init__(
        self,
        snapshots: SnapshotPool,
        idle: Sequence[Reader],
        busy: Collection[Reader],
        open_copy: Callable[[Reader, Snapshot], ReaderRun],
    ) -> None:
        self.was_read = False
        self._snapshots = snapshots
        self._idle = idle
        self._busy = busy
        self._open_copy = open_copy
        self._opening: tuple[Reader, ReaderRun] | None = None
        self._is_wanted = False
        self._task: asyncio.Task[None] | None = None
        self._renewed = asyncio.Event()

    @property
    def at_work(self) -> Reader | None:
        """The reader that opens a copy now; as soon as it is done it may be at something else."""
        if self._opening is None:
            return None
        reader, run = self._opening
        return reader if reader.runs and reader.runs[0] is run else None

    @asynccontextmanager
    async def write(self, turn: asyncio.Lock) -> AsyncIterator[None]:
        """Let a write have its turn, and end when a reader has opened a copy with it; at once where nobody reads."""
        with self._snapshots.pending_write() as write:
            async with turn:
                before = self._snapshots.revision()
                yield
                write.revision = self._snapshots.revision()
            if write.revision != before and self.was_read:
                await self._renew(write.revision)

    async def _renew(self, revision: int) -> None:
        self.was_read = False
        try:
            self._snapshots.release(await self._snapshots.acquire())
        except StorageFailed:  # the write is done, and whoever asks next is told
            return
        self._is_wanted, latest = True, time.monotonic() + _MAX_SECONDS
        self.go_on()
        while not self._count_at(revision) and self._may_come() and time.monotonic() < latest:
            self._renewed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._renewed.wait(), _SECONDS_BETWEEN_LOOKS)

    def go_on(self) -> None:
        """Let the next reader open the last copy, where too few have and one is idle."""
        if self._opening is not None or not self._is_wanted or (snapshot := self._snapshots.reuse()) is None:
            return
        count = self._count_at(snapshot.revision)
        stale = [each for each in self._idle if each.ready and not _has(each, snapshot.revision)]
        if count < _READERS_RENEWED and stale:
            run = self._open_copy(stale[-1], snapshot)
            self._opening = stale[-1], run
            self._task = asyncio.create_task(self._open(run))
            return
        self._snapshots.release(snapshot)
        if not count and (busy := [reader for reader in self._busy if reader.kind is not RunKind.LONG]):
            min(busy, key=lambda reader: len(reader.runs)).takes_no_more = True

    def stop(self) -> None:
        """Let no further reader open a copy for the writes so far."""
        self._is_wanted = False

    async def _open(self, run: ReaderRun) -> None:
        try:
            with suppress(ServiceUnavailable):  # the reader ended, or all do
                await run.next_frame()
        finally:
            run.close()
            self._opening = None
            self._renewed.set()
            self.go_on()

    def _may_come(self) -> bool:
        """Return whether a reader may soon open the copy."""
        return bool(self._idle) or any(reader.kind is not RunKind.LONG for reader in self._busy)

    def _count_at(self, revision: int) -> int:
        """Return how many readers without long work have opened a copy of a revision or a later one."""
        able = (each for each in self._busy if each.kind is not RunKind.LONG and each is not self.at_work)
        return sum(_has(reader, revision) for reader in chain(self._idle, able))


def _has(reader: Reader, revision: int) -> bool:
    return reader.snapshot is not None and reader.snapshot.revision >= revision
