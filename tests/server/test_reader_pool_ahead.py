"""Requests that are sent to a reader before it is done with the one before."""

import asyncio
import os
import random
import select
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import pytest

from kgrag.errors import ServiceUnavailable
from kgrag.server.readers.reader_link import ReaderLink
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import Overloaded, Reader, ReaderRun, ServerLimits
from kgrag.server.readers.snapshot_pool import SnapshotPool
from tests.server.test_reader_pool import ENDLESS, LARGE, NUMBERS, _all, _asked, _Source

LARGER_THAN_KEPT = (
    f"SELECT (CONCAT('{'x' * 480}', STR(?a), STR(?b)) AS ?x) {{ VALUES ?a {{ {NUMBERS} }} VALUES ?b {{ 1 2 3 }} }}"
)
"""A query whose result is a little more than the server keeps for a client that takes nothing."""

needs_queues = pytest.mark.skipif(not ReaderLink.keeps_messages_apart, reason="nothing is sent ahead on this system")


def _with(folder: Path, limits: ServerLimits, work: Callable[[_Source, ReaderPool], Awaitable[None]]) -> None:
    """Run a test with a pool of one reader so far, which has worked."""

    async def whole() -> None:
        source = _Source(folder)
        pool = ReaderPool(source.snapshots, limits)
        try:
            await _all(pool.run(_asked("ASK {}")))
            async with asyncio.timeout(120):
                await work(source, pool)
        finally:
            await pool.close()

    asyncio.run(whole())


async def _number(run: ReaderRun) -> int | str:
    """The number that a query was to give, or "ended" if its reader did."""
    try:
        data, problem = await _all(run)
    except ServiceUnavailable as error:
        assert "ended" in str(error)
        return "ended"
    assert not problem
    return int(data.split()[1])


def _one(pool: ReaderPool, number: int) -> ReaderRun:
    return pool.run(_asked(f"SELECT ({number} AS ?n) {{}}"))


