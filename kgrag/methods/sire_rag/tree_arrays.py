"""The trees as arrays: what entries of the pool state, what is below them, and how many documents they join.

A sidecar like the vectors: one file next to the store, made again when propositions or trees changed, or a document
went. Queries read: ``sire_rag/all_*``. No graph is written.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgrag import queries
from kgrag.index import change_feed, vector_spaces
from kgrag.index.array_files import FileFault, Iris, Making, Sidecars, packed, read_arrays, unpacked, write_arrays
from kgrag.index.place_lists import PlaceLists
from kgrag.ports import TripleStore
from kgrag.vocab import KG, local_name

__all__ = ["TreeArrays", "faults", "fresh", "part_of"]

IntArray = npt.NDArray[np.int64]
Rows = Sequence[Sequence[str]]

_FILE_NAME = "trees"
_FILE_FORMAT = 1
_KINDS = (KG.PropositionGraph, KG.TreeGraph)
_PARTS = ("chunk", "aggregate", "dual-summary", "relatedness-summary", "similarity-summary")
_OPEN = Sidecars["TreeArrays"]()


@dataclass(frozen=True, slots=True, eq=False)
class TreeArrays:
    """Nodes of trees and the chunks below them, in the order of IRIs.

    Attributes:
        nodes: their IRIs.
        propositions: IRIs of propositions.
        stated: the propositions of each node.
        below: the nodes below each one.
        levels: the level of each node, 0 for leaves, shape (n,).
        parts: the part of the pool that each node is in, its place in ``_PARTS``, shape (n,).
        documents: how many documents each node is written from, shape (n,).
    """

    revision: int
    nodes: Iris
    propositions: Iris
    stated: PlaceLists
    below: PlaceLists
    levels: npt.NDArray[np.int8]
    parts: npt.NDArray[np.int8]
    documents: npt.NDArray[np.int32]

    @classmethod
    def of(cls, stated: Rows, below: Rows, levels: Rows, documents: Rows, *, revision: int = -1) -> TreeArrays:
        """Return the arrays of rows (node, proposition), (node, child), (tree, node, level) and (chunk, document)."""
        of_levels = [node for _, node, _ in levels]
        iris = sorted({*(row[0] for row in stated), *(iri for row in below for iri in row), *of_levels})
        said = sorted({row[1] for row in stated})
        nodes, propositions = Iris.of(iris), Iris.of(said)
        children = PlaceLists.of_pairs(_pairs(below, nodes, nodes), len(nodes))
        at = nodes.places(of_levels)
        level_of, parts = np.zeros(len(nodes), np.int8), np.zeros(len(nodes), np.int8)
        level_of[at] = np.array([int(row[2]) for row in levels], dtype=np.int8)
        parts[at] = np.array([_PARTS.index(part_of(local_name(row[0]), row[2])) for row in levels], dtype=np.int8)
        return cls(
            revision,
            nodes,
            propositions,
            PlaceLists.of_pairs(_pairs(stated, nodes, propositions), len(nodes)),
            children,
            level_of,
            parts,
            _joined(children, level_of, _document_pairs(documents, nodes)),
        )

    def stated_by(self, iris: Sequence[str]) -> list[frozenset[int]]:
        """Return the numbers of the propositions that each entry states; none for a summary, its own for one of them.

        >>> arrays = TreeArrays.of([("urn:a", "urn:p"), ("urn:a", "urn:q")], [], [], [])
        >>> arrays.stated_by(["urn:a", "urn:q", "urn:new"]) == [{0, 1}, {1}, set()]
        True
        """
        own = [frozenset([place] if place >= 0 else []) for place in self.propositions.places(iris).tolist()]
        places = self.nodes.places(iris).tolist()
        return [
            frozenset(self.stated.of(place).tolist()) if place >= 0 else alone
            for place, alone in zip(places, own, strict=True)
        ]

    def documents_of(self, iris: Sequence[str], *, cited: int) -> npt.NDArray[np.float64]:
        """Return how many documents each entry counts for, at least 1, shape (n,): a summary for ``cited`` at most."""
        places = self.nodes.places(iris)
        counts = np.where(self.levels[places] > 0, np.minimum(self.documents[places], cited), self.documents[places])
        return np.where(places >= 0, np.maximum(counts, 1), 1).astype(np.float64)

    def children(self, iris: Sequence[str]) -> list[list[tuple[str, str]]]:
        """Return the nodes below each one, each with the part of the pool that it is in, by IRI."""
        found = []
        for place in self.nodes.places(iris).tolist():
            below = self.below.of(place) if place >= 0 else np.zeros(0, np.int32)
            parts = [_PARTS[part] for part in self.parts[below].tolist()]
            found.append(list(zip(self.nodes.at(below), parts, strict=True)))
        return found

    def at(self, revision: int) -> TreeArrays:
        """Return the same arrays as those of another revision of the store."""
        return replace(self, revision=revision)

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write the arrays. Raises StorageFailed."""
        members: dict[str, Any] = {name: getattr(self, name) for name in ("levels", "parts", "documents")}
        for name in ("nodes", "propositions", "stated", "below"):
            members |= getattr(self, name).members(name)
        settings = packed([json.dumps({"format": _FILE_FORMAT, "revision": self.revision})])
        write_arrays(path, members | {"settings": settings}, lineage=lineage)

    @classmethod
    def load(cls, path: Path) -> TreeArrays | None:
        """Read a file; None for one that is missing, damaged or of another format, which is then made again."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FILE_FORMAT:
                return None
            parts: dict[str, Any] = {name: Iris.restored(members, name) for name in ("nodes", "propositions")}
            parts |= {name: PlaceLists.restored(members, name) for name in ("stated", "below")}
            parts |= {name: members[name] for name in ("levels", "parts", "documents")}
            return cls(settings["revision"], **parts)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def part_of(tree: str, level: str) -> str:
    """Return the part of the pool that a node is in; a chunk below an aggregate is in no tree and has level ""."""
    if level and int(level):
        return f"{tree}-summary"
    return "aggregate" if level and tree == "relatedness" else "chunk"


def fresh(store: TripleStore, folder: Path | None, *, save: bool = True) -> TreeArrays:
    """Return the arrays of the store's present revision.

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


