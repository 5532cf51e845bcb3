"""Short queries on an endpoint that others load: 64 connections, a writer, and clients that take results slowly.

    python -m benchmarks.shared_endpoint                        makes 60,000 chunks first
    python -m benchmarks.shared_endpoint --folder FOLDER        keeps them there for the next run
    python -m benchmarks.shared_endpoint --oxigraph             against the Oxigraph server too (package ``oxigraph``)

The server is ``benchmarks.served_chunks``. First 56 connections alone send short queries (a chunk's document and title,
another one each time), and rest 0.2 s between two: ``quiet``. Then, at the same time, 8 connections send long queries
without rest (words sought in all texts, all texts in order, groups, a product that ends after 5 s; three of these four
are another text each time, which nothing is known of), a writer inserts a triple five times a second, and 16 clients
take 2 KB of a large result per second: ``loaded``. ``memory`` is the largest proportional set size of the server with
its readers. At last the server is killed in the middle of the writes (SIGKILL), and the store opened again: ``lost``
are acknowledged writes that it does not have. The Oxigraph server has a copy of the store, and the same limit of 5 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import os
import random
import signal
import socket
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np

from benchmarks.endpoint_load import processes_of, proportional_memory
from benchmarks.oxigraph_server import OxigraphServer
from benchmarks.served_chunks import made_chunks, opened, options_of, serving
from kgrag.vocab import PREFIXES

__all__ = ["main"]

_SHORT_CONNECTIONS, _LONG_CONNECTIONS, _SLOW_CLIENTS = 56, 8, 16
_REST_SECONDS, _SECONDS_BETWEEN_WRITES = 0.2, 0.2
_SLOW_BYTES_PER_SECOND = 2048
_TITLE = "SELECT ?document ?title {{ <{0}> dcterms:isPartOf ?document . ?document dcterms:title ?title }}"
_CHUNKS = "SELECT ?chunk { ?chunk a kg:Chunk } LIMIT 20000"
_LARGE = "SELECT ?chunk ?text { ?chunk kg:text ?text }"
_LONG = (
    'SELECT (COUNT(*) AS ?n) { ?chunk kg:text ?text FILTER(CONTAINS(?text, "w%dx")) }',
    "SELECT ?text { ?chunk kg:text ?text } ORDER BY ?text LIMIT %d",
    "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY ?p",
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f FILTER(?c != %d) }",
)
_WRITE = "INSERT DATA {{ GRAPH <urn:written> {{ <urn:write:{0}> <urn:at> {0} }} }}"
_WRITTEN = "SELECT ?at { GRAPH <urn:written> { ?s <urn:at> ?at } }"


_DECLARED = "".join(f"PREFIX {name}: <{PREFIXES[name]}> " for name in ("dcterms", "kg"))
_SERVER_IS_GONE = (ConnectionError, asyncio.IncompleteReadError)


@dataclass(frozen=True)
class _Server:
    """A server: its address, where queries go, the key of who writes, its first process, and what ends it at once."""

    url: str
    path: str
    key: str
    pid: int
    kill: Callable[[], None]


@dataclass
class _Seen:
    """What clients met: seconds of each short query, statuses by kind, numbers of acknowledged writes, memory in MB.

    ``waited`` are the seconds that the clients' own process was ready and had no processor, ``stolen`` those of all
    processors that the host of the machine gave to others ("steal"; Linux, else 0).
    """

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    acknowledged: list[int] = field(default_factory=list)
    memory: float = 0.0
    waited: float = 0.0
    stolen: float = 0.0
    slow_bytes: int = 0

    def p(self, percent: float) -> float:
        return float(np.percentile(self.seconds, percent)) * 1000


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of both parts."""
    options = options_of(__doc__, arguments, seconds=30, oxigraph="also measure the Oxigraph server")
    with made_chunks(options) as folder:
        with serving(folder) as served:
            ended = functools.partial(os.killpg, served.pid, signal.SIGKILL)
            server = _Server(served.url, "/sparql?", served.key, served.pid, ended)
            quiet, loaded = asyncio.run(_measured(server, options.seconds))
        with opened(folder) as kb, tempfile.TemporaryDirectory(prefix="kgrag-oxigraph-") as copy:
            stored = {int(row[0].value) for row in kb.query(_WRITTEN)}  # type: ignore[union-attr]
            _print(quiet, loaded)
            acknowledged = set(loaded.acknowledged)
            print(f"writes: {len(acknowledged)} acknowledged, {len(acknowledged - stored)} lost")
            if options.oxigraph:
                kb.store.snapshot(Path(copy, "store"))
                with OxigraphServer(Path(copy, "store"), "--union-default-graph", "--timeout-s", "5") as other:
                    server = _Server(other.address, "/query?", "", other.pid, other.kill)
                    print("the Oxigraph server")
                    _print(*asyncio.run(_measured(server, options.seconds)))


