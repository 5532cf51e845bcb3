"""The start and the end of a method's build, in the catalogue, so that a build that was cut short is known as one.

The start is written with the first change that a build makes, in the same atomic step; a build that changes nothing
writes neither. The end is written when the build returns. What a killed process, a full disk or a spent budget ended
in between stays marked until a build of the method returns.

Queries read: ``builds/unfinished``, ``builds/finish``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.store.publication_plan import now
from kgrag.vocab import KG, RDF

__all__ = ["marked", "unfinished", "warning"]


def unfinished(store: TripleStore) -> dict[str, str]:
    """Return the methods whose build began and did not end, each with the time at which it began."""
    rows = store.select(queries.bind("builds/unfinished", catalogue=store.names.catalogue)).values()
    return {method: since for method, since in rows if method}


def warning(store: TripleStore, method: str) -> str:
    """Return what a person who asks a method is to know of its build; "" when it came to its end."""
    since = unfinished(store).get(method)
    if since is None:
        return ""
    return (
        f"the build of '{method}' that began at {since} did not come to its end: what it lacks cannot be found. "
        f"Run `kgrag build {method}`, which goes on where it stopped."
    )


@contextmanager
def marked(store: TripleStore, method: str) -> Iterator[None]:
    """Mark the start of a method's build with the first change made inside, and its end when the block returns."""
    build, catalogue = store.names.build(method), store.names.catalogue
    start = [
        ox.Quad(build, RDF.type, KG.Build, catalogue),
        ox.Quad(build, KG.method, ox.Literal(method), catalogue),
        ox.Quad(build, KG.unfinishedSince, now(), catalogue),
    ]
    with store.stating([] if method in unfinished(store) else start):
        yield
    if method in unfinished(store):
        store.update(queries.bind("builds/finish", catalogue=catalogue, build=build, ended=now()), graphs=[])
