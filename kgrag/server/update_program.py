"""What an update would do, found in a reader process on a copy of the store that is thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import pyoxigraph as ox

from kgrag.store.update_effect import difference
from kgrag.vocab import RDF, Names

__all__ = ["effect", "own_graphs"]


def effect(header: Mapping[str, Any], body: bytes, past: ox.Store) -> dict[str, object]:
    """Return the triples that an update adds and removes, and what a profile of the audit says of that.

    Args:
        header: ``copy``, a folder that may be written to; ``base``, ``prefixes``; ``names``: the base IRI of the
            knowledge base; ``graphs``: those that the update may change (None: any); ``profile``: "" for none.
        body: the update.
        past: the store as it is.

    Returns:
        An ``UpdateEffect`` as JSON, with ``refused``: as of ``gate_program.judge``; and ``own``, as of ``own_graphs``.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    present = ox.Store(header["copy"])
    present.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
    found = difference(past, present, names=Names(header["names"]), graphs=header["graphs"]).to_json()
    refused: object = []
    if header["profile"]:
        from kgrag.server.gate_program import refused_by  # an audit takes long to import

        refused = refused_by({**header, "text": body.decode()}, past, present)
    return {**found, "refused": refused, "own": _own_graphs(past, present, Names(header["names"]))}


def own_graphs(header: Mapping[str, Any], body: bytes, past: ox.Store) -> dict[str, object]:
    """Return ``own``: the IRIs of the graphs of kgrag's own making that an update would change.

    Args:
        header: as of ``effect``, without ``graphs`` and ``profile``.
        body: the update.
        past: the store as it is.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    present = ox.Store(header["copy"])
    present.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
    return {"own": _own_graphs(past, present, Names(header["names"]))}


def _own_graphs(past: ox.Store, present: ox.Store, names: Names) -> list[str]:
    graphs = {name for store in (past, present) for name in store.named_graphs() if isinstance(name, ox.NamedNode)}
    return sorted(graph.value for graph in graphs if _is_own(past, graph, names) and _differ(past, present, graph))


def _is_own(past: ox.Store, graph: ox.NamedNode, names: Names) -> bool:
    kinds = (quad.object for quad in past.quads_for_pattern(graph, RDF.type, None, names.catalogue))
    return names.is_own_graph(graph.value, kinds)


def _differ(past: ox.Store, present: ox.Store, graph: ox.NamedNode) -> bool:
    """Return whether a graph is there in one store only, or has other triples, which both keep in the same order."""
    if past.contains_named_graph(graph) != present.contains_named_graph(graph):
        return True
    both = (store.quads_for_pattern(None, None, None, graph) for store in (past, present))
    return any(old != new for old, new in zip_longest(*both))
