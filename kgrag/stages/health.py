"""Checks of a knowledge base: store, catalogue, shapes and vectors against each other.

Queries read: ``health/*``, ``catalogue/uncatalogued``, ``catalogue/quarantined``, and those of ``stages/sync``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kgrag import queries
from kgrag.errors import EmbeddingMismatch
from kgrag.ports import Embedder, TripleStore, VectorSpaces
from kgrag.stages import shacl, sync
from kgrag.vocab import local_name

__all__ = ["Finding", "examine"]

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold: which check, what was found, what to do; ``mended`` when it has been done."""

    check: str
    message: str
    mended: bool = False


def examine(
    store: TripleStore,
    *,
    open_spaces: Callable[[], VectorSpaces],
    embedder: Embedder,
    vectors: Path | None,
    repair: bool = False,
) -> list[Finding]:
    """Give everything that does not hold; [] for a healthy knowledge base.

    Args:
        store: the store.
        open_spaces: opens the vector spaces; called again after a space had to be dropped.
        embedder: embeds again what a repair needs.
        vectors: folder of the vector spaces, None in memory.
        repair: bring vector spaces up to date, and drop those of another embedder first.
    """
    return [*_catalogue(store), *_shapes(store), *_vectors(store, open_spaces, embedder, vectors, repair)]


def _catalogue(store: TripleStore) -> Iterator[Finding]:
    catalogue = store.names.catalogue
    for name, words in (
        ("catalogue/uncatalogued", "is in the store but not in the catalogue. Load it again, or drop it by an update."),
        ("health/miscounted", "has another number of triples than the catalogue says. Load or build it again."),
        ("catalogue/quarantined", "holds data that failed its shape; see its kg:violation."),
        ("health/loose_hypernodes", "is listed as a hypernode but no hyperedge holds it. Run `kgrag build og_rag`."),
    ):
        values = {"catalogue": catalogue} if "catalogue" in queries.describe(name).parameters else {}
        for row in store.select(queries.bind(name, **values)).values()[:_SHOWN]:
            yield Finding(local_name(name), f"<{row[0]}> {words}")


def _shapes(store: TripleStore) -> Iterator[Finding]:
    for violation in shacl.validate(store, shacl.graph_shapes())[:_SHOWN]:
        yield Finding("shapes", f"{violation.focus} in <{violation.graph}>: {violation.message}")


def _vectors(
    store: TripleStore,
    open_spaces: Callable[[], VectorSpaces],
    embedder: Embedder,
    vectors: Path | None,
    repair: bool,
) -> Iterator[Finding]:
    for name in sync.SPACES:
        try:
            finding = _space(store, open_spaces(), name)
        except EmbeddingMismatch as error:
            finding = Finding("vectors", str(error))
            if repair and vectors is not None:
                shutil.rmtree(vectors / name)
        if finding is None:
            continue
        if repair:
            sync.fresh(name, store=store, spaces=open_spaces(), embedder=embedder)
            finding = replace(finding, mended=True)
        yield finding


def _space(store: TripleStore, spaces: VectorSpaces, name: str) -> Finding | None:
    wanted = set(sync.keys(name, store=store))
    kept = set(spaces.space(name).keys())
    if missing := len(wanted - kept):
        return Finding("vectors", f"space '{name}' lacks {missing} of {len(wanted)} vectors; they are made on the next use.")
    if extra := len(kept - wanted):
        return Finding("vectors", f"space '{name}' keeps {extra} vectors of things that are gone; dropped on the next use.")
    return None
