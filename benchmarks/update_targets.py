"""What it costs to see that an update changes no graph of kgrag's own: catalogues of many documents.

Run ``python -m benchmarks.update_targets [--documents 10000 100000]``. For each size a store is made in the form that
ingestion gives it: a graph for each document, listed in the catalogue, and one graph of data. An update by ``GRAPH ?g``
that concerns the graph of data is judged on a copy: by asking its operation which graphs it writes to, and by comparing
all graphs of kgrag's own (as before 2026-11-29); beside it what the update takes by itself. Seconds on the wall.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial

import pyoxigraph as ox

from kgrag.store import own_graphs
from kgrag.vocab import KG, RDF, Names

NAMES = Names("urn:kgrag:")
DATA = ox.NamedNode("urn:x:data")
CHUNKS = 3
SEARCHING = (
    "DELETE { GRAPH ?g { ?s <urn:x:p> ?o } } INSERT { GRAPH ?g { ?s <urn:x:p> 2 } } "
    "WHERE { GRAPH ?g { ?s <urn:x:p> ?o } }"
)


def quads(documents: int) -> Iterator[ox.Quad]:
    """Yield the quads of a store with so many documents."""
    for number in range(documents):
        graph = ox.NamedNode(f"urn:kgrag:graph/document/{number}")
        yield ox.Quad(graph, RDF.type, KG.DocumentGraph, NAMES.catalogue)
        for chunk in range(CHUNKS):
            node = ox.NamedNode(f"urn:kgrag:chunk/{number}-{chunk}")
            yield ox.Quad(node, RDF.type, KG.Chunk, graph)
            yield ox.Quad(node, KG.text, ox.Literal(f"Chunk {chunk} of the document {number}."), graph)
            yield ox.Quad(node, KG.order, ox.Literal(chunk), graph)
    yield ox.Quad(DATA, RDF.type, KG.DataGraph, NAMES.catalogue)
    for number in range(10):
        yield ox.Quad(ox.NamedNode(f"urn:x:{number}"), ox.NamedNode("urn:x:p"), ox.Literal(1), DATA)


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def compared(past: ox.Store, present: ox.Store) -> None:
    """Compare all graphs of kgrag's own in two stores."""
    present.update(SEARCHING)
    every = {name for store in (past, present) for name in store.named_graphs() if isinstance(name, ox.NamedNode)}
    own = [graph for graph in every if own_graphs._is_own(past, graph, NAMES)]
    assert not [graph for graph in own if own_graphs._differ(past, present, graph)]


def measured(documents: int, folder: str) -> tuple[float, float, float]:
    """Return the seconds of the three ways for a store with so many documents."""
    past = ox.Store(f"{folder}/store")
    past.bulk_extend(quads(documents))
    for number in range(3):
        past.backup(f"{folder}/copy{number}")
    copies = [ox.Store(f"{folder}/copy{number}") for number in range(3)]
    judge = partial(own_graphs.changed_on_copy, names=NAMES, base=None, prefixes={})
    return (
        seconds(lambda: judge(past, copies[0], SEARCHING)),
        seconds(lambda: compared(past, copies[1])),
        seconds(lambda: copies[2].update(SEARCHING)),
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What it costs to see that an update changes no graph of kgrag's own.")
    parser.add_argument("--documents", type=int, nargs="+", default=[10_000, 100_000])
    print(f"{'documents':>10}{'those asked for':>17}{'all compared':>14}{'the update':>12}")
    for documents in parser.parse_args().documents:
        with tempfile.TemporaryDirectory() as folder:
            judged, whole, run = measured(documents, folder)
        print(f"{documents:>10,}{judged:>16.3f}s{whole:>13.2f}s{run:>11.3f}s")


if __name__ == "__main__":
    main()
