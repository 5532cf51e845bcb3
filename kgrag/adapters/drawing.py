"""Draws an iterator in a thread of its own, so that what it gives is dealt with as it comes, however slow the taker."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

__all__ = ["ahead"]

Item = TypeVar("Item")


class _Ended:
    """Says that nothing more comes; carries the exception that ended it, if one did."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def ahead(source: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield what a generator yields, in order, while the generator itself never waits for the taker.

    When the taker stops early, the generator is closed at its next item. An exception of the generator is raised here
    after the items before it.
    """
    arrived: SimpleQueue[Item | _Ended] = SimpleQueue()
    stopped = Event()
    Thread(target=_draw, args=(source, arrived, stopped), name="kgrag-draw", daemon=True).start()
    try:
        while not isinstance(item := arrived.get(), _Ended):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()


def _draw(source: Generator[Item, None, None], arrived: SimpleQueue[Item | _Ended], stopped: Event) -> None:
    try:
        for item in source:
            arrived.put(item)
            if stopped.is_set():
                source.close()
                break
    except BaseException as error:  # whatever it is belongs to the taker
        arrived.put(_Ended(error))
    else:
        arrived.put(_Ended())
