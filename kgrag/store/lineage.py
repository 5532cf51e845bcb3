"""Which history a revision of a store belongs to, so that a file made from one store is not taken for that of another.

The number of a revision is no name for a state: a store that was put back from a backup counts on from there, and
reaches the same numbers with other content. Each writer therefore draws a random lineage when it opens a store, and
its first publication names it (``kg:lineage``). A sidecar records the lineage of the revision that it reflects; where
the store has another one at that revision, the sidecar is treated as absent.

Queries read: ``catalogue/lineage``, ``catalogue/first_lineage``.
"""

from __future__ import annotations

import secrets
from weakref import WeakKeyDictionary

from kgrag import queries
from kgrag.ports import TripleStore

__all__ = ["drawn", "first_lineage", "lineage", "note"]

_OF_WRITERS: WeakKeyDictionary[object, tuple[int, str]] = WeakKeyDictionary()
"""The first change of each open store's writer, and the lineage that it named."""


def drawn() -> str:
    """Return a new lineage: 16 random hexadecimal digits."""
    return secrets.token_hex(8)


def note(store: object, revision: int, named: str) -> None:
    """Note the lineage that the writer of a store named with its first change: all later ones belong to it."""
    _OF_WRITERS[store] = (revision, named)


def lineage(store: TripleStore, revision: int) -> str:
    """Return the lineage of a revision; "" for one of before lineages were written.

    That of a revision which the store does not have yet is the lineage of its last one, as one writer may be ahead of
    what a reader sees.
    """
    first, own = _OF_WRITERS.get(store, (None, ""))
    if first is not None and revision >= first:
        return own
    query = queries.bind("catalogue/lineage", catalogue=store.names.catalogue, revision=revision)
    rows = store.select(query).values()
    return str(rows[0][0]) if rows else ""


def first_lineage(store: TripleStore) -> str:
    """Return the first lineage of a store, which names its knowledge base among others; "" for an empty one.

    A copy that was made of a knowledge base has the same one.
    """
    rows = store.select(queries.bind("catalogue/first_lineage", catalogue=store.names.catalogue)).values()
    return str(rows[0][0]) if rows else ""
