"""Validation of what one triple changes beside validation of everything: milliseconds, on the same data and shapes.

    python -m benchmarks.shacl_changes
    python -m benchmarks.shacl_changes --triples 1000000 --changes 10 --shapes ordinary

Data and shapes are those of ``shacl_speed``. Each change removes one triple that is drawn from the data by a fixed
seed, or adds one like it, so properties change as often as they are used. The results after all changes are compared
with those of a full validation. "compiled" is the time that the first change takes, with templates to be compiled.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyoxigraph as ox

from benchmarks.shacl_worlds import WORLDS
from kgrag import shacl
from kgrag.model import Term, Violation
from kgrag.shacl.changed_results import GraphState, changed_results, result_key
from kgrag.shacl.path_walks import Changes
from kgrag.store.embedded_quads import EmbeddedQuads
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import Names

__all__ = ["main"]

_FOLDER = Path(__file__).parent
_SETS = {"twenty": ("shacl_shapes.ttl", "village"), "ordinary": ("shacl_ordinary.ttl", "village")}
_GRAPH = ox.NamedNode("urn:data")
_SEED = 18


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per size and set of shapes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--triples", type=int, action="append")
    parser.add_argument("--shapes", choices=sorted(_SETS), action="append")
    parser.add_argument("--changes", type=int, default=40)
    given = parser.parse_args(arguments)
    print("triples    shapes     full ms   compiled ms   changed ms p50 / p95 / most   whole shapes   times")
    for name in given.shapes or _SETS:
        for size in given.triples or [10_000, 100_000]:
            print(_measured(name, size, given.changes), flush=True)


def _measured(name: str, size: int, count: int) -> str:
    file, world = _SETS[name]
    triples = [_triple(line) for line in WORLDS[world](size)]
    stores = [ox.Store(), ox.Store()]
    for store in stores:
        store.extend(_quad(triple) for triple in triples)
    past, present = map(_state, stores)
    shapes = shacl.load_shapes([_FOLDER / file])
    begun = time.perf_counter()
    results = Counter(map(result_key, _all(past, shapes)))
    full = time.perf_counter() - begun
    seconds, whole = [], 0
    for changes in _changes(triples, count):
        for triple in changes.removed:
            stores[1].remove(_quad(triple))
        stores[1].extend(_quad(triple) for triple in changes.added)
        begun = time.perf_counter()
        found = changed_results(past, present, shapes, changes)
        seconds.append(time.perf_counter() - begun)
        whole += bool(found.whole)
        results = results - Counter(map(result_key, found.gone)) + Counter(map(result_key, found.come))
        for triple in changes.removed:
            stores[0].remove(_quad(triple))
        stores[0].extend(_quad(triple) for triple in changes.added)
    if results != Counter(map(result_key, _all(present, shapes))):
        raise SystemExit("the results of the changes are not those of a full validation")
    first, *later = seconds
    middle, most = statistics.median(later), max(later)
    high = sorted(later)[int(len(later) * 0.95)]
    times = f"{middle * 1000:>10.1f} / {high * 1000:.1f} / {most * 1000:.1f}"
    return f"{size:>9,}  {name:<11}{full * 1000:>7.0f}{first * 1000:>14.1f}{times:>30}{whole:>15}{full / middle:>8,.0f}"


def _all(state: GraphState, shapes: shacl.Shapes) -> list[Violation]:
    return shacl.validate(state.store, shapes, graphs=[_GRAPH], merged=True)


def _changes(triples: Sequence[ox.Triple], count: int) -> Iterator[Changes]:
    """Yield changes of one triple each; every second adds one: the property of a triple with another's object."""
    draw = random.Random(_SEED)
    by_property: dict[ox.NamedNode, list[ox.Triple]] = {}
    for triple in triples:
        by_property.setdefault(triple.predicate, []).append(triple)
    taken = draw.sample(triples, count)
    for number, triple in enumerate(taken):
        if number % 2:
            yield Changes.of((), [triple])
        else:
            other = draw.choice(by_property[triple.predicate])
            yield Changes.of([ox.Triple(triple.subject, triple.predicate, other.object)], ())


def _triple(line: str) -> ox.Triple:
    (quad,) = ox.parse(line.encode(), ox.RdfFormat.N_TRIPLES)
    return ox.Triple(quad.subject, quad.predicate, quad.object)


def _quad(triple: ox.Triple) -> ox.Quad:
    return ox.Quad(triple.subject, triple.predicate, triple.object, _GRAPH)


def _state(store: ox.Store) -> GraphState:
    def look(subject: Term | None, name: ox.NamedNode, value: Term | None) -> Iterator[ox.Triple]:
        quads = store.quads_for_pattern(subject, name, value, _GRAPH)  # type: ignore[arg-type]
        return (quad.triple for quad in quads)

    return GraphState(OxigraphStore(EmbeddedQuads(store, read_only=True), Names(), read_only=True), (_GRAPH,), look)


if __name__ == "__main__":
    main()
