"""Drawing ahead of a slow taker."""

from collections.abc import Generator
from threading import Event

import pytest

from kgrag.llm.completion_cache import ahead


def test_the_source_goes_on_while_nobody_takes() -> None:
    finished = Event()

    def source() -> Generator[int, None, None]:
        yield from range(100)
        finished.set()

    taken = ahead(source())
    assert next(taken) == 0
    assert finished.wait(5)
    assert list(taken) == list(range(1, 100))


def test_an_error_of_the_source_comes_after_what_it_gave() -> None:
    def source() -> Generator[int, None, None]:
        yield 1
        raise ValueError("broken")

    taken = ahead(source())
    assert next(taken) == 1
    with pytest.raises(ValueError, match="broken"):
        next(taken)


def test_a_taker_that_stops_closes_the_source() -> None:
    closed = Event()

    def source() -> Generator[int, None, None]:
        try:
            while True:
                yield 1
        finally:
            closed.set()

    taken = ahead(source())
    next(taken)
    taken.close()
    assert closed.wait(5)
