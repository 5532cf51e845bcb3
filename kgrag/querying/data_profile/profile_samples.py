"""Samples of what properties have: the three values of each that come first by their text.

Which these are follows from the values alone, not from the order in which a store has them: equal facts have equal
samples, also after a reload. They are found by looking at each value once, and then follow changes by what came and
went; only where a sample went that no other graph states are the values of its property read again.

Queries read: ``profile/stated``, ``profile/values``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.store.graph_kinds import fact_kinds

__all__ = ["Samples", "first_values", "followed_values"]

Samples = tuple[ox.NamedNode | ox.Literal, ...]
"""Of one property, by their text; long texts are cut."""

_SAMPLES_PER_PROPERTY = 3
_MAX_SAMPLE_CHARACTERS = 80
_PARTS_PER_QUERY = 50


def first_values(triples: Iterable[ox.Triple]) -> dict[str, Samples]:
    """Return property -> its samples, of triples in any order."""
    found: dict[ox.NamedNode, Samples] = {}
    for triple in triples:
        before = found.get(triple.predicate, ())
        if (after := _with(before, triple.object)) is not before:
            found[triple.predicate] = after
    return {predicate.value: samples for predicate, samples in found.items()}


def followed_values(
    before: Mapping[str, Samples],
    store: TripleStore,
    added: Collection[ox.Quad],
    removed: Collection[ox.Quad],
    names: AbstractSet[str],
) -> dict[str, Samples]:
    """Return property -> its samples after a change of the facts.

    Args:
        before: the samples before the change.
        store: as it is after the change.
        added: quads that came to graphs with facts.
        removed: quads that went.
        names: the properties that are wanted.
    """
    left_out = store.names.competency_questions
    found = dict(before)
    gone: dict[tuple[str, ox.NamedNode | ox.Literal], None] = {}
    for quad in removed:
        name, value = quad.predicate.value, quad.object
        if isinstance(value, ox.NamedNode | ox.Literal) and _cut(value) in found.get(name, ()):
            gone[name, value] = None
    again = _unstated(store, list(gone)) | (names - found.keys())
    for quad in added:
        name = quad.predicate.value
        if name not in again and quad.graph_name != left_out:
            found[name] = _with(found.get(name, ()), quad.object)
    return found | _read(store, again & names)


def _with(samples: Samples, value: Term | None) -> Samples:
    """Return samples with a value among them, if it comes before one of them; else the same tuple."""
    if not isinstance(value, ox.NamedNode | ox.Literal):
        return samples
    sample = _cut(value)
    if (len(samples) == _SAMPLES_PER_PROPERTY and sample.value > samples[-1].value) or sample in samples:
        return samples
    return tuple(sorted((*samples, sample), key=lambda each: (each.value, str(each)))[:_SAMPLES_PER_PROPERTY])


def _cut(value: ox.NamedNode | ox.Literal) -> ox.NamedNode | ox.Literal:
    """Return a value, or the beginning of a long text."""
    if isinstance(value, ox.NamedNode) or len(value.value) <= _MAX_SAMPLE_CHARACTERS:
        return value
    return ox.Literal(f"{value.value[: _MAX_SAMPLE_CHARACTERS - 1]}…")


def _unstated(store: TripleStore, stated: Sequence[tuple[str, ox.NamedNode | ox.Literal]]) -> set[str]:
    """Return the properties that no longer have each of some values."""
    left = Counter(name for name, _ in stated)
    for first in range(0, len(stated), _PARTS_PER_QUERY):
        some = stated[first : first + _PARTS_PER_QUERY]
        properties, candidates = [ox.NamedNode(name) for name, _ in some], [value for _, value in some]
        asked = queries.bind("profile/stated", **_facts(store), properties=properties, candidates=candidates)
        left.subtract(plain(name) for name, _ in store.select(asked))
    return {name for name, count in left.items() if count}


def _read(store: TripleStore, names: AbstractSet[str]) -> dict[str, Samples]:
    """Return property -> its samples, from all values of some properties."""
    found: dict[str, Samples] = dict.fromkeys(names, ())
    nodes = [ox.NamedNode(name) for name in sorted(names)]
    for first in range(0, len(nodes), _PARTS_PER_QUERY):
        some = nodes[first : first + _PARTS_PER_QUERY]
        for name, value in store.select(queries.bind("profile/values", **_facts(store), properties=some)):
            found[plain(name)] = _with(found[plain(name)], value)
    return found


def _facts(store: TripleStore) -> dict[str, object]:
    names = store.names
    return {"catalogue": names.catalogue, "kinds": fact_kinds(), "left_out": names.competency_questions}
