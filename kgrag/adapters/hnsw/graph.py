"""Approximate nearest slots over hnswlib 0.8, inner product on unit vectors.

What hnswlib does that a caller must not meet: fewer than k results raise, a search beside an addition is unsafe (the
index holds a lock), a damaged file ends the process (the manifest's checksum is compared first), a file of another
dimension loads, a save onto a full disk reports nothing (the size is compared here).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kgrag.adapters.hnsw.table import Slots
from kgrag.ports import Vectors

__all__ = ["NeighbourGraph"]

_LINKS = 16  # M
_BREADTH = 100  # ef_construction; 200 takes half as long again and finds 0.2 % more
_SEED = 20
_LEAST = 128  # least breadth of a search (ef): hnswlib takes max(ef, k), so it is asked for this many


class NeighbourGraph:
    """An HNSW graph over the slots 0 to ``covered``; the same rows in the same order give the same graph."""

    def __init__(self, dimension: int, *, path: Path | None = None, covered: int = 0) -> None:
        import hnswlib

        self._index: Any = hnswlib.Index(space="ip", dim=dimension)
        if path is None:
            self._index.init_index(max_elements=1024, M=_LINKS, ef_construction=_BREADTH, random_seed=_SEED)
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
        """Give up to about ``count`` slots near a unit vector of shape (d,), fewer or none when the graph has none."""
        wanted = min(max(count, _LEAST), self.covered)
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
