"""The hypergraph as arrays: what has which key, value and hyperedge, without a query a question (OG-RAG, section 4.2).

A sidecar like the vectors and the BM25 indexes: one file beside the store, made again from it when it is missing,
damaged or behind. It holds no text; what a question is answered with is read from the store. Of 10^6 hypernodes in
570,000 hyperedges it takes about 90 MB.

Queries read: ``og_rag/hypernodes_of``, ``og_rag/members``, ``og_rag/sized``, ``spaces/changed``,
``spaces/hypernode-key``.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgrag import queries
from kgrag.index import vector_spaces
from kgrag.index.array_files import Iris, Making, Sidecars, packed, read_arrays, unpacked, write_arrays
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.vocab import KG

__all__ = ["Adjacency", "Lists", "Places", "fresh"]

Places = npt.NDArray[np.int32]

_NAME = "hypergraph"
_FORMAT = 1
_BATCH = 2000  # hyperedges read at once
_KEYS = 50  # keys whose hypernodes are read at once
_NONE = np.zeros(0, np.bytes_)
_OPEN = Sidecars["Adjacency"]()


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """A list of places for each of n things, one after the other: list i is ``places[bounds[i]:bounds[i + 1]]``."""

    bounds: npt.NDArray[np.int64]
    places: Places

    @classmethod
    def grouped(cls, owners: npt.NDArray[Any], places: npt.NDArray[Any], count: int) -> Lists:
        """Give to each of ``count`` owners its places, ascending; arrays of one length, shape (m,)."""
        order = np.lexsort((places, owners))
        bounds = np.zeros(count + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=count), out=bounds[1:])
        return cls(bounds, places[order].astype(np.int32))

    def of(self, thing: int) -> Places:
        """Give the list of one thing."""
        return self.places[self.bounds[thing] : self.bounds[thing + 1]]

    def of_all(self, things: Sequence[int]) -> Places:
        """Give the lists of several things, one after the other."""
        return np.concatenate([np.zeros(0, np.int32), *(self.of(thing) for thing in things)])

    def length(self, thing: int) -> int:
        """Count the list of one thing."""
        return int(self.bounds[thing + 1] - self.bounds[thing])


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """Hypernodes, keys and values by ascending IRI, hyperedges by falling size and then IRI; each named by its place.

    ``key_of`` and ``value_of`` give the key and the value of a hypernode, shape (hypernodes,); ``with_key``,
    ``with_value`` the hypernodes of a key or a value; ``holding`` the hyperedges of a hypernode, larger ones first;
    ``sizes`` the number of hypernodes of a hyperedge, shape (hyperedges,).
    """

    revision: int
    nodes: Iris
    keys: Iris
    values: Iris
    edges: Iris
    sizes: npt.NDArray[np.int32]
    key_of: Places
    value_of: Places
    holding: Lists
    with_key: Lists
    with_value: Lists

    @classmethod
    def joined(cls, hypernodes: _Hypernodes, edges: Iris, sizes: npt.NDArray[np.int32], holding: Lists) -> Adjacency:
        """Put together what was read from the store."""
        nodes = np.arange(len(hypernodes.nodes))
        return cls(
            revision=hypernodes.revision,
            nodes=hypernodes.nodes,
            keys=hypernodes.keys,
            values=hypernodes.values,
            edges=edges,
            sizes=sizes,
            key_of=hypernodes.key_of,
            value_of=hypernodes.value_of,
            holding=holding,
            with_key=Lists.grouped(hypernodes.key_of, nodes, len(hypernodes.keys)),
            with_value=Lists.grouped(hypernodes.value_of, nodes, len(hypernodes.values)),
        )

    def at(self, revision: int) -> Adjacency:
        """Give the same, said to reflect another revision."""
        return replace(self, revision=revision)

    def save(self, path: Path) -> None:
        """Write the arrays beside the old file, then swap. Raises StorageFailed."""
        settings = {"format": _FORMAT, "revision": self.revision}
        members: dict[str, Any] = {"settings": packed([json.dumps(settings)])}
        for name in ("nodes", "keys", "values", "edges"):
            members |= getattr(self, name).members(name)
        members |= {"sizes": self.sizes, "key_of": self.key_of, "value_of": self.value_of}
        write_arrays(path, members | {"bounds": self.holding.bounds, "places": self.holding.places})

    @classmethod
    def load(cls, path: Path) -> Adjacency | None:
        """Read a file; None for one that is missing, damaged or of another format."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FORMAT:
                return None
            nodes, keys, values = (Iris.restored(members, name) for name in ("nodes", "keys", "values"))
            key_of, value_of = members["key_of"], members["value_of"]
            hypernodes = _Hypernodes(settings["revision"], nodes, keys, values, key_of, value_of)
            holding = Lists(members["bounds"], members["places"])
            return cls.joined(hypernodes, Iris.restored(members, "edges"), members["sizes"], holding)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def fresh(
    store: TripleStore, folder: Path | None, *, save: bool = True, progress: vector_spaces.Progress = None
) -> Adjacency:
    """Give the hypergraph as it stands now; it is read again when a hyperedge or a hypernode changed since.

    Args:
        store: holds the hypergraph.
        folder: where the file is kept; None keeps it in memory for as long as the store lives.
        save: False leaves the disk as it is (read-only use).
        progress: told (stage label, hyperedges done, hyperedges in all).

    Raises:
        StorageFailed: the disk refused the new file.
    """
    making = Making(
        load=Adjacency.load, make=lambda: _read(store, progress), changed=lambda revision: _changed(store, revision)
    )
    return _OPEN.fresh(store, folder, making, name=_NAME, save=save)


