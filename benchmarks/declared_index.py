"""Labels of loaded RDF: an index that a user declared, beside the ways that other stores have to find them.

    python -m benchmarks.declared_index                          60,000 labels, as the issue has them
    python -m benchmarks.declared_index --size 5000
    python -m benchmarks.declared_index --postgres DSN           PostgreSQL full text too (psql, a temporary table)

Each label is five made-up words. A question is two words of one label; ``right`` is the share of questions for which
exactly those labels are found that have both words. Times are medians in milliseconds of processor time of this process
(``cpu``) and by the clock (``wall``); of PostgreSQL only by the clock, as psql reports it. ``one more`` is an insertion
of one label and the search after it, with the reading of it that a process of its own does.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
import pyoxigraph as ox
import rdflib

from kgrag import KnowledgeBase
from kgrag.index.index_terms import tokens_of
from kgrag.testing import HashEmbedder

__all__ = ["main"]

_VOCABULARY, _WORDS, _QUESTIONS = 8_000, 5, 20
_QUESTIONS_RDFLIB = 3
_NAMES = "SELECT ?iri ?text { ?iri <http://www.w3.org/2000/01/rdf-schema#label> ?text }"
_MATCHES = "SELECT ?n {{ ?n kgv:matches ('\"{0}\" \"{1}\"' 1000 'labels') }}"
_CONTAINS = (
    "SELECT ?n {{ ?n <http://www.w3.org/2000/01/rdf-schema#label> ?l "
    "FILTER(CONTAINS(CONCAT(' ', ?l, ' '), ' {0} ') && CONTAINS(CONCAT(' ', ?l, ' '), ' {1} ')) }}"
)
_Question = tuple[str, str]


class _Measured(NamedTuple):
    found: list[set[str]]
    cpu: list[float]
    wall: list[float]


def main() -> None:
    """Print one line per way."""
    parser = argparse.ArgumentParser(prog="benchmarks.declared_index")
    parser.add_argument("--size", type=int, default=60_000)
    parser.add_argument("--postgres", default="", help="Where PostgreSQL is, as psql takes it.")
    given = parser.parse_args()
    labels, questions = _made(given.size)
    right = [{iri for iri, label in labels.items() if set(question) <= set(label.split())} for question in questions]
    print(f"{given.size} labels, {len(questions)} questions\n{'':34}right  cpu ms  wall ms")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "labels.nt")
        lines = (f'<{iri}> <http://www.w3.org/2000/01/rdf-schema#label> "{label}" .' for iri, label in labels.items())
        file.write_text("\n".join(lines), encoding="utf-8")
        with KnowledgeBase(Path(folder, "kb"), embedder=HashEmbedder()) as kb:
            kb.load(file)
            begun = time.perf_counter()
            kb.add_index("labels", _NAMES)
            print(f"(declared in {time.perf_counter() - begun:.1f} s)")

            def indexed(question: _Question) -> set[str]:
                return {row[0].value for row in kb.query(_MATCHES.format(*question))}  # type: ignore[union-attr]

            indexed(questions[0])
            _print("declared index, kgv:matches", _measured(indexed, questions), right)
            _print("  one more", _measured(_after_insert(kb, indexed), questions[:5]), right)
        store = ox.Store()
        store.bulk_load(path=file, format=ox.RdfFormat.N_TRIPLES)
        _print("Oxigraph engine, FILTER CONTAINS", _measured(_of_oxigraph(store), questions), right)
        graph = rdflib.Graph().parse(file)
        _print("rdflib, FILTER CONTAINS", _measured(_of_rdflib(graph), questions[:_QUESTIONS_RDFLIB]), right)
        if given.postgres:
            _print("PostgreSQL, tsvector with GIN", _of_postgres(given.postgres, labels, questions), right)


def _made(size: int) -> tuple[dict[str, str], list[_Question]]:
    """Return made-up labels by IRI, and two words of some of them."""
    numbers = np.random.default_rng(20).zipf(1.2, (size, _WORDS)) % _VOCABULARY
    labels = {f"urn:label:{at}": " ".join(f"w{number}x" for number in row) for at, row in enumerate(numbers)}
    frequency = Counter(word for label in labels.values() for word in set(label.split()))
    step = max(1, size // _QUESTIONS)
    chosen = [sorted(set(label.split()), key=lambda word: frequency[word]) for label in list(labels.values())[::step]]
    assert all(tokens_of(words[0]) == [words[0]] for words in chosen)  # what an index compares is the word itself
    return labels, [(words[0], words[1]) for words in chosen if len(words) > 1][:_QUESTIONS]


def _measured(ask: Callable[[_Question], set[str]], questions: Sequence[_Question]) -> _Measured:
    done = _Measured([], [], [])
    for question in questions:
        cpu, wall = time.process_time(), time.perf_counter()
        done.found.append(ask(question))
        done.cpu.append(time.process_time() - cpu)
        done.wall.append(time.perf_counter() - wall)
    return done


def _print(name: str, done: _Measured, right: Sequence[Collection[str]]) -> None:
    share = sum(found == set(wanted) for found, wanted in zip(done.found, right, strict=False)) / len(done.found)
    cpu = f"{1000 * median(done.cpu):8.1f}" if done.cpu else f"{'':8}"
    print(f"{name:33} {share:6.2f}{cpu} {1000 * median(done.wall):8.1f}", flush=True)


def _after_insert(kb: KnowledgeBase, ask: Callable[[_Question], set[str]]) -> Callable[[_Question], set[str]]:
    def inserted(question: _Question) -> set[str]:
        iri = f"urn:more:{question[0]}"
        label = '<http://www.w3.org/2000/01/rdf-schema#label> "another label"'
        kb.update(f"INSERT DATA {{ GRAPH <urn:more> {{ <{iri}> {label} }} }}")
        return ask(question)

    return inserted


def _of_oxigraph(store: ox.Store) -> Callable[[_Question], set[str]]:
    return lambda question: {row[0].value for row in store.query(_CONTAINS.format(*question))}  # type: ignore[union-attr]


def _of_rdflib(graph: rdflib.Graph) -> Callable[[_Question], set[str]]:
    return lambda question: {str(row[0]) for row in graph.query(_CONTAINS.format(*question))}  # type: ignore[index]


def _of_postgres(dsn: str, labels: dict[str, str], questions: Sequence[_Question]) -> _Measured:
    """Ask PostgreSQL through psql, whose own clock is read."""
    rows = "\n".join(f"{iri}\t{label}" for iri, label in labels.items())
    asked = "\n".join(
        f"SELECT iri FROM label WHERE to_tsvector('simple', text) @@ to_tsquery('simple', '{one} & {other}');"
        for one, other in questions
    )
    script = (
        "\\set QUIET on\nCREATE TEMP TABLE label (iri text, text text);\nCOPY label FROM STDIN;\n"
        f"{rows}\n\\.\nCREATE INDEX ON label USING gin (to_tsvector('simple', text));\nANALYZE label;\n"
        f"\\pset tuples_only on\n\\pset format unaligned\n\\timing on\n{asked}\n"
    )
    psql = ["psql", "-X", "-v", "ON_ERROR_STOP=1", dsn]
    done = subprocess.run(psql, input=script, capture_output=True, text=True, check=True)
    found, wall, current = [], [], set[str]()
    for line in done.stdout.splitlines():
        if match := re.match(r"Time: ([\d.]+) ms", line):
            found.append(current)
            wall.append(float(match[1]) / 1000)
            current = set()
        elif line:
            current.add(line)
    return _Measured(found, [], wall)


if __name__ == "__main__":
    main()
