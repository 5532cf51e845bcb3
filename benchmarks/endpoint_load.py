"""Load on the SPARQL endpoint, beside the Oxigraph server and rdflib-endpoint, all on loopback and in one run.

    python -m benchmarks.endpoint_load
    python -m benchmarks.endpoint_load --rounds 5 --seconds 8 --json figures.json

Needs ``wrk``, Linux, ``pip install '.[server]' oxigraph rdflib-endpoint``, 1 GB of disk and about three minutes. A
server that is not installed is left out. Each has the same made-up data, items with a label, a rank, and a text of some
900 characters, and none writes a log of requests. Three measures:

* a small query (the rank of an item, of 1,000 in turn) at 16 connections: the servers take turns, round by
  round, and the median of the rounds and of the ratios within a round counts. CPU is that of all processes of a server;
* a result of 100 MB as JSON: time to its first byte and to its end, and the memory of the server's processes, asked
  every 20 ms, as PSS (a page that n processes share counts 1/n in each), so that processes can be added up; and the
  memory of a process that does nothing but run this query with pyoxigraph on the same store, which no server can save;
* the small query from 31 connections, alone and then beside one client that asks for a cartesian product all the time.
"""

from __future__ import annotations

import argparse
import http.client
import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

__all__ = ["free_port", "main", "processes_of", "proportional_memory"]

_ITEM = "http://example.org/item/"
_SMALL = "SELECT ?o { <http://example.org/item/%d> <http://example.org/rank> ?o }"
_LARGE = "SELECT ?item ?text { ?item <http://example.org/text> ?text }"
_PRODUCT = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
_LUA = """
local turn = 0
function request()
  turn = (turn + 1) % TURNS
  return wrk.format("GET", "PATH?query=" .. string.format("TEXT", turn * STEP))
end
function done(summary, latency)
  local e = summary.errors
  print(string.format("FIGURES %d %d %d %d %d", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(95), e.connect + e.read + e.write + e.status + e.timeout))
end
"""
_TURNS = 1000
_ALONE = """
import sys, pyoxigraph as ox
class Nowhere:
    def write(self, data): return len(data)
    def flush(self): pass
found = ox.Store.read_only(sys.argv[1]).query(sys.argv[2], use_default_graph_as_union=True)
found.serialize(Nowhere(), ox.QueryResultsFormat.JSON)
"""
_TICK = os.sysconf("SC_CLK_TCK")
_TARGETS = """Targets: at least 0.25 of the Oxigraph server's requests/s and 100 times rdflib-endpoint's; the first byte
of the large result within 100 ms, with less than 100 MB of memory; beside a product at most 3 times the quiet p95."""


@dataclass(frozen=True)
class _Server:
    """A server that listens: its name, the path of its endpoint, its port and its first process."""

    name: str
    path: str
    port: int
    pid: int

    def cpu(self) -> float:
        """Return the CPU seconds that its processes used so far, those that ended included."""
        total = 0
        for pid in processes_of(self.pid):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            total += sum(map(int, fields[11:15]))
        return total / _TICK

    def memory(self) -> list[float]:
        """Return the PSS of each of its processes in MB, the first one first."""
        return [proportional_memory(pid) for pid in processes_of(self.pid)]


def processes_of(first: int) -> list[int]:
    """Return the ids of a process and of all that it began, the first one first."""
    found = [first]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                found += map(int, task.read_text(encoding="ascii").split())
            except OSError:  # the thread, or the process, has just ended
                continue
    return found


def proportional_memory(pid: int) -> float:
    """Return the PSS of a process in MB, 0 for one that ended."""
    try:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    found = re.search(r"^Pss:\s+(\d+) kB", told, flags=re.MULTILINE)
    return int(found[1]) / 1000 if found else 0.0


@dataclass(frozen=True)
class _Burst:
    """What came of some seconds of load; times in ms, CPU in ms a request."""

    rate: float
    p50: float
    p95: float
    cpu: float
    failed: int


@dataclass
class _Figures:
    """What is known of one server in the end."""

    bursts: list[_Burst] = field(default_factory=list)
    large: dict[str, float] = field(default_factory=dict)
    quiet: _Burst | None = None
    beside: _Burst | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--items", type=int, default=100_000, help="items in the data; 100,000 make the 100 MB")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5, help="length of each burst of small queries")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--readers", type=int, default=4, help="reader processes of kgrag")
    parser.add_argument("--same", action="store_true", help="ask for the same item each time")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args(arguments)
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed. Install it: apt-get install wrk.")
    print(" ".join(f"{name}={value}" for name, value in vars(options).items()), f"cores={os.cpu_count()}")
    with tempfile.TemporaryDirectory(prefix="kgrag-load-") as folder, ExitStack() as stack:
        servers = _started(Path(folder), options, stack)
        figures = _measured(servers, options, Path(folder))
        alone = _alone(Path(folder) / "kb" / "store")
    print("\n".join(_table(figures)))
    print(f"pyoxigraph alone, with the query of the large result: peak {alone:.0f} MB")
    if options.json:
        options.json.write_text(json.dumps({name: asdict(one) for name, one in figures.items()}, indent=1))