def _making(store: TripleStore) -> Making[TreeArrays]:
    def changed(since: int) -> bool:
        if any(change_feed.changed(kind, store=store, since=since) for kind in _KINDS):
            return True
        # what a document that came states is in graphs of their own
        return change_feed.gone(vector_spaces.spaces()["chunk"], store=store, since=since)

    return Making(load=TreeArrays.load, make=lambda: _read(store), changed=changed)


def _read(store: TripleStore) -> TreeArrays:
    revision = store.revision
    names = ("stated", "below", "levels", "documents")
    rows = (store.select(queries.bind(f"sire_rag/all_{name}", catalogue=store.names.catalogue)) for name in names)
    return TreeArrays.of(*(table.values() for table in rows), revision=revision)


def _pairs(rows: Rows, first: Iris, second: Iris) -> IntArray:
    owners, places = first.places([row[0] for row in rows]), second.places([row[1] for row in rows])
    return np.stack([owners, places], axis=1) if len(rows) else np.zeros((0, 2), np.int64)


def _document_pairs(rows: Rows, nodes: Iris) -> IntArray:
    """Number the document of each chunk that is a node, shape (m, 2)."""
    numbers = {document: number for number, document in enumerate(sorted({row[1] for row in rows}))}
    places = nodes.places([row[0] for row in rows])
    pairs = np.stack([places, np.array([numbers[row[1]] for row in rows], dtype=np.int64)], axis=1)
    return pairs[places >= 0]


def _joined(below: PlaceLists, levels: npt.NDArray[np.int8], pairs: IntArray) -> npt.NDArray[np.int32]:
    """Count the documents below each node, from the leaves upwards; ``pairs`` are those of chunks."""
    known = PlaceLists.of_pairs(pairs, len(below))
    for level in range(int(levels.max(initial=0)) + 1):
        upper = np.flatnonzero((levels == level) & (np.diff(below.bounds) > 0))
        rows, children = below.pairs(upper)
        of_child, documents = known.pairs(children)
        pairs = np.concatenate([pairs, np.stack([upper[rows[of_child]], documents.astype(np.int64)], axis=1)])
        known = PlaceLists.of_pairs(pairs, len(below))
    return np.diff(known.bounds).astype(np.int32)
