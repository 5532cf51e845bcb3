"""When each graph changed last, for ETags: by the graph's own last change, not by the store's.

The catalogue keeps no such revision, so it is counted from the start of the server on. Whatever is not known to have
touched some graphs only counts as a change of all of them: a tag may change without need, and never stays in error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

__all__ = ["Tags"]

_MOST = 100_000


class Tags:
    """Gives tags; to be told of every write.

    Args:
        epoch: begins every tag.
        revision: counts the changes of the store so far.

    >>> revision = 7
    >>> tags = Tags("kb", lambda: revision)
    >>> revision = 8
    >>> tags.note(["urn:a"], 7, 8)
    >>> tags.of("urn:a"), tags.of("urn:b")
    ('W/"kb-8"', 'W/"kb-7"')
    >>> revision = 9  # by somebody who told nothing
    >>> tags.of("urn:a"), tags.of("urn:b")
    ('W/"kb-9"', 'W/"kb-9"')
    """

    def __init__(self, epoch: str, revision: Callable[[], int]) -> None:
        self._epoch = epoch
        self._revision = revision
        self._turn = threading.Lock()
        self._seen = self._floor = revision()
        self._changed: dict[str, int] = {}

    def of(self, graph: str) -> str:
        """Give the tag of a graph, weak since formats and orders of triples differ."""
        with self._turn:
            self._catch_up(self._revision())
            return f'W/"{self._epoch}-{self._changed.get(graph, self._floor)}"'

    def note(self, graphs: Iterable[str] | None, before: int, after: int) -> None:
        """Take note of a write that led from one revision to another and touched these graphs; None: any."""
        with self._turn:
            self._catch_up(before)
            if graphs is None or after > before + 1 or len(self._changed) > _MOST:
                self._catch_up(after)
            elif after > before:
                self._changed.update(dict.fromkeys(graphs, after))
                self._seen = after

    def _catch_up(self, revision: int) -> None:
        """Let every graph count as changed by now, unless nothing happened."""
        if revision > self._seen:
            self._seen = self._floor = revision
            self._changed.clear()
