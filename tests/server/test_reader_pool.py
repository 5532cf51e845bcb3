import asyncio
import json
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.errors import ServiceUnavailable
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import Overloaded, ReaderRequest, ReaderRun, ServerLimits, TookTooLong
from kgrag.server.readers.snapshot_pool import SnapshotPool
from tests.server.conftest import kill

NUMBERS = " ".join(str(number) for number in range(200))
ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"VALUES ?{name} {{ {NUMBERS} }}" for name in "abcdef") + " }"
GREEDY = "SELECT * { " + " ".join(f"VALUES ?{name} {{ {NUMBERS} }}" for name in "abcd") + " } ORDER BY DESC(?d) ?a"
LARGE = GREEDY.partition("ORDER")[0]


class _Source:
    """A store that is copied, and counts its changes."""

    def __init__(self, folder: Path) -> None:
        self.store = ox.Store(str(folder / "store"))
        self.revision = self.taken = 0
        self.copies = folder / "copies"
        self.snapshots = SnapshotPool(self.copies, self._take, lambda: self.revision)

    def _take(self, to: Path) -> None:
        self.taken += 1
        self.store.backup(str(to))

    def write(self, number: int) -> None:
        self.store.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p:p"), ox.Literal(number)))
        self.revision += 1

    def folders(self) -> int:
        return len(list(self.copies.iterdir()))


def _asked(query: str, seconds: float = 20.0) -> ReaderRequest:
    header = {"base": "", "prefixes": {}, "results": "text/csv", "rdf": "text/turtle", "union": False, "dataset": None}
    return ReaderRequest("query", json.dumps(header).encode(), query.encode(), seconds)


async def _all(run: ReaderRun) -> tuple[bytes, str]:
    data, problem = [], ""
    try:
        while True:
            letter, payload = await run.next_frame()
            if letter == b"W":
                return payload[5 + payload[4] :], ""
            data += [payload] if letter == b"D" else []
            problem = json.loads(payload)["kind"] if letter == b"E" else problem
            if letter == b"Z":
                return b"".join(data), problem
    finally:
        run.close()


def _with(folder: Path, limits: ServerLimits, work: Callable[[_Source, ReaderPool], Awaitable[None]]) -> None:
    async def whole() -> None:
        source = _Source(folder)
        pool = ReaderPool(source.snapshots, limits)
        try:
            await work(source, pool)
        finally:
            await pool.close()
        assert not source.copies.exists()

    asyncio.run(whole())


def test_a_reader_sees_what_was_written_before_it_was_asked(tmp_path: Path) -> None:
    async def work(source: _Source, pool: ReaderPool) -> None:
        for number in range(3):
            source.write(number)
            data, _ = await _all(pool.run(_asked("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")))
            assert data == f"n\r\n{number + 1}\r\n".encode()
            assert source.folders() == 1

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_snapshot_stays_as_long_as_a_reader_works_on_it(tmp_path: Path) -> None:
    async def work(source: _Source, pool: ReaderPool) -> None:
        long = pool.run(_asked(LARGE))
        assert (await long.next_frame())[0] == b"H"
        source.write(1)
        await _all(pool.run(_asked("ASK {}")))
        assert source.folders() == 2
        long.close()
        assert source.folders() == 1

    _with(tmp_path, ServerLimits(readers=2), work)


