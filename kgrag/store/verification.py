"""Whether a store can be read as a whole: every block of it, in each of the orders that the engine keeps its quads in.

The engine compares a block with its checksum when it reads it, and reads only what a question needs: damage stays
unnoticed until somebody asks for it. Quads are looked up by pattern, not by a query, since a query that sorts or
counts collects the errors of a damaged block without end until the memory is full.
"""

from __future__ import annotations

import pyoxigraph as ox

from kgrag.errors import StorageFailed
from kgrag.store.engine import engine, quads_of_pattern

__all__ = ["damage"]

_Pattern = tuple[
    ox.NamedNode | ox.BlankNode | ox.Triple | None,
    ox.NamedNode | None,
    ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None,
    ox.NamedNode | ox.BlankNode | ox.DefaultGraph | None,
]


def damage(store: ox.Store) -> list[str]:
    """Read a store as a whole; return what cannot be read or does not agree, one sentence each; [] for a sound store.

    Six indices hold the same quads: by graph and then subject, predicate or object, and by each of these alone. What
    is looked up in the other five is what the first one, by graph and subject, contains.
    """
    subjects, predicates, objects = set(), set(), set()
    found: list[str] = []
    in_all = 0
    try:
        with engine():
            for graph in store.named_graphs():
                quads = list(store.quads_for_pattern(None, None, None, graph))
                in_all += len(quads)
                subjects |= {quad.subject for quad in quads}
                predicates |= (linking := {quad.predicate for quad in quads})
                objects |= (values := {quad.object for quad in quads})
                found += _differences(store, [(None, each, None, graph) for each in linking], len(quads))
                found += _differences(store, [(None, None, each, graph) for each in values], len(quads))
    except StorageFailed as error:
        return [str(error)]
    found += _differences(store, [(each, None, None, None) for each in subjects], in_all)
    found += _differences(store, [(None, each, None, None) for each in predicates], in_all)
    found += _differences(store, [(None, None, each, None) for each in objects], in_all)
    return list(dict.fromkeys(found))


def _differences(store: ox.Store, patterns: list[_Pattern], expected: int) -> list[str]:
    """Return why the patterns do not match ``expected`` quads together; [] if they do."""
    try:
        with engine():
            count = sum(1 for pattern in patterns for _ in quads_of_pattern(store, *pattern))
    except StorageFailed as error:
        return [str(error)]
    if count == expected:
        return []
    return [
        f"two indices of the store disagree, by {abs(count - expected):,} quads. Run `kgrag export`, and "
        "`kgrag import` into a new folder, which makes every index again."
    ]
