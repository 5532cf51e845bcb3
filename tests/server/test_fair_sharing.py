"""Slow clients and long queries leave readers to others; results that wait for their clients are whole."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.errors import ServiceUnavailable
from kgrag.server.problems import problem_of
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import (
    Overloaded,
    ReaderRequest,
    ReaderRun,
    RunKind,
    ServerLimits,
    TookTooLong,
)
from kgrag.vocab import KGV, SD
from tests.server.conftest import KEY, Server, start
from tests.server.test_reader_pool import ENDLESS, _all, _asked, _Source, _with

HUNDRED = " ".join(map(str, range(100)))
LARGE = "SELECT * { " + " ".join(f"VALUES ?{name} {{ {HUNDRED} }}" for name in "abc") + " }"
"""Its result has a million rows, about 9 MB."""
ENDLESS_RESULT = ENDLESS.replace("(COUNT(*) AS ?n)", "*")


def _run(pool: ReaderPool, query: str, *, client: str = "", seconds: float = 300.0) -> ReaderRun:
    request = _asked(query, seconds)
    return pool.run(ReaderRequest("query", request.header, request.body, seconds, client=client))


async def _until_idle(pool: ReaderPool) -> None:
    while pool.busy:
        await asyncio.sleep(0.02)


def test_clients_that_take_nothing_leave_their_readers_to_others(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        slow = [_run(pool, LARGE) for _ in range(2)]
        await asyncio.wait_for(_until_idle(pool), 120)
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")
        for run in slow:
            data, problem = await _all(run)
            assert (data.count(b"\n"), problem) == (100**3 + 1, "")
        assert pool.spool_room.used == 0

    _with(tmp_path, ServerLimits(readers=2, seconds=300), work)


def test_where_the_disk_is_used_up_a_reader_waits_for_its_client_and_nothing_is_lost(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        run = _run(pool, LARGE)
        while pool.spool_room.used < 1 << 20:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.5)
        assert pool.busy == 1
        assert pool.spool_room.used <= 2 << 20
        data, problem = await _all(run)
        assert (data.count(b"\n"), problem) == (100**3 + 1, "")
        assert pool.spool_room.used == 0

    _with(tmp_path, ServerLimits(readers=1, spool=16 << 20, seconds=300), work)


def test_a_long_query_gives_way_at_the_processor_and_the_next_one_does_not(tmp_path: Path) -> None:
    def lowest_priority(process: int) -> int:
        threads = Path(f"/proc/{process}/task").iterdir()
        return max(os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in threads)

    async def work(_source: _Source, pool: ReaderPool) -> None:
        own = os.getpriority(os.PRIO_PROCESS, 0)
        run = _run(pool, LARGE)
        while not pool.spool_room.used:
            await asyncio.sleep(0.02)
        (reader,) = pool.processes
        while lowest_priority(reader) != 15:
            await asyncio.sleep(0.02)
        data, problem = await _all(run)
        assert (data.count(b"\n"), problem) == (100**3 + 1, "")
        assert await _all(pool.run(_asked("ASK {}"))) == (b"true", "")
        while lowest_priority(reader) != own:  # the thread that had the long one ends
            await asyncio.sleep(0.02)

    _with(tmp_path, ServerLimits(readers=1, spool=16 << 20, seconds=300), work)


def test_a_query_ends_with_its_time_though_its_client_takes_nothing(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        run = _run(pool, ENDLESS, seconds=0.3)
        await asyncio.wait_for(_until_idle(pool), 10)
        with pytest.raises(TookTooLong):
            await run.next_frame()
        run.close()

    _with(tmp_path, ServerLimits(readers=1, seconds=300), work)


def test_a_short_query_is_answered_while_all_readers_work_on_long_ones(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        long = [_run(pool, query) for query in (ENDLESS, ENDLESS_RESULT, ENDLESS, ENDLESS_RESULT)]
        for _ in range(3):
            assert await asyncio.wait_for(_all(_run(pool, "ASK {}")), 120) == (b"true", "")
        assert len(pool.processes) <= 4
        for run in long:
            run.close()

    _with(tmp_path, ServerLimits(readers=2, seconds=300), work)


def test_a_query_that_is_known_to_be_short_does_not_wait_for_trials_of_others(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        for _ in range(2):
            assert await _all(_run(pool, "ASK {}")) == (b"true", "")
        short, *long = (_run(pool, query) for query in ("ASK {}", ENDLESS, ENDLESS))
        assert [run.reader for run in long] == [None, None]  # the only process is kept for what is known to be short
        assert short.reader is not None
        later = short.reader.since + 0.005  # the system has not let it run: what is short may be sent behind it
        assert [short.reader.can_take_another(later, kind) for kind in RunKind] == [True, False, False]
        assert await _all(short) == (b"true", "")
        while any(run.reader is None or run.reader.kind is not RunKind.LONG for run in long):
            await asyncio.sleep(0.02)
        assert pool.killed == 0
        tried = [_run(pool, ENDLESS.replace("AS ?n", f"AS ?{name}")) for name in "uvwxyz"]
        assert await asyncio.wait_for(_all(_run(pool, "ASK {}")), 120) == (b"true", "")
        assert pool.killed < 4  # a trial ends with its reader, and there are six
        for run in (*long, *tried):
            run.close()

    _with(tmp_path, ServerLimits(readers=2, seconds=300), work)


def test_a_long_query_leaves_the_reader_that_has_the_current_copy_to_short_ones(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        learnt = _run(pool, ENDLESS)
        while not learnt.is_noted:  # its shape is known to be long
            await asyncio.sleep(0.02)
        learnt.close()
        for _ in range(2):  # after the first it is known to be short
            assert await _all(_run(pool, "ASK {}")) == (b"true", "")
        long, short = _run(pool, ENDLESS), _run(pool, "ASK {}")
        assert (long.kind, short.kind) == (RunKind.LONG, RunKind.SHORT)
        assert short.reader is not None
        assert short.reader.snapshot is not None  # it need not open a copy first
        assert await _all(short) == (b"true", "")
        while long.reader is None or not long.reader.ready:  # it gets another, as soon as that is started
            await asyncio.sleep(0.02)
        long.close()

    _with(tmp_path, ServerLimits(readers=2, seconds=300), work)


def test_a_long_query_that_began_in_the_reader_for_short_ones_is_whole(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        long = [_run(pool, ENDLESS, seconds=2.0) for _ in range(2)]
        while len(pool.processes) < 2:
            await asyncio.sleep(0.02)
        data, problem = await _all(_run(pool, LARGE))
        assert (data.count(b"\n"), problem) == (100**3 + 1, "")
        for run in long:
            run.close()

    _with(tmp_path, ServerLimits(readers=2, seconds=300), work)


def test_the_client_with_fewest_at_work_goes_first(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        first = _run(pool, ENDLESS, client="greedy")
        waiting = [_run(pool, ENDLESS, client="greedy", seconds=0.1) for _ in range(3)]
        modest = asyncio.create_task(_all(_run(pool, "ASK {}", client="modest")))
        while not pool.processes or pool.waiting < 4:
            await asyncio.sleep(0.01)
        second = _run(pool, ENDLESS, client="greedy")
        pool.run(_asked("ASK {}"))
        first.close()
        assert await asyncio.wait_for(modest, 120) == (b"true", "")
        assert [run.closed for run in waiting] == [False] * 3
        for run in (*waiting, second):
            run.close()

    _with(tmp_path, ServerLimits(readers=1, seconds=300), work)


def test_who_finds_the_queue_full_is_told_how_long_it_takes(tmp_path: Path) -> None:
    async def work(_source: _Source, pool: ReaderPool) -> None:
        with pytest.raises(TookTooLong):
            await _all(_run(pool, ENDLESS, seconds=1.0))
        runs = [_run(pool, ENDLESS, seconds=3.0) for _ in range(4)]
        with pytest.raises(Overloaded) as raised:
            _run(pool, ENDLESS)
        assert problem_of(raised.value).headers == {"Retry-After": str(raised.value.retry_after)}
        for run in runs:
            run.close()

    _with(tmp_path, ServerLimits(readers=1, queue=3), work)


def test_a_result_whose_disk_fails_is_an_error_and_never_looks_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bytes:
        raise OSError("a sector is bad")

    async def work(_source: _Source, pool: ReaderPool) -> None:
        run = _run(pool, LARGE)
        await asyncio.wait_for(_until_idle(pool), 120)
        monkeypatch.setattr("kgrag.server.readers.frame_spool.os.pread", broken)
        with pytest.raises(ServiceUnavailable, match="cannot be read"):
            await _all(run)

    _with(tmp_path, ServerLimits(readers=1, seconds=300), work)


# --- over HTTP ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start(tmp_path_factory.mktemp("shared") / "deep" / "kb", "--readers", "2")
    yield running
    running.stop()


def _slow_client(server: Server, query: str) -> tuple[socket.socket, bytes]:
    """Ask for a large result and take its beginning only."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect((server.client.base_url.host, server.client.base_url.port))
    lines = ["POST /sparql HTTP/1.1", "Host: localhost", "Accept: text/csv", "Content-Type: application/sparql-query"]
    client.sendall("\r\n".join([*lines, f"Content-Length: {len(query)}", "", query]).encode())
    beginning = client.recv(1024)
    assert beginning.startswith(b"HTTP/1.1 200")
    return client, beginning


