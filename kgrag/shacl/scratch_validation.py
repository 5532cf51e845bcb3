"""Which drafts keep their shapes, as a store would decide of new graphs, found out where no store is."""

from __future__ import annotations

from collections.abc import Sequence

from kgrag.model import GraphDraft
from kgrag.shacl import graph_validator
from kgrag.store.oxigraph import OxigraphStore

__all__ = ["conforming"]


def conforming(drafts: Sequence[GraphDraft], base: str) -> frozenset[str]:
    """Return the IRIs of those of some new graphs that keep their shapes.

    Args:
        drafts: the graphs; none of them is in the store that they are for.
        base: that of the IRIs that are minted.
    """
    scratch = OxigraphStore.open(None, base=base, validator=graph_validator())
    return frozenset(scratch.publish(drafts).published)