@needs_queues
def test_small_requests_go_to_one_reader_at_once_and_each_gets_its_own_answer(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        ahead = False
        while not ahead:  # this process may be held up between two of them, and the reader then counts as slow
            runs = [_one(pool, number) for number in range(8)]
            ahead = len(pool.processes) == 1
            assert await asyncio.gather(*map(_number, runs)) == list(range(8))

    _with(tmp_path, ServerLimits(readers=4), work)


@needs_queues
def test_what_was_sent_after_a_long_request_is_answered_by_another_reader_meanwhile(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        long = pool.run(_asked(ENDLESS))
        runs = [_one(pool, number) for number in range(8)]
        assert await asyncio.gather(*map(_number, runs)) == list(range(8))
        assert long.reader is not None
        long.close()
        assert pool.killed == 1

    _with(tmp_path, ServerLimits(readers=2), work)


@needs_queues
def test_what_was_sent_after_a_long_request_waits_its_turn_where_there_is_one_reader(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        long = pool.run(_asked(ENDLESS))
        runs = [_one(pool, number) for number in range(3)]
        told = [await _full(run) for run in runs]
        assert sorted(told) == ["full", "late", "late"]
        long.close()
        assert await _number(_one(pool, 7)) == 7

    _with(tmp_path, ServerLimits(readers=1, queue=2, waiting=0.2), work)


async def _full(run: ReaderRun) -> str:
    with pytest.raises(Overloaded) as caught:
        await _all(run)
    return "late" if "seconds" in str(caught.value) else "full"


@needs_queues
def test_a_long_request_that_is_stopped_takes_none_of_those_behind_it_along(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        long = pool.run(_asked(LARGE))
        runs = [_one(pool, number) for number in range(8)]
        asyncio.get_running_loop().call_soon(long.close)
        assert await asyncio.gather(*map(_number, runs)) == list(range(8))

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_long_text_is_read_whole_beside_small_ones(tmp_path: Path) -> None:
    lists = " ".join(f'"{number:06d}"' for number in range(80_000))
    long = f"SELECT (COUNT(*) AS ?n) {{ VALUES ?a {{ {lists} }} FILTER(?a != '') }}"

    async def work(_source: _Source, pool: ReaderPool) -> None:
        for _ in range(5):
            runs = [pool.run(_asked(long)), *(_one(pool, number) for number in range(8))]
            assert await asyncio.gather(*map(_number, runs)) == [80_000, *range(8)]
        assert pool.killed == 0

    _with(tmp_path, ServerLimits(readers=2), work)


@needs_queues
def test_a_request_that_is_given_up_behind_others_takes_none_of_them_along(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        runs = [_one(pool, number) for number in range(9)]
        runs.pop(4).close()
        assert await asyncio.gather(*map(_number, runs)) == [0, 1, 2, 3, 5, 6, 7, 8]
        assert pool.waiting == pool.busy == 0

    _with(tmp_path, ServerLimits(readers=2), work)


class _Interrupted:
    """The reader's end of a socket; once its owner took one message from it, the reader runs until it has answered."""

    def __init__(self, reader: Reader) -> None:
        self._socket, self._link = reader.link._readers_socket, reader.link
        self._taken = 0

    def recv(self, size: int, flags: int) -> bytes:
        self._taken += 1
        if self._taken == 2:
            os.kill(self._link.pid, signal.SIGCONT)
            assert select.select([self._link._pipe], [], [], 30)[0]
        return self._socket.recv(size, flags)

    def close(self) -> None:
        self._socket.close()


async def _sent_ahead(pool: ReaderPool, count: int) -> tuple[Reader, list[ReaderRun]]:
    """Requests that lie before one reader, which is stopped."""
    while True:
        runs = [_one(pool, number) for number in range(count)]
        reader = runs[0].reader
        if reader is not None and list(reader.runs) == runs:
            os.kill(reader.link.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, reader.link.pid, os.WSTOPPED | os.WNOWAIT)  # before anything is written to it
            return reader, runs
        await asyncio.gather(*map(_number, runs))  # this process was held up between two of them


@needs_queues
def test_a_reader_that_goes_on_while_requests_are_taken_back_from_it_mixes_up_no_answers(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        reader, runs = await _sent_ahead(pool, 4)
        reader.link._readers_socket = cast("socket.socket", _Interrupted(reader))
        assert await asyncio.gather(*map(_number, runs)) == [0, 1, 2, 3]
        assert pool.killed == 0

    _with(tmp_path, ServerLimits(readers=2), work)


@needs_queues
def test_a_frame_with_the_number_of_another_request_goes_to_nobody_and_ends_its_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgrag.server.readers.reader_pool._CHECK_SECONDS", 0.5)  # else they may be taken back

    async def work(_source: _Source, pool: ReaderPool) -> None:
        reader, runs = await _sent_ahead(pool, 3)
        await asyncio.sleep(0)  # sent by now
        runs[0].number += 1000
        os.kill(reader.link.pid, signal.SIGCONT)
        told = await asyncio.gather(*map(_number, runs))
        assert told[0] == "ended"
        assert all(found in ("ended", number) for number, found in enumerate(told))
        assert pool.killed == 1

    _with(tmp_path, ServerLimits(readers=2), work)


async def _behind_a_large_result(pool: ReaderPool) -> tuple[ReaderRun, ReaderRun]:
    """A request whose client takes nothing of its 600 rows, and one that its reader has begun since."""
    while True:
        first, second = pool.run(_asked(LARGER_THAN_KEPT)), _one(pool, 7)
        await asyncio.sleep(0)  # sent by now
        while (reader := second.reader) is not None and reader is first.reader:
            if not select.select([reader.link._readers_socket], [], [], 0)[0]:
                return first, second
            await asyncio.sleep(0.001)
        await asyncio.gather(_all(first), _all(second))


@needs_queues
def test_a_request_given_up_behind_a_large_result_leaves_that_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgrag.server.readers.reader_pool._CHECK_SECONDS", 0.2)  # else it may be taken back

    async def work(_source: _Source, pool: ReaderPool) -> None:
        first, second = await _behind_a_large_result(pool)
        second.close()
        data, _ = await _all(first)
        assert len(data.split()) == 1 + 600
        assert await _number(_one(pool, 8)) == 8
        assert pool.busy == 0

    _with(tmp_path, ServerLimits(readers=1), work)


@needs_queues
def test_a_request_behind_a_large_result_does_not_wait_for_the_client_of_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgrag.server.readers.reader_pool._CHECK_SECONDS", 0.2)  # else it may be taken back

    async def work(_source: _Source, pool: ReaderPool) -> None:
        first, second = await _behind_a_large_result(pool)
        assert await _number(second) == 7
        data, _ = await _all(first)
        assert len(data.split()) == 1 + 600
        assert pool.killed == 0

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_reader_whose_client_takes_the_end_of_a_result_late_answers_others_meanwhile(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        first, turns = pool.run(_asked(LARGER_THAN_KEPT)), 0
        while first.reader is not None and turns < 50:
            turns += 1
            time.sleep(0.01)  # so that the pipe is full, and its last block has the end of the result too
            await asyncio.sleep(0)
        assert await _number(_one(pool, 7)) == 7
        data, _ = await _all(first)
        assert len(data.split()) == 1 + 600

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_reader_that_dies_takes_at_most_one_request_along(tmp_path: Path) -> None:
    dice = random.Random(5)

    async def work(_source: _Source, pool: ReaderPool) -> None:
        wrong = killed = 0
        for _ in range(40):
            first = dice.randrange(1000)
            runs = [_one(pool, first + number) for number in range(12)]
            for _ in range(dice.randrange(4)):
                await asyncio.sleep(0)
            if dice.random() < 0.5 and pool.processes:
                killed += 1
                os.kill(pool.processes[0], signal.SIGKILL)
            told = await asyncio.gather(*map(_number, runs))
            wrong += told.count("ended")
            assert all(found in ("ended", first + number) for number, found in enumerate(told))
        assert killed > 10
        assert wrong <= killed

    _with(tmp_path, ServerLimits(readers=2), work)


def test_readers_are_added_while_requests_of_some_milliseconds_wait(tmp_path: Path) -> None:
    lists = " ".join(f"VALUES ?{name} {{ {NUMBERS} }}" for name in "ab")
    medium = f"SELECT (COUNT(*) AS ?n) {{ {lists} FILTER(?a + ?b > 0) }}"

    async def work(_source: _Source, pool: ReaderPool) -> None:
        most = 0

        async def client() -> None:
            nonlocal most
            while most < 3:
                assert await _number(pool.run(_asked(medium))) == 200 * 200 - 1
                most = max(most, pool.busy)

        await asyncio.gather(*(client() for _ in range(9)))

    _with(tmp_path, ServerLimits(readers=3), work)


@pytest.mark.parametrize("queues", [True, False], ids=["messages", "stream"])
def test_without_a_socket_that_keeps_messages_apart_each_reader_has_one_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queues: bool
) -> None:
    monkeypatch.setattr(ReaderLink, "keeps_messages_apart", queues and ReaderLink.keeps_messages_apart)

    async def work(_source: _Source, pool: ReaderPool) -> None:
        runs = [_one(pool, number) for number in range(40)]
        assert ReaderLink.keeps_messages_apart or all(run.reader is None or len(run.reader.runs) == 1 for run in runs)
        assert await asyncio.gather(*map(_number, runs)) == list(range(40))
        killed = pool._idle[0].link.pid
        os.kill(killed, signal.SIGKILL)
        os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)  # a reader that is about to die may still take a request
        assert await _number(_one(pool, 7)) == 7

    _with(tmp_path, ServerLimits(readers=2), work)


def test_a_snapshot_that_cannot_be_written_is_told_and_the_next_one_works(tmp_path: Path) -> None:
    async def whole() -> None:
        source, broken = _Source(tmp_path), [True]

        def take(folder: Path) -> None:
            if broken.pop():
                raise OSError("disk full")
            source.store.backup(str(folder))

        pool = ReaderPool(SnapshotPool(tmp_path / "other", take, lambda: 1), ServerLimits(readers=1))
        with pytest.raises(OSError, match="disk full"):
            await _all(pool.run(_asked("ASK {}")))
        broken.append(False)
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")
        assert pool.killed == 0
        await pool.close()

    asyncio.run(whole())


def test_readers_that_are_not_needed_any_more_end_but_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        long = [pool.run(_asked(LARGE)) for _ in range(3)]
        assert [(await run.next_frame())[0] for run in long] == [b"H"] * 3
        assert len(pool.processes) == 3
        for run in long[1:]:
            run.close()
        monkeypatch.setattr("kgrag.server.readers.reader_pool._IDLE_SECONDS", 0.0)
        assert await asyncio.gather(*(_number(_one(pool, number)) for number in range(40))) == list(range(40))
        while len(pool._idle) > 1:
            await asyncio.sleep(0.01)
        assert await _number(_one(pool, 7)) == 7
        assert pool.killed == 2
        long[0].close()

    _with(tmp_path, ServerLimits(readers=3), work)


def test_readers_end_though_nothing_is_asked_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        monkeypatch.setattr("kgrag.server.readers.reader_pool._IDLE_SECONDS", 0.05)
        two = " ".join(f"VALUES ?{name} {{ {NUMBERS} }}" for name in "ab")
        some = f"SELECT (COUNT(*) AS ?n) {{ {two} VALUES ?c {{ 1 2 3 4 5 6 7 8 }} }}"
        while len(pool._idle) < 2:
            await asyncio.gather(*(_all(pool.run(_asked(some))) for _ in range(2)))
        while len(pool._idle) > 1:
            await asyncio.sleep(0.01)
        assert await _number(_one(pool, 7)) == 7

    _with(tmp_path, ServerLimits(readers=2), work)
