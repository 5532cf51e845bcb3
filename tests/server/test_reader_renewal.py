"""Queries beside a write: of before until it is acknowledged, of after from then on, and nobody waits for a copy."""

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kgrag.server.readers import reader_renewal, snapshot_pool
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import Reader, ReaderRun, ServerLimits
from tests.server.test_reader_pool import ENDLESS, _all, _asked, _Source


def _with(folder: Path, work: Callable[[_Source, ReaderPool], Awaitable[None]], *, readers: int = 2) -> None:
    """Run a test with a pool of a reader that has worked, or more."""

    async def whole() -> None:
        source = _Source(folder)
        pool = ReaderPool(source.snapshots, ServerLimits(readers=readers))
        try:
            assert await _count(pool) == 0
            async with asyncio.timeout(60):
                await work(source, pool)
        finally:
            await pool.close()

    asyncio.run(whole())


def _counting(pool: ReaderPool, *, newest: bool = False) -> ReaderRun:
    return pool.run(dataclasses.replace(_asked("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"), newest=newest))


async def _count(pool: ReaderPool, *, newest: bool = False) -> int:
    data, problem = await _all(_counting(pool, newest=newest))
    assert not problem
    return int(data.split()[1])


def test_a_write_is_seen_by_others_once_it_is_acknowledged_and_no_query_waits_for_a_copy(tmp_path: Path) -> None:
    async def work(source: _Source, pool: ReaderPool) -> None:
        turn = asyncio.Lock()
        for number in range(3):
            async with pool.write(turn):
                source.write(number)
                assert (await _count(pool), source.taken) == (number, number + 1)
            taken = source.taken
            assert taken == number + 2  # as part of the write
            assert (await _count(pool), source.taken) == (number + 1, taken)
        async with pool.write(turn):
            source.write(3)
            assert (await _count(pool), await _count(pool, newest=True)) == (3, 4)

    _with(tmp_path, work)


def test_a_reader_that_has_opened_its_copy_counts_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(source: _Source, pool: ReaderPool) -> None:
        opening, make_idle = list[object](), pool._make_idle

        def make_idle_and_look(reader: Reader) -> None:
            make_idle(reader)
            opening.append(pool._renewal.at_work)  # in the turn of the loop in which it may be sent something else

        monkeypatch.setattr(pool, "_make_idle", make_idle_and_look)
        async with pool.write(asyncio.Lock()):
            source.write(1)
        assert opening == [None]

    _with(tmp_path, work)


def test_a_write_is_seen_before_its_end_where_it_goes_on_after_a_change_and_after_it_failed_half_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(source: _Source, pool: ReaderPool) -> None:
        with pytest.raises(ValueError, match="half way"):
            async with pool.write(asyncio.Lock()):
                source.write(1)
                raise ValueError("half way")
        assert await _count(pool) == 1
        monkeypatch.setattr(snapshot_pool, "_MAX_SECONDS_BEHIND", 0.0)
        async with pool.write(asyncio.Lock()):
            source.write(2)
            assert await _count(pool) == 2

    _with(tmp_path, work)


@pytest.mark.parametrize("newest", [True, False])
def test_every_write_is_seen_by_whoever_wrote_it_and_by_all_after_that(tmp_path: Path, newest: bool) -> None:
    async def work(source: _Source, pool: ReaderPool) -> None:
        turn, acknowledged = asyncio.Lock(), 0

        async def client() -> None:
            nonlocal acknowledged
            for _ in range(6):
                async with pool.write(turn):
                    source.write(source.revision)
                    own = source.revision
                acknowledged = max(acknowledged, own)
                least = acknowledged
                assert await _count(pool, newest=newest) >= least

        await asyncio.gather(*(client() for _ in range(6)))
        assert source.folders() <= 4

    _with(tmp_path, work)


@pytest.mark.parametrize("readers", [1, 2])
def test_a_write_is_acknowledged_though_every_reader_has_long_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: int
) -> None:
    monkeypatch.setattr(reader_renewal, "_MAX_SECONDS", 60.0)

    async def work(source: _Source, pool: ReaderPool) -> None:
        long = [pool.run(_asked(ENDLESS)) for _ in range(readers)]
        waiting = _counting(pool)
        async with asyncio.timeout(reader_renewal._MAX_SECONDS / 2), pool.write(asyncio.Lock()):
            source.write(1)
        for run in long:
            run.close()
        assert int((await _all(waiting))[0].split()[1]) in (0, 1)
        assert await _count(pool) == 1

    _with(tmp_path, work, readers=readers)


def test_without_queries_no_copy_is_taken_for_a_write(tmp_path: Path) -> None:
    async def work(source: _Source, pool: ReaderPool) -> None:
        for number in range(3):
            async with pool.write(asyncio.Lock()):
                source.write(number)
        assert source.taken == 2  # that of the first query, and of the first write after it

    _with(tmp_path, work)
