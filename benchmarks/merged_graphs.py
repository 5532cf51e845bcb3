"""What it costs to count a triple of several graphs once: queries as the engine has them, and as kgrag runs them.

Run ``python -m benchmarks.merged_graphs [--quads 100000]``. Things of 20 classes; three of ten things have their class
and their label in three graphs, all else is stated once. Milliseconds of processor time of this process, the best of
three, of the same store on disk in one run, with what both return: one value, or the number of rows.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox

from kgrag.sparql.merged_graphs import with_merged_graphs
from kgrag.vocab import RDF, RDFS, number

NS = "urn:bench:"
PROLOGUE = f"PREFIX : <{NS}> PREFIX rdfs: <{RDFS.prefix}> "
QUERIES = {
    "count, stated once": "SELECT (COUNT(*) AS ?n) { ?s :value ?o }",
    "count, stated often": "SELECT (COUNT(*) AS ?n) { ?s a :C3 }",
    "count of everything": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "count by class": "SELECT ?c (COUNT(*) AS ?n) { ?s a ?c } GROUP BY ?c",
    "sums by region": "SELECT ?r (SUM(?v) AS ?n) { ?s a :C3 ; :value ?v ; :region ?r } GROUP BY ?r",
    "average of a region": "SELECT (AVG(?v) AS ?n) { ?s :region :r3 ; :value ?v }",
    "one thing": "SELECT * { :e77 ?p ?o }",
    "labels of a class": "SELECT ?s ?l { ?s a :C3 ; rdfs:label ?l } ORDER BY ?l",
    "optional": "SELECT ?s ?l ?t { ?s a :C3 ; :region :r3 OPTIONAL { ?s :note ?t } OPTIONAL { ?s rdfs:label ?l } }",
    "the first twenty": "SELECT ?s ?l { ?s a :C3 ; rdfs:label ?l } LIMIT 20",
    "a path": "SELECT (COUNT(*) AS ?n) { ?c :part/:part :e7 ; a ?t }",
}


def quads(count: int) -> Iterator[ox.Quad]:
    """Yield about so many quads."""
    rng = random.Random(1)
    made = thing = 0
    while made < count:
        node = ox.NamedNode(f"{NS}e{thing}")
        graphs = [ox.NamedNode(f"{NS}graph/{rng.randrange(count // 40)}") for _ in range(rng.choice([1] * 7 + [3] * 3))]
        facts: list[tuple[ox.NamedNode, ox.NamedNode | ox.Literal, list[ox.NamedNode]]] = [
            (RDF.type, ox.NamedNode(f"{NS}C{rng.randrange(20)}"), graphs),
            (RDFS.label, ox.Literal(f"thing number {thing}"), graphs),
            (ox.NamedNode(f"{NS}value"), number(rng.randrange(1000)), graphs[:1]),
            (ox.NamedNode(f"{NS}region"), ox.NamedNode(f"{NS}r{rng.randrange(30)}"), graphs[:1]),
            (ox.NamedNode(f"{NS}part"), ox.NamedNode(f"{NS}e{rng.randrange(thing + 1)}"), graphs[:1]),
            (ox.NamedNode(f"{NS}note"), ox.Literal(f"a longer note about thing {thing}"), graphs[: thing % 2]),
        ]
        for predicate, value, places in facts:
            for graph in places:
                yield ox.Quad(node, predicate, value, graph)
                made += 1
        thing += 1


def timed(store: ox.Store, text: str) -> tuple[float, str]:
    """Return milliseconds of the processor, and the one value or the number of rows that came back."""
    milliseconds = []
    for _ in range(3):
        start = time.process_time()
        results = store.query(text, use_default_graph_as_union=True)
        found = [tuple(row) for row in results]  # type: ignore[union-attr]
        milliseconds.append(1000 * (time.process_time() - start))
    only = found[0][0] if len(found) == 1 else None
    return min(milliseconds), str(float(only.value)) if isinstance(only, ox.Literal) else f"{len(found)} rows"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quads", type=int, default=100_000)
    size = parser.parse_args().quads
    with tempfile.TemporaryDirectory(prefix="kgrag-merged-") as folder:
        path = str(Path(folder, "store"))
        filled = ox.Store(path)
        filled.bulk_extend(quads(size))
        filled.optimize()
        del filled
        store = ox.Store.read_only(path)
        print("| query | engine, ms | kgrag, ms | times | engine returns | kgrag returns |\n|---|---|---|---|---|---|")
        for name, query in QUERIES.items():
            (plain, wrong), (merged, right) = (
                timed(store, text) for text in (PROLOGUE + query, with_merged_graphs(PROLOGUE + query))
            )
            print(f"| {name} | {plain:.2f} | {merged:.2f} | {merged / plain:.1f} | {wrong} | {right} |", flush=True)
        del store


if __name__ == "__main__":
    main()