def _started(folder: Path, options: argparse.Namespace, stack: ExitStack) -> list[_Server]:
    data = folder / "items.nt"
    _write(data, options.items)
    servers = [stack.enter_context(_kgrag(folder, data, options.readers))]
    scripts = Path(sys.executable).parent
    if (command := shutil.which("oxigraph", path=f"{scripts}{os.pathsep}{os.defpath}")) is not None:
        servers.append(stack.enter_context(_oxigraph(command, folder, data)))
    if importlib.util.find_spec("rdflib_endpoint") is not None:
        servers.append(stack.enter_context(_rdflib(folder, data)))
    return servers


def _write(data: Path, items: int) -> None:
    words = "the quick brown fox jumps over the lazy dog " * 20
    with data.open("w", encoding="utf-8") as file:
        for number in range(items):
            item = f"<{_ITEM}{number}> <http://example.org/"
            file.write(f'{item}label> "item {number}" .\n')
            file.write(f'{item}rank> "{number % 97}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n')
            file.write(f'{item}text> "{number} {words[number % 40 :]}" .\n')


def _kgrag(folder: Path, data: Path, readers: int) -> Any:
    kb, port = folder / "kb", free_port()
    kgrag = [sys.executable, "-m", "kgrag"]
    _prepared([*kgrag, "load", str(data), "--kb", str(kb)])
    command = [*kgrag, "serve", "--kb", str(kb), "--port", str(port), "--readers", str(readers), "--log", "none"]
    return _serving("kgrag", "/sparql", port, command, folder)


def _oxigraph(oxigraph: str, folder: Path, data: Path) -> Any:
    store, port = folder / "oxigraph", free_port()
    _prepared([oxigraph, "load", "--location", str(store), "--file", str(data)])
    command = [oxigraph, "serve-read-only", "--location", str(store), "--bind", f"127.0.0.1:{port}"]
    return _serving("oxigraph", "/query", port, command, folder)


def _rdflib(folder: Path, data: Path) -> Any:
    port = free_port()
    start = "from rdflib_endpoint.__main__ import cli; cli()"
    command = [sys.executable, "-c", start, "serve", "--host", "127.0.0.1", "--port", str(port), str(data)]
    return _serving("rdflib-endpoint", "/", port, command, folder)


def _prepared(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"'{' '.join(command)}' ended with {done.returncode}: {done.stderr[-2000:]}")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as opened:
        return int(opened.getsockname()[1])


@contextmanager
def _serving(name: str, path: str, port: int, command: list[str], folder: Path) -> Iterator[_Server]:
    """Run a server until it answers, and kill it at the end with all its processes."""
    with (folder / f"{name}.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    server = _Server(name, path, port, process.pid)
    try:
        ends = time.monotonic() + 300
        while not _answers(server):
            if process.poll() is not None or time.monotonic() > ends:
                sys.exit(f"{name} does not serve: {(folder / f'{name}.log').read_text(encoding='utf-8')[-2000:]}")
            time.sleep(0.2)
        yield server
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(server: _Server) -> bool:
    try:
        return b"77" in _ask(server, _SMALL % 77, seconds=10)[1]
    except OSError:
        return False


def _ask(server: _Server, query: str, *, seconds: float) -> tuple[float, bytes, int]:
    """Return the seconds to the first byte of the answer, its last block, and how many bytes it has.

    Raises:
        OSError: it does not answer, or not in time.
    """
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=seconds)
    try:
        begun = time.monotonic()
        accept = {"Accept": "application/sparql-results+json"}
        connection.request("GET", f"{server.path}?query={quote(query)}", headers=accept)
        answer = connection.getresponse()
        block = last = answer.read1(1 << 20)
        first, size = time.monotonic() - begun, len(block)
        while block := answer.read1(1 << 20):
            last, size = block, size + len(block)
        if answer.status != 200:
            raise OSError(f"{server.name} answered {answer.status}: {last[:300]!r}")
        return first, last, size
    except http.client.HTTPException as error:
        raise OSError(f"{server.name}: {error!r}") from error
    finally:
        connection.close()


def _measured(servers: list[_Server], options: argparse.Namespace, folder: Path) -> dict[str, _Figures]:
    figures = {server.name: _Figures() for server in servers}
    for server in servers:
        _burst(server, folder, options, connections=options.connections, seconds=2)
    for _ in range(options.rounds):
        for server in servers:
            told = _burst(server, folder, options, connections=options.connections, seconds=options.seconds)
            figures[server.name].bursts.append(told)
    for server in servers:
        figures[server.name].large = _large(server)
    for server in servers:
        quiet = _burst(server, folder, options, connections=31, seconds=options.seconds)
        with _product(server, options.seconds + 2):
            beside = _burst(server, folder, options, connections=31, seconds=options.seconds)
        figures[server.name].quiet, figures[server.name].beside = quiet, beside
    return figures