def test_a_query_that_takes_too_long_ends_and_its_reader_with_it(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        run = pool.run(_asked(ENDLESS, 0.3))
        assert len(pool.processes) == 1
        with pytest.raises(TookTooLong, match=r"0\.3 seconds"):
            await _all(run)
        assert pool.processes == []

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_request_that_finds_no_free_reader_is_told_so(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        long = pool.run(_asked(ENDLESS))
        with pytest.raises(Overloaded):
            await _all(pool.run(_asked("ASK {}")))
        long.close()
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")

    _with(tmp_path, ServerLimits(readers=1, waiting=0.2), work)


def test_a_query_that_needs_too_much_memory_ends_its_reader_only(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        with pytest.raises(ServiceUnavailable, match="memory"):
            await _all(pool.run(_asked(GREEDY)))
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")

    _with(tmp_path, ServerLimits(readers=1, memory=600 << 20), work)


@pytest.mark.parametrize(
    ("query", "kind"),
    [("SELECT", "syntax"), ("SELECT (<urn:f:f>(1) AS ?x) {}", "refused"), (LARGE, "too large")],
)
def test_what_goes_wrong_in_a_reader_is_told_and_the_reader_goes_on(tmp_path: Path, query: str, kind: str) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        assert (await _all(pool.run(_asked(query))))[1] == kind
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")

    _with(tmp_path, ServerLimits(readers=1, result=100_000), work)


def test_a_pool_closes_while_a_reader_has_more_to_say_than_anybody_reads(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        run = pool.run(_asked(LARGE))
        for _ in range(3):
            await run.next_frame()
        full = asyncio.Event()
        asyncio.get_running_loop().call_later(0.5, full.set)  # until the pipe and the buffer behind it are full
        await full.wait()
        run.close()
        async with asyncio.timeout(10):
            await pool.close()

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_reader_killed_while_it_had_nothing_to_do_is_replaced(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        first = pool.run(_asked("ASK {}"))
        (number,) = pool.processes
        await _all(first)
        kill(number)
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")
        assert pool.killed == 1

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_reader_killed_at_work_is_not_tried_again(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        await _all(pool.run(_asked("ASK {}")))
        run = pool.run(_asked(LARGE))
        assert (await run.next_frame())[0] == b"H"
        os.kill(pool.processes[0], signal.SIGKILL)
        with pytest.raises(ServiceUnavailable, match="ended"):
            await _all(run)

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_body_that_is_larger_than_the_pipe_arrives_as_it_was_sent(tmp_path: Path) -> None:
    lines = b"".join(b"<urn:s> <urn:p:p> %d .\n" % number for number in range(20_000))

    async def work(_source: _Source, pool: ReaderPool) -> None:
        for _ in range(2):
            task = ReaderRequest("parse", {"media": "text/turtle", "base": ""}, lines, 20.0, reads_store=False)
            data, problem = await _all(pool.run(task))
            assert (data.count(b"\n"), problem) == (20_000, "")

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_reader_goes_on_with_a_new_look_at_the_store_after_a_large_result(tmp_path: Path) -> None:
    lists = " ".join(f"VALUES ?{name} {{ {NUMBERS} }}" for name in "ab")
    large = f"SELECT (CONCAT(STR(?a), ' {'x' * 500} ', STR(?b)) AS ?x) {{ {lists} }}"

    async def work(source: _Source, pool: ReaderPool) -> None:
        source.write(1)
        data, _ = await _all(pool.run(_asked(large)))
        assert len(data) > 1 << 24
        assert await _all(pool.run(_asked("ASK { ?s ?p 1 }"))) == (b"true", "")
        assert pool.killed == 0

    _with(tmp_path, ServerLimits(readers=1), work)


def test_a_run_that_is_stopped_raises_why_and_frees_its_place(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        run = pool.run(_asked(ENDLESS))
        asyncio.get_running_loop().call_soon(run.stop, ValueError("enough"))
        with pytest.raises(ValueError, match="enough"):
            await _all(run)
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")

    _with(tmp_path, ServerLimits(readers=1), work)


def test_the_end_of_a_killed_reader_takes_no_thread_that_writes_need(tmp_path: Path) -> None:
    async def work(_: _Source, pool: ReaderPool) -> None:
        run = pool.run(_asked("ASK {}"))
        await _all(run)
        loop, free = asyncio.get_running_loop(), threading.Event()
        with ThreadPoolExecutor(1) as only:
            loop.set_default_executor(only)
            loop.run_in_executor(None, free.wait)
            try:
                await asyncio.wait_for(pool.kill_readers(), 10)
            finally:
                free.set()

    _with(tmp_path, ServerLimits(readers=1), work)
