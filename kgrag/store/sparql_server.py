"""``ServerStore``: a knowledge base's triples on a SPARQL server, with one writer at a time.

What the server has acknowledged is as safe as the server makes it. One process of this machine writes to a knowledge
base's folder, as with the embedded store; who writes elsewhere is kept out by a lease, whose number ``ServerQuads``
sends with each change.
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
from kgrag.store.held_lease import HeldLease, Leasing
from kgrag.store.lineage import drawn
from kgrag.store.locking import WriterLock
from kgrag.store.oxigraph import OxigraphStore, rehearsal_store
from kgrag.store.server_profile import kept_traits
from kgrag.store.server_quads import ServerQuads
from kgrag.store.sparql_connection import ServerAddress, SparqlConnection
from kgrag.store.sparql_leases import SparqlLeases

__all__ = ["ServerStore"]

_LEASING = Leasing()


class ServerStore(CataloguedStore):
    """A knowledge base's triples on a SPARQL server. Make one with ``open``."""

    _lease: HeldLease | None = None
    _apart: SparqlConnection | None = None

    @classmethod
    def open(
        cls,
        address: str | SparqlConnection,
        folder: Path | None,
        *,
        base: str | None = None,
        validator: Validator | None = None,
        read_only: bool = False,
        leasing: Leasing = _LEASING,
    ) -> Self:
        """Open a store, or create it where the server has none.

        Args:
            address: the setting ``store``, or a connection, which is closed with the store.
            folder: where an embedded store would be: ``<folder>.lock`` and ``<folder>.pid`` exist next to it while a
                writer of this machine is at work, and the profile of the server; None locks nothing.
            base: its base IRI; None takes the recorded one, or the default for a new store.
            validator: checks drafts in memory before ``publish`` lets them in.
            read_only: open without the lock and without a lease, and write nothing.
            leasing: where the lease of its writer is kept, and under which names.

        Raises:
            InvalidSettings: the address is none.
            StoreLocked: another process, which the message names, writes to the knowledge base.
            SchemaMismatch: it was written by a newer kgrag, or has another base IRI.
            StorageFailed: the server cannot be reached, refuses the key, or is not fit to be written to.
        """
        connection = SparqlConnection(ServerAddress.of(address)) if isinstance(address, str) else address
        lock = lease = None
        apart = connection.another()
        try:
            lock = WriterLock(folder) if folder is not None and not read_only else None
            lineage = drawn()
            known = None if folder is None else kept_traits(folder.parent, connection.address.query)
            quads = ServerQuads(connection, writer=lineage, keeps=not read_only, known=known)
            with engine():
                names = quads.names = identity.recorded_names(quads, base)
                if read_only:
                    migrations.refuse_earlier(quads, names)
                else:
                    quads.refuse_unfit()
                    resource = leasing.resource or names.knowledge_base.value
                    leases = leasing.leases or SparqlLeases(apart, names.catalogue)
                    lease = HeldLease(leases, resource, holder=leasing.holder)
                    quads.take_over(resource, lease.number)
                    migrations.migrate(quads, names)
                    identity.write_founding(quads, names)
                store = cls(quads, names, validator=validator, lock=lock, read_only=read_only)
            store._unwritten_lineage = lineage
            store._lease, store._apart = lease, apart
            return store
        except BaseException:
            if lease is not None:
                lease.release()
            apart.close()
            connection.close()
            if lock is not None:
                lock.release()
            raise

    def close(self) -> None:
        """Release the lease and the lock; a second call does nothing."""
        super().close()
        if self._lease is not None:
            self._lease.release()
            self._lease = None
        if self._apart is not None:
            self._apart.close()

    def follow(self) -> int:
        """Ask for the revision, where this store is for reading only and others write; return it.

        Raises:
            StorageFailed: the server cannot be reached.
        """
        if self._read_only:
            with engine():
                self._revision = identity.revision(self._opened_quads(), self._names)
        return self._revision

    def reach(self) -> None:
        """Ask the server for the revision, whatever was kept of it before.

        Raises:
            StorageFailed: the server cannot be reached.
        """
        with engine():
            identity.revision(self._opened_quads(), self._names)

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
