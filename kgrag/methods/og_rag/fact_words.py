"""A BM25 index of hyperedges as texts: each is the line of its keys and values, as an answer reads it.

The paper reaches hyperedges through single hypernodes. A question whose words are spread over several pairs of one fact
is nearer to the fact than to any of these. A sidecar like the hypergraph's arrays, from which it is made, and as they
are made again when a hyperedge changed. Queries read: ``spaces/texts`` and those of ``kgrag.index.vector_spaces``.
"""

from __future__ import annotations

from pathlib import Path

from kgrag.index import change_feed, vector_spaces
from kgrag.index.array_files import FileFault, Iris, Making, Sidecars
from kgrag.index.bm25 import LexicalIndex
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.ports import TripleStore
from kgrag.vocab import KG

__all__ = ["faults", "fresh"]

_FILE_NAME = "hyperedge"
_OPEN = Sidecars[LexicalIndex]()


def fresh(store: TripleStore, folder: Path | None, graph: Adjacency, *, save: bool = True) -> LexicalIndex:
    """Return the index of the hyperedges that there are now.

    Args:
        store: contains the hypergraph.
        folder: where the files are kept; None keeps the index in memory for as long as the store lives.
        graph: the hypergraph as arrays, of the store's present revision.
        save: False leaves the disk as it is (read-only use).

    Raises:
        StorageFailed: the disk refused the new files.
    """
    return _OPEN.fresh(store, folder, _making(store, graph), name=_FILE_NAME, save=save)


def faults(store: TripleStore, folder: Path | None, graph: Adjacency) -> list[FileFault]:
    """Compare the files with the hypergraph; [] where there are none, or some that are behind."""
    return _OPEN.faults(store, folder, _making(store, graph), name=_FILE_NAME)


def _making(store: TripleStore, graph: Adjacency) -> Making[LexicalIndex]:
    def changed(since: int) -> bool:
        kinds = (KG.HypernodeGraph, KG.HyperedgeGraph)
        return any(change_feed.changed(kind, store=store, since=since) for kind in kinds)

    return Making(load=LexicalIndex.load, make=lambda: _read(store, graph), changed=changed, same=LexicalIndex.same_as)


def _read(store: TripleStore, graph: Adjacency) -> LexicalIndex:
    keys, values = _texts(store, "hypernode-key", graph.keys), _texts(store, "hypernode-value", graph.values)
    pairs = [f"{keys[key]} {values[value]}" for key, value in zip(graph.key_of, graph.value_of, strict=True)]
    every = range(len(graph.edges))
    lines = ["\n".join(pairs[node] for node in graph.nodes_of.of(edge)) for edge in every]
    return LexicalIndex.build(graph.edges.at(every), lines, revision=graph.revision)


def _texts(store: TripleStore, space: str, terms: Iris) -> list[str]:
    """Return the text of each term; "" where it was taken away, until the next build."""
    texts = dict(vector_spaces.texts(space, store=store))
    return [texts.get(iri, "") for iri in terms.at(range(len(terms)))]
