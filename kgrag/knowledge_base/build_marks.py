"""The start and the end of a method's build, in the catalogue, so that a build that was cut short is known as one.

The start is written with the first change that a build makes, in the same atomic step; a build that changes nothing
writes neither. The end is written when the build returns. What a killed process, a full disk or a spent budget ended
in between stays marked until a build of the method returns. What a build that returned could not do is written down as
well, with the reasons, until the next one.

Queries read: ``builds/unfinished``, ``builds/times``, ``builds/undone``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term
from kgrag.ports import TripleStore
from kgrag.store.publication_plan import now
from kgrag.vocab import KG, PROV, RDF

__all__ = ["INTAKE", "marked", "set_undone", "undone", "unfinished", "warning"]

INTAKE = "ingest"
"""What an intake by workers is called where methods are named by what their builds could not do."""


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


def undone(store: TripleStore) -> dict[str, list[str]]:
    """Return the methods whose last build could not do a part, with a line for each part and the reason."""
    lines: dict[str, list[str]] = {}
    for method, line in store.select(queries.bind("builds/undone", catalogue=store.names.catalogue)).values():
        lines.setdefault(method, []).append(line)
    return lines


def set_undone(store: TripleStore, method: str, lines: Sequence[str]) -> None:
    """Write down what the last build of a method could not do, in place of what the one before could not."""
    before = undone(store).get(method, [])
    if sorted(set(lines)) == before:
        return
    build, catalogue = store.names.build(method), store.names.catalogue
    stored = list(dict.fromkeys(line.encode("utf-8", "replace").decode() for line in lines))
    gone, come = (
        [ox.Quad(build, KG.undone, ox.Literal(line), catalogue) for line in some if line not in others]
        for some, others in ((before, stored), (stored, before))
    )
    described: list[tuple[ox.NamedNode, Term]] = [(RDF.type, KG.Build), (KG.method, ox.Literal(method))]
    store.restate(gone, [*come, *(ox.Quad(build, name, value, catalogue) for name, value in described)])


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
    times = [
        ox.Quad(build, name, value, catalogue)
        for name, value in store.select(queries.bind("builds/times", catalogue=catalogue, build=build))
        if isinstance(name, ox.NamedNode) and value is not None
    ]
    if begun := [quad.object for quad in times if quad.predicate == KG.unfinishedSince]:
        first = min(begun, key=str)
        store.restate(
            times,
            [
                ox.Quad(build, PROV.startedAtTime, first, catalogue),
                ox.Quad(build, PROV.endedAtTime, now(), catalogue),
            ],
        )
