"""``SparqlLeases``: leases in the catalogue of a knowledge base on a SPARQL server.

An engine may run two updates at one moment on one state, so that a condition keeps neither of them out. Whoever writes
a lease therefore reads all of them afterwards, and steps back where there is another. Times are those of the server.

Queries read: ``catalogue/leases``, ``catalogue/lease``, ``catalogue/renew_lease``, ``catalogue/release_lease``.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from typing import NoReturn, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import StorageFailed, StoreLocked
from kgrag.model import plain
from kgrag.store.holders import has_died
from kgrag.store.sparql_connection import SparqlConnection
from kgrag.vocab import XSD, digest

__all__ = ["LEASE_PREFIX", "SparqlLeases", "resource_iri"]

LEASE_PREFIX = "urn:kgrag:lease:"
"""Of the predicates and subjects of what is stated of leases, which is no part of the knowledge base."""


@dataclass(frozen=True, slots=True)
class _Lease:
    iri: ox.NamedNode
    number: int
    holder: str
    until: datetime | None

    def lasts(self, now: datetime, *, but_for: str = "") -> bool:
        """Return whether it keeps others out: it has not ended, and its holder is another one who may be alive."""
        over = self.until is None or self.until <= now
        return not over and self.holder != but_for and not has_died(self.holder)


class SparqlLeases:
    """Implements ``kgrag.ports.Leases``.

    Args:
        connection: to the server; it is its owner's to close.
        catalogue: the graph in which leases are.
    """

    def __init__(self, connection: SparqlConnection, catalogue: ox.NamedNode) -> None:
        self._connection = connection
        self._catalogue = catalogue
        self._clock: tuple[datetime, float] | None = None

    def acquire(self, resource: str, holder: str, seconds: float) -> int:
        """Return the number of a new lease.

        Raises:
            StoreLocked: somebody else has it, or wanted it at the same moment.
            StorageFailed: the server cannot be reached.
        """
        highest, leases = self._read(resource)
        now = self._now(resource)
        for lease in leases:
            if lease.lasts(now, but_for=holder):
                self._refuse(resource, lease)
        number = highest + 1
        mine = ox.NamedNode(f"{LEASE_PREFIX}{secrets.token_hex(8)}")
        self._update(
            "catalogue/lease",
            resource,
            ended=[lease.iri for lease in leases],
            lease=mine,
            number=number,
            holder=ox.Literal(holder),
            until=self._after(resource, seconds),
        )
        _, leases = self._read(resource)
        others = [lease for lease in leases if lease.iri != mine and lease.lasts(now, but_for=holder)]
        if others or mine not in [lease.iri for lease in leases]:
            self._update("catalogue/release_lease", resource, number=number, leases=[mine])
            self._refuse(resource, others[0] if others else None)
        return number

    def renew(self, resource: str, number: int, seconds: float) -> None:
        """Write that a lease ends so many seconds from now.

        Raises:
            StoreLocked: it was released, or somebody else has a later one.
            StorageFailed: the server cannot be reached.
        """
        self._update("catalogue/renew_lease", resource, number=number, until=self._after(resource, seconds))
        _, leases = self._read(resource)
        latest = max(leases, key=lambda lease: (lease.number, lease.until is not None), default=None)
        if latest is None or latest.number != number or latest.until is None:
            self._refuse(resource, latest)

    def release(self, resource: str, number: int) -> None:
        """End a lease now. Raises StorageFailed: the server cannot be reached."""
        self._update("catalogue/release_lease", resource, number=number, leases=[])

    def _read(self, resource: str) -> tuple[int, list[_Lease]]:
        """Return the highest number that there has been, and the leases; note what time it is on the server."""
        query = queries.bind("catalogue/leases", catalogue=self._catalogue, resource=resource_iri(resource))
        reply = self._connection.query(query)
        read = time.monotonic()  # not before: what is counted from then is never ahead of the server's clock
        try:
            rows = list(cast("ox.QuerySolutions", ox.parse_query_results(BytesIO(reply.body), _JSON)))
        except (SyntaxError, ValueError) as error:
            raise StorageFailed(f"the reply of the server is not whole: {error}. Ask again.") from error
        if rows:
            self._clock = datetime.fromisoformat(plain(rows[0]["now"])), read
        leases = list(_leases(rows))
        numbers = [int(plain(row["fence"])) for row in rows if row["fence"] is not None]
        return max([0, *numbers, *(lease.number for lease in leases)]), leases

    def _now(self, resource: str) -> datetime:
        """Return the time on the server, as it was last read and what has passed since; what it takes to read is lost.

        So a lease is taken from nobody before its end, and of two connections the slower one is not ahead.
        """
        if self._clock is None:
            self._read(resource)
        if self._clock is None:
            raise StorageFailed(f"{self._connection.address.query} does not say what time it is. Take another server.")
        then, read = self._clock
        return then + timedelta(seconds=time.monotonic() - read)

    def _after(self, resource: str, seconds: float) -> ox.Literal:
        end = self._now(resource) + timedelta(seconds=seconds)
        return ox.Literal(end.isoformat().replace("+00:00", "Z"), datatype=XSD.dateTime)

    def _update(self, name: str, resource: str, /, **values: object) -> None:
        text = queries.bind(name, catalogue=self._catalogue, resource=resource_iri(resource), **values)
        try:
            self._connection.update(text)
        except ConnectionError as error:
            raise StorageFailed(str(error)) from None

    def _refuse(self, resource: str, lease: _Lease | None) -> NoReturn:
        place = f"{resource} at {self._connection.address.query}"
        if lease is None or lease.until is None:
            raise StoreLocked(
                f"the lease of {place} was released, or another writer wanted it at the same moment. Ask again."
            )
        raise StoreLocked(
            f"{place} is being written by {lease.holder}, whose lease ends at {lease.until:%H:%M:%S} by the clock of "
            "the server unless it is renewed. Wait until it is done or end it; reading is possible meanwhile."
        )


_JSON = ox.QueryResultsFormat.JSON


def _leases(rows: list[ox.QuerySolution]) -> Iterator[_Lease]:
    for row in rows:
        if (iri := row["lease"]) is not None:
            until = None if row["until"] is None else datetime.fromisoformat(plain(row["until"]))
            holder = "" if row["holder"] is None else plain(row["holder"])
            yield _Lease(cast("ox.NamedNode", iri), int(plain(row["number"])), holder, until)


def resource_iri(resource: str) -> ox.NamedNode:
    """Return the name of a resource among what is stated of leases."""
    return ox.NamedNode(f"{LEASE_PREFIX}of:{digest(resource)}")
