"""How the time of recursive shapes grows with the depth of the data: chains, each of whose nodes asks for the next.

Run ``python -m benchmarks.shacl_recursion``. Three shapes (every next node conforms; some does; two shapes by turns) on
chains that end badly, where the first node is the target and where all are: seconds of a processor, and the results.
"""

from __future__ import annotations

import time
from itertools import pairwise

import pyoxigraph as ox

from kgrag import shacl
from kgrag.model import GraphDraft
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG, RDF

SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
EX = "http://example.org/"
GRAPH = ox.NamedNode(f"{EX}g")
PREFIXES = f"@prefix ex: <{EX}> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
SOUND = "sh:property [ sh:path ex:bad ; sh:maxCount 0 ]"
SHAPES = {
    "every": f"ex:S sh:targetClass ex:P ; {SOUND} ; sh:property [ sh:path ex:k ; sh:node ex:S ] .",
    "some": f"ex:S sh:targetClass ex:P ; sh:or ( [ {SOUND} ] [ sh:path ex:k ; sh:qualifiedValueShape ex:S ; "
    "sh:qualifiedMinCount 1 ] ) .",
    "turns": "ex:S sh:targetClass ex:P ; sh:property [ sh:path ex:k ; sh:node ex:T ] . "
    f"ex:T {SOUND} ; sh:property [ sh:path ex:k ; sh:node ex:S ] .",
}


def chain(size: int, targets: int) -> OxigraphStore:
    """Return a store with a chain whose first nodes are targets and whose last node is bad."""
    p, bad, k = (ox.NamedNode(EX + name) for name in ("P", "bad", "k"))
    nodes = [ox.NamedNode(f"{EX}n{number}") for number in range(size + 1)]
    triples = [ox.Triple(one, k, other) for one, other in pairwise(nodes)]
    triples += [ox.Triple(node, RDF.type, p) for node in nodes[:targets]]
    triples.append(ox.Triple(nodes[-1], bad, ox.Literal("x")))
    store = OxigraphStore.open(None)
    store.publish([GraphDraft(GRAPH, KG.DataGraph, triples, mode="replace")])
    return store


def main() -> None:
    """Print the table."""
    print(f"{'shape':8}{'targets':>10}" + "".join(f"{size:>16,}" for size in SIZES))
    for name, text in SHAPES.items():
        shapes = shacl.load_shapes((), also=PREFIXES + text)
        for every in (False, True):
            cells = []
            for size in SIZES:
                store = chain(size, size + 1 if every else 1)
                begun = time.process_time()
                found = shacl.validate(store, shapes, graphs=[GRAPH], merged=True)
                cells.append(f"{time.process_time() - begun:8.2f} s {len(found):6,}")
            print(f"{name:8}{'all' if every else 'first':>10}" + "".join(f"{cell:>16}" for cell in cells))


if __name__ == "__main__":
    main()
