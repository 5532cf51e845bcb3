"""Which request may begin beside which others, and which reader is left to short ones."""

from types import SimpleNamespace
from typing import Any, cast

from kgrag.server.readers.reader_places import ReaderPlaces
from kgrag.server.readers.reader_request import Reader, ReaderRun, RunKind, ServerLimits

SHORT, UNKNOWN, LONG = RunKind


def _places(*at_work: RunKind) -> ReaderPlaces:
    busy = [cast("Reader", SimpleNamespace(kind=kind)) for kind in at_work]
    return ReaderPlaces(ServerLimits(readers=2), idle=(), busy=busy)


def _run(kind: RunKind, *, waiting_seconds: float = 0.0) -> ReaderRun:
    run: Any = SimpleNamespace(kind=kind, waiting_seconds=waiting_seconds, begun=0.0)
    return cast("ReaderRun", run)


def test_short_requests_have_two_places_however_many_others_are_tried() -> None:
    short = _run(SHORT)
    assert _places(LONG, LONG, UNKNOWN, SHORT).has_place(short, opening=None)
    assert _places(LONG, LONG, UNKNOWN, UNKNOWN).has_place(short, opening=None)
    assert not _places(LONG, LONG, SHORT, SHORT).has_place(short, opening=None)


def test_beside_long_ones_the_last_current_reader_is_kept_from_what_may_be_long() -> None:
    beside_long = _places(LONG)
    assert [beside_long.keeps_last_from(_run(kind)) for kind in RunKind] == [False, True, True]
    waited = [beside_long.keeps_last_from(_run(kind, waiting_seconds=2.0)) for kind in RunKind]
    assert waited == [False, False, True]  # a long one gets a process of its own, and need not be let through
    assert not any(_places().keeps_last_from(_run(kind)) for kind in RunKind)
