"""Knowledge bases that are opened when their tenant asks, and closed when others need the room.

Only so many are open at once: each has threads, reader processes and files. What gives way is the one that nobody asked
for longest and that has nothing under way: no request, no job, and no work that goes on when its client is gone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from kgrag.errors import ServiceUnavailable

__all__ = ["Closable", "OpenTenants", "TenantPlace"]

_SECONDS_BETWEEN_LOOKS = 0.05
_LOG = logging.getLogger(__name__)


class Closable(Protocol):
    """What is open of a tenant."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way in it."""

    async def close(self) -> None:
        """Close it."""


Opened = TypeVar("Opened", bound=Closable)


@dataclass(eq=False)
class TenantPlace(Generic[Opened]):
    """What is known of a tenant here.

    Attributes:
        name: of the tenant.
        opened: what is open of it.
        users: requests under way.
        used: when the last one began or ended, by ``time.monotonic``.
        lock: whoever opens or closes it holds it.
    """

    name: str
    opened: Opened | None = None
    users: int = 0
    used: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class OpenTenants(Generic[Opened]):
    """Lends what is open of tenants.

    Args:
        names: of all tenants.
        open_one: opens that of a tenant.
        limit: how many may be open at once.
        patience: seconds that who wants one more waits until another has nothing under way.
    """

    def __init__(
        self,
        names: Iterable[str],
        open_one: Callable[[str], Awaitable[Opened]],
        *,
        limit: int,
        patience: float = 10.0,
    ) -> None:
        self.places: dict[str, TenantPlace[Opened]] = {name: TenantPlace(name) for name in names}
        self._open_one = open_one
        self._limit = limit
        self._patience = patience
        self._opening = asyncio.Lock()

    async def borrow(self, name: str) -> Opened:
        """Return what is open of a tenant; give it back with ``give_back``.

        Raises:
            ServiceUnavailable: as many are open as may be, and each has something under way.
            KgragError: it cannot be opened.
        """
        place = self.places[name]
        place.users += 1  # first, so that nobody closes it meanwhile
        place.used = time.monotonic()
        try:
            if place.opened is not None:
                return place.opened
            until = place.used + self._patience
            async with place.lock:
                if place.opened is None:
                    place.opened = await self._open(name, until)
                return place.opened
        except BaseException:
            self.give_back(name)
            raise

    def give_back(self, name: str) -> None:
        """End one use."""
        place = self.places[name]
        place.users -= 1
        place.used = time.monotonic()

    async def _open(self, name: str, until: float) -> Opened:
        async with self._opening:
            while sum(place.opened is not None for place in self.places.values()) >= self._limit:
                await self._close(await self._longest_unused(until))
            return await self._open_one(name)

    async def _longest_unused(self, until: float) -> TenantPlace[Opened]:
        """Return the one to close, as soon as there is one. Raises ServiceUnavailable."""
        while True:
            places = [place for place in self.places.values() if place.opened is not None and not place.users]
            idle = [place for place in places if place.opened is not None and place.opened.is_idle]
            if idle:
                return min(idle, key=lambda place: place.used)
            if time.monotonic() >= until:
                words = "as many knowledge bases are at work as this server may open. Ask again later."
                raise ServiceUnavailable(words)
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

    async def _close(self, place: TenantPlace[Opened]) -> None:
        """Close one; what goes wrong is for the log, and not for the tenant who needs the room."""
        opened, place.opened = place.opened, None  # at once: whoever asks now waits for the lock, and opens it again
        if opened is not None:
            async with place.lock:
                try:
                    await opened.close()
                except Exception:
                    _LOG.exception("the knowledge base of tenant %s was not closed as it should be", place.name)

    async def close(self) -> None:
        """Close all, each whatever became of the others."""
        for place in self.places.values():
            await self._close(place)
