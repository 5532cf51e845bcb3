"""Words sought in 60,000 chunks: kgrag's endpoint, the Oxigraph server, PostgreSQL's full text, and rdflib.

    python -m benchmarks.chunk_search --folder FOLDER                       needs ``pip install oxigraph rdflib``
    python -m benchmarks.chunk_search --folder FOLDER --postgres DSN        PostgreSQL too (psql, a temporary table)

All have the chunks of ``benchmarks.served_chunks``, of thirty made-up words each. A question is two words of one chunk,
and asks for the chunks that have both: ``"one" "other"`` for ``kgv:matches`` (at most 1,000), ``FILTER CONTAINS`` for
Oxigraph and rdflib, ``&`` for PostgreSQL with a GIN index. ``right`` is the share of questions for which exactly these
chunks come. Times are medians and p95 by the clock: of kgrag and Oxigraph over HTTP by one client, of PostgreSQL as
psql has them, of rdflib in this process, for three questions.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import rdflib

from benchmarks.endpoint_load import free_port
from benchmarks.served_chunks import chunk_text, make_chunks, serving, words_of

__all__ = ["main"]

_QUESTIONS, _QUESTIONS_RDFLIB, _MAX_ROWS = 40, 3, 1000
_TEXT = "https://w3id.org/kgrag/ns#text"
_MATCHES = """SELECT ?text {{ ?chunk kgv:matches ('"{0}" "{1}"' 1000 'chunk') ; kg:text ?text }}"""
_CONTAINS = (
    f'SELECT ?text {{{{ ?chunk <{_TEXT}> ?text FILTER(CONTAINS(?text, " {{0}}") && CONTAINS(?text, " {{1}}")) }}}}'
)
_Question = tuple[str, str]
_Found = tuple[list[set[int]], list[float]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per system."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--size", type=int, default=60_000)
    parser.add_argument("--folder", type=Path, required=True, help="where the knowledge base is, or is made")
    parser.add_argument("--postgres", default="", help="Where PostgreSQL is, as psql takes it.")
    parser.add_argument("--prepare", action="store_true", help="make the stores, and ask nothing")
    options = parser.parse_args(arguments)
    lines = options.folder.with_name(options.folder.name + "-chunks.nt")
    make_chunks(options.folder, options.size)
    if not lines.exists():
        with lines.open("w", encoding="utf-8") as file:
            for number in range(options.size):
                file.write(f'<urn:chunk:{number}> <{_TEXT}> "{chunk_text(number)}" .\n')
    if options.prepare:
        return
    questions, right = _questions(options.size)
    mean = sum(map(len, right)) / len(right)
    print(f"{options.size:,} chunks, {len(questions)} questions, {mean:.1f} right chunks each")
    print(f"{'':34}right   p50 ms   p95 ms")
    with serving(options.folder) as server:
        _print("kgrag serve, kgv:matches", _over_http(f"{server.url}/sparql", _MATCHES, questions), right)
    if options.postgres:
        _print("PostgreSQL, tsvector with GIN", _of_postgres(options.postgres, options.size, questions), right)
    with _oxigraph(lines) as url:
        _print("Oxigraph server, FILTER CONTAINS", _over_http(url, _CONTAINS, questions), right)
    graph = rdflib.Graph().parse(lines)
    _print("rdflib, FILTER CONTAINS", _of_rdflib(graph, questions[:_QUESTIONS_RDFLIB]), right)


def _questions(size: int) -> tuple[list[_Question], list[set[int]]]:
    """Return pairs of words, each of one chunk, that few enough chunks have; and the chunks that have both."""
    words = [frozenset(words_of(number)) for number in range(size)]
    frequency = Counter(word for each in words for word in each)
    questions: list[_Question] = []
    for number in np.random.default_rng(5).permutation(size).tolist():
        known = sorted(
            (word for word in words[number] if frequency[word] <= _MAX_ROWS), key=lambda word: -frequency[word]
        )
        if len(known) > 1 and len(questions) < _QUESTIONS:
            questions.append((known[0], known[1]))
    return questions, [{at for at, each in enumerate(words) if each.issuperset(question)} for question in questions]


def _print(name: str, found: _Found, right: Sequence[set[int]]) -> None:
    share = sum(one == other for one, other in zip(found[0], right, strict=False)) / len(found[0])
    p50, p95 = np.percentile(found[1], [50, 95]) * 1000
    print(f"{name:33} {share:6.2f} {p50:8.1f} {p95:8.1f}", flush=True)


def _timed(questions: Sequence[_Question], ask: Callable[[_Question], list[str]]) -> _Found:
    found, seconds = [], []
    for question in questions:
        begun = time.perf_counter()
        texts = ask(question)
        seconds.append(time.perf_counter() - begun)
        found.append({_number(text) for text in texts})
    return found, seconds


def _number(text: str) -> int:
    return int(text.removeprefix("Record r").partition("x:")[0])


def _over_http(url: str, form: str, questions: Sequence[_Question]) -> _Found:
    accept = {"Accept": "application/sparql-results+json"}
    with httpx.Client(timeout=120, trust_env=False, headers=accept) as client:

        def ask(question: _Question) -> list[str]:
            reply = client.post(url, data={"query": form.format(*question)}).raise_for_status()
            return [row["text"]["value"] for row in reply.json()["results"]["bindings"]]

        ask(questions[0])
        return _timed(questions, ask)


@contextmanager
def _oxigraph(lines: Path) -> Iterator[str]:
    """Load the chunks into an Oxigraph server, and yield the address of its endpoint."""
    command = shutil.which("oxigraph", path=f"{Path(sys.executable).parent}{os.pathsep}{os.defpath}")
    if command is None:
        sys.exit("oxigraph is not installed. Install it: pip install oxigraph.")
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="kgrag-oxigraph-") as store:
        load = [command, "load", "--location", store, "--file", str(lines)]
        subprocess.run(load, check=True, capture_output=True)
        serve = [command, "serve-read-only", "--location", store, "--bind", f"127.0.0.1:{port}"]
        process = subprocess.Popen(serve, stderr=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}/query"
            while True:
                try:
                    httpx.post(url, data={"query": "ASK {}"}, trust_env=False)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield url
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _of_rdflib(graph: rdflib.Graph, questions: Sequence[_Question]) -> _Found:
    return _timed(questions, lambda question: [str(row[0]) for row in graph.query(_CONTAINS.format(*question))])  # type: ignore[index]


def _of_postgres(dsn: str, size: int, questions: Sequence[_Question]) -> _Found:
    """Ask PostgreSQL through psql, whose own clock is read."""
    rows = "\n".join(chunk_text(number) for number in range(size))
    asked = "\n".join(
        f"SELECT text FROM chunk WHERE to_tsvector('simple', text) @@ to_tsquery('simple', '{one} & {other}');"
        for one, other in (questions[0], *questions)
    )
    script = (
        f"\\set QUIET on\nCREATE TEMP TABLE chunk (text text);\nCOPY chunk FROM STDIN;\n{rows}\n\\.\n"
        "CREATE INDEX ON chunk USING gin (to_tsvector('simple', text));\nANALYZE chunk;\n"
        f"\\pset tuples_only on\n\\pset format unaligned\n\\timing on\n{asked}\n"
    )
    psql = ["psql", "-X", "-v", "ON_ERROR_STOP=1", dsn]
    done = subprocess.run(psql, input=script, capture_output=True, text=True, check=True)
    found, seconds, current = [], [], set[int]()
    for line in done.stdout.splitlines():
        if match := re.match(r"Time: ([\d.]+) ms", line):
            found.append(current)
            seconds.append(float(match[1]) / 1000)
            current = set()
        elif line:
            current.add(_number(line))
    return found[1:], seconds[1:]  # the first one is asked twice, as of the others


if __name__ == "__main__":
    main()
