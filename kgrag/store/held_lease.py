"""A lease for as long as a store is open: acquired, renewed by a thread, released."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass

from kgrag.errors import StateError, StorageFailed
from kgrag.ports import Leases
from kgrag.store.holders import drawn_holder, let_go

__all__ = ["SECONDS", "HeldLease", "Leasing"]

SECONDS = 60.0
"""How long a lease outlives a holder that died on another machine; four renewals fit into it."""

_SECONDS_TO_STOP = 5.0


@dataclass(frozen=True, slots=True)
class Leasing:
    """How a store is leased.

    Attributes:
        leases: where its lease is kept; None = with the store itself.
        resource: what it is called there; "" = by the IRI of the knowledge base.
        holder: who writes, in words for whoever is refused; "" = this process, by number and machine.
    """

    leases: Leases | None = None
    resource: str = ""
    holder: str = ""


class HeldLease:
    """One lease of a resource. Whether it still holds is for the store to say, which sees its number with each change.

    Raises:
        StoreLocked: somebody else has it.
        StorageFailed: where leases are kept cannot be reached.
    """

    def __init__(self, leases: Leases, resource: str, *, holder: str = "", seconds: float = SECONDS) -> None:
        self._leases = leases
        self._resource = resource
        self._seconds = seconds
        self._holder = holder or drawn_holder()
        try:
            self.number = leases.acquire(resource, self._holder, seconds)
        except BaseException:
            let_go(self._holder)
            raise
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="kgrag-lease", daemon=True)
        self._thread.start()

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / 4):
            try:
                self._leases.renew(self._resource, self.number, self._seconds)
            except StorageFailed:  # the server may be back before the lease ends
                continue
            except StateError:  # somebody else has it: the next change is refused
                return

    def release(self) -> None:
        """End the lease; where that cannot be told, it ends by time, or when this machine asks for it again."""
        self._ended.set()
        self._thread.join(_SECONDS_TO_STOP)
        let_go(self._holder)
        with suppress(StorageFailed):
            self._leases.release(self._resource, self.number)