def _burst(server: _Server, folder: Path, options: argparse.Namespace, *, connections: int, seconds: int) -> _Burst:
    script = folder / f"{server.name}.lua"
    text = quote(_SMALL).replace("%", "%%").replace("%%25d", "%d")
    turns = 1 if options.same else min(_TURNS, options.items)
    lua = _LUA.replace("TURNS", str(turns)).replace("STEP", str(options.items // turns))
    script.write_text(lua.replace("PATH", server.path).replace("TEXT", text))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(script)]
    before = server.cpu()
    done = subprocess.run(
        [*command, "-H", "Accept: application/sparql-results+json", f"http://127.0.0.1:{server.port}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = re.search(r"FIGURES (\d+) (\d+) (\d+) (\d+) (\d+)", done.stdout)
    if found is None:
        sys.exit(f"wrk failed at {server.name}: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    requests, duration, p50, p95, failed = map(int, found.groups())
    cpu = 1000 * (server.cpu() - before) / max(requests, 1)
    return _Burst(1e6 * requests / duration, p50 / 1000, p95 / 1000, cpu, failed)


def _large(server: _Server) -> dict[str, float]:
    """Ask for the large result, and watch the memory meanwhile."""
    peaks, over = _Peaks(server.memory()), threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            peaks.add(server.memory())

    watching = threading.Thread(target=watch)
    watching.start()
    begun = time.monotonic()
    try:
        first, _, size = _ask(server, _LARGE, seconds=60)
    except OSError as error:
        print(f"{server.name}: the large result did not come: {error}", file=sys.stderr)
        return {}
    finally:
        over.set()
        watching.join()
    took = time.monotonic() - begun
    return {"bytes": size, "first_ms": 1000 * first, "seconds": took, **asdict(peaks)}


def _alone(store: Path) -> float:
    """Return the most memory in MB of a process that only runs the query of the large result."""
    peak, process = 0.0, subprocess.Popen([sys.executable, "-c", _ALONE, str(store), _LARGE])
    while process.poll() is None:
        peak = max(peak, proportional_memory(process.pid))
        time.sleep(0.02)
    return peak


@dataclass
class _Peaks:
    """The most memory in MB: before, of all processes together, of the first one, and of any other."""

    now: Any
    all: float = 0.0
    web: float = 0.0
    reader: float = 0.0
    before: float = 0.0

    def __post_init__(self) -> None:
        self.before = sum(self.now)
        self.add(self.now)

    def add(self, memory: list[float]) -> None:
        """Take a look into account."""
        self.now = 0.0
        self.all = max(self.all, sum(memory))
        self.web = max(self.web, memory[0])
        self.reader = max([self.reader, *memory[1:]])


@contextmanager
def _product(server: _Server, seconds: float) -> Iterator[None]:
    """Let one client ask for a cartesian product for as long as this lasts; it leaves after some seconds."""
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                _ask(server, _PRODUCT, seconds=seconds)
            except OSError:
                continue

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()


def _table(figures: dict[str, _Figures]) -> Iterator[str]:
    yield "small query        requests/s   p50 ms   p95 ms  CPU ms/request  failed  kgrag is times this"
    for name, one in figures.items():
        rate, p50, p95, cpu = (_median(one.bursts, of) for of in ("rate", "p50", "p95", "cpu"))
        ratio = statistics.median(a.rate / b.rate for a, b in zip(figures["kgrag"].bursts, one.bursts, strict=True))
        failed = sum(burst.failed for burst in one.bursts)
        yield f"{name:<18} {rate:>10,.0f} {p50:>8.2f} {p95:>8.2f} {cpu:>15.3f} {failed:>7} {ratio:>20.3f}"
    yield "large result            MB  first byte ms  seconds  MB before  peak of all  of the first  of another"
    for name, one in figures.items():
        if large := one.large:
            yield (
                f"{name:<18} {large['bytes'] / 1e6:>7.1f} {large['first_ms']:>14.1f} {large['seconds']:>8.1f} "
                f"{large['before']:>10.0f} {large['all']:>12.0f} {large['web']:>13.0f} {large['reader']:>11.0f}"
            )
    yield "31 connections     quiet p95 ms  beside a product  times  requests/s quiet  beside  failed"
    for name, one in figures.items():
        if one.quiet and one.beside:
            yield f"{name:<18} {_beside(one.quiet, one.beside)}"
    yield _TARGETS


def _median(bursts: list[_Burst], of: str) -> float:
    return float(statistics.median(getattr(burst, of) for burst in bursts))


def _beside(quiet: _Burst, beside: _Burst) -> str:
    if not beside.rate:
        return f"{quiet.p95:>12.1f} {'no answer':>17} {'':>6} {quiet.rate:>17,.0f} {0:>7} {beside.failed:>7}"
    times = beside.p95 / quiet.p95
    return (
        f"{quiet.p95:>12.1f} {beside.p95:>17.1f} {times:>6.1f} {quiet.rate:>17,.0f} {beside.rate:>7,.0f} "
        f"{beside.failed:>7}"
    )


if __name__ == "__main__":
    main()