def test_slow_clients_keep_nobody_from_an_answer_and_get_all_of_theirs(server: Server) -> None:
    slow = [_slow_client(server, LARGE) for _ in range(4)]
    for _ in range(3):
        assert server.client.get("/sparql", params={"query": "ASK {}"}, timeout=8).status_code == 200
    for client, beginning in slow:
        taken = bytearray(beginning)
        while not taken.endswith(b"0\r\n\r\n"):
            received = client.recv(1 << 16)
            assert received, "the connection was closed before the result was whole"
            taken += received
        assert taken.partition(b"\r\n\r\n")[2].count(b",") == 2 * (100**3 + 1)
        client.close()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_reader_knows_no_key_and_others_on_the_machine_no_file(server: Server) -> None:
    assert server.query("ASK {}").status_code == 200
    for number in server.readers():
        assert KEY.encode() not in Path(f"/proc/{number}/environ").read_bytes()
    assert server.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("host", ["bad host:::", "[::1", "a b"])
@pytest.mark.parametrize("path", ["/sparql", "/sparql?query=ASK{}", "/void"])
def test_a_host_that_is_none_is_the_clients_fault(server: Server, host: str, path: str) -> None:
    reply = server.client.get(path, headers={"Host": host})
    assert (reply.status_code, "Host" in reply.json()["detail"]) == (400, True)