def _print(quiet: _Seen, loaded: _Seen) -> None:
    for name, seen in (("quiet", quiet), ("loaded", loaded)):
        figures = ", ".join(f"p{percent} {seen.p(percent):.1f} ms" for percent in (50, 95, 99))
        print(f"{name}: {len(seen.seconds)} short queries, {figures}; memory {seen.memory:.0f} MB")
        waited = f"the clients themselves waited {seen.waited:.1f} s for the processor"
        print(f"  {waited}, the host took {seen.stolen:.1f} s of it")
        print("  " + ", ".join(f"{kind} {status}: {count}" for (kind, status), count in sorted(seen.statuses.items())))
    print(f"short queries' p95: {loaded.p(95) / quiet.p(95):.2f} times the quiet one")
    print(f"slow clients took {loaded.slow_bytes:,} bytes")


async def _measured(server: _Server, seconds: float) -> tuple[_Seen, _Seen]:
    async with _connection(server) as connection:
        _, listed = await connection.ask(_query_request(server, _CHUNKS, accept="text/csv"))
    chunks = listed.decode().split()[1:]
    await _part(server, chunks, 3, loaded=False)
    quiet = await _part(server, chunks, seconds, loaded=False)
    return quiet, await _part(server, chunks, seconds, loaded=True)


async def _part(server: _Server, chunks: Sequence[str], seconds: float, *, loaded: bool) -> _Seen:
    """Send requests for as long; with load, the server is killed at the end, while the writer is at work."""
    seen, over = _Seen(), asyncio.Event()
    waited, stolen = _seconds_without_processor(), _seconds_stolen()
    tasks = [asyncio.create_task(_short(server, chunks, seen, over)) for _ in range(_SHORT_CONNECTIONS)]
    tasks.append(asyncio.create_task(_watch(server, seen, over)))
    if loaded:
        tasks += [asyncio.create_task(_long(server, at, seen, over)) for at in range(_LONG_CONNECTIONS)]
        tasks += [asyncio.create_task(_slow(server, seen, over)) for _ in range(_SLOW_CLIENTS)]
        tasks.append(asyncio.create_task(_write(server, seen, over)))
    await asyncio.sleep(seconds)
    over.set()
    seen.waited, seen.stolen = _seconds_without_processor() - waited, _seconds_stolen() - stolen
    if loaded:
        server.kill()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(ended, Exception) and not (loaded and isinstance(ended, _SERVER_IS_GONE)):
            raise ended
    return seen


def _seconds_without_processor() -> float:
    account = Path("/proc/self/schedstat")
    return int(account.read_text(encoding="ascii").split()[1]) / 1e9 if account.exists() else 0.0


def _seconds_stolen() -> float:
    account = Path("/proc/stat")
    ticks = int(account.read_text(encoding="ascii").split()[8]) if account.exists() else 0
    return ticks / os.sysconf("SC_CLK_TCK")


