"""Searches and questions beside a writer who sends one update per second, over 60,000 chunks.

    python -m benchmarks.beside_a_writer                        makes the chunks first (two minutes)
    python -m benchmarks.beside_a_writer --folder FOLDER        keeps them there for the next run

Three askers, each on a connection of its own, who rest 50 ms between two requests: one sends queries with ``kgv:near``,
one with ``kgv:matches``, one questions to ``/ask`` (without a language model). Each text is asked for once. The server
is ``benchmarks.served_chunks``: a process of its own, texts embedded by a hash. Parts: quiet; beside one triple per
second into an unrelated graph; beside one per second into the graph of a document, which has a chunk; beside an update
with a ``WHERE``, which is first run on a copy; beside documents that come; quiet again. ``x`` is the p95 over the
larger one of the two quiet ones, and ``write`` the median and the longest time of a write.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
import numpy as np

from benchmarks.served_chunks import ServedChunks, chunk_text, made_chunks, options_of, serving, words_of

__all__ = ["main"]

_REST_SECONDS = 0.05
_NEAR = 'SELECT ?n ?s {{ (?n ?s) kgv:near ("{0}" 10 "chunk") }}'
_MATCHES = 'SELECT ?n ?s {{ (?n ?s) kgv:matches ("{0}" 10 "chunk") }}'
_GRAPH_OF = "SELECT ?g {{ GRAPH ?g {{ ?c kg:text ?t FILTER(STRSTARTS(?t, 'Record r{0}x:')) }} }}"
_INSERT = "INSERT DATA {{ GRAPH <{0}> {{ <urn:note:{1}> <urn:says> {1} }} }}"
_INSERT_WHERE = (
    "INSERT {{ GRAPH <urn:notes:more> {{ ?n <urn:seen> {0} }} }} WHERE {{ GRAPH <urn:notes> {{ ?n <urn:says> ?v }} }}"
)
_Write = Callable[[httpx.Client, int], object]
_Parts = dict[str, dict[str, list[float]]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per part and asker."""
    options = options_of(__doc__, arguments, seconds=20)
    with made_chunks(options) as folder, serving(folder) as server:
        _measure(server, options.size, options.seconds)


def _measure(server: ServedChunks, size: int, seconds: float) -> None:
    numbers = iter(np.random.default_rng(time.time_ns()).permutation(size).tolist())
    with _client(server) as client:
        rows = client.post("/sparql", data={"query": _GRAPH_OF.format(7)}).json()["results"]["bindings"]
    writers: dict[str, _Write | None] = {
        "quiet": None,
        "unrelated graph": _update(lambda at: _INSERT.format("urn:notes", at)),
        "a document's graph": _update(lambda at: _INSERT.format(rows[0]["g"]["value"], at)),
        "update with WHERE": _update(_INSERT_WHERE.format),
        "documents": lambda client, at: client.put(f"/documents/new-{at}", json={"text": chunk_text(size + at)}),
        "quiet again": None,
    }
    _run(server, numbers, 3.0, None)
    parts: _Parts = {}
    print(f"{'':20} {'asker':8} requests  p50 ms  p95 ms     x   write p50 / max ms")
    for name, write in writers.items():
        parts[name] = _run(server, numbers, seconds, write)
        print(f"  {name} done", file=sys.stderr)
    for name, taken in parts.items():
        writes = taken.pop("writes")
        written = f"{np.median(writes) * 1000:8.0f} / {max(writes) * 1000:.0f}" if writes else ""
        for asker, each in taken.items():
            quiet = max(_p95(parts["quiet"][asker]), _p95(parts["quiet again"][asker]))
            p95 = _p95(each)
            figures = f"{len(each):8} {np.median(each) * 1000:7.0f} {p95 * 1000:7.0f} {p95 / quiet:5.2f}"
            print(f"{name:20} {asker:8} {figures} {written}", flush=True)


def _p95(seconds: Sequence[float]) -> float:
    return float(np.percentile(seconds, 95))


def _client(server: ServedChunks) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.key}"}
    return httpx.Client(base_url=server.url.removesuffix("/sparql"), headers=headers, timeout=60, trust_env=False)


def _update(text: Callable[[int], str]) -> _Write:
    return lambda client, at: client.post("/update", data={"update": text(at)}).raise_for_status()


def _run(server: ServedChunks, numbers: Iterator[int], seconds: float, write: _Write | None) -> dict[str, list[float]]:
    """Ask for as long, and return the seconds of each request by asker."""
    over = threading.Event()
    lock = threading.Lock()

    def texts() -> Iterator[str]:
        while not over.is_set():
            with lock:
                number = next(numbers)
            yield " ".join(words_of(number)[:4])

    def asked(send: Callable[[httpx.Client, str], httpx.Response]) -> list[float]:
        taken = []
        with _client(server) as client:
            for text in texts():
                begun = time.perf_counter()
                status = send(client, text).status_code
                taken.append(time.perf_counter() - begun)
                if status != 200:
                    print(f"  status {status} after {taken[-1]:.1f} s")
                over.wait(_REST_SECONDS)
        return taken

    def written() -> list[float]:
        taken = []
        with _client(server) as client:
            for at in count(time.time_ns() // 1_000_000):
                begun = time.perf_counter()
                if write is not None:
                    write(client, at)
                    taken.append(time.perf_counter() - begun)
                if over.wait(max(1 - (time.perf_counter() - begun), 0)):
                    return taken
        return taken

    with ThreadPoolExecutor(4) as askers:
        running = {
            "near": askers.submit(asked, lambda client, text: _query(client, _NEAR.format(text))),
            "matches": askers.submit(asked, lambda client, text: _query(client, _MATCHES.format(text))),
            "ask": askers.submit(
                asked, lambda client, text: client.post("/ask", json={"question": f"Which has {text}?"})
            ),
            "writes": askers.submit(written),
        }
        time.sleep(seconds)
        over.set()
        return {name: future.result() for name, future in running.items()}


def _query(client: httpx.Client, text: str) -> httpx.Response:
    return client.post("/sparql", data={"query": text}, headers={"Accept": "text/csv"})


if __name__ == "__main__":
    main()
