"""What is known of requests by their shape, and the order of those that wait."""

from pathlib import Path
from typing import Any

import pytest

from kgrag.server.readers.frame_spool import SpoolRoom
from kgrag.server.readers.reader_request import Overloaded, ReaderRequest, ReaderRun, RunKind
from kgrag.server.readers.waiting_runs import RunQueue, ShapeCosts


class _Pool:
    waiting = 0
    spool_room = SpoolRoom(Path("none"), 0)

    def leave(self, run: ReaderRun) -> None:
        raise AssertionError("nothing is at work")


def _run(text: str, *, client: str = "", task: str = "query") -> ReaderRun:
    return ReaderRun(_Pool(), ReaderRequest(task, b"{}", text.encode(), client=client), seconds=30)


def _kind(costs: ShapeCosts, text: str, **more: Any) -> RunKind:
    run = _run(text, **more)
    costs.look_up(run)
    return run.kind


def _note(costs: ShapeCosts, text: str, *, is_long: bool) -> None:
    run = _run(text)
    costs.look_up(run)
    costs.note(run, 2.0 if is_long else 0.001, is_long=is_long)


def test_a_request_is_expected_to_take_what_its_shape_took() -> None:
    costs = ShapeCosts()
    asked = 'SELECT ?t {{ <urn:c:{0}> kg:text ?t FILTER(CONTAINS(?t, "a \\"word\\" {0}")) }} LIMIT {0}'.format
    assert _kind(costs, asked(1)) is RunKind.UNKNOWN
    _note(costs, asked(2), is_long=True)
    assert _kind(costs, asked(3)) is RunKind.LONG
    assert _kind(costs, asked(3), task="dump") is RunKind.UNKNOWN
    assert _kind(costs, asked(3) + " OFFSET 1") is RunKind.UNKNOWN
    for number in range(8):  # what came last weighs most
        _note(costs, asked(number), is_long=False)
    assert _kind(costs, asked(9)) is RunKind.SHORT


def test_of_a_shape_that_is_now_long_and_now_short_nothing_is_known() -> None:
    costs = ShapeCosts()
    for number in range(20):
        _note(costs, f"ASK {{ <urn:{number}> ?p ?o }}", is_long=number % 2 == 0)
    assert _kind(costs, "ASK { <urn:x> ?p ?o }") is RunKind.UNKNOWN


def test_what_a_request_took_counts_once() -> None:
    costs, run = ShapeCosts(), _run("ASK {}")
    costs.look_up(run)
    costs.note(run, 2.0, is_long=True)
    costs.note(run, 0.0, is_long=False)
    assert _kind(costs, "ASK {}") is RunKind.LONG


def test_the_client_with_fewest_at_work_goes_first_and_of_its_requests_the_one_that_is_soonest_done() -> None:
    queue, at_work = RunQueue(4, at_once=2), [_run("ASK {}", client="greedy")]
    long, short, greedy = (_run("ASK {}", client=client) for client in ("modest", "modest", "greedy"))
    long.expected_seconds, short.expected_seconds = 60.0, 1.0
    for run in (greedy, long, short):
        queue.add(run)
    order = []
    while (first := queue.next(at_work)) is not None:
        queue.remove(first)
        order.append(first)
    assert order == [short, long, greedy]


def test_who_finds_no_place_is_refused_and_so_is_the_last_where_others_come_back() -> None:
    queue, runs = RunQueue(2, at_once=1), [_run("ASK {}") for _ in range(3)]
    queue.add(runs[0])
    queue.add(runs[1])
    with pytest.raises(Overloaded):
        queue.add(runs[2])
    queue.put_first([runs[2]])
    queue.refuse_surplus()
    assert list(queue) == [runs[2], runs[0]]


@pytest.mark.parametrize(("task", "again"), [("query", True), ("dump", True), ("try_update", False), ("call", False)])
def test_what_writes_to_a_copy_is_never_begun_again(task: str, again: bool) -> None:
    assert ReaderRequest(task, b"{}").can_begin_again is again
