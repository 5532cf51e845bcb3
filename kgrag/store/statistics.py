"""Sizes of a knowledge base, from the catalogue.

Queries read: ``catalogue/kinds``, ``documents/count``.
"""

from __future__ import annotations

from typing import Any

from kgrag import queries
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.vocab import KG, local_name

__all__ = ["overview"]


def overview(store: TripleStore) -> dict[str, Any]:
    """Count quads, documents, chunks, and the named graphs of each kind."""
    kinds = {
        local_name(plain(kind)): int(plain(graphs))
        for kind, graphs in store.select(queries.bind("catalogue/kinds", catalogue=store.names.catalogue))
    }
    chunks = store.select(queries.bind("documents/count")).values()[0][0]
    return {
        "quads": len(store),
        "revision": store.revision,
        "documents": kinds.get(local_name(KG.DocumentGraph.value), 0),
        "chunks": int(chunks),
        "graphs": kinds,
    }
