"""The page of a term over 100,000 statements: an ontology, and things of its classes.

    python -m benchmarks.term_pages                  makes the knowledge base first
    python -m benchmarks.term_pages --folder FOLDER  keeps it there for the next run

The ontology is schema.org's of the shared data. Things are of its classes and have its properties, a few of both far
more often than others, as in data that people made. Pages are of the ten classes and the six properties that are used
most, two that nothing uses, and two things. ``cpu`` is processor time of the server and its readers, the mean of five
requests; ``wall`` the median of these.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pyoxigraph as ox

from kgrag import KnowledgeBase
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import OWL, RDF, RDFS

__all__ = ["main"]

_QUADS, _REQUESTS, _THINGS = 100_000, 5, "https://example.org/things/"
_CLASSES, _PROPERTIES, _UNUSED = 10, 6, 2
_CLASS_KINDS, _PROPERTY_KINDS = (RDFS.Class, OWL.Class), (RDF.Property, OWL.ObjectProperty, OWL.DatatypeProperty)
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per term, and the median and the longest of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    data = Path(os.environ.get("KGRAG_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--ontology", type=Path, default=data / "ontologies" / "schema-org.ttl")
    parser.add_argument("--folder", type=Path, help="where the knowledge base is, or is made and kept")
    options = parser.parse_args(arguments)
    if not options.ontology.is_file():
        print(f"skipped: no {options.ontology}; set KGRAG_DATA")
        return
    with tempfile.TemporaryDirectory(prefix="kgrag-terms-") as made:
        ontology = [quad.triple for quad in ox.parse(path=options.ontology)]
        things = _things(ontology)
        folder = options.folder or Path(made, "kb")
        if not folder.exists():
            _load(folder, options.ontology, things)
        print(f"{len(ontology):,} statements of {options.ontology.name}, {len(things):,} about things")
        with _serving(folder) as (url, process):
            _measure(url, process, _terms(ontology, things))


def _things(ontology: list[ox.Triple]) -> list[ox.Triple]:
    """Return statements about things, so many that there are 100,000 with the ontology's."""
    drawn = np.random.default_rng(7)
    classes, properties = _declared(ontology, _CLASS_KINDS), _declared(ontology, _PROPERTY_KINDS)
    found: list[ox.Triple] = []
    for number in range(_QUADS):
        thing = ox.NamedNode(f"{_THINGS}{number}")
        kind, *used = drawn.zipf(1.3, size=4) - 1
        found.append(ox.Triple(thing, RDF.type, classes[kind % len(classes)]))
        found.append(ox.Triple(thing, RDFS.label, ox.Literal(f"thing {number}", language="en")))
        for each in used:
            other = ox.NamedNode(f"{_THINGS}{drawn.integers(number + 1)}")
            found.append(ox.Triple(thing, properties[each % len(properties)], other))
        if len(ontology) + len(found) >= _QUADS:
            break
    return found


def _declared(ontology: list[ox.Triple], kinds: Sequence[ox.NamedNode]) -> list[ox.NamedNode]:
    declared = {triple.subject for triple in ontology if triple.predicate == RDF.type and triple.object in kinds}
    return sorted((term for term in declared if isinstance(term, ox.NamedNode)), key=str)


def _load(folder: Path, ontology: Path, things: list[ox.Triple]) -> None:
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(folder, settings=settings, embedder=HashEmbedder()) as kb:
        kb.load(ontology)
        data = folder.parent / "things.nt"
        data.write_bytes(ox.serialize(things, format=ox.RdfFormat.N_TRIPLES) or b"")
        kb.load(data)
        data.unlink()


def _terms(ontology: list[ox.Triple], things: list[ox.Triple]) -> list[ox.NamedNode]:
    uses = Counter(triple.object for triple in things if triple.predicate == RDF.type)
    classes = [term for term, _ in uses.most_common(_CLASSES)]
    used = Counter(triple.predicate for triple in things if triple.predicate not in (RDF.type, RDFS.label))
    unused = [term for term in _declared(ontology, _CLASS_KINDS) if term not in uses][:_UNUSED]
    ends = (things[0].subject, things[-1].subject)
    terms = (*classes, *(term for term, _ in used.most_common(_PROPERTIES)), *unused, *ends)
    return [term for term in terms if isinstance(term, ox.NamedNode)]


@contextmanager
def _serving(folder: Path) -> Iterator[tuple[str, int]]:
    """Serve a knowledge base, and yield its address and the process of the server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kgrag", "serve", "--kb", str(folder), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().removeprefix("serving ").strip().removesuffix("/sparql"), process.pid
    finally:
        process.terminate()
        process.wait(30)


def _measure(url: str, process: int, terms: list[ox.NamedNode]) -> None:
    figures: list[tuple[float, float]] = []
    print("| term | cpu, ms | wall, ms |\n|---|---|---|")
    with httpx.Client(base_url=url, timeout=60, trust_env=False, headers={"Accept": "text/html"}) as client:
        for warm in terms[:2]:
            client.get("/resource", params={"iri": warm.value}).raise_for_status()
        for term in terms:
            walls = []
            before = _cpu_seconds(process)
            for _ in range(_REQUESTS):
                start = time.perf_counter()
                client.get("/resource", params={"iri": term.value}).raise_for_status()
                walls.append(time.perf_counter() - start)
            figures.append(((_cpu_seconds(process) - before) / _REQUESTS * 1000, statistics.median(walls) * 1000))
            print(f"| {term.value} | {figures[-1][0]:.0f} | {figures[-1][1]:.0f} |")
    for name, of in (("median", statistics.median), ("longest", max)):
        print(f"| {name} | {of(cpu for cpu, _ in figures):.0f} | {of(wall for _, wall in figures):.0f} |")


def _cpu_seconds(process: int) -> float:
    """Return the processor time of a process and of what it started."""
    total = 0.0
    waiting = [process]
    for each in waiting:
        numbers = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        total += (int(numbers[11]) + int(numbers[12])) / _TICKS_PER_SECOND
        for thread in Path(f"/proc/{each}/task").iterdir():
            waiting += map(int, (thread / "children").read_text(encoding="utf-8").split())
    return total


if __name__ == "__main__":
    main()
