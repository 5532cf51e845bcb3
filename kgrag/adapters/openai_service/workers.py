"""Does slow work side by side and yields results as they come.

Daemon threads, not an executor: an executor's threads are joined when the process ends, so an interrupted command would
hang until the slowest request under way has timed out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import TypeVar

__all__ = ["side_by_side"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Ended:
    """Says that a worker will do no more."""


def side_by_side(
    work: Callable[[Item, Event], Result], items: Sequence[Item], *, limit: int
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) as work on each item ends.

    After the first failure nothing more is begun; what is under way ends, its results are yielded, and then the failure
    is raised. When the caller stops early, or is interrupted, nothing more is begun either.

    Args:
        work: called with an item and an event that says, once set, that waiting is no longer worth while.
        items: what to work on.
        limit: how many at a time; at least 1.
    """
    stopping = Event()
    todo: SimpleQueue[tuple[int, Item]] = SimpleQueue()
    done: SimpleQueue[tuple[int, Result] | Exception | _Ended] = SimpleQueue()
    for numbered in enumerate(items):
        todo.put(numbered)
    count = min(limit, len(items))
    try:
        for _ in range(count):
            Thread(target=_serve, args=(work, todo, done, stopping), name="kgrag-request", daemon=True).start()
        yield from _arrivals(done, count)
    finally:
        stopping.set()


def _serve(
    work: Callable[[Item, Event], Result],
    todo: SimpleQueue[tuple[int, Item]],
    done: SimpleQueue[tuple[int, Result] | Exception | _Ended],
    stopping: Event,
) -> None:
    try:
        while not stopping.is_set():
            index, item = todo.get_nowait()
            done.put((index, work(item, stopping)))
    except Empty:
        pass
    except Exception as error:
        done.put(error)
        stopping.set()
    finally:
        done.put(_Ended())


def _arrivals(done: SimpleQueue[tuple[int, Result] | Exception | _Ended], workers: int) -> Iterator[tuple[int, Result]]:
    failure: Exception | None = None
    while workers:
        arrived = done.get()
        if isinstance(arrived, _Ended):
            workers -= 1
        elif isinstance(arrived, Exception):
            failure = failure or arrived
        else:
            yield arrived
    if failure:
        raise failure
