"""How long CG-RAG takes to retrieve as the collection grows, and what memory it needs.

Run ``python -m benchmarks.cg_rag_growth [LARGEST] [--chunks 40] [--json FILE]`` (default 12,000 documents of 40 chunks,
as CL-SciSumm has). The collection is made up: a document cites a few others, some of which many cite; words follow
Zipf's law, some of them being the topic's own; vectors lie around 200 centres of 384 dimensions. Everything goes
through the store, and edges are drawn by the method itself. Questions are not embedded: their vectors are made up too.
Times are of ``CgRag.ranking`` and ``CgRag.retrieve``, one question after the other, and of ranking by a graph encoder
of the default size (128 wide, 2 layers); memory is the most that this process had.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgrag import KnowledgeBase, Settings
from kgrag.evaluation.intervals import percentile
from kgrag.model import Document
from kgrag.ports import Vectors
from kgrag.text import ingestion

__all__ = ["main"]

_SIZES = (1_000, 3_000, 12_000)
_WORDS = 60  # of a chunk: fewer than in a real one, and as many different ones
_VOCABULARY = 60_000
_QUESTIONS = 200
_DIMENSION = 384


class _Made:
    """An embedder that puts a text near the centre of its topic, by the number that it begins with."""

    dimension = _DIMENSION
    identity = "made-up"

    def __init__(self) -> None:
        draw = np.random.default_rng(1)
        self._centres = draw.normal(size=(200, _DIMENSION)).astype(np.float32)

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """Return unit rows."""
        rows = np.empty((len(texts), _DIMENSION), np.float32)
        for number, text in enumerate(texts):
            topic = int(text.split("topic", 1)[1].split()[0]) if "topic" in text else 0
            noise = np.random.default_rng(zlib.crc32(text.encode())).normal(size=_DIMENSION)
            rows[number] = self._centres[topic] + noise
        units: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return units


def main() -> None:
    """Measure and print a row a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("largest", nargs="?", type=int, default=_SIZES[-1])
    parser.add_argument("--chunks", type=int, default=40, help="of a document")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(
        "| documents | chunks | edges | built s | p50 ms | p95 ms | trained p50 | p95 | with texts p50 | MB |\n"
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    )
    told = []
    for size in [size for size in _SIZES if size < options.largest] + [options.largest]:
        with tempfile.TemporaryDirectory() as scratch:
            told.append(_measured(size, options.chunks, Path(scratch) / "k.kb"))
        print("| " + " | ".join(f"{value:,}" for value in told[-1].values()) + " |", flush=True)
    if options.json:
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


def _measured(size: int, chunks: int, path: Path) -> dict[str, Any]:
    import torch

    from kgrag.methods.cg_rag import encoder

    with KnowledgeBase(path, settings=Settings(), embedder=_Made()) as kb:
        started = time.perf_counter()
        ingestion.ingest(_documents(size, chunks), store=kb.store, chunk_tokens=100)
        report = kb.build("cg_rag")
        built = time.perf_counter() - started
        asked = [_text(np.random.default_rng(10**6 + number), number % 200, 20) for number in range(_QUESTIONS)]
        kb.embedder.embed(asked, "query")
        method: Any = kb.method("cg_rag:encoder=untrained")
        plain = _timed(lambda text: method.ranking(text, 5), asked)
        whole = _timed(lambda text: method.retrieve(text, 5), asked)
        module = encoder.GraphEncoder(encoder.EncoderArchitecture(_DIMENSION), torch.eye(_DIMENSION)[:128])
        trained = _timed(lambda text: encoder.scores(module, method.view(text)), asked)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {
        "documents": size,
        "chunks": report.counts["chunks"],
        "edges": report.counts["edges"],
        "built": round(built),
        "p50": round(percentile(plain, 0.5), 1),
        "p95": round(percentile(plain, 0.95), 1),
        "trained p50": round(percentile(trained, 0.5), 1),
        "trained p95": round(percentile(trained, 0.95), 1),
        "with texts p50": round(percentile(whole, 0.5), 1),
        "memory": memory,
    }


def _timed(ask: Any, questions: Sequence[str]) -> list[float]:
    """Return milliseconds a question, the first ones left out."""
    times = []
    for text in questions:
        started = time.perf_counter()
        ask(text)
        times.append(1000 * (time.perf_counter() - started))
    return times[10:]


def _documents(size: int, chunks: int) -> Iterator[Document]:
    """Yield documents that cite up to 20 others each, a few of which many cite."""
    draw = np.random.default_rng(7)
    for number in range(size):
        topic = number % 200
        text = "\n\n".join(_text(draw, topic, _WORDS) for _ in range(chunks))
        count = int(min(20, draw.zipf(1.8)))
        liked = (draw.zipf(1.4, size=count) - 1) * 200 + topic
        others = draw.integers(size, size=count)
        cited = {f"d{other}" for other in (*liked[: count // 2 + 1], *others[count // 2 + 1 :]) if 0 <= other < size}
        yield Document(
            text, f"Paper {number}", f"made-{number}", f"d{number}", cites=tuple(sorted(cited - {f"d{number}"}))
        )


def _text(draw: np.random.Generator, topic: int, words: int) -> str:
    common = np.minimum(draw.zipf(1.2, size=words), _VOCABULARY) - 1
    own = 200 * draw.integers(300, size=words // 3) + topic
    said = " ".join(f"w{word}" for word in (*common.tolist(), *own.tolist()))
    return f"topic{topic} {said}."


if __name__ == "__main__":
    main()