async def _short(server: _Server, chunks: Sequence[str], seen: _Seen, over: asyncio.Event) -> None:
    await asyncio.sleep(random.random() * _REST_SECONDS)
    async with _connection(server) as connection:
        while not over.is_set():
            begun = time.perf_counter()
            status, _ = await connection.ask(_query_request(server, _TITLE.format(random.choice(chunks))))
            seen.seconds.append(time.perf_counter() - begun)
            seen.statuses["short", status] += 1
            await asyncio.sleep(_REST_SECONDS)


async def _long(server: _Server, at: int, seen: _Seen, over: asyncio.Event) -> None:
    async with _connection(server) as connection:
        for text in itertools.islice(itertools.cycle(_LONG), at, None):
            if over.is_set():
                return
            asked = text % random.randrange(1, 10_000) if "%d" in text else text
            status, _ = await connection.ask(_query_request(server, asked, timeout=5))
            seen.statuses["long", status] += 1


async def _slow(server: _Server, seen: _Seen, over: asyncio.Event) -> None:
    async with _connection(server, received=_SLOW_BYTES_PER_SECOND) as connection:
        connection.writer.write(_query_request(server, _LARGE, timeout=30))
        seen.statuses["slow", (await connection.head())[0]] += 1
        while not over.is_set():
            seen.slow_bytes += len(await connection.reader.read(_SLOW_BYTES_PER_SECOND))
            await asyncio.sleep(1)


async def _write(server: _Server, seen: _Seen, over: asyncio.Event) -> None:
    async with _connection(server) as connection:
        for number in itertools.count(time.time_ns() // 1_000_000):
            request = _update_request(_WRITE.format(number), server.key)
            status, _ = await connection.ask(request)
            seen.statuses["write", status] += 1
            if status < 300:
                seen.acknowledged.append(number)
            if not over.is_set():
                await asyncio.sleep(_SECONDS_BETWEEN_WRITES)


async def _watch(server: _Server, seen: _Seen, over: asyncio.Event) -> None:
    while not over.is_set():  # in a thread: it takes a while, and would be part of what the clients wait for
        memory = await asyncio.to_thread(lambda: sum(map(proportional_memory, processes_of(server.pid))))
        seen.memory = max(seen.memory, memory)
        await asyncio.sleep(0.5)


@dataclass(frozen=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of the answer."""
        self.writer.write(request)
        status, headers = await self.head()
        if status == 204:
            return status, b""
        if "content-length" in headers:
            return status, await self.reader.readexactly(int(headers["content-length"]))
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += await self.reader.readexactly(size)
            await self.reader.readline()
        await self.reader.readline()
        return status, body

    async def head(self) -> tuple[int, dict[str, str]]:
        """Return the status and the headers of the answer that comes."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        return int(lines[0].split(" ")[1]), dict(line.split(": ", 1) for line in lines[1:] if ": " in line)


@contextlib.asynccontextmanager
async def _connection(server: _Server, received: int = 0) -> AsyncIterator[_Connection]:
    """Open a connection; of what the server sends only ``received`` bytes are taken before they are read (0: many)."""
    address = urlsplit(server.url)
    connected = socket.socket()
    if received:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
    connected.setblocking(False)
    await asyncio.get_running_loop().sock_connect(connected, (address.hostname, address.port))
    reader, writer = await asyncio.open_connection(sock=connected, limit=received or 1 << 16)
    try:
        yield _Connection(reader, writer)
    finally:
        writer.close()


def _query_request(
    server: _Server, text: str, *, accept: str = "application/sparql-results+json", timeout: int = 10
) -> bytes:
    path = f"{server.path}timeout={timeout}&query={quote(_DECLARED + text)}"
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\n\r\n".encode()


def _update_request(text: str, key: str) -> bytes:
    head = f"POST /update HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
    return f"{head}Content-Type: application/sparql-update\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()


if __name__ == "__main__":
    main()
