"""Which kinds of graphs the latest changes of a store touched, in memory, as its writer noted them.

The catalogue says it too, and is asked about what is not noted here: changes that another process made, or that were
made before the store was opened, and updates, which may change any graph.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock
from weakref import WeakKeyDictionary

import pyoxigraph as ox

__all__ = ["note", "touched"]

_MAX_REVISIONS = 100_000

_LOCK = Lock()
_NOTED: WeakKeyDictionary[object, OrderedDict[int, frozenset[ox.NamedNode]]] = WeakKeyDictionary()


def note(store: object, before: int, revision: int, kinds: Iterable[ox.NamedNode]) -> None:
    """Note that the changes after ``before`` up to ``revision`` touched graphs of no kinds but these."""
    with _LOCK:
        noted = _NOTED.setdefault(store, OrderedDict())
        noted.update(dict.fromkeys(range(before + 1, revision + 1), frozenset(kinds)))
        while len(noted) > _MAX_REVISIONS:
            noted.popitem(last=False)


def touched(store: object, since: int, until: int) -> frozenset[ox.NamedNode] | None:
    """Return the kinds that changes after ``since`` up to ``until`` may have touched; None where that is not noted."""
    with _LOCK:
        noted = _NOTED.get(store, OrderedDict[int, frozenset[ox.NamedNode]]())
        if until - since > len(noted) or any(revision not in noted for revision in range(since + 1, until + 1)):
            return None
        return frozenset().union(*(noted[revision] for revision in range(since + 1, until + 1)))
