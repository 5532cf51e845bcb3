"""Filters before ranking: recall against exact filtering, and time against no filter, for the method ``passages``.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.filters         60,000 documents, all in the neighbour graph
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.filters --size 20000

Each document is one chunk of made-up words with a made-up vector (``benchmarks.vectors``); questions come from the same
source. Documents are allowed at random, but for the last line, where those that are allowed are near each other and few
questions are near them. ``dense`` and ``bm25`` are the share of the ten best allowed chunks, found by looking at every
one, that the signal returns; times are processor time of ``KnowledgeBase.retrieve`` with both signals (on one thread,
so that what else runs matters little), and ``x`` is the median over that without filter; ``wall`` is the median of the
same questions by the clock on the wall, and the last ``x`` that over the one without filter. ``first`` is the first
question with a filter, which looks its documents up.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks.vectors import made_up
from kgrag import KnowledgeBase
from kgrag.index import bm25
from kgrag.model import Document
from kgrag.ports import Vectors
from kgrag.settings import Settings
from kgrag.text import ingestion

__all__ = ["main"]

_K, _QUESTIONS, _WORDS, _VOCABULARY = 10, 100, 30, 20_000
_COLUMNS = "documents          allowed  dense@10  bm25@10  first ms  p50 ms  p95 ms     x  wall ms     x"
_SHARES = {"half": 2, "tenth": 10, "twentieth": 20, "thousandth": 1000}


class _Seconds(NamedTuple):
    cpu: float
    wall: float


@dataclass(frozen=True)
class _ByNumber:
    """Embeds a text by the number that it begins with, or after the title that is put before it."""

    rows: Vectors
    identity: str = "made-up"

    @property
    def dimension(self) -> int:
        return int(self.rows.shape[1])

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        numbers = [int(text.partition("number")[2].split()[0]) for text in texts]
        return self.rows[np.array(numbers, dtype=np.int64)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per filter."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--size", type=int, default=60_000)
    size = parser.parse_args(arguments).size
    random = np.random.default_rng(7)
    rows = made_up(random)(size + _QUESTIONS)
    texts = [_text(number, random) for number in range(len(rows))]
    nearness = rows[:size] @ random.normal(size=rows.shape[1])
    topic = nearness >= np.quantile(nearness, 0.95)
    with KnowledgeBase(settings=Settings(), embedder=_ByNumber(rows)) as kb:
        started = time.perf_counter()
        documents = (Document(texts[number], metadata=_fields(number, topic[number])) for number in range(size))
        ingestion.ingest(documents, store=kb.store)
        kb.build("passages")
        kb.spaces.space("chunk").search(rows[0], _K)
        print(f"{size:,} documents taken in and indexed in {time.perf_counter() - started:.0f} s")
        print(_COLUMNS)
        without = _measure(kb, texts[size:], rows[size:], "all of them", None, None)
        for name in _SHARES:
            _measure(kb, texts[size:], rows[size:], f"one {name}", {name: 0}, without)
        _measure(kb, texts[size:], rows[size:], "5 % of one topic", {"topic": True}, without)


def _text(number: int, random: np.random.Generator) -> str:
    words = (random.zipf(1.3, size=_WORDS) % _VOCABULARY).tolist()
    return f"number {number} " + " ".join(f"word{word}" for word in words)


def _fields(number: int, topic: np.bool_) -> dict[str, Any]:
    return {name: number % count for name, count in _SHARES.items()} | {"topic": bool(topic)}


def _measure(
    kb: KnowledgeBase, questions: Sequence[str], vectors: Vectors, name: str, where: Any, without: _Seconds | None
) -> _Seconds:
    """Print a line; returns the median seconds of a question."""
    first = _seconds(lambda: kb.retrieve(questions[0], k=_K, where=where))
    taken = [_seconds(lambda text=text: kb.retrieve(text, k=_K, where=where)) for text in questions]
    chunks = sorted(kb.allowed(where or "?document a kg:Document").chunks)
    dense, words = _exact(kb, questions, vectors, chunks)
    recalls = []
    for signal, expected in (("dense", dense), ("bm25", words)):
        found = [
            {hit.iri for hit in kb.retrieve(text, method=f"passages:signal={signal}", k=_K, where=where)}
            for text in questions
        ]
        recalls.append(sum(len(a & b) for a, b in zip(expected, found, strict=True)) / sum(map(len, expected)))
    p50, p95 = np.percentile([one.cpu for one in taken], [50, 95])
    median = _Seconds(float(p50), float(np.median([one.wall for one in taken])))
    over = without or median
    timed = f"{first.cpu * 1e3:8.1f}  {p50 * 1e3:6.2f}  {p95 * 1e3:6.2f}  {median.cpu / over.cpu:4.2f}"
    walls = f"{median.wall * 1e3:7.2f}  {median.wall / over.wall:4.2f}"
    print(f"{name:17}  {len(chunks):7,}  {recalls[0]:8.4f}  {recalls[1]:7.4f}  {timed}  {walls}", flush=True)
    return median


def _exact(
    kb: KnowledgeBase, questions: Sequence[str], vectors: Vectors, chunks: Sequence[str]
) -> tuple[list[set[str]], list[set[str]]]:
    """Return the ten best allowed chunks of each question by cosine and by words, found by looking at every one."""
    rows, index = kb.spaces.space("chunk").vectors(chunks), bm25.fresh(kb.store, None)
    places = index.iris.places(chunks)
    dense, words = [], []
    for text, vector in zip(questions, vectors, strict=True):
        cosines, scores = rows @ vector, index.relevance(text)[places]
        dense.append({chunks[place] for place in np.argsort(-cosines, kind="stable")[:_K]})
        words.append({chunks[place] for place in np.argsort(-scores, kind="stable")[:_K] if scores[place] > 0})
    return dense, words


def _seconds(work: Any) -> _Seconds:
    cpu, wall = time.thread_time(), time.perf_counter()
    work()
    return _Seconds(time.thread_time() - cpu, time.perf_counter() - wall)


if __name__ == "__main__":
    main()
