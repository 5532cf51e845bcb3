"""How fast drafts of many small named graphs enter a persistent store, beside plain bulk loading of the same quads.

Run ``python benchmarks/publish.py [graphs]``. Each graph has five triples, as a hyperedge has; the catalogue's quads
are counted apart. "end to end" is drafts in, store flushed, catalogue and validation included, and counts all quads.
The validator runs one SELECT over the scratch store, so what it shows is the cost of the scratch store itself.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph as ox

from kgrag.model import GraphDraft, Violation
from kgrag.ports import TripleStore, Validator
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG, Names, number

__all__ = ["drafts", "main"]

_PAIRS = 5
_GRAPHS = 40_000
_BATCH = 10_000


def drafts(rows: range, names: Names) -> list[GraphDraft]:
    """Return a small graph for each row, as a hyperedge is one."""
    drafted = []
    for row in rows:
        pairs = [(f"key {place}", f"value {row % 997} {place}") for place in range(_PAIRS)]
        nodes = [names.hypernode(key, value) for key, value in pairs]
        triples = [ox.Triple(node, KG.value, ox.Literal(value)) for node, (_, value) in zip(nodes, pairs, strict=True)]
        source = ox.NamedNode(f"{names.base}chunk/{row}")
        size = [(KG.size, number(_PAIRS))]
        graph = names.hyperedge([*pairs, ("row", str(row))])
        drafted.append(GraphDraft(graph, KG.HyperedgeGraph, triples, sources=[source], described=size, method="bench"))
    return drafted


def _cheap(scratch: TripleStore, _drafts: Sequence[GraphDraft]) -> list[Violation]:
    scratch.select("SELECT ?graph WHERE { GRAPH ?graph { ?node a <urn:none> } } ORDER BY ?graph")
    return []


def _plain(quads: list[ox.Quad], folder: Path) -> float:
    store = ox.Store(str(folder))
    begun = time.perf_counter()
    store.bulk_extend(quads)
    store.flush()
    return time.perf_counter() - begun


def _published(
    drafted: list[GraphDraft], folder: Path, validator: Validator | None, batch: int
) -> tuple[float, list[ox.Quad]]:
    with OxigraphStore.open(folder, validator=validator) as store:
        begun = time.perf_counter()
        for first in range(0, len(drafted), batch):
            store.publish(drafted[first : first + batch])
        store.flush()
        taken = time.perf_counter() - begun
        dump = folder.with_suffix(".nq")
        store.dump(dump)
    return taken, list(ox.parse(path=dump, format=ox.RdfFormat.N_QUADS))


def main(count: int) -> None:
    """Print the rates."""
    names = Names()
    drafted = drafts(range(count), names)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for title, validator, batch in (
            ("publish, one call", None, count),
            ("publish, one call, validator", _cheap, count),
            (f"publish, {_BATCH:,} a call, validator", _cheap, _BATCH),
        ):
            taken, quads = _published(drafted, folder / f"{batch}-{validator is None}", validator, batch)
            catalogue = sum(quad.graph_name == names.catalogue for quad in quads)
            plain = _plain(quads, folder / f"plain-{batch}-{validator is None}")
            print(
                f"{title:<36} {len(quads) / taken:>9,.0f} quads/s end to end "
                f"({len(quads) - catalogue:,} of graphs, {catalogue:,} of the catalogue; "
                f"graph quads alone {(len(quads) - catalogue) / taken:,.0f}/s); "
                f"plain bulk_extend of the same {len(quads) / plain:>9,.0f} quads/s"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else _GRAPHS)
