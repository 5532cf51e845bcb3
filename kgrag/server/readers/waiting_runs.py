"""Requests that wait for a reader, and what requests of their shape took so far."""

from __future__ import annotations

import math
import re
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator

from kgrag.server.readers.reader_request import Overloaded, ReaderRequest, ReaderRun, RunKind

__all__ = ["RunQueue", "ShapeCosts"]

_MAX_RETRY_SECONDS = 60
_MAX_SHAPES = 4096
_MAX_SHAPE_BYTES = 4096
_VALUES = re.compile(rb"""<[^<>\s]*>|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\d+""")
_WEIGHT_OF_LAST = 1 / 4
_MOSTLY = 3 / 4


class RunQueue:
    """Requests of one kind that wait: of the client with fewest at work, that goes first which is soonest done.

    Args:
        places: requests that may wait.
        at_once: how many may be at work at once, at most.
    """

    def __init__(self, places: int, *, at_once: int) -> None:
        self._runs: deque[ReaderRun] = deque()
        self._places = places
        self._at_once = at_once
        self._seconds_per_request = 0.0

    def __len__(self) -> int:
        """How many wait."""
        return len(self._runs)

    def __iter__(self) -> Iterator[ReaderRun]:
        """Iterate over them, the first to come first."""
        return iter(self._runs)

    def add(self, run: ReaderRun) -> None:
        """Add a request.

        Raises:
            Overloaded: too many wait already.
        """
        if len(self._runs) >= self._places:
            raise self._full()
        self._runs.append(run)

    def put_first(self, runs: Iterable[ReaderRun]) -> None:
        """Put requests before all that wait."""
        now = time.monotonic()
        for run in reversed(list(runs)):
            run.waiting_since = now
            self._runs.appendleft(run)

    def refuse_surplus(self) -> None:
        """Stop those from the end that are too many."""
        while len(self._runs) > self._places:
            self._runs.pop().stop(self._full())

    def waiting_since(self) -> float:
        """Return when the first of them came; where none waits, a time that never comes."""
        return self._runs[0].waiting_since if self._runs else math.inf

    def remove(self, run: ReaderRun) -> None:
        """Remove a request, where it waits here."""
        if run in self._runs:
            self._runs.remove(run)

    def clear(self) -> None:
        """Remove all."""
        self._runs.clear()

    def next(self, at_work: Iterable[ReaderRun]) -> ReaderRun | None:
        """Return the request whose turn is next, beside those that are at work."""
        if len(self._runs) < 2:
            return self._runs[0] if self._runs else None
        shares, now = Counter(run.request.client for run in at_work), time.monotonic()
        return min(
            self._runs, key=lambda run: (shares[run.request.client], run.expected_seconds - (now - run.waiting_since))
        )

    def note_done(self, seconds: float) -> None:
        """Note how long a request of this kind took."""
        self._seconds_per_request += (seconds - self._seconds_per_request) / 8

    def check_times(self, now: float, seconds: float) -> None:
        """Stop those that have waited for more than so many seconds, and those whose own time is used up."""
        for run in list(self._runs):
            run.check_time(now)
            if now - run.waiting_since > seconds:
                self._runs.remove(run)
                message = f"all readers were busy for {seconds:g} seconds. Try again later."
                run.stop(Overloaded(message, retry_after=self._retry_after()))

    def _full(self) -> Overloaded:
        message = f"{self._places} requests wait for a reader already. Try again later."
        return Overloaded(message, retry_after=self._retry_after())

    def _retry_after(self) -> int:
        """Return in how many seconds the requests that wait now are likely to be done."""
        seconds = (len(self._runs) + 1) * self._seconds_per_request / self._at_once
        return min(max(math.ceil(seconds), 1), _MAX_RETRY_SECONDS)


class ShapeCosts:
    """What requests took that differ in nothing but IRIs, strings and numbers; the oldest are forgotten.

    A shape that is mostly long or mostly short is known to be that. Of the rest nothing is known: the same query may be
    a moment's work for one thing and a minute's for another.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[float, float]] = OrderedDict()
        """By shape: the share of long ones, and seconds of work; what came last weighs most."""

    def look_up(self, run: ReaderRun) -> None:
        """Write into a request what is known of its shape now."""
        if not run.shape:
            run.shape = _shape(run.request)
        share, run.expected_seconds = self._known.get(run.shape, (0.5, 0.0))
        run.kind = RunKind.LONG if share > _MOSTLY else RunKind.SHORT if share < 1 - _MOSTLY else RunKind.UNKNOWN

    def note(self, run: ReaderRun, seconds: float, *, is_long: bool) -> None:
        """Remember what a request took, once per request."""
        if run.is_noted:
            return
        run.is_noted = True
        share, before = self._known.pop(run.shape, (float(is_long), seconds))
        share += (is_long - share) * _WEIGHT_OF_LAST
        self._known[run.shape] = share, before + (seconds - before) * _WEIGHT_OF_LAST
        if len(self._known) > _MAX_SHAPES:
            self._known.popitem(last=False)


def _shape(request: ReaderRequest) -> int:
    return hash((request.task, _VALUES.sub(b"", request.body[:_MAX_SHAPE_BYTES])))
