"""Reading SPARQL: median, 95th percentile and longest time of a query, beside rdflib's parser.

    python -m benchmarks.sparql_reader
    python -m benchmarks.sparql_reader --repeats 20

On the gold queries of CK25 and ACME and on what nine systems wrote for CK25; the best of some repeats counts. A text
that is refused counts too. ``rdflib`` is ``parseQuery`` and ``translateQuery``, which is what it takes to get at
triples; ``both`` are the texts that both read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import data_folder
from kgrag.errors import InvalidSPARQL
from kgrag.sparql.query_reader import read
from kgrag.sparql.term_reader import DEFAULT_PREFIXES

__all__ = ["main"]

_SETS = {
    "ck25 gold": ("ck25/questions.jsonl", "sparql"),
    "ck25 systems": ("ck25/system_answers.jsonl.gz", "sparql"),
    "acme": ("acme_insurance/inquiries.jsonl", "sparql"),
}
_COLUMNS = "queries       number  read  both  reader p50 ms    p95    max  rdflib p50 ms    p95    max"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line a set of queries."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args(arguments).repeats
    print(_COLUMNS)
    for name, (file, key) in _SETS.items():
        path = data_folder() / file
        if path.exists():
            _measure(name, list(_texts(path, key)), repeats)
        else:
            print(f"{name:<12}  skipped: {path} is absent. Set KGRAG_DATA.")


def _texts(path: Path, key: str) -> Iterator[str]:
    content = path.read_bytes()
    for line in (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines():
        yield json.loads(line)[key]


def _measure(name: str, texts: Sequence[str], repeats: int) -> None:
    ours = [_best(_by_reader, text, repeats) for text in texts]
    theirs = [_best(_by_rdflib, text, repeats) for text in texts]
    ours_read = sum(done for done, _ in ours)
    both = sum(one[0] and other[0] for one, other in zip(ours, theirs, strict=True))
    print(f"{name:<12}  {len(texts):>6}  {ours_read:>4}  {both:>4}  {_times(ours)}  {_times(theirs)}")


def _best(call: Callable[[str], bool], text: str, repeats: int) -> tuple[bool, float]:
    done, best = False, float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        done = call(text)
        best = min(best, time.perf_counter() - began)
    return done, best * 1000


def _by_reader(text: str) -> bool:
    try:
        read(text)
    except InvalidSPARQL:
        return False
    return True


def _by_rdflib(text: str) -> bool:
    from rdflib.plugins.sparql.algebra import translateQuery
    from rdflib.plugins.sparql.parser import parseQuery

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            translateQuery(parseQuery(text), initNs=DEFAULT_PREFIXES)
        except Exception:
            return False
    return True


def _times(results: Sequence[tuple[bool, float]]) -> str:
    times = sorted(seconds for _, seconds in results)
    high = times[min(len(times) - 1, round(0.95 * len(times)))]
    return f"{statistics.median(times):>13.3f}  {high:>5.2f}  {times[-1]:>5.2f}"


if __name__ == "__main__":
    main()
