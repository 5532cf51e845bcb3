"""``OxigraphStore``: a knowledge base's triples in an Oxigraph of this process, with one writer per folder.

What is acknowledged survives the death of the process; ``flush`` and ``close`` make it survive a power cut. A second
process that would write is refused, and may open the folder for reading.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self, cast

import pyoxigraph as ox

from kgrag.ports import TripleStore, Validator
from kgrag.store import identity, migrations, reading_views, rewriting
from kgrag.store.catalogued_store import CataloguedStore
from kgrag.store.embedded_quads import EmbeddedQuads
from kgrag.store.engine import engine, release
from kgrag.store.locking import WriterLock
from kgrag.vocab import KG, Names

__all__ = ["OxigraphStore", "rehearsal_store"]


class OxigraphStore(CataloguedStore):
    """A knowledge base's triples in an Oxigraph folder, or in memory. Make one with ``open``.

    >>> store = OxigraphStore.open(None)
    >>> store.revision, store.graphs()
    (0, ['urn:kgrag:graph/catalogue'])
    """

    @classmethod
    def open(
        cls,
        folder: Path | None,
        *,
        base: str | None = None,
        validator: Validator | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open a store, or create it.

        Args:
            folder: where it lives; None keeps it in memory. ``<folder>.lock`` and ``<folder>.pid`` exist next to it
                while a writer has it open, and ``<folder>.views`` contains the links of those who read.
            base: its base IRI; None takes the recorded one, or the default for a new store.
            validator: checks drafts in a scratch store before ``publish`` lets them in.
            read_only: open without the lock, whether or not a writer runs; the view stays as it is at opening.

        Raises:
            StoreLocked: another process writes to it; the message names the process.
            SchemaMismatch: it was written by a newer kgrag, or has another base IRI, or is to be read only and was
                written by an earlier one.
            StorageFailed: the folder cannot be read or written, or is to be read only and does not exist.
        """
        lock = WriterLock(folder) if folder is not None and not read_only else None
        store = None
        try:
            with engine():
                if folder is not None and not read_only:
                    rewriting.finish(folder)
                    reading_views.sweep(folder)
                store = identity.open_folder(folder, read_only=read_only)
                quads = EmbeddedQuads(store, folder=folder, read_only=read_only)
                names = identity.recorded_names(quads, base)
                _probe(store, names)
                if read_only:
                    migrations.refuse_earlier(quads, names)
                else:
                    migrations.migrate(quads, names)
                    identity.write_founding(quads, names)
                return cls(quads, names, validator=validator, lock=lock, read_only=read_only, folder=folder)
        except BaseException:
            if store is not None:
                release(store)
            if lock is not None:
                lock.release()
            raise

    @property
    def _store(self) -> ox.Store:
        return cast("EmbeddedQuads", self._quads).store

    def default_graph_size(self) -> int:
        """Count the triples outside every named graph; 0 unless the folder was written by something else."""
        with engine():
            return sum(1 for _ in self._store.quads_for_pattern(None, None, None, ox.DefaultGraph()))

    def _rehearsed(self, quads: Iterable[ox.Quad]) -> TripleStore:
        return rehearsal_store(quads, self._names.base)


def _probe(store: ox.Store, names: Names) -> None:
    """Read the revisions one by one: a query for the last one would collect the errors of a damaged block without end.

    Raises:
        RuntimeError: a block of them is damaged.
    """
    for _ in store.quads_for_pattern(None, KG.revision, None, names.catalogue):
        pass


def rehearsal_store(quads: Iterable[ox.Quad], base: str) -> TripleStore:
    """Return a store in memory with quads that are to be validated."""
    scratch = OxigraphStore.open(None, base=base)
    scratch._store.extend(quads)
    return scratch