def _changed(store: TripleStore, since: int) -> bool:
    catalogue = store.names.catalogue
    kinds = (KG.HypernodeGraph, KG.HyperedgeGraph)
    return any(store.ask(queries.bind("spaces/changed", catalogue=catalogue, kind=kind, since=since)) for kind in kinds)


@dataclass(frozen=True, slots=True)
class _Hypernodes:
    """What the hypernode graph says, and the revision at which it said so."""

    revision: int
    nodes: Iris
    keys: Iris
    values: Iris
    key_of: Places
    value_of: Places


def _read(store: TripleStore, progress: vector_spaces.Progress) -> Adjacency:
    hypernodes = _hypernodes(store)
    edges, sizes = _hyperedges(store)
    holding = _holding(store, hypernodes.nodes, edges, progress)
    return Adjacency.joined(hypernodes, edges, sizes, holding)


def _hypernodes(store: TripleStore) -> _Hypernodes:
    """Read every hypernode that has a key and a value."""
    revision, keys = store.revision, vector_spaces.keys("hypernode-key", store=store)
    nodes, values, key_of = [_NONE], [_NONE], [np.zeros(0, np.int32)]
    for first in range(0, len(keys), _KEYS):
        terms = [ox.NamedNode(key) for key in keys[first : first + _KEYS]]
        table = store.select(queries.bind("og_rag/hypernodes_of", hypernodes=store.names.hypernodes, keys=terms))
        key_of.append(np.array([int(plain(row[0])) for row in table], dtype=np.int32) + (first - 1))
        nodes.append(_bytes(plain(row[1]) for row in table))
        values.append(_bytes(plain(row[2]) for row in table))
    distinct, at = np.unique(np.concatenate(nodes), return_index=True)
    terms_of_values, value_of = np.unique(np.concatenate(values)[at], return_inverse=True)
    return _Hypernodes(
        revision=revision,
        nodes=_iris(distinct),
        keys=Iris.of(keys),
        values=_iris(terms_of_values),
        key_of=np.concatenate(key_of)[at],
        value_of=value_of.astype(np.int32),
    )


def _bytes(iris: Iterable[str]) -> npt.NDArray[np.bytes_]:
    return np.array([iri.encode() for iri in iris], dtype=np.bytes_)


def _iris(terms: npt.NDArray[np.bytes_]) -> Iris:
    return Iris.of([term.decode() for term in terms.tolist()])


def _hyperedges(store: TripleStore) -> tuple[Iris, npt.NDArray[np.int32]]:
    """Give hyperedges and their sizes, larger ones first, then by IRI."""
    rows = store.select(queries.bind("og_rag/sized", catalogue=store.names.catalogue)).values()
    found = {row[0]: int(row[1]) for row in rows}
    edges = sorted(found, key=lambda edge: (-found[edge], edge))
    return Iris.of(edges), np.array([found[edge] for edge in edges], dtype=np.int32)


def _holding(store: TripleStore, nodes: Iris, edges: Iris, progress: vector_spaces.Progress) -> Lists:
    """Read which hypernodes each hyperedge holds, and turn it round."""
    owners: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]
    places: list[npt.NDArray[np.int32]] = [np.zeros(0, np.int32)]
    for first in range(0, len(edges), _BATCH):
        batch = edges.at(range(first, min(first + _BATCH, len(edges))))
        table = store.select(queries.bind("og_rag/members", edges=[ox.NamedNode(edge) for edge in batch]))
        held = nodes.places([plain(row[1]) for row in table])
        found = np.array([int(plain(row[0])) for row in table], dtype=np.int32) + (first - 1)
        owners.append(held[held >= 0].astype(np.int32))
        places.append(found[held >= 0])
        if progress:
            progress("read hyperedges", first + len(batch), len(edges))
    return Lists.grouped(np.concatenate(owners), np.concatenate(places), len(nodes))
