"""The entries of the pool that a filter lets through: those of which all that they were written from is allowed.

A summary of two documents quotes both, so it is found only where both are. Queries read: ``sire_rag/parts_of_all``,
``sire_rag/origins_of_all``. Nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from kgrag import queries
from kgrag.index.revision_cache import RevisionCache
from kgrag.model import Allowed
from kgrag.ports import TripleStore

__all__ = ["allowed_nodes", "standing_on_all"]


def allowed_nodes(allowed: Allowed, store: TripleStore) -> frozenset[str]:
    """Return the allowed chunks, and the propositions, aggregates and summaries that come from these alone."""
    return _KNOWN.get(store, allowed.chunks, lambda: _allowed_nodes(allowed, store))


_KNOWN = RevisionCache[frozenset[str]]()


def _allowed_nodes(allowed: Allowed, store: TripleStore) -> frozenset[str]:
    parts: dict[str, set[str]] = defaultdict(set)
    for name in ("sire_rag/origins_of_all", "sire_rag/parts_of_all"):
        for node, part in store.select(queries.bind(name, catalogue=store.names.catalogue)).values():
            parts[node].add(part)
    return standing_on_all(parts, allowed.chunks)


def standing_on_all(parts: Mapping[str, set[str]], allowed: frozenset[str]) -> frozenset[str]:
    """Return ``allowed`` and every node all of whose parts are returned; what has no parts is no node.

    >>> parts = {"s1": {"a", "b"}, "s2": {"s1", "c"}, "s3": {"s1", "d"}}
    >>> sorted(standing_on_all(parts, frozenset("abd")))
    ['a', 'b', 'd', 's1', 's3']
    """
    above: dict[str, list[str]] = defaultdict(list)
    for node, own_parts in parts.items():
        for part in own_parts:
            above[part].append(node)
    missing = {node: len(own_parts) for node, own_parts in parts.items()}
    complete, waiting = set(allowed), list(allowed)
    while waiting:
        for node in above.get(waiting.pop(), ()):
            missing[node] -= 1
            if not missing[node] and node not in complete:
                complete.add(node)
                waiting.append(node)
    return frozenset(complete)