def test_a_client_that_takes_any_json_gets_a_graph_as_json_ld(server: Server) -> None:
    query = "CONSTRUCT { <urn:s> <urn:p> 1 } WHERE {}"
    reply = server.client.get("/sparql", params={"query": query}, headers={"Accept": "application/json"})
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/ld+json")
    assert reply.json()[0]["@id"] == "urn:s"
    query = "CONSTRUCT { <urn:s> <urn:p> <<( <urn:s> <urn:p> 1 )>> } WHERE {}"  # which JSON-LD has no form for
    reply = server.client.get("/sparql", params={"query": query}, headers={"Accept": "application/ld+json"})
    assert (reply.status_code, "JSON-LD does not support" in reply.json()["detail"]) == (406, True)


def test_the_description_of_the_service_has_the_searches_each_with_an_example(server: Server) -> None:
    described = server.client.get("/sparql", headers={"Accept": "application/n-triples"})
    triples = [quad.triple for quad in ox.parse(described.content, ox.RdfFormat.N_TRIPLES)]
    searches = {triple.object for triple in triples if triple.predicate == SD.extensionFunction}
    examples = {each.subject: each.object for each in triples if each.predicate.value.endswith("core#example")}
    assert searches == examples.keys() == {KGV.near, KGV.matches, KGV.fused, KGV.similarity}  # test_searches runs them
