"""Millions of quads on a SPARQL server beside the store in the process: loading, disk, and how long an answer takes.

    python -m benchmarks.server_triples                    10^6 quads, both profiles
    python -m benchmarks.server_triples --quads 10000000 --profiles server --folder FOLDER

Each knowledge base has some documents of one or two sentences, embedded by a hash, and then small graphs as og_rag's
hyperedges are (``benchmarks.publish``) until there are as many quads; most of these are the catalogue's. They are
published 10,000 graphs at a time, as valid ones, which is what a loader does with what workers made. Questions are
about the documents and differ from each other; each is asked once of passages (``answer``), then one more document is
taken in and the next asked (``after``), medians by the clock. ``quads/s per core`` is of the processor time of all that
works: this process, and the server (PyPI ``oxigraph``). So is ``processor`` of an answer, where what else works on the
machine counts less than by the clock; an engine that still merges its files counts in both.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import psutil  # type: ignore[import-untyped,unused-ignore]

from benchmarks.oxigraph_server import OxigraphServer
from benchmarks.publish import drafts
from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

__all__ = ["main"]

_PROFILES = ("embedded", "server")
_GRAPHS_PER_CALL = 10_000
_QUESTIONS, _CHANGES, _METHOD = 60, 10, "passages"
_COLUMNS = "profile       quads  loaded s  CPU s here  CPU s server  quads/s per core  bytes a quad"
_ALL_QUADS = "SELECT (COUNT(*) AS ?quads) WHERE { GRAPH ?graph { ?s ?p ?o } }"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print lines while quads come, and a line of times for each profile."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--profiles", nargs="+", default=list(_PROFILES), choices=_PROFILES)
    parser.add_argument("--folder", type=Path, help="where everything is put meanwhile; a temporary one otherwise")
    given = parser.parse_args(arguments)
    print(_COLUMNS)
    p50: list[float] = []
    for profile in given.profiles:
        with ExitStack() as ends:
            place = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="kgrag-triples-", dir=given.folder)))
            kb, server = ends.enter_context(_opened(profile, place))
            _fill(profile, kb, server, place, given.quads, given.documents)
            p50.append(_ask(profile, kb, server, given.documents))
    if len(p50) > 1:
        print(f"an answer takes {p50[1] / p50[0]:.2f} times as long with {given.profiles[1]} as {given.profiles[0]}")


@contextmanager
def _opened(profile: str, place: Path) -> Iterator[tuple[KnowledgeBase, psutil.Process | None]]:
    if profile == "embedded":
        with KnowledgeBase(place / "kb", settings=Settings(), embedder=HashEmbedder()) as kb:
            yield kb, None
        return
    with OxigraphServer(place / "store") as server:
        settings = Settings(store=server.address)
        with KnowledgeBase(place / "kb", settings=settings, embedder=HashEmbedder()) as kb:
            yield kb, psutil.Process(server.pid)


def _fill(
    profile: str, kb: KnowledgeBase, server: psutil.Process | None, place: Path, quads: int, documents: int
) -> None:
    """Load documents and graphs until there are so many quads, and print how it goes, ten times."""
    kb.add_many(_record(number) for number in range(documents))
    started, used, theirs = time.perf_counter(), time.process_time(), _processor(server)
    first, before, shown = 0, _count(kb), 0
    per_graph = 0.0
    total = before
    while total < quads:
        drafted = drafts(range(first, first + _GRAPHS_PER_CALL), kb.store.names)
        kb.store.publish(drafted, conforming={draft.iri for draft in drafted})
        first += _GRAPHS_PER_CALL
        per_graph = per_graph or (_count(kb) - before) / first
        total = round(before + per_graph * first)
        if total * 10 // quads > shown:
            shown = total * 10 // quads
            kb.store.flush()
            here, there = time.process_time() - used, _processor(server) - theirs
            disk = sum(
                path.stat().st_size for path in (place / "store", place / "kb" / "store") for path in _files(path)
            )
            print(
                f"{profile:9} {total:10,} {time.perf_counter() - started:9.1f} {here:11.1f} {there:13.1f} "
                f"{(total - before) / (here + there):17,.0f} {disk / total:13.0f}",
                flush=True,
            )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _count(kb: KnowledgeBase) -> int:
    ((quads,),) = kb.store.select(_ALL_QUADS).values()
    return int(quads)


def _processor(process: psutil.Process | None) -> float:
    return 0.0 if process is None else sum(process.cpu_times()[:2])


def _ask(profile: str, kb: KnowledgeBase, server: psutil.Process | None, documents: int) -> float:
    """Print how long answers and changes take; return the median of an answer, in seconds."""
    numbers = count()
    first = _seconds(lambda: kb.ask(_question(next(numbers)), method=_METHOD))
    used = time.process_time() + _processor(server)
    answers = [_seconds(lambda: kb.ask(_question(next(numbers)), method=_METHOD)) for _ in range(_QUESTIONS)]
    used = time.process_time() + _processor(server) - used
    changes, after = [], []
    for number in range(_CHANGES):
        changes.append(_seconds(lambda: kb.add(_record(documents + number))))  # noqa: B023
        after.append(_seconds(lambda: kb.ask(_question(next(numbers)), method=_METHOD)))
    p50, p95 = np.percentile(answers, [50, 95])
    print(
        f"{profile:9} answer {1e3 * first:.0f} ms the first, then p50 {1e3 * p50:.1f}, p95 {1e3 * p95:.1f}, "
        f"processor {1e3 * used / _QUESTIONS:.1f}; one more "
        f"document {1e3 * float(np.median(changes)):.0f}, the answer after it {1e3 * float(np.median(after)):.0f}",
        flush=True,
    )
    return float(p50)


def _record(number: int) -> Document:
    text = f"Record {number} speaks of pump {number % 97} and valve {number % 89} in hall {number % 13}."
    return Document(text, id=str(number))


def _question(number: int) -> str:
    return f"Where is pump {7 * number % 97} with valve {5 * number % 89}?"


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
