"""``ServerStore``: a knowledge base's triples on a SPARQL server, with one writer at a time.

What the server has acknowledged is as safe as the server makes it. One process of this machine writes to a knowledge
base's folder, as with the embedded store; writers elsewhere are refused or detected by ``ServerQuads``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, cast

import pyoxigraph as ox

from kgrag.ports import TripleStore, Validator
from kgrag.store import identity, migrations
from kgrag.store.catalogued_store import CataloguedStore
from kgrag.store.engine import engine
from kgrag.store.lineage import drawn
from kgrag.store.locking import WriterLock
from kgrag.store.oxigraph import OxigraphStore, rehearsal_store
from kgrag.store.server_quads import ServerQuads
from kgrag.store.sparql_connection import ServerAddress, SparqlConnection

__all__ = ["ServerStore"]


class ServerStore(CataloguedStore):
    """A knowledge base's triples on a SPARQL server. Make one with ``open``."""

    @classmethod
    def open(
        cls,
        address: str | SparqlConnection,
        folder: Path | None,
        *,
        base: str | None = None,
        validator: Validator | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open a store, or create it where the server has none.

        Args:
            address: the setting ``store``, or a connection, which is closed with the store.
            folder: where an embedded store would be: ``<folder>.lock`` and ``<folder>.pid`` exist next to it while a
                writer of this machine is at work; None locks nothing.
            base: its base IRI; None takes the recorded one, or the default for a new store.
            validator: checks drafts in memory before ``publish`` lets them in.
            read_only: open without the lock, and write nothing.

        Raises:
            InvalidSettings: the address is none.
            StoreLocked: another process of this machine writes to the knowledge base.
            SchemaMismatch: it was written by a newer kgrag, or has another base IRI.
            StorageFailed: the server cannot be reached, refuses the key, or is not fit to be written to.
        """
        connection = SparqlConnection(ServerAddress.of(address)) if isinstance(address, str) else address
        lock = None
        try:
            lock = WriterLock(folder) if folder is not None and not read_only else None
            lineage = drawn()
            quads = ServerQuads(connection, writer=lineage, keeps=not read_only)
            with engine():
                names = quads.names = identity.recorded_names(quads, base)
                if read_only:
                    migrations.refuse_earlier(quads, names)
                else:
                    quads.take_over()
                    migrations.migrate(quads, names)
                    identity.write_founding(quads, names)
                store = cls(quads, names, validator=validator, lock=lock, read_only=read_only)
            store._unwritten_lineage = lineage
            return store
        except BaseException:
            connection.close()
            if lock is not None:
                lock.release()
            raise

    @property
    def calls(self) -> int:
        """Count of the requests sent so far."""
        return cast("ServerQuads", self._quads).connection.calls

    @contextmanager
    def copied(self) -> Iterator[TripleStore]:
        """Return a copy on this machine that can be read, as this store is now, for who asks by the hundred.

        Raises:
            StorageFailed: the server sent less than it has, or the disk refused.
        """
        with tempfile.TemporaryDirectory(prefix="kgrag-") as place:
            folder = Path(place) / "store"
            self.snapshot(folder)
            with OxigraphStore.open(folder, read_only=True) as copy:
                yield copy

    def _rehearsed(self, quads: Iterable[ox.Quad]) -> TripleStore:
        return rehearsal_store(quads, self._names.base)
