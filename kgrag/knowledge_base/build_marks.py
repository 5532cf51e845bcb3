"""The start and the end of a method's build, in the catalogue, so that a build that was cut short is known as one.

The start is written with the first change that a build makes, in the same atomic step; a build that changes nothing
writes neither. The end is written when the build returns, in one change with what it could not do and why, which stays
until the next one. What a killed process, a full disk or a spent budget ended in between stays marked until a build of
the method returns.

What was left out because only a share was asked for is written with the end, too, and stays until the next one.

Queries read: ``builds/unfinished``, ``builds/state``, ``builds/undone``, ``builds/left_out``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.store import kind_journal
from kgrag.store.publication_plan import now
from kgrag.vocab import KG, PROV, RDF

__all__ = [
    "INTAKE",
    "BuildState",
    "begun",
    "ended",
    "forget_undone",
    "left_out",
    "reached",
    "state",
    "undone",
    "unfinished",
    "warning",
]

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


def left_out(store: TripleStore) -> dict[str, str]:
    """Return the methods whose last build was of a share only, each with a line about what was left out."""
    rows = store.select(queries.bind("builds/left_out", catalogue=store.names.catalogue)).values()
    return {method: line for method, line in rows if method}


def forget_undone(store: TripleStore) -> None:
    """Forget what the last builds could not do: the lines name documents and quote replies."""
    gone = [
        ox.Quad(store.names.build(method), KG.undone, ox.Literal(line), store.names.catalogue)
        for method, lines in undone(store).items()
        for line in lines
    ]
    if gone:
        store.restate(gone, [])


@dataclass(frozen=True, slots=True)
class BuildState:
    """What the store states of a method's build, by property, and the graphs in quarantine with each reason."""

    stated: Mapping[ox.NamedNode, list[Term]]
    quarantined: frozenset[tuple[str, str, str]]

    def reasons_since(self, before: BuildState) -> list[tuple[str, str]]:
        """Return what went to quarantine after another state: (IRI of the graph that was intended, reason), sorted."""
        return [(graph, reason) for graph, _, reason in sorted(self.quarantined - before.quarantined)]


def state(store: TripleStore, method: str) -> BuildState:
    """Return what the store states of a method's build, and what is in quarantine."""
    rows = store.select(queries.bind("builds/state", catalogue=store.names.catalogue, build=store.names.build(method)))
    stated: dict[ox.NamedNode, list[Term]] = defaultdict(list)
    quarantined = set()
    for name, value, graph, message in rows:
        if isinstance(name, ox.NamedNode) and value is not None:
            stated[name].append(value)
        elif value is not None and graph is not None and message is not None:
            quarantined.add((plain(value), plain(graph), plain(message)))
    return BuildState(stated, frozenset(quarantined))


@contextmanager
def begun(store: TripleStore, method: str, before: BuildState) -> Iterator[BuildState]:
    """Mark the start of a method's build with the first change made inside; ``before`` is the state that was read.

    Yields the state once something was changed, as far as graphs in quarantine are those of before.
    """
    build, catalogue = store.names.build(method), store.names.catalogue
    start = [
        ox.Quad(build, RDF.type, KG.Build, catalogue),
        ox.Quad(build, KG.method, ox.Literal(method), catalogue),
        ox.Quad(build, KG.unfinishedSince, now(), catalogue),
    ]
    known = KG.unfinishedSince in before.stated
    with store.stating([] if known else start):
        yield before if known else replace(before, stated={**before.stated, KG.unfinishedSince: [start[-1].object]})


def reached(store: TripleStore, method: str, before: BuildState, started: BuildState, since: int) -> BuildState:
    """Return the state when a build has returned; it is read where a graph may have gone to quarantine meanwhile.

    Args:
        store: where it was built.
        method: its name.
        before: the state at the revision ``since``, before it.
        started: what ``begun`` yielded.
        since: the revision at which it began.
    """
    if store.revision == since:
        return before
    kinds = kind_journal.touched(store, since, store.revision)
    return state(store, method) if kinds is None or KG.QuarantineGraph in kinds else started


def ended(store: TripleStore, method: str, after: BuildState, lines: Sequence[str], *, left_out: str = "") -> None:
    """Write, in one change, that a method's build came to its end, and what it could not do; nothing if all is known.

    Args:
        store: where it was built.
        method: its name.
        after: the state, read when the build had returned.
        lines: what it could not do.
        left_out: what it left out because only a share was asked for; "" for nothing.
    """
    described: list[tuple[ox.NamedNode, Term]] = [
        (RDF.type, KG.Build),
        (KG.method, ox.Literal(method)),
        *((KG.undone, ox.Literal(line.encode("utf-8", "replace").decode())) for line in dict.fromkeys(lines)),
        *([(KG.leftOut, ox.Literal(left_out))] if left_out else []),
    ]
    first = min(after.stated.get(KG.unfinishedSince, ()), key=str, default=None)
    if first is not None:
        described += [(PROV.startedAtTime, first), (PROV.endedAtTime, now())]
        leaving = {KG.unfinishedSince, KG.undone, KG.leftOut, PROV.startedAtTime, PROV.endedAtTime}
    else:
        leaving = {KG.undone, KG.leftOut}
    gone = {(name, value) for name in leaving for value in after.stated.get(name, ())}
    stays = gone & set(described)
    if first is not None or gone != stays or any(pair not in gone for pair in described[2:]):
        build, catalogue = store.names.build(method), store.names.catalogue
        store.restate(
            *(
                [ox.Quad(build, name, value, catalogue) for name, value in pairs if (name, value) not in stays]
                for pairs in (sorted(gone, key=str), described)
            )
        )
