"""What one more document costs in a small and in a large knowledge base, and what grows with the knowledge base.

    python -m benchmarks.one_more_document                                  10³, 10⁴ and 10⁵ documents
    python -m benchmarks.one_more_document --sizes 1000 300000 --skip doctor export
    python -m benchmarks.one_more_document --keep FOLDER                    leave each knowledge base there, by its size

Documents are records of one sentence or two with a field, in a folder of their own for each size, and are embedded by a
hash, so that no figure is that of an embedding model. ``in all`` is what it took to take them in by
``KnowledgeBase.add_many``, and ``peak`` the memory of the process by then. The other figures are milliseconds of
processor time of the process, medians of five: ``add`` of a document with a new id, ``replace`` of one with a known id,
``remove`` by id, each with the question after it (``ask``) and the same with a filter that lets three in thirteen
documents through (``where``). ``open`` is opening the folder and asking once, ``answer`` an answer without a model.
``doctor`` (with every check) and ``export`` (N-Quads, read again once written) are seconds. Behind a size comes by what
power of the number of documents each figure grew since the size before: 1 is in proportion, 0 not at all.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import numpy as np

from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

__all__ = ["main"]

_ROUNDS = 5
_QUESTION, _FILTER = "Where is pump 7 in hall 3?", {"hall": [1, 2, 3]}
_COLUMNS = (
    "documents",
    "in all s",
    "peak MB",
    "open",
    "answer",
    "add",
    "ask",
    "where",
    "replace",
    "ask",
    "where",
    "remove",
    "ask",
    "doctor s",
    "export s",
)
_SLOW = ("doctor", "export")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--skip", nargs="*", default=[], choices=_SLOW)
    parser.add_argument("--keep", type=Path, help="where each knowledge base is left; a temporary folder otherwise")
    given = parser.parse_args(arguments)
    print("  ".join(f"{name:>9}" for name in _COLUMNS))
    before: list[float] = []
    for size in given.sizes:
        with tempfile.TemporaryDirectory() as folder:
            place = given.keep / str(size) if given.keep else Path(folder)
            place.mkdir(parents=True, exist_ok=True)
            figures = [size, *_measured(place / "kb", size, given.skip)]
        print("  ".join(f"{figure:9,.{0 if figure >= 10 else 1}f}" for figure in figures), flush=True)
        if before:
            print("  ".join(f"{power:9.2f}" for power in _powers(before, figures)), flush=True)
        before = figures


def _powers(before: Sequence[float], after: Sequence[float]) -> Iterator[float]:
    """Yield by what power of the first figure each figure grew."""
    for one, other in zip(before, after, strict=True):
        yield float(np.log(other / one) / np.log(after[0] / before[0])) if one and other else float("nan")


def _measured(folder: Path, size: int, skipped: Sequence[str]) -> Iterator[float]:
    with _opened(folder) as kb:
        yield _seconds(lambda: kb.add_many(_record(number, f"It was seen on day {number}.") for number in range(size)))
        yield resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    started = time.process_time()
    with _opened(folder) as kb:
        kb.retrieve(_QUESTION)
        yield 1000 * (time.process_time() - started)
        kb.retrieve(_QUESTION, where=_FILTER)
        yield from _rounds(lambda: kb.ask(_QUESTION))
        numbers = count()

        def ask() -> object:
            return kb.retrieve(_QUESTION)

        def where() -> object:
            return kb.retrieve(_QUESTION, where=_FILTER)

        yield from _rounds(lambda: kb.add(_record(size + next(numbers), "It is one more.")), ask, where)
        yield from _rounds(lambda: kb.add(_record(next(numbers), "It takes a place.")), ask, where)
        yield from _rounds(lambda: kb.remove(str(next(numbers))), ask)
        yield 0.0 if "doctor" in skipped else _seconds(kb.doctor)
        yield 0.0 if "export" in skipped else _seconds(lambda: kb.export(folder.with_name("all.nq")))


def _opened(folder: Path) -> KnowledgeBase:
    return KnowledgeBase(folder, settings=Settings(), embedder=HashEmbedder())


def _record(number: int, ending: str) -> Document:
    text = f"Record {number} speaks of pump {number % 97} and valve {number % 89} in hall {number % 13}. {ending}"
    return Document(text, id=str(number), metadata={"hall": number % 13})


def _rounds(*steps: Callable[[], object]) -> Iterator[float]:
    """Yield the median milliseconds of each step, which are done one after the other some times."""
    times = [[1000 * _seconds(step) for step in steps] for _ in range(_ROUNDS)]
    yield from np.median(times, axis=0).tolist()


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    main()
