"""How many readers may work on requests of which kind, and how many processes there are for them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Sequence

from kgrag.server.readers.reader_request import Reader, ReaderRun, RunKind, ServerLimits

__all__ = ["ReaderPlaces"]

_READERS_FOR_SHORT = 2
"""Readers that work on other requests, however many work on long ones; one more is there while one opens a copy."""
_SECONDS_KEPT = 1.0
"""After the last short request no reader is kept for the next; and nothing waits longer for a process to be started."""


class ReaderPlaces:
    """The places of a pool; where short requests are asked, one reader is kept for those.

    Args:
        limits: what the pool may use.
        idle: its readers without work, as they are at any time.
        busy: its readers at work, likewise.

    Attributes:
        for_short: how many readers there are for short requests beside long ones; 0: all share one reader.
    """

    def __init__(self, limits: ServerLimits, idle: Collection[Reader], busy: Collection[Reader]) -> None:
        self.for_short = _READERS_FOR_SHORT if limits.readers > 1 else 0
        self._limits = limits
        self._idle = idle
        self._busy = busy
        self._short_since = 0.0

    def note_asked(self, run: ReaderRun) -> None:
        """Note that a request came."""
        if run.kind is RunKind.SHORT:
            self._short_since = run.begun

    def are_kept_for_short(self) -> bool:
        """Return whether what is not known to be short may not take every reader, nor be sent ahead."""
        if not self.for_short:
            return False
        asked = time.monotonic() - self._short_since < _SECONDS_KEPT
        return asked or any(reader.kind is RunKind.LONG for reader in self._busy)

    def keeps_last_from(self, run: ReaderRun) -> bool:
        """Return whether a request, which may be long, leaves the last reader that has the current copy to short ones.

        What nobody knows is let through once it has waited for a second; a long one gets a process of its own.
        """
        if run.kind is RunKind.SHORT or (run.kind is RunKind.UNKNOWN and run.waiting_seconds > _SECONDS_KEPT):
            return False
        return self.are_kept_for_short()

    @staticmethod
    def left_by_short(ready: Sequence[Reader], current: Sequence[Reader], near: Collection[Reader]) -> Reader | None:
        """Return the idle reader for what may be long: it opens its copy itself, or has the current one beside another.

        Args:
            ready: idle readers.
            current: those of them that have the current copy.
            near: readers that have it and do something that is not long.
        """
        stale = [reader for reader in ready if reader not in current]
        if stale:
            return stale[-1]
        left = len(current) + sum(each.kind is RunKind.SHORT and not each.takes_no_more for each in near)
        return current[0] if current and left > 1 else None

    def has_place(self, run: ReaderRun, *, opening: Reader | None) -> bool:
        """Return whether one more reader may begin with a request, beside the one that opens a copy."""
        at_work = Counter(reader.kind for reader in self._busy if reader is not opening)
        long = at_work[RunKind.LONG]
        if run.kind is RunKind.LONG:
            return self.has_long_place()
        if run.kind is RunKind.SHORT and at_work[RunKind.SHORT] < self.for_short:
            return True  # however many are tried of which nobody knows
        places = max(self._limits.readers - long, self.for_short)
        kept = 1 if run.kind is RunKind.UNKNOWN and places > 1 and self.are_kept_for_short() else 0
        if at_work.total() - long >= places or (kept and at_work[RunKind.UNKNOWN] >= places - kept):
            return False
        return not kept or run.waiting_seconds > _SECONDS_KEPT or self._free(opening) > kept

    def has_long_place(self) -> bool:
        """Return whether one more reader may work on a long request."""
        return sum(reader.kind is RunKind.LONG for reader in self._busy) < self._limits.readers

    def _free(self, opening: Reader | None) -> int:
        """Return how many processes a short request may be sent to."""
        at_short = sum(reader.kind is RunKind.SHORT and reader is not opening for reader in self._busy)
        return at_short + sum(reader.ready for reader in self._idle)

    def may_start(self) -> bool:
        """Return whether there may be one more process."""
        most = self._limits.readers + (self.for_short and self.for_short + 1)
        return len(self._busy) + len(self._idle) < most

    def lacks_spare(self) -> bool:
        """Return whether a process is worth starting ahead: fewer than two others may take what is short."""
        at_short = sum(reader.kind is RunKind.SHORT for reader in self._busy)
        return len(self._idle) + at_short <= self.for_short and self.may_start()
