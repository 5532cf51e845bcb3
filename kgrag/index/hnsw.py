"""One vector space: exact search while it is small, an HNSW graph for the bulk of it beyond.

Rows that the graph does not cover yet (at most 50,000, or a twentieth of a larger space) are searched exactly, so that
a small change never rebuilds or rewrites the graph. Candidates of the graph are ranked again by the exact cosine. The
same calls in the same order return the same answers.

The graph is that of hnswlib 0.8, by inner product of unit vectors. What hnswlib does that a caller must not meet: fewer
than k results raise, a search during an addition is unsafe (``ReadWriteLock``: many threads read or one writes), a
damaged file ends the process (the manifest's checksum is compared first), a file of another dimension loads, a save
onto a full disk reports nothing (the size is compared here).
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kgrag.errors import StorageFailed, VectorsCorrupt
from kgrag.index import vector_files
from kgrag.index.array_files import KeptPlaces
from kgrag.index.vector_files import Manifest, Segment, StoredFile
from kgrag.index.vector_table import Slots, SlotTable, rows_for, unit_rows
from kgrag.ports import Vectors

__all__ = [
    "HnswIndex",
    "NeighbourGraph",
    "ReadWriteLock",
]

_MAX_ROWS_OUTSIDE_GRAPH = 50_000  # rows searched exactly, in about 10 ms, before a graph is worth its building
_MAX_KEYS_RANKED_EXACTLY = 5_000  # allowed keys that are looked at one by one
_KEYS_PER_CANDIDATE = 4  # allowed keys that are looked at one by one in the time that the graph takes for a candidate
_MIN_CANDIDATES_WITHIN = 256  # of a search within some keys: those that are further away are found less surely
_MAX_CANDIDATES = 4_096  # asked of the graph before all allowed rows are looked at
_MIN_DEAD_ROWS_TO_COMPACT = 1024  # fewer are never worth a compaction
_MIN_DEAD_SHARE_TO_COMPACT = 0.3
_MAX_MERGED_SEGMENT_ROWS = 200_000  # longer segments are not written again to be merged

_LINKS_PER_NODE = 16  # M of hnswlib
_BUILDING_BREADTH = 100  # ef_construction; 200 takes half as long again and finds 0.2 % more
_SEED = 20
_MIN_SEARCH_BREADTH = 128  # ef of a search: hnswlib takes max(ef, k), so it is asked for this many

_log = logging.getLogger(__name__)


class HnswIndex:
    """Unit vectors keyed by IRI (``ports.VectorIndex``); safe to use from several threads."""

    def __init__(
        self,
        manifest: Manifest,
        *,
        folder: Path | None = None,
        read_only: bool = False,
        lineage: Callable[[int], str] | None = None,
    ) -> None:
        """Open the space that ``manifest`` describes.

        Args:
            manifest: of the files in ``folder``; one without segments for an empty space.
            folder: None keeps everything in memory.
            read_only: ``save`` writes nothing, everything else works.
            lineage: returns the lineage of a revision of the store, which ``save`` records.

        Raises:
            VectorsCorrupt: a file of rows or IRIs is missing, cut short or damaged.
        """
        self._folder = folder
        self._writes = folder is not None and not read_only
        self._manifest = manifest
        self._lineage = lineage
        self._revision = manifest.revision
        self._lock = ReadWriteLock()
        self._graph: NeighbourGraph | None = None
        self._table = _opened(manifest, folder)
        self._kept = KeptPlaces(lasting=True)

    @property
    def revision(self) -> int:
        """The store revision that the saved vectors reflect; -1 before anything was saved."""
        return self._revision

    def __len__(self) -> int:
        """Count the keys."""
        return self._table.live

    def __contains__(self, iri: object) -> bool:
        """Return whether a key is there."""
        return iri in self._table

    def lacking(self, iris: Sequence[str]) -> list[str]:
        """Return those keys that are not there, in their order."""
        return [iri for iri in iris if iri not in self._table]

    def keys(self) -> list[str]:
        """Return every key, in the order they came in."""
        with self._lock.reading():
            return self._table.keys()

    def upsert(self, iris: Sequence[str], vectors: Vectors) -> None:
        """Add or replace vectors, shape (len(iris), d); of an IRI that comes twice the last one stays.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        rows = rows_for(iris, vectors, self._table.dimension)
        with self._lock.writing():
            self._table.put(iris, rows)
            self._kept.moved(iris, self._table.slots_of)

    def delete(self, iris: Collection[str]) -> None:
        """Drop keys; unknown ones are ignored."""
        with self._lock.writing():
            for iri in iris:
                self._table.drop(iri)

    def vectors(self, iris: Sequence[str]) -> Vectors:
        """Return the stored vectors of known keys, float32 of shape (len(iris), d). Raises KeyError."""
        with self._lock.reading():
            return self._table.rows_of(iris)

    def search(self, vector: Vectors, k: int, within: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Return at most k (IRI, cosine) pairs, best first, ties by IRI.

        Args:
            vector: shape (d,) or (1, d); need not be of length 1.
            k: none are given below 1.
            within: only these keys, unknown ones ignored; None means all.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        target = unit_rows(np.atleast_2d(vector), self._table.dimension)
        if len(target) != 1:
            raise ValueError(f"search takes one vector, got {len(target)}.")
        if k < 1:
            return []
        self._prepare()
        with self._lock.reading():
            slots = None if within is None else self._kept.of(within, self._table.slots_of)
            if slots is not None:  # of keys that were replaced or dropped since the set was looked up
                slots = slots[self._table.alive[slots]]
            if self._graph is not None and (slots is None or len(slots) > _MAX_KEYS_RANKED_EXACTLY):
                slots = self._candidates(self._graph, target[0], k=k, slots=slots)
            return self._table.best(target[0], k, slots)

    def save(self, revision: int) -> None:
        """Write what is new to new files, then swap the manifest.

        The space of deleted and replaced vectors is freed once they are three in ten.

        Raises:
            StorageFailed: the disk refused; the files of the last save are intact and nothing in memory is lost.
        """
        with self._lock.writing():
            try:
                self._save(revision)
            except OSError as error:
                raise StorageFailed(
                    f"vector space in {self._folder} could not be written: {error.strerror or error}. The vectors "
                    f"saved at revision {self._manifest.revision} are intact. Free space or permit writing there, then "
                    "run it again."
                ) from error

    def _prepare(self) -> None:
        """Load the graph, and let it catch up, when that is due."""
        with self._lock.reading():
            if self._graph is None and self._manifest.graph is None and not _behind(self._table, 0):
                return
            if self._graph is not None and not _behind(self._table, self._graph.covered):
                return
        with self._lock.writing():
            self._graph = self._caught_up(self._table, self._loaded_graph())

    def _loaded_graph(self) -> NeighbourGraph | None:
        """Load the saved graph unless a newer one is in memory; a damaged one is given up, since rows can remake it."""
        if self._graph is None and self._manifest.graph is not None and self._folder is not None:
            try:
                path = vector_files.check(self._folder, self._manifest.graph)
                self._graph = NeighbourGraph(self._table.dimension, path=path, covered=self._manifest.covered)
            except (VectorsCorrupt, RuntimeError) as error:
                _log.warning("%s The neighbour graph is made again from the vectors.", error)
                self._manifest = replace(self._manifest, graph=None, covered=0)
        return self._graph

    @staticmethod
    def _caught_up(table: SlotTable, graph: NeighbourGraph | None) -> NeighbourGraph | None:
        covered = graph.covered if graph else 0
        if _behind(table, covered):
            graph = graph or NeighbourGraph(table.dimension)
            graph.extend(table.chunks(covered), total=len(table))
        return graph

    def _candidates(self, graph: NeighbourGraph, vector: Vectors, *, k: int, slots: Slots | None) -> Slots | None:
        """Return the nearest allowed slots of the graph and all allowed ones outside it; ``slots`` for too few."""
        allowed, count = self._table.alive, 2 * k
        if slots is not None:
            allowed = np.zeros(len(self._table), dtype=bool)
            allowed[slots] = True
            count = max(_MIN_CANDIDATES_WITHIN, count * len(self._table) // len(slots))
        while count <= max(_MAX_CANDIDATES, 2 * k) and (slots is None or _KEYS_PER_CANDIDATE * count < len(slots)):
            near = graph.nearest(vector, count)
            near = near[allowed[near]]
            if len(near) >= k:
                beyond = np.flatnonzero(allowed[graph.covered :]) + graph.covered
                return np.concatenate([np.sort(near), beyond])
            count *= 2
        return slots

    def _save(self, revision: int) -> None:
        dead = len(self._table) - self._table.live
        compact = dead > max(_MIN_DEAD_ROWS_TO_COMPACT, _MIN_DEAD_SHARE_TO_COMPACT * len(self._table))
        if compact:
            self._kept.clear()
        if self._folder is None or not self._writes:
            self._keep_in_memory(compact=compact)
        else:
            self._keep_in_files(self._folder, revision, compact=compact)
        self._revision = revision

    def _keep_in_memory(self, *, compact: bool) -> None:
        if compact:
            rows = np.concatenate([*self._table.chunks(0, live_only=True), np.empty((0, self._table.dimension), "f4")])
            self._table = SlotTable(self._table.dimension, blocks=[rows], keys=self._table.keys())
            self._graph, self._manifest = None, replace(self._manifest, graph=None, covered=0)
        self._graph = self._caught_up(self._table, self._loaded_graph())

    def _keep_in_files(self, folder: Path, revision: int, *, compact: bool) -> None:
        old = self._manifest
        saved = (old.revision, sum(segment.rows for segment in old.segments), old.dead)
        if not compact and saved == (revision, len(self._table), tuple(self._table.dead())):
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            table, graph, manifest = self._written(folder, revision, compact=compact)
            vector_files.commit(folder, manifest)
        except OSError:
            with suppress(OSError):  # what could not be swept is swept by the next save; the first error matters
                vector_files.sweep(folder, old.names())
            raise
        self._table, self._graph, self._manifest = table, graph, manifest
        vector_files.sweep(folder, manifest.names())

    def _written(
        self, folder: Path, revision: int, *, compact: bool
    ) -> tuple[SlotTable, NeighbourGraph | None, Manifest]:
        """Write new files; return the table, graph and manifest to use once the manifest is committed."""
        generation = self._manifest.generation + 1
        stem = f"{generation:08d}"
        old = replace(self._manifest, segments=(), graph=None, covered=0) if compact else self._manifest
        table, segments = self._written_rows(folder, stem, old, compact=compact)
        graph, saved = self._written_graph(folder, stem, table, compact=compact)
        covered = graph.covered if graph else (old.covered if saved else 0)
        dead = tuple(table.dead())
        manifest = replace(
            old,
            revision=revision,
            generation=generation,
            segments=segments,
            dead=dead,
            graph=saved,
            covered=covered,
            lineage=self._lineage(revision) if self._lineage else "",
        )
        return table, graph, manifest

    def _written_rows(
        self, folder: Path, stem: str, old: Manifest, *, compact: bool
    ) -> tuple[SlotTable, tuple[Segment, ...]]:
        """Write the slots that are in no segment, and short segments before them again; all live slots to compact."""
        table = self._table
        kept, start = list(old.segments), sum(segment.rows for segment in old.segments)
        # short segments are written again with the new rows, so that few and long ones remain
        while start < len(table) and kept and kept[-1].rows <= min(2 * (len(table) - start), _MAX_MERGED_SEGMENT_ROWS):
            start -= kept.pop().rows
        keys = table.keys_from(start, live_only=compact)
        if not keys:
            return (SlotTable(table.dimension) if compact else table), tuple(kept)
        segment = vector_files.write_segment(folder, stem, rows=table.chunks(start, live_only=compact), keys=keys)
        block = vector_files.read_rows(folder, segment, table.dimension, checked=True)
        if compact:
            return SlotTable(table.dimension, blocks=[block], keys=keys), (segment,)
        table.settle(start, block)
        return table, (*kept, segment)

    def _written_graph(
        self, folder: Path, stem: str, table: SlotTable, *, compact: bool
    ) -> tuple[NeighbourGraph | None, StoredFile | None]:
        """Bring the graph up to date when that is due, and write it if it covers more than its file."""
        if compact:
            graph = self._caught_up(table, None)
        elif self._graph is None and not _behind(table, self._manifest.covered):
            return None, self._manifest.graph
        else:
            graph = self._caught_up(table, self._loaded_graph())
        if graph is None or (not compact and graph.covered == self._manifest.covered):
            return graph, None if compact else self._manifest.graph
        path = folder / f"{stem}.hnsw"
        graph.write(path)
        return graph, vector_files.adopt(path)


def _opened(manifest: Manifest, folder: Path | None) -> SlotTable:
    if folder is None:
        return SlotTable(manifest.dimension)
    blocks = [vector_files.read_rows(folder, segment, manifest.dimension) for segment in manifest.segments]
    keys = [key for segment in manifest.segments for key in vector_files.read_keys(folder, segment)]
    return SlotTable(manifest.dimension, blocks=blocks, keys=keys, dead=manifest.dead)


def _behind(table: SlotTable, covered: int) -> bool:
    return len(table) - covered > max(_MAX_ROWS_OUTSIDE_GRAPH, covered // 20)


class NeighbourGraph:
    """An HNSW graph over the slots 0 to ``covered``; the same rows in the same order give the same graph."""

    def __init__(self, dimension: int, *, path: Path | None = None, covered: int = 0) -> None:
        import hnswlib

        self._index: Any = hnswlib.Index(space="ip", dim=dimension)
        if path is None:
            self._index.init_index(
                max_elements=1024, M=_LINKS_PER_NODE, ef_construction=_BUILDING_BREADTH, random_seed=_SEED
            )
        else:
            self._index.load_index(str(path), max_elements=covered)

    @property
    def covered(self) -> int:
        """Count the slots in the graph."""
        return int(self._index.get_current_count())

    def extend(self, rows: Iterable[Vectors], *, total: int) -> None:
        """Add the rows of the slots from ``covered`` to ``total``, in order and on one thread."""
        if total > self._index.get_max_elements():
            self._index.resize_index(max(total, 2 * self._index.get_max_elements()))
        for piece in rows:
            slots = np.arange(self.covered, self.covered + len(piece))
            self._index.add_items(piece, slots, num_threads=1)

    def nearest(self, vector: Vectors, count: int) -> Slots:
        """Return up to about ``count`` slots near a unit vector of shape (d,); fewer when the graph has fewer."""
        wanted = min(max(count, _MIN_SEARCH_BREADTH), self.covered)
        try:
            labels, _ = self._index.knn_query(vector[None, :], k=wanted, num_threads=1)
        except RuntimeError:  # fewer than k were reachable
            return np.empty(0, np.int64)
        return np.asarray(labels[0], dtype=np.int64)

    def write(self, path: Path) -> None:
        """Write the graph to a new file. Raises OSError, also when the disk took less than was written."""
        self._index.save_index(str(path))
        if path.stat().st_size != self._index.index_file_size():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


class ReadWriteLock:
    """Many readers or one writer. A waiting writer goes first; neither side may be entered twice by one thread."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._readers = 0
        self._waiting = 0
        self._writing = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock together with other readers."""
        with self._turn:
            self._turn.wait_for(lambda: not self._writing and not self._waiting)
            self._readers += 1
        try:
            yield
        finally:
            with self._turn:
                self._readers -= 1
                self._turn.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock alone."""
        with self._turn:
            self._waiting += 1
            try:
                self._turn.wait_for(lambda: not self._writing and not self._readers)
            finally:
                self._waiting -= 1
            self._writing = True
        try:
            yield
        finally:
            with self._turn:
                self._writing = False
                self._turn.notify_all()
