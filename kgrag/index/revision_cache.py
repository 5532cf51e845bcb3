"""What was worked out from a store, kept in memory until the store changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from kgrag.ports import TripleStore

__all__ = ["RevisionCache"]

Value = TypeVar("Value")

_MAX_VALUES = 16  # of one store


class RevisionCache(Generic[Value]):
    """The values of the last few keys, of each open store at its present revision."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._of_stores: WeakKeyDictionary[TripleStore, tuple[int, OrderedDict[Hashable, Value]]] = WeakKeyDictionary()

    def get(self, store: TripleStore, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key; ``make`` works it out where it is not known at this revision."""
        revision = store.revision
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
