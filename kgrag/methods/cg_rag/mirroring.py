"""The mirror of a store's citation graph, kept beside it. Queries read: ``cg_rag/chunks``, ``cg_rag/edges``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kgrag import queries
from kgrag.methods.cg_rag.building import chunks_of
from kgrag.methods.cg_rag.drafts import KINDS
from kgrag.methods.cg_rag.mirror import Mirror, Places
from kgrag.ports import TripleStore
from kgrag.stages.sidecar import Making, Sidecars
from kgrag.vocab import KG

__all__ = ["drawn", "fresh", "numbers_of"]

_NAME = "citations"
_OPEN = Sidecars[Mirror]()


def fresh(store: TripleStore, folder: Path | None, *, save: bool = True) -> Mirror:
    """Give the mirror as the store stands now.

    Raises:
        StorageFailed: the disk refused a new file.
    """
    making = Making(load=Mirror.load, make=lambda: _made(store), changed=lambda since: _changed(store, since))
    return _OPEN.fresh(store, folder, making, name=_NAME, save=save)


def drawn(store: TripleStore) -> bool:
    """Say whether the store holds any citation graph."""
    return bool(store.select(queries.bind("cg_rag/graphs", catalogue=store.names.catalogue)).rows)


def numbers_of(mirror: Mirror, documents: Sequence[str]) -> Places:
    """Give the numbers that documents have in the mirror."""
    beginnings = [f"{document.replace('document/', 'chunk/', 1)}-" for document in documents]
    cut = len(mirror.iris.beginning)
    wanted = np.array([text[cut:].encode() for text in beginnings], dtype=np.bytes_)
    first = np.searchsorted(mirror.iris.rest, wanted) if len(wanted) else np.zeros(0, np.int64)
    pairs = zip(first.tolist(), beginnings, strict=True)
    held = [place for place, text in pairs if place < len(mirror) and mirror.iris[place].startswith(text)]
    return np.unique(mirror.documents[np.array(held, dtype=np.int64)]).astype(np.int64)


def _changed(store: TripleStore, since: int) -> bool:
    catalogue = store.names.catalogue
    kinds = (KG.CitationGraph, KG.DocumentGraph)
    return any(store.ask(queries.bind("spaces/changed", catalogue=catalogue, kind=kind, since=since)) for kind in kinds)


def _made(store: TripleStore) -> Mirror:
    revision = store.revision
    held = [(chunk, number) for number, chunks in enumerate(chunks_of(store).values()) for chunk in chunks]
    held.sort()
    chunks = [chunk for chunk, _ in held]
    place = {chunk: number for number, chunk in enumerate(chunks)}
    kinds = {term.value: int(kind) for kind, term in KINDS.items()}
    rows = store.select(queries.bind("cg_rag/edges", catalogue=store.names.catalogue))
    edges = [
        (place[origin], place[target], kinds[kind], float(weight))
        for kind, origin, target, weight in rows.values()
        if origin in place and target in place
    ]
    table = np.array(edges, dtype=np.float64).reshape(len(edges), 4).T
    columns = (*(table[row].astype(np.int64) for row in range(3)), table[3])
    origins, targets, numbers, weights = columns
    return Mirror.of(chunks, [number for _, number in held], (origins, targets, numbers, weights), revision=revision)
