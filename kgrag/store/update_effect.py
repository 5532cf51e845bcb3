"""What an update would do: the triples that it adds and removes, found by running it on a copy that is thrown away."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag.sparql.computed_terms import with_readable_terms
from kgrag.sparql.total_orders import with_total_orders
from kgrag.sparql.update_targets import written
from kgrag.store.engine import engine
from kgrag.vocab import Names

__all__ = ["GraphEffect", "UpdateEffect", "difference", "effect_on_copy"]

MAX_TRIPLES_SHOWN = 10
"""Triples per graph and direction that an effect lists; all are counted."""
MAX_GRAPHS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class GraphEffect:
    """What an update does to one graph.

    Attributes:
        graph: its IRI.
        added: how many triples come.
        removed: how many go.
        added_triples: some of those that come, as N-Triples without the dot.
        removed_triples: some of those that go.
    """

    graph: str
    added: int
    removed: int
    added_triples: tuple[str, ...]
    removed_triples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UpdateEffect:
    """What an update does.

    Attributes:
        added: how many triples come, in all graphs.
        removed: how many go.
        changed: how many graphs change.
        graphs: those that change, the most changed first; at most 50.
    """

    added: int
    removed: int
    changed: int
    graphs: tuple[GraphEffect, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON API has it."""
        return asdict(self)


def effect_on_copy(copy: Path, update: str, *, names: Names, prefixes: Mapping[str, str]) -> UpdateEffect:
    """Return what an update does to a copy of a store, which is changed.

    Args:
        copy: a folder that ``snapshot`` wrote; another one is written beside it.
        update: past the gate.
        names: of the knowledge base.
        prefixes: those that the update may use without declaring them.

    Raises:
        InvalidSPARQL: it does not parse, or cannot be evaluated.
    """
    with engine(update):
        past = ox.Store(str(copy))
        past.backup(str(copy.with_name(f"{copy.name}-changed")))
        present = ox.Store(str(copy.with_name(f"{copy.name}-changed")))
        present.update(with_total_orders(with_readable_terms(update)), prefixes=dict(prefixes))
        return difference(past, present, names=names, graphs=written(update, prefixes).graphs)


def difference(past: ox.Store, present: ox.Store, *, names: Names, graphs: Collection[str] | None) -> UpdateEffect:
    """Return in which triples a store differs from what it was.

    Triples in the default graph count as in the graph that takes them when an update is done.

    Args:
        past: the store as it was.
        present: a copy on which an update was run.
        names: of the knowledge base.
        graphs: the graphs that may differ, "" for the default graph; None: any.
    """
    if graphs is None:
        every = [*past.named_graphs(), *present.named_graphs()]
        graphs = {name.value for name in every if isinstance(name, ox.NamedNode)}
    default = names.default_data.value
    effects = [_effect(past, present, name, default) for name in sorted({*graphs, default} - {""})]
    changed = [each for each in effects if each.added or each.removed]
    changed.sort(key=lambda each: -each.added - each.removed)
    added, removed = (sum(getattr(each, name) for each in changed) for name in ("added", "removed"))
    return UpdateEffect(added, removed, len(changed), tuple(changed[:MAX_GRAPHS_SHOWN]))


def _effect(past: ox.Store, present: ox.Store, name: str, default: str) -> GraphEffect:
    graph = ox.NamedNode(name)
    come: Iterator[ox.Quad] = present.quads_for_pattern(None, None, None, graph)
    gone: Iterator[ox.Quad] = past.quads_for_pattern(None, None, None, graph)
    if name == default:  # it takes what an update leaves in the default graph
        unmoved = present.quads_for_pattern(None, None, None, ox.DefaultGraph())
        moved = (ox.Quad(quad.subject, quad.predicate, quad.object, graph) for quad in unmoved)
        come = chain(come, (quad for quad in moved if quad not in present))
        gone = (quad for quad in gone if _in_default(quad) not in present)
    added, added_triples = _sampled(quad for quad in come if quad not in past)
    removed, removed_triples = _sampled(quad for quad in gone if quad not in present)
    return GraphEffect(name, added, removed, added_triples, removed_triples)


def _in_default(quad: ox.Quad) -> ox.Quad:
    return ox.Quad(quad.subject, quad.predicate, quad.object, ox.DefaultGraph())


def _sampled(quads: Iterator[ox.Quad]) -> tuple[int, tuple[str, ...]]:
    """Return how many quads there are, and the triples of the first few."""
    count, shown = 0, []
    for quad in quads:
        count += 1
        if count <= MAX_TRIPLES_SHOWN:
            shown.append(str(quad.triple))
    return count, tuple(sorted(shown))
