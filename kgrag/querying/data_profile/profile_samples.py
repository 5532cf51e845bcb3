"""Samples of what properties have: the three values of each that come first by their text.

Which these are follows from the values alone, not from the order in which a store has them: equal facts have equal
samples, also after a reload. They are found by looking at each value once, and then follow changes by what came and
went; only where a sample went that no other graph states are the values of its property read again.

Queries read: ``profile/stated``, ``profile/values``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term
from kgrag.ports import TripleStore
from kgrag.store.graph_kinds import fact_kinds

__all__ = ["Samples", "first_values", "followed_values"]

Samples = tuple[ox.NamedNode | ox.Literal, ...]
"""Of one property, by their text; long texts are cut."""

_SAMPLES_PER_PROPERTY = 3
_MAX_SAMPLE_CHARACTERS = 80


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
    gone: dict[str, set[ox.NamedNode | ox.Literal]] = defaultdict(set)
    for quad in removed:
        value = quad.object
        if isinstance(value, ox.NamedNode | ox.Literal) and _cut(value) in found.get(quad.predicate.value, ()):
            gone[quad.predicate.value].add(value)
    again = {name for name, values in gone.items() if not _are_stated(store, name, values)} | (names - found.keys())
    for quad in added:
        name = quad.predicate.value
        if name not in again and quad.graph_name != left_out:
            found[name] = _with(found.get(name, ()), quad.object)
    return found | {name: _read(store, name) for name in again & names}


def _with(samples: Samples, value: Term) -> Samples:
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


def _are_stated(store: TripleStore, name: str, values: Collection[ox.NamedNode | ox.Literal]) -> bool:
    """Return whether each of some values is still one of a property's."""
    candidates = sorted(values, key=str)
    asked = queries.bind("profile/stated", **_facts(store), property=ox.NamedNode(name), candidates=candidates)
    return len(store.select(asked)) == len(candidates)


def _read(store: TripleStore, name: str) -> Samples:
    """Return the samples of a property, from all its values."""
    samples: Samples = ()
    for (value,) in store.select(queries.bind("profile/values", **_facts(store), property=ox.NamedNode(name))):
        samples = samples if value is None else _with(samples, value)
    return samples


def _facts(store: TripleStore) -> dict[str, object]:
    names = store.names
    return {"catalogue": names.catalogue, "kinds": fact_kinds(), "left_out": names.competency_questions}
