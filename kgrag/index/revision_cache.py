"""What was worked out from a store, kept in memory until the store changes, or until what it rests on does."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgrag.index import change_feed
from kgrag.ports import TripleStore

__all__ = ["RevisionCache"]

Value = TypeVar("Value")

_MAX_VALUES = 16  # of one store


class RevisionCache(Generic[Value]):
    """The values of the last few keys, of each open store at its present revision.

    Args:
        kinds: the kinds of graphs that values are worked out from: they are kept while no graph of these changes; none
            given = until the next change of the store.
    """

    def __init__(self, *, kinds: Sequence[ox.NamedNode] = ()) -> None:
        self._kinds = kinds
        self._lock = Lock()
        self._of_stores: WeakKeyDictionary[TripleStore, tuple[int, OrderedDict[Hashable, Value]]] = WeakKeyDictionary()

    def get(self, store: TripleStore, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key; ``make`` works it out where it is not known at this revision."""
        revision = store.revision
        self._follow(store, revision)
        with self._lock:
            known, values = self._of_stores.get(store, (-1, None))
            if values is not None and known == revision and key in values:
                values.move_to_end(key)
                return values[key]
        value = make()
        with self._lock:
            known, values = self._of_stores.get(store, (-1, None))
            if values is None or known != revision:
                values = OrderedDict()
                self._of_stores[store] = (revision, values)
            values[key] = value
            while len(values) > _MAX_VALUES:
                values.popitem(last=False)
        return value

    def _follow(self, store: TripleStore, revision: int) -> None:
        """Take what is known of an earlier revision for known of this one, where nothing changed that it rests on."""
        known, values = self._of_stores.get(store, (revision, None))
        if not self._kinds or values is None or known >= revision:
            return
        if not any(change_feed.changed(kind, store=store, since=known) for kind in self._kinds):
            with self._lock:
                if self._of_stores.get(store) == (known, values) and store.revision == revision:
                    self._of_stores[store] = (revision, values)
