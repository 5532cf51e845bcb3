"""How long the default method takes as a knowledge base grows, beside plain passages.

``python -m benchmarks.auto_growth [SIZE …] [--keep FOLDER] [--trees]`` (default 1000 10000 100000 chunks). The chunks
are those of ``benchmarks.served_chunks``: thirty made-up words each, a document each, embedded by a hash, so no time is
that of an embedding model. A question has three words of one chunk and three of another. ``--trees`` builds sire_rag
too, whose extractive summaries take minutes at 10,000 chunks: then aggregates are ranked and the walk over names is
taken; without it auto is passages and coverage.

Each size is measured in a process that only opens what is on disk: the first question, which reads or maps the indices,
then forty by the clock and by the processor, median and 95th percentile in milliseconds; and what is resident then.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.served_chunks import make_chunks, opened, words_of

__all__ = ["main"]

_QUESTIONS = 40
_METHODS = ("passages", "auto")


@dataclass(frozen=True)
class Measured:
    """Milliseconds of each question by the clock and by the processor, by method; seconds of the first; MB."""

    clock: dict[str, list[float]]
    processor: dict[str, list[float]]
    first: float
    memory: int


def question(number: int, size: int) -> str:
    """Return a question of words of two chunks."""
    draw = np.random.default_rng([number, size])
    return " ".join(word for chunk in draw.integers(0, size, 2).tolist() for word in words_of(chunk)[:3])


def measured(folder: Path, size: int) -> Measured:
    """Ask what is in a folder; to be run in a process of its own."""
    with opened(folder) as kb:
        start = time.perf_counter()
        kb.retrieve(question(_QUESTIONS, size))
        first = time.perf_counter() - start
        clock: dict[str, list[float]] = {}
        processor: dict[str, list[float]] = {}
        for method in _METHODS:
            kb.retrieve(question(_QUESTIONS, size), method=method)
            for number in range(_QUESTIONS):
                start, used = time.perf_counter(), time.process_time()
                kb.retrieve(question(number, size), method=method)
                clock.setdefault(method, []).append(1000 * (time.perf_counter() - start))
                processor.setdefault(method, []).append(1000 * (time.process_time() - used))
        return Measured(clock, processor, first, _resident())


def _resident() -> int:
    """Return the resident memory of this process in MB; 0 but on Linux."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS")), 0)


def percentiles(run: Sequence[float]) -> str:
    """Write p50 and p95."""
    return " / ".join(f"{np.percentile(run, share):.1f}" for share in (50, 95))


def main() -> None:
    """Make what is not there, and print one row a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 10_000, 100_000], metavar="SIZE")
    parser.add_argument("--keep", type=Path, help="folder for the knowledge bases; one that is there is not made again")
    parser.add_argument("--trees", action="store_true", help="build sire_rag too")
    options = parser.parse_args()
    columns = [f"{method}, {by} p50 / p95" for method in _METHODS for by in ("ms", "CPU ms")]
    print(f"| chunks | made in s | first question s | {' | '.join(columns)} | MB |\n|{'--:|' * (4 + len(columns))}")
    with tempfile.TemporaryDirectory(prefix="kgrag-growth-") as temporary:
        for size in options.sizes:
            folder = (options.keep or Path(temporary)) / f"{size}{'-trees' if options.trees else ''}"
            start = time.perf_counter()
            make_chunks(folder, size)
            if options.trees:
                with opened(folder) as kb:
                    kb.build("sire_rag")
            made = time.perf_counter() - start
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                found = process.submit(measured, folder, size).result()
            runs = [percentiles(by[method]) for method in _METHODS for by in (found.clock, found.processor)]
            print(f"| {size:,} | {made:.0f} | {found.first:.2f} | {' | '.join(runs)} | {found.memory:,} |", flush=True)


if __name__ == "__main__":
    main()
