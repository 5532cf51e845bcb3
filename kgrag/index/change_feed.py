"""What came into the texts of a vector space, and went out of them, after a revision: from publications alone.

A publication is named by the graphs that it wrote, so what came is found by them. What went is no longer there to be
found, so whoever deletes notes the keys here, in memory, and the store notes whom an update that names its graphs may
have changed. Where a publication took away what nobody noted (another process did, or a graph was replaced), the
answer is that it is not known, and all keys are to be compared.

Queries read: ``spaces/changed``, ``spaces/unexplained``, and the query of the space that lists what is new.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgrag import queries
from kgrag.declarations import VectorSpace
from kgrag.ports import TripleStore
from kgrag.store import fact_journal, kind_journal

__all__ = ["MAX_PUBLICATIONS", "Changes", "changed", "changes", "gone", "note_removed"]

MAX_PUBLICATIONS = 5_000
"""Of more, all keys are compared: it takes no longer."""
_MAX_REVISIONS_NOTED = 100_000

_LOCK = Lock()
_REMOVED: WeakKeyDictionary[TripleStore, OrderedDict[int, frozenset[str]]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Changes:
    """``added``: keys that graphs of these publications have, sorted; ``removed``: all that they took away.

    A key that went and came again is in both.
    """

    publications: tuple[ox.NamedNode, ...]
    added: tuple[str, ...]
    removed: frozenset[str]


def note_removed(store: TripleStore, revision: int, iris: Iterable[str]) -> None:
    """Note everything that a revision of a store took away; keys of no space do no harm."""
    with _LOCK:
        noted = _REMOVED.setdefault(store, OrderedDict())
        noted[revision] = frozenset(iris)
        while len(noted) > _MAX_REVISIONS_NOTED:
            noted.popitem(last=False)


def changed(kind: ox.NamedNode, *, store: TripleStore, since: int) -> bool:
    """Return whether graphs of a kind can have changed after a revision; False is certain."""
    if since < 0:  # nothing was read yet
        return True
    if (touched := kind_journal.touched(store, since, store.revision)) is not None:
        return kind in touched
    latest = range(since + 1, store.revision + 1)
    publications = [store.names.publication(number) for number in latest] if len(latest) <= MAX_PUBLICATIONS else []
    values = {"catalogue": store.names.catalogue, "kind": kind, "since": since}
    return store.ask(queries.bind("spaces/changed", **values, publications=publications))


def gone(space: VectorSpace, *, store: TripleStore, since: int) -> bool:
    """Return whether texts of a space can have gone after a revision; False is certain."""
    if not changed(space.kind, store=store, since=since):
        return False
    known = changes(space, store=store, since=since)
    return known is None or bool(known.removed)


def changes(space: VectorSpace, *, store: TripleStore, since: int) -> Changes | None:
    """Return what changed in a space after a revision; None where publications do not say it."""
    latest = range(since + 1, store.revision + 1)
    if not space.new or since < 0 or not 0 < len(latest) <= MAX_PUBLICATIONS:
        return None
    catalogue = store.names.catalogue
    publications = [store.names.publication(revision) for revision in latest]
    query = queries.bind(
        "spaces/unexplained", catalogue=catalogue, kind=space.kind, publications=publications, since=since
    )
    removed: set[str] = set()
    for (revision,) in store.select(query).values():
        gone = _noted(store, int(revision))
        if gone is None:
            return None
        removed |= gone
    rows = store.select(queries.bind(space.new, catalogue=catalogue, publications=publications)).values()
    return Changes(tuple(publications), tuple(iri for (iri,) in rows), frozenset(removed))


def _noted(store: TripleStore, revision: int) -> frozenset[str] | None:
    """Return the keys that a revision may have taken away; None where nobody noted them."""
    with _LOCK:
        noted = _REMOVED.get(store, OrderedDict[int, frozenset[str]]()).get(revision)
    return fact_journal.subjects_before(store, revision) if noted is None else noted
