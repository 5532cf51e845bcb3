"""The citation graph in memory: the edges of the store as arrays, and the part of them that matters to a question.

CG-RAG, section 4.3: the gate of a message depends on the question, so messages pass at query time, over the candidates
and what is within two hops of them. A mirror says which revision of the store it reflects; it is a sidecar, made again
when in doubt.

The mirror of a store's citation graph, kept beside it. Queries read: ``cg_rag/chunks``, ``cg_rag/edges``.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kgrag import queries
from kgrag.index.array_files import Iris, Making, Sidecars, packed, read_arrays, unpacked, write_arrays
from kgrag.methods.cg_rag.citation_graph import KINDS, chunks_of
from kgrag.methods.cg_rag.edges import Kind
from kgrag.ports import TripleStore
from kgrag.vocab import KG

__all__ = [
    "RELATIONS",
    "Mirror",
    "Reach",
    "Subgraph",
    "drawn",
    "fresh",
    "numbers_of",
]

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float32]

RELATIONS = 2 * len(Kind)
"""An edge is walked both ways: relation 2 * kind from its target's point of view, 2 * kind + 1 from its origin's."""

_FORMAT = 1
_ARRAYS = ("offsets", "neighbours", "relations", "weights", "documents")


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a question reaches.

    Args:
        hops: how many edges away from a candidate, 0 to 2.
        width: how many chunks join the candidates at most, those that can hear most of the question first.
        fan: how many messages a chunk hears at most, the loudest first.
    """

    hops: int = 2
    width: int = 512
    fan: int = 16


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The part of the graph that a question reaches.

    ``nodes`` are places in the mirror, ascending, shape (n,); message e goes from ``nodes[senders[e]]`` to
    ``nodes[receivers[e]]`` over an edge of relation ``relations[e]`` and
    weight ``weights[e]`` (0 to 1), each shape (m,).
    """

    nodes: Places
    senders: Places
    receivers: Places
    relations: npt.NDArray[np.int8]
    weights: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Mirror:
    """Every chunk, in the order of IRIs, and its edges in both directions as a compressed sparse row matrix.

    The neighbours of place i are ``neighbours[offsets[i]:offsets[i + 1]]``; ``documents[i]`` numbers its document.
    """

    iris: Iris
    offsets: Places
    neighbours: npt.NDArray[np.int32]
    relations: npt.NDArray[np.int8]
    weights: Numbers
    documents: npt.NDArray[np.int32]
    revision: int = -1

    @classmethod
    def of(
        cls, chunks: Sequence[str], documents: Sequence[int], edges: tuple[Places, Places, Any, Any], *, revision: int
    ) -> Mirror:
        """Make a mirror.

        Args:
            chunks: IRIs in ascending order.
            documents: the number of each chunk's document.
            edges: origins, targets (places in ``chunks``), kinds and weights (0 to 2), each shape (m,).
            revision: the store revision that this reflects.
        """
        origins, targets, kinds, weights = (np.asarray(part) for part in edges)
        scaled = np.where(kinds == Kind.CITATION, weights / 2, weights).astype(np.float32)
        here, there = np.concatenate([targets, origins]), np.concatenate([origins, targets])
        relations = np.concatenate([2 * kinds, 2 * kinds + 1]).astype(np.int8)
        both = np.concatenate([scaled, scaled])
        order = np.lexsort((there, -both, here))
        offsets = np.zeros(len(chunks) + 1, np.int64)
        np.cumsum(np.bincount(here, minlength=len(chunks)), out=offsets[1:])
        places = there[order].astype(np.int32)
        numbers = np.asarray(documents, dtype=np.int32)
        return cls(Iris.of(chunks), offsets, places, relations[order], both[order], numbers, revision)

    def __len__(self) -> int:
        """Count the chunks."""
        return len(self.iris)

    def around(self, seeds: Places, gates: Numbers, reach: Reach, *, without: Places | None = None) -> Subgraph:
        """Give what a question reaches from its candidates.

        Args:
            seeds: places of candidates; all of them stay.
            gates: f(q, c) of every chunk, shape (len(self),), 0 to 1.
            reach: how far.
            without: numbers of documents that are to be passed over, as if they were not in the collection.
        """
        hidden = None if without is None or not len(without) else np.isin(self.documents, without)
        nodes = np.unique(seeds if hidden is None else seeds[~hidden[seeds]])
        frontier, room = nodes, reach.width
        for hop in range(reach.hops):
            heard = self._audible(frontier, gates, hidden)
            fresh = np.setdiff1d(np.flatnonzero(heard), nodes)
            share = room if hop == reach.hops - 1 else (room * 3) // 4
            frontier = fresh[np.lexsort((fresh, -heard[fresh]))[:share]]
            nodes = np.union1d(nodes, frontier)
            room -= len(frontier)
        return self._within(nodes, gates, reach.fan)

    def _audible(self, frontier: Places, gates: Numbers, hidden: Any) -> Numbers:
        """Say how much each chunk has to do with the frontier: it hears from there, or has something to say to it."""
        rows, edges = self._spread(frontier)
        there = self.neighbours[edges]
        loud = self.weights[edges] * np.maximum(gates[frontier[rows]], gates[there])
        heard = np.zeros(len(self), np.float32)
        np.maximum.at(heard, there, loud)
        if hidden is not None:
            heard[hidden] = 0
        return heard

    def _spread(self, places: Places) -> tuple[Places, Places]:
        """Give the edges of places: for each, which place it belongs to and where it stands in ``neighbours``."""
        starts, counts = self.offsets[places], self.offsets[places + 1] - self.offsets[places]
        rows = np.repeat(np.arange(len(places)), counts)
        before = np.cumsum(counts) - counts
        return rows, np.arange(len(rows)) + np.repeat(starts - before, counts)

    def _within(self, nodes: Places, gates: Numbers, fan: int) -> Subgraph:
        """Give the edges among nodes, at most ``fan`` a receiver, those with the loudest sender first."""
        receivers, edges = self._spread(nodes)
        there = self.neighbours[edges].astype(np.int64)
        at = np.minimum(np.searchsorted(nodes, there), max(len(nodes) - 1, 0))
        inside = np.flatnonzero(nodes[at] == there) if len(nodes) else np.zeros(0, np.int64)
        receivers, senders, edges = receivers[inside], at[inside], edges[inside]
        loud = self.weights[edges] * gates[nodes[senders]]
        order = np.lexsort((senders, -loud, receivers))
        receivers, senders, edges = receivers[order], senders[order], edges[order]
        kept = np.flatnonzero(_rank(receivers) < fan)
        part = edges[kept]
        return Subgraph(nodes, senders[kept], receivers[kept], self.relations[part], self.weights[part])

    def at(self, revision: int) -> Self:
        """Give the same mirror, said to reflect another revision."""
        return replace(self, revision=revision)

    def save(self, path: Path) -> None:
        """Write the mirror. Raises StorageFailed."""
        settings = packed([json.dumps({"format": _FORMAT, "revision": self.revision})])
        members = {name: getattr(self, name) for name in _ARRAYS}
        write_arrays(path, members | self.iris.members("iris") | {"settings": settings})

    @classmethod
    def load(cls, path: Path) -> Mirror | None:
        """Read a mirror; None for one that is missing, damaged or of another format."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FORMAT:
                return None
            arrays = {name: members[name] for name in _ARRAYS}
            return cls(iris=Iris.restored(members, "iris"), revision=settings["revision"], **arrays)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def _rank(groups: Places) -> Places:
    """Number the members of each group from 0; equal numbers stand together.

    >>> _rank(np.array([3, 3, 5, 7, 7, 7])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    if not len(groups):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    return np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))


_NAME = "citations"
_OPEN = Sidecars[Mirror]()


def fresh(store: TripleStore, folder: Path | None, *, save: bool = True) -> Mirror:
    """Give the mirror as the store stands now.

    Raises:
        StorageFailed: the disk refused a new file.
    """
    making = Making(load=Mirror.load, make=lambda: _made(store), changed=lambda since: _changed(store, since))
    return _OPEN.fresh(store, folder, making, name=_NAME, save=save)


def drawn(store: TripleStore) -> bool:
    """Say whether the store holds any citation graph."""
    return bool(store.select(queries.bind("cg_rag/graphs", catalogue=store.names.catalogue)).rows)


def numbers_of(mirror: Mirror, documents: Sequence[str]) -> Places:
    """Give the numbers that documents have in the mirror."""
    beginnings = [f"{document.replace('document/', 'chunk/', 1)}-" for document in documents]
    cut = len(mirror.iris.beginning)
    wanted = np.array([text[cut:].encode() for text in beginnings], dtype=np.bytes_)
    first = np.searchsorted(mirror.iris.rest, wanted) if len(wanted) else np.zeros(0, np.int64)
    pairs = zip(first.tolist(), beginnings, strict=True)
    held = [place for place, text in pairs if place < len(mirror) and mirror.iris[place].startswith(text)]
    return np.unique(mirror.documents[np.array(held, dtype=np.int64)]).astype(np.int64)


def _changed(store: TripleStore, since: int) -> bool:
    catalogue = store.names.catalogue
    kinds = (KG.CitationGraph, KG.DocumentGraph)
    return any(store.ask(queries.bind("spaces/changed", catalogue=catalogue, kind=kind, since=since)) for kind in kinds)


def _made(store: TripleStore) -> Mirror:
    revision = store.revision
    held = [(chunk, number) for number, chunks in enumerate(chunks_of(store).values()) for chunk in chunks]
    held.sort()
    chunks = [chunk for chunk, _ in held]
    place = {chunk: number for number, chunk in enumerate(chunks)}
    kinds = {term.value: int(kind) for kind, term in KINDS.items()}
    rows = store.select(queries.bind("cg_rag/edges", catalogue=store.names.catalogue))
    edges = [
        (place[origin], place[target], kinds[kind], float(weight))
        for kind, origin, target, weight in rows.values()
        if origin in place and target in place
    ]
    table = np.array(edges, dtype=np.float64).reshape(len(edges), 4).T
    columns = (*(table[row].astype(np.int64) for row in range(3)), table[3])
    origins, targets, numbers, weights = columns
    return Mirror.of(chunks, [number for _, number in held], (origins, targets, numbers, weights), revision=revision)
