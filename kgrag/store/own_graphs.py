"""Which graphs of kgrag's own making an update would change, where its text does not name what it writes to.

Each operation is asked first which graphs it may write to (``kgrag.sparql.update_operations``), and only these are
looked at: the work is in proportion to the operation, and not to the store. An operation that cannot be asked (CLEAR
ALL, WITH or USING beside a variable) is followed by a comparison of all graphs of kgrag's own.

Query: ``catalogue/kind_of``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import zip_longest
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.sparql.update_operations import Operation, operations
from kgrag.vocab import RDF, Names

__all__ = ["changed_on_copy", "named_by_first"]


def changed_on_copy(
    past: ox.Store, present: ox.Store, update: str, *, names: Names, base: str | None, prefixes: Mapping[str, str]
) -> list[str]:
    """Run an update on a copy, and return the IRIs of the graphs of kgrag's own that it changes there, sorted.

    Args:
        past: the store as it is.
        present: the copy.
        update: past the gate.
        names: of the knowledge base.
        base: the IRI that relative ones are resolved by.
        prefixes: those that the update may use without declaring them.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    touched: set[ox.NamedNode] | None = set()
    for operation in operations(update):
        if operation.select and touched is not None:
            rows = cast("ox.QuerySolutions", present.query(operation.select, base_iri=base, prefixes=dict(prefixes)))
            touched |= {term for row in rows for term in row if isinstance(term, ox.NamedNode)}
        elif operation.select is None:
            touched = None
        present.update(operation.text, base_iri=base, prefixes=dict(prefixes))
    if touched is None:
        every = (name for store in (past, present) for name in store.named_graphs())
        touched = {name for name in every if isinstance(name, ox.NamedNode)}
    return sorted(graph.value for graph in touched if _is_own(past, graph, names) and _differ(past, present, graph))


def _is_own(past: ox.Store, graph: ox.NamedNode, names: Names) -> bool:
    kinds = (quad.object for quad in past.quads_for_pattern(graph, RDF.type, None, names.catalogue))
    return names.is_own_graph(graph.value, kinds)


def _differ(past: ox.Store, present: ox.Store, graph: ox.NamedNode) -> bool:
    """Return whether a graph is there in one store only, or has other triples, which both keep in the same order."""
    if past.contains_named_graph(graph) != present.contains_named_graph(graph):
        return True
    both = (store.quads_for_pattern(None, None, None, graph) for store in (past, present))
    return any(old != new for old, new in zip_longest(*both))


def named_by_first(store: TripleStore, update: str) -> list[str] | None:
    """Return the graphs of kgrag's own that the first operation of an update may write to, sorted.

    None where later ones search as well, whose graphs depend on what is written before them, or where it cannot be
    asked.
    """
    asked: list[Operation] = operations(update)
    if any(each.select is None for each in asked) or any(_searches(each) for each in asked[1:]):
        return None
    found = (term for each in asked if each.select for row in store.select(each.select) for term in row)
    return sorted(graph for graph in _named(found) if _is_own_of(store, graph))


def _searches(operation: Operation) -> bool:
    return bool(operation.select) and not str(operation.select).endswith("WHERE {}")


def _named(terms: Iterable[object]) -> Collection[str]:
    return {term.value for term in terms if isinstance(term, ox.NamedNode)}


def _is_own_of(store: TripleStore, graph: str) -> bool:
    asked = queries.bind("catalogue/kind_of", catalogue=store.names.catalogue, graph=ox.NamedNode(graph))
    return store.names.is_own_graph(graph, (row[0] for row in store.select(asked)))
