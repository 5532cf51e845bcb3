"""The graph of chunks, names and aggregates as arrays, and a walk over it from the names of a question.

A chunk is joined to the names (entities) that its propositions mention, and an aggregate to the chunks that it was
joined from and to the names that it is about. The arrays record which revision of the store they reflect; they are kept
in a file beside the store, and are read from the store again where that file is older. Queries read: ``auto/*``,
``sire_rag/proposition_count``. No graph is written.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kgrag import queries
from kgrag.answering.fusion import ranked
from kgrag.index import change_feed, vector_spaces
from kgrag.index.array_files import (
    FileFault,
    Iris,
    KeptPlaces,
    Making,
    Sidecars,
    packed,
    read_arrays,
    unpacked,
    write_arrays,
)
from kgrag.index.place_lists import PlaceLists
from kgrag.model import Allowed
from kgrag.ports import TripleStore
from kgrag.vocab import KG

__all__ = ["NameGraph", "faults", "fresh"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_FORMAT_VERSION = 2
_FILE_NAME = "names"
_KINDS = (KG.PropositionGraph, KG.TreeGraph)
_IRIS = ("chunks", "names", "aggregates")
_EDGES = ("shared", "joined", "about")
_STEPS = 10  # with a damping of a half, what comes later adds up to less than a thousandth
_LEAST = 1e-5  # of the whole weight: what a step would bring each neighbour less of goes no further


@dataclass(frozen=True, slots=True, eq=False)
class NameGraph:
    """Chunks, names and aggregates, each in the order of IRIs.

    Node i of ``shared`` is chunk i, and node ``len(chunks) + j`` is name j. ``documents[i]`` numbers the document of
    chunk i. ``joined`` are the chunks of each aggregate, ``about`` the names of each; ``propositions`` counts what
    chunks state.
    """

    chunks: Iris
    names: Iris
    aggregates: Iris
    documents: npt.NDArray[np.int32]
    shared: PlaceLists
    joined: PlaceLists
    about: PlaceLists
    propositions: int
    revision: int = -1
    _kept: KeptPlaces = field(default_factory=KeptPlaces)

    @classmethod
    def of(
        cls,
        stated: Sequence[Sequence[str]],
        joined: Sequence[Sequence[str]],
        about: Sequence[Sequence[str]],
        *,
        propositions: int,
        revision: int = -1,
    ) -> NameGraph:
        """Return the graph of rows (chunk, document, name), (aggregate, chunk) and (aggregate, name), all IRIs."""
        document_of = {chunk: document for chunk, document, _ in stated}
        chunks = _numbers(document_of)
        names = _numbers({name for _, _, name in stated})
        aggregates = _numbers({aggregate for aggregate, _ in joined})
        documents = _numbers(set(document_of.values()))
        mentioned = _pairs([(chunk, name) for chunk, _, name in stated], chunks, names)
        mentioned[:, 1] += len(chunks)
        return cls(
            chunks=Iris.of(list(chunks)),
            names=Iris.of(list(names)),
            aggregates=Iris.of(list(aggregates)),
            documents=np.array([documents[document_of[chunk]] for chunk in chunks], np.int32),
            shared=PlaceLists.of_pairs(np.concatenate([mentioned, mentioned[:, ::-1]]), len(chunks) + len(names)),
            joined=PlaceLists.of_pairs(_pairs(joined, aggregates, chunks), len(aggregates)),
            about=PlaceLists.of_pairs(_pairs(about, aggregates, names), len(aggregates)),
            propositions=propositions,
            revision=revision,
        )

    def walk(
        self, seeds: Mapping[str, float], *, damping: float, take: int, within: Allowed | None = None
    ) -> list[tuple[str, float]]:
        """Return the chunks that a walk from seeds comes to most and how often, the first 1, ties by IRI.

        Personalised PageRank by its power series: at each step a node passes on ``damping`` of what came to it, in
        equal parts. A node that would pass on too little keeps it, so the work is bounded however large the graph is
        (Andersen, Chung and Lang, "Local graph partitioning using PageRank vectors", FOCS 2006).

        Args:
            seeds: IRIs of chunks and names, and what of the walk begins at each; unknown ones are passed over.
            damping: above 0, below 1.
            take: how many chunks at most.
            within: the only documents whose chunks are walked over; None for all.
        """
        nodes, mass = self._seeded(seeds)
        closed = None if within is None else ~self._may_be_read(within.chunks)
        came, amount = [nodes], [(1 - damping) * mass]
        for _ in range(_STEPS):
            share = damping * mass / np.maximum(self.shared.lengths(nodes), 1)
            passing = share >= _LEAST
            rows, neighbours = self.shared.pairs(nodes[passing])
            shares = share[passing][rows]
            if closed is not None:
                kept = ~closed[neighbours]
                neighbours, shares = neighbours[kept], shares[kept]
            nodes, place = np.unique(neighbours, return_inverse=True)
            mass = np.bincount(place, weights=shares, minlength=len(nodes)).astype(np.float64)
            came.append(nodes)
            amount.append((1 - damping) * mass)
        reached, place = np.unique(np.concatenate(came), return_inverse=True)
        often = np.bincount(place, weights=np.concatenate(amount), minlength=len(reached))
        chunks = reached < len(self.chunks)
        reached, often = reached[chunks], often[chunks]
        first = np.lexsort((reached, -often))[:take]  # in the order of places, which is that of IRIs
        scaled = often[first] / often.max(initial=0.0)
        return list(zip(self.chunks.at(reached[first]), scaled.tolist(), strict=True))

    def _seeded(self, seeds: Mapping[str, float]) -> tuple[IntArray, FloatArray]:
        """Return the nodes of known seeds, ascending, and what begins at each, 1 in all."""
        iris = list(seeds)
        chunks, names = self.chunks.places(iris), self.names.places(iris)
        nodes = np.where(chunks >= 0, chunks, np.where(names >= 0, names + len(self.chunks), -1))
        weights = np.array([seeds[iri] for iri in iris], dtype=np.float64)
        known = (nodes >= 0) & (weights > 0)
        order = np.argsort(nodes[known])
        return nodes[known][order], weights[known][order] / (weights[known].sum() or 1.0)

    def _may_be_read(self, chunks: frozenset[str]) -> npt.NDArray[np.bool_]:
        """Return which nodes a filter leaves: its chunks and every name, shape (nodes,)."""
        left = np.zeros(len(self.chunks) + len(self.names), np.bool_)
        left[self._kept.of(chunks, self.chunks.known_places)] = True
        left[len(self.chunks) :] = True
        return left

    def joined_from(self, chunks: frozenset[str]) -> frozenset[str]:
        """Return the aggregates all of whose chunks are among these."""
        rows, neighbours = self.joined.pairs(np.arange(len(self.aggregates)))
        missing = np.bincount(rows, weights=~self._may_be_read(chunks)[neighbours], minlength=len(self.aggregates))
        return frozenset(self.aggregates.at(np.flatnonzero(missing == 0)))

    def spread(self, aggregates: Mapping[str, float]) -> list[tuple[str, float]]:
        """Return the chunks of aggregates, best first, each with the best score of those that it is in.

        What an aggregate gives a chunk is its own score over the square root of the number of documents it joins.
        """
        places = self.aggregates.places(list(aggregates))
        rows, chunks = self.joined.pairs(places[places >= 0])
        scores = np.array(list(aggregates.values()), dtype=np.float64)[places >= 0]
        pairs = np.unique(np.stack([rows, self.documents[chunks].astype(np.int64)]), axis=1)
        documents = np.bincount(pairs[0], minlength=len(scores))
        found, place = np.unique(chunks, return_inverse=True)
        best = np.zeros(len(found))
        np.maximum.at(best, place, (scores / np.sqrt(np.maximum(documents, 1)))[rows])
        return ranked(dict(zip(self.chunks.at(found), best.tolist(), strict=True)))

    def names_of(self, aggregates: Mapping[str, float]) -> dict[str, float]:
        """Return the names that aggregates are about, each with the sum of their weights."""
        places = self.aggregates.places(list(aggregates))
        weights = np.array(list(aggregates.values()), dtype=np.float64)[places >= 0]
        rows, names = self.about.pairs(places[places >= 0])
        distinct, place = np.unique(names, return_inverse=True)
        sums = np.bincount(place, weights=weights[rows], minlength=len(distinct))
        return dict(zip(self.names.at(distinct), sums.tolist(), strict=True))

    def mentions(self, names: Sequence[str]) -> list[int]:
        """Count the chunks that mention each name, 0 for an unknown one."""
        places = self.names.places(names)
        counts = self.shared.lengths(places[places >= 0] + len(self.chunks))
        found = np.zeros(len(places), np.int64)
        found[places >= 0] = counts
        return [int(count) for count in found]

    def at(self, revision: int) -> Self:
        """Return the same arrays as those of another revision, which changed none of them."""
        return replace(self, revision=revision)

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write the arrays. Raises StorageFailed."""
        members: dict[str, Any] = {"documents": self.documents}
        for name in _IRIS:
            members |= getattr(self, name).members(name)
        for name in _EDGES:
            edges: PlaceLists = getattr(self, name)
            members |= edges.members(name)
        settings = packed(
            [json.dumps({"format": _FORMAT_VERSION, "revision": self.revision, "propositions": self.propositions})]
        )
        write_arrays(path, members | {"settings": settings}, lineage=lineage)

    @classmethod
    def load(cls, path: Path) -> NameGraph | None:
        """Read arrays; None for a file that is missing, damaged or of another format, which is then made again."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FORMAT_VERSION:
                return None
            parts: dict[str, Any] = {name: Iris.restored(members, name) for name in _IRIS}
            parts |= {name: PlaceLists.restored(members, name) for name in _EDGES}
            parts |= {name: settings[name] for name in ("propositions", "revision")}
            return cls(**parts, documents=members["documents"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


_OPEN = Sidecars[NameGraph]()


def fresh(store: TripleStore, folder: Path | None, *, save: bool = True) -> NameGraph:
    """Return the graph of the store's present revision.

    Args:
        store: contains propositions and trees.
        folder: of the file; None keeps the arrays in memory.
        save: False leaves the disk as it is.

    Raises:
        StorageFailed: the disk refused a new file.
    """
    return _OPEN.fresh(store, folder, _making(store), name=_FILE_NAME, save=save)


def faults(store: TripleStore, folder: Path | None) -> list[FileFault]:
    """Compare the file of the arrays with the store; [] where there is none, or one that is behind."""
    return _OPEN.faults(store, folder, _making(store), name=_FILE_NAME)


def _making(store: TripleStore) -> Making[NameGraph]:
    def changed(since: int) -> bool:
        if any(change_feed.changed(kind, store=store, since=since) for kind in _KINDS):
            return True
        # a document that came has no names until propositions are taken from it, which are graphs of their own
        return change_feed.gone(vector_spaces.spaces()["chunk"], store=store, since=since)

    return Making(load=NameGraph.load, make=lambda: _read(store), changed=changed)


def _read(store: TripleStore) -> NameGraph:
    revision = store.revision
    stated, joined, about, counted = (
        store.select(queries.bind(query, catalogue=store.names.catalogue)).values()
        for query in ("auto/names", "auto/aggregates", "auto/aggregate-names", "sire_rag/proposition_count")
    )
    return NameGraph.of(stated, joined, about, propositions=int(counted[0][0]), revision=revision)


def _numbers(iris: Mapping[str, Any] | set[str]) -> dict[str, int]:
    return {iri: number for number, iri in enumerate(sorted(iris))}


def _pairs(rows: Sequence[Sequence[str]], first: Mapping[str, int], second: Mapping[str, int]) -> IntArray:
    """Number pairs of IRIs, shape (m, 2); what only one side knows is of a graph that waits for the next build."""
    known = [(first[one], second[other]) for one, other in rows if one in first and other in second]
    return np.array(known, dtype=np.int64).reshape(len(known), 2)
