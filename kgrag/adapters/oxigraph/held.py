"""Holds the engine's store so that closing really lets go of the folder.

The engine has no ``close``: it lets go when the last reference dies, and the traceback of an exception that somebody
keeps holds references. So the adapter passes ``Held`` around, which looks like the store and can be emptied.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pyoxigraph as ox

from kgrag.errors import StateError

__all__ = ["held", "let_go"]


class _Held:
    """Gives whatever the store gives, until it is emptied."""

    def __init__(self, store: ox.Store) -> None:
        self.store: ox.Store | None = store

    def _whole(self) -> ox.Store:
        if self.store is None:
            raise StateError("this store is closed. Open it again.")
        return self.store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole(), name)

    def __contains__(self, quad: ox.Quad) -> bool:
        return quad in self._whole()

    def __iter__(self) -> Iterator[ox.Quad]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())


def held(store: ox.Store) -> ox.Store:
    """Give what stands in for a store."""
    return cast("ox.Store", _Held(store))


def let_go(store: ox.Store) -> None:
    """Empty what stands in for a store; whoever still holds it gets StateError from now on."""
    cast("_Held", store).store = None
