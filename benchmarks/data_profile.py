"""How long the data profile takes: to count all facts, and to follow one more document, one forgotten, one replaced.

Run ``python -m benchmarks.data_profile [SIZE ...]`` (triples; default 1,000 and 100,000). The facts are ten to a graph,
as an extraction writes them: things of 20 classes, each with a label, three values and links to others. Milliseconds of
processor time of this process.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from functools import partial

import pyoxigraph as ox

from kgrag.model import GraphDraft
from kgrag.querying import data_profile
from kgrag.querying.data_profile import profile_keeping
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG, RDF, RDFS, number

NS = "urn:bench:"
CLASSES, LINKS, VALUES = 20, 15, 25
TRIPLES_PER_GRAPH = 10


def drafts(first: int, count: int, things: int, rng: random.Random) -> list[GraphDraft]:
    """Return graphs of ten facts about two things each, which link to any other thing."""
    found = []
    for place in range(first, first + count):
        triples = []
        for thing in (2 * place, 2 * place + 1):
            node = ox.NamedNode(f"{NS}thing/{thing}")
            other = ox.NamedNode(f"{NS}thing/{rng.randrange(max(things, 1))}")
            triples += [
                ox.Triple(node, RDF.type, ox.NamedNode(f"{NS}Class{thing % CLASSES}")),
                ox.Triple(node, RDFS.label, ox.Literal(f"thing {thing}")),
                ox.Triple(node, ox.NamedNode(f"{NS}link{thing % LINKS}"), other),
                ox.Triple(node, ox.NamedNode(f"{NS}value{thing % VALUES}"), number(rng.randrange(1000))),
                ox.Triple(node, ox.NamedNode(f"{NS}value{(thing + 1) % VALUES}"), ox.Literal(f"text {thing}")),
            ]
        found.append(GraphDraft(ox.NamedNode(f"{NS}graph/{place}"), KG.AssertionGraph, triples, mode="new"))
    return found


def timed(what: Callable[[], object]) -> float:
    """Return milliseconds of processor time."""
    start = time.process_time()
    what()
    return 1000 * (time.process_time() - start)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How long the data profile takes.")
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 100_000])
    names = ("count all", "one more", "forgotten", "again, unchanged", "write graph", "read graph")
    print(f"{'triples':>10}" + "".join(f"{name:>18}" for name in names))
    for size in parser.parse_args().sizes:
        rng, store = random.Random(7), OxigraphStore.open(None)
        graphs = size // TRIPLES_PER_GRAPH
        store.publish(drafts(0, graphs, 2 * graphs, rng))
        row = [timed(partial(data_profile.profile_of, store))]
        more, gone = [], []
        for place in range(graphs, graphs + 5):
            (draft,) = drafts(place, 1, 2 * graphs, rng)
            store.publish([draft])
            more.append(timed(partial(data_profile.profile_of, store)))
        for place in range(5):
            store.remove([ox.NamedNode(f"{NS}graph/{place}")])
            gone.append(timed(partial(data_profile.profile_of, store)))
        row += [sorted(more)[2], sorted(gone)[2], timed(partial(data_profile.profile_of, store))]
        row.append(timed(partial(data_profile.keep, store)))
        profile_keeping._KNOWN.clear()
        row.append(timed(partial(data_profile.profile_of, store)))
        print(f"{size:>10,}" + "".join(f"{each:>18,.1f}" for each in row))


if __name__ == "__main__":
    main()
