"""ETags of graphs: they change with the graph's own last change, not with every change of the store.

The catalogue stores no such revision, so it is counted from the start of the server on. A change that is not known to
concern certain graphs only counts as a change of all of them: an ETag may change without need, and is never stale.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

__all__ = ["GraphETags"]

_MAX_GRAPHS = 100_000
"""Graphs whose last change is kept; beyond, memory counts for more than an ETag that changes without need."""


class GraphETags:
    """The ETags of all graphs; ``note_write`` must be called for every write.

    Args:
        epoch: begins every ETag.
        revision: returns the number of changes to the store so far.

    >>> revision = 7
    >>> etags = GraphETags("kb", lambda: revision)
    >>> revision = 8
    >>> etags.note_write(["urn:a"], 7, 8)
    >>> etags.of("urn:a"), etags.of("urn:b")
    ('W/"kb-8"', 'W/"kb-7"')
    >>> revision = 9  # by a write that was not noted
    >>> etags.of("urn:a"), etags.of("urn:b")
    ('W/"kb-9"', 'W/"kb-9"')
    """

    def __init__(self, epoch: str, revision: Callable[[], int]) -> None:
        self._epoch = epoch
        self._revision = revision
        self._lock = threading.Lock()
        self._last_revision = self._revision_of_others = revision()
        self._revision_of: dict[str, int] = {}

    def of(self, graph: str) -> str:
        """Return the ETag of a graph, weak since formats and orders of triples differ."""
        with self._lock:
            self._change_all(self._revision())
            return f'W/"{self._epoch}-{self._revision_of.get(graph, self._revision_of_others)}"'

    def note_write(self, graphs: Iterable[str] | None, before: int, after: int) -> None:
        """Store that a write changed these graphs (None: any) and led from one revision to another."""
        with self._lock:
            self._change_all(before)
            if graphs is None or after > before + 1 or len(self._revision_of) > _MAX_GRAPHS:
                self._change_all(after)
            elif after > before:
                self._revision_of.update(dict.fromkeys(graphs, after))
                self._last_revision = after

    def _change_all(self, revision: int) -> None:
        """Count every graph as changed at a revision, unless it is known already."""
        if revision > self._last_revision:
            self._last_revision = self._revision_of_others = revision
            self._revision_of.clear()
