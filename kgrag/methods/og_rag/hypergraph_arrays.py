"""The hypergraph as arrays: the key, value and hyperedges of each hypernode, without a query per question.

OG-RAG, section 4.2. A sidecar like the vectors and the BM25 indexes: one file next to the store, made again from it
when it is missing, damaged or out of date. It contains no text (``fact_texts`` does). For 10^6 hypernodes in 570,000
hyperedges it takes about 90 MB.

Queries read: ``og_rag/hypernodes_of``, ``og_rag/members``, ``og_rag/sized``, ``spaces/hypernode-key``.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgrag import queries
from kgrag.index import change_feed, vector_spaces
from kgrag.index.array_files import FileFault, Iris, Making, Sidecars, packed, read_arrays, unpacked, write_arrays
from kgrag.index.place_lists import PlaceLists, Places
from kgrag.methods.og_rag.term_vectors import TermVectors
from kgrag.model import plain
from kgrag.ports import TripleStore, VectorIndex
from kgrag.vocab import KG

__all__ = ["Adjacency", "fresh"]

_FILE_NAME = "hypergraph"
_FILE_FORMAT = 1  # raise it whenever the arrays in the file change, so that older files are made again
_HYPEREDGES_PER_QUERY = 2000
_KEYS_PER_QUERY = 50
_OPEN = Sidecars["Adjacency"]()


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """Hypernodes, keys and values by ascending IRI, hyperedges by falling size and then IRI; each named by its place.

    ``key_of`` and ``value_of`` are the key and the value of each hypernode, shape (hypernodes,); ``with_key`` and
    ``with_value`` the hypernodes of a key or a value; ``edges_of`` the hyperedges of a hypernode, larger ones first,
    ``nodes_of`` the hypernodes of a hyperedge; ``sizes`` the number of hypernodes of each hyperedge, shape
    (hyperedges,). ``named_edges`` are the hyperedges by ascending IRI, ``place_of_named`` the place of each.
    ``vectors`` keeps the vectors of keys and of values, by the name of their space, once a question needed them.
    """

    revision: int
    nodes: Iris
    keys: Iris
    values: Iris
    edges: Iris
    sizes: npt.NDArray[np.int32]
    key_of: Places
    value_of: Places
    edges_of: PlaceLists
    nodes_of: PlaceLists
    with_key: PlaceLists
    with_value: PlaceLists
    named_edges: Iris
    place_of_named: npt.NDArray[np.int64]
    vectors: dict[str, TermVectors] = field(default_factory=dict)

    @classmethod
    def joined(
        cls, hypernodes: _Hypernodes, edges: Iris, sizes: npt.NDArray[np.int32], edges_of: PlaceLists
    ) -> Adjacency:
        """Return the hypergraph of arrays that were read from the store or from a file."""
        nodes, by_name = np.arange(len(hypernodes.nodes)), np.argsort(edges.rest, kind="stable")
        return cls(
            revision=hypernodes.revision,
            nodes=hypernodes.nodes,
            keys=hypernodes.keys,
            values=hypernodes.values,
            edges=edges,
            sizes=sizes,
            key_of=hypernodes.key_of,
            value_of=hypernodes.value_of,
            edges_of=edges_of,
            nodes_of=edges_of.inverted(len(edges)),
            with_key=PlaceLists.grouped(hypernodes.key_of, nodes, len(hypernodes.keys)),
            with_value=PlaceLists.grouped(hypernodes.value_of, nodes, len(hypernodes.values)),
            named_edges=Iris(edges.beginning, edges.rest[by_name]),
            place_of_named=by_name,
        )

    @property
    def mean_size(self) -> float:
        """The mean number of hypernodes of a hyperedge; 1 where there is none."""
        return len(self.nodes_of.places) / len(self.edges) if len(self.nodes_of.places) else 1.0

    def edge_places(self, iris: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the place of each hyperedge, -1 of an unknown one, shape (len(iris),)."""
        found = self.named_edges.places(iris)
        return np.where(found >= 0, np.append(self.place_of_named, -1)[found], -1)

    def vectors_of(self, space: str, terms: Iris, index: VectorIndex) -> TermVectors:
        """Return the vectors of keys or values, read from the index of their space at the first question."""
        kept = self.vectors.get(space)
        if kept is None or kept.index is not index:
            kept = self.vectors[space] = TermVectors.of(terms, index)
        return kept

    def membership(self, edges: npt.NDArray[np.int64], nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which hyperedge contains which hypernode, shape (edges, nodes); ``nodes`` ascend."""
        has = np.zeros((len(edges), len(nodes)), dtype=np.bool_)
        if len(nodes):
            rows, members = self.nodes_of.pairs(edges)
            columns = np.minimum(np.searchsorted(nodes, members), len(nodes) - 1)
            inside = nodes[columns] == members
            has[rows[inside], columns[inside]] = True
        return has

    def at(self, revision: int) -> Adjacency:
        """Return the same arrays as those of another revision of the store."""
        return replace(self, revision=revision)

    def with_edges(self, edges: npt.NDArray[np.int64]) -> Adjacency:
        """Return the same hypergraph with those hyperedges alone, and the hypernodes that they contain."""
        is_kept = np.zeros(len(self.edges), dtype=np.bool_)
        is_kept[edges] = True
        owners = np.repeat(np.arange(len(self.nodes)), np.diff(self.edges_of.bounds))
        left = is_kept[self.edges_of.places]
        nodes = np.unique(owners[left])
        return replace(
            self,
            edges_of=PlaceLists.grouped(owners[left], self.edges_of.places[left], len(self.nodes)),
            with_key=PlaceLists.grouped(self.key_of[nodes], nodes, len(self.keys)),
            with_value=PlaceLists.grouped(self.value_of[nodes], nodes, len(self.values)),
        )

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write the arrays to a new file and swap it in. Raises StorageFailed."""
        settings = {"format": _FILE_FORMAT, "revision": self.revision}
        members: dict[str, Any] = {"settings": packed([json.dumps(settings)])}
        for name in ("nodes", "keys", "values", "edges"):
            members |= getattr(self, name).members(name)
        members |= {"sizes": self.sizes, "key_of": self.key_of, "value_of": self.value_of}
        write_arrays(path, members | {"bounds": self.edges_of.bounds, "places": self.edges_of.places}, lineage=lineage)

    @classmethod
    def load(cls, path: Path) -> Adjacency | None:
        """Read a file; return None for one that is missing, damaged or of another format."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FILE_FORMAT:
                return None
            nodes, keys, values = (Iris.restored(members, name) for name in ("nodes", "keys", "values"))
            key_of, value_of = members["key_of"], members["value_of"]
            hypernodes = _Hypernodes(settings["revision"], nodes, keys, values, key_of, value_of)
            edges_of = PlaceLists(members["bounds"], members["places"])
            return cls.joined(hypernodes, Iris.restored(members, "edges"), members["sizes"], edges_of)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def fresh(
    store: TripleStore, folder: Path | None, *, save: bool = True, progress: vector_spaces.Progress = None
) -> Adjacency:
    """Return the hypergraph as it is now, read again when a hyperedge or a hypernode changed since the last time.

    Args:
        store: contains the hypergraph.
        folder: where the file is kept; None keeps it in memory for as long as the store lives.
        save: False leaves the disk as it is (read-only use).
        progress: called with (stage label, hyperedges done, hyperedges in all).

    Raises:
        StorageFailed: the disk refused the new file.
    """
    return _OPEN.fresh(store, folder, _making(store, progress), name=_FILE_NAME, save=save)


def faults(store: TripleStore, folder: Path | None) -> list[FileFault]:
    """Compare the file with the hypergraph of the store; [] where there is none, or one that is behind."""
    return _OPEN.faults(store, folder, _making(store, None), name=_FILE_NAME)


def _making(store: TripleStore, progress: vector_spaces.Progress) -> Making[Adjacency]:
    def changed(since: int) -> bool:
        kinds = (KG.HypernodeGraph, KG.HyperedgeGraph)
        return any(change_feed.changed(kind, store=store, since=since) for kind in kinds)

    return Making(load=Adjacency.load, make=lambda: _read(store, progress), changed=changed)


@dataclass(frozen=True, slots=True)
class _Hypernodes:
    """The arrays of the hypernode graph, and the revision of the store at which it was read."""

    revision: int
    nodes: Iris
    keys: Iris
    values: Iris
    key_of: Places
    value_of: Places


def _read(store: TripleStore, progress: vector_spaces.Progress) -> Adjacency:
    hypernodes = _hypernodes(store)
    rows = store.select(queries.bind("og_rag/sized", catalogue=store.names.catalogue)).values()
    sizes = {row[0]: int(row[1]) for row in rows}
    largest_first = sorted(sizes, key=lambda edge: (-sizes[edge], edge))
    edges = Iris.of(largest_first)
    edges_of = _edges_of(store, hypernodes.nodes, edges, progress)
    return Adjacency.joined(hypernodes, edges, np.array([sizes[edge] for edge in largest_first], np.int32), edges_of)


def _hypernodes(store: TripleStore) -> _Hypernodes:
    """Read every hypernode that has a key and a value."""
    revision, keys = store.revision, vector_spaces.keys("hypernode-key", store=store)
    none = np.zeros(0, np.bytes_)
    nodes, values, key_of = [none], [none], [np.zeros(0, np.int32)]
    for first in range(0, len(keys), _KEYS_PER_QUERY):
        terms = [ox.NamedNode(key) for key in keys[first : first + _KEYS_PER_QUERY]]
        table = store.select(queries.bind("og_rag/hypernodes_of", hypernodes=store.names.hypernodes, keys=terms))
        # The query numbers the keys of a batch from 1.
        key_of.append(np.array([int(plain(row[0])) for row in table], dtype=np.int32) + (first - 1))
        # Arrays of bytes, because 10^6 Python strings take much more memory.
        nodes.append(np.array([plain(row[1]).encode() for row in table], dtype=np.bytes_))
        values.append(np.array([plain(row[2]).encode() for row in table], dtype=np.bytes_))
    distinct, at = np.unique(np.concatenate(nodes), return_index=True)
    distinct_values, value_of = np.unique(np.concatenate(values)[at], return_inverse=True)
    return _Hypernodes(
        revision=revision,
        nodes=Iris.of([iri.decode() for iri in distinct.tolist()]),
        keys=Iris.of(keys),
        values=Iris.of([iri.decode() for iri in distinct_values.tolist()]),
        key_of=np.concatenate(key_of)[at],
        value_of=value_of.astype(np.int32),
    )


def _edges_of(store: TripleStore, nodes: Iris, edges: Iris, progress: vector_spaces.Progress) -> PlaceLists:
    """Read the hypernodes of each hyperedge, and return the hyperedges of each hypernode."""
    owners: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]
    places: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]
    for first in range(0, len(edges), _HYPEREDGES_PER_QUERY):
        batch = edges.at(range(first, min(first + _HYPEREDGES_PER_QUERY, len(edges))))
        table = store.select(queries.bind("og_rag/members", edges=[ox.NamedNode(edge) for edge in batch]))
        members = nodes.places([plain(row[1]) for row in table])
        edge_of_row = np.array([int(plain(row[0])) for row in table], dtype=np.int32) + (first - 1)
        owners.append(members[members >= 0].astype(np.int32))
        places.append(edge_of_row[members >= 0])
        if progress:
            progress("read hyperedges", first + len(batch), len(edges))
    return PlaceLists.grouped(np.concatenate(owners), np.concatenate(places), len(nodes))
