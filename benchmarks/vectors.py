"""Vector search: time to build and save, time to open, time of a search, and recall against exact search.

    python -m benchmarks.vectors                 10^3 to 10^5 vectors
    python -m benchmarks.vectors --sizes 1000000

Vectors are made up: 384 numbers from 32 hidden ones in 200 clusters with noise, which is about as hard to index as
sentence embeddings are. Questions come from the same source and are not in the index. ``exact`` is the time of looking
at every row; ``within`` limits a search to a tenth of the keys.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kgrag.index.hnsw import HnswIndex
from kgrag.index.vector_folder import FolderSpaces
from kgrag.ports import Vectors

__all__ = ["made_up", "main"]

_DIMENSION, _HIDDEN, _CLUSTERS = 384, 32, 200
_QUESTIONS, _K, _BATCH = 200, 10, 10_000
_COLUMNS = "vectors  add+save s  open s  first ms  p50 ms  p95 ms  recall@10  exact ms  within ms  MB disk  MB peak"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line a size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    print(_COLUMNS)
    for size in parser.parse_args(arguments).sizes:
        with tempfile.TemporaryDirectory() as folder:
            _measure(size, Path(folder))


def _measure(size: int, folder: Path) -> None:
    source = made_up(np.random.default_rng(7))
    questions = source(_QUESTIONS)
    build = _seconds(lambda: _fill(folder, size, source))
    opened = _seconds(lambda: _open(folder))
    index = _open(folder)
    first = _seconds(lambda: index.search(questions[0], _K))
    times = [_seconds(lambda vector=vector: index.search(vector, _K)) for vector in questions]  # type: ignore[misc]
    recall, exact = _against_exact(index, questions)
    tenth = index.keys()[::10]
    within = np.median([_seconds(lambda vector=vector: index.search(vector, _K, tenth)) for vector in questions[:20]])  # type: ignore[misc]
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    p50, p95 = np.percentile(times, [50, 95])
    times_ms = f"{first * 1e3:8.1f}  {p50 * 1e3:6.2f}  {p95 * 1e3:6.2f}"
    others = f"{exact * 1e3:8.2f}  {within * 1e3:9.2f}  {disk / 1e6:7.0f}  {peak:7.0f}"
    print(f"{size:7d}  {build:10.1f}  {opened:6.2f}  {times_ms}  {recall:9.3f}  {others}", flush=True)


def made_up(random: np.random.Generator) -> Callable[[int], Vectors]:
    """Return a function that draws so many unit vectors, about as hard to index as sentence embeddings are."""
    centres = random.normal(size=(_CLUSTERS, _HIDDEN))
    spread = random.normal(size=(_HIDDEN, _DIMENSION)) / np.sqrt(_HIDDEN)

    def vectors(count: int) -> Vectors:
        hidden = centres[random.integers(_CLUSTERS, size=count)] + random.normal(size=(count, _HIDDEN))
        rows = hidden @ spread + 0.5 * random.normal(size=(count, _DIMENSION))
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)

    return vectors


def _open(folder: Path) -> HnswIndex:
    return FolderSpaces(folder, identity="made-up", dimension=_DIMENSION).space("chunk")


def _fill(folder: Path, size: int, source: Callable[[int], Vectors]) -> None:
    index = _open(folder)
    for start in range(0, size, _BATCH):
        count = min(_BATCH, size - start)
        index.upsert([f"urn:kgrag:chunk/{number:020d}-0-1000" for number in range(start, start + count)], source(count))
    index.save(1)


def _against_exact(index: HnswIndex, questions: Vectors) -> tuple[float, float]:
    """Return recall of the index and seconds of one exact search."""
    keys = index.keys()
    rows = index.vectors(keys)
    shared, times = 0, []
    for vector in questions:
        started = time.perf_counter()
        scores = rows @ vector
        near = np.argpartition(scores, -_K)[-_K:]
        times.append(time.perf_counter() - started)
        shared += len({keys[slot] for slot in near} & {key for key, _ in index.search(vector, _K)})
    return shared / (len(questions) * _K), float(np.median(times))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
