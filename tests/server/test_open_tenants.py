"""Which knowledge bases are open: those asked last, and no more than there is room for."""

import asyncio
from dataclasses import dataclass

import pytest

from kgrag.errors import ServiceUnavailable
from kgrag.server.tenants.open_tenants import OpenTenants


@dataclass(eq=False)
class Opened:
    name: str
    is_idle: bool = True
    closed: int = 0
    holding: asyncio.Event | None = None
    fault: Exception | None = None

    async def close(self) -> None:
        self.closed += 1
        if self.fault is not None:
            raise self.fault
        if self.holding is not None:
            await self.holding.wait()


def _pool(limit: int, opened: list[Opened]) -> OpenTenants[Opened]:
    async def open_one(name: str) -> Opened:
        if name == "broken":
            raise ServiceUnavailable("broken")
        opened.append(Opened(name))
        return opened[-1]

    return OpenTenants(("a", "b", "c", "broken"), open_one, limit=limit, patience=0.0)


async def _used(pool: OpenTenants[Opened], name: str) -> Opened:
    found = await pool.borrow(name)
    pool.give_back(name)
    return found


def test_the_one_longest_unused_gives_way() -> None:
    async def run() -> None:
        opened: list[Opened] = []
        pool = _pool(2, opened)
        for name in ("a", "b", "a", "c"):
            await _used(pool, name)
        assert [(each.name, each.closed) for each in opened] == [("a", 0), ("b", 1), ("c", 0)]
        await pool.close()
        assert [each.closed for each in opened] == [1, 1, 1]

    asyncio.run(run())


def test_one_that_cannot_be_closed_keeps_no_other_out(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        opened: list[Opened] = []
        pool = _pool(1, opened)
        await _used(pool, "a")
        opened[0].fault = OSError("the disk of a")
        assert (await _used(pool, "b")).name == "b"
        assert (opened[0].closed, "the disk of a" in caplog.text) == (1, True)

    asyncio.run(run())


@pytest.mark.parametrize("busy", ["request", "job"])
def test_what_has_something_under_way_is_not_closed(busy: str) -> None:
    async def run() -> None:
        opened: list[Opened] = []
        pool = _pool(1, opened)
        await (pool.borrow("a") if busy == "request" else _used(pool, "a"))
        opened[0].is_idle = busy == "request"
        with pytest.raises(ServiceUnavailable, match="Ask again later"):
            await pool.borrow("b")
        assert (opened[0].closed, pool.places["b"].users) == (0, 0)

    asyncio.run(run())


def test_who_asks_while_it_closes_gets_it_opened_again() -> None:
    async def run() -> None:
        opened: list[Opened] = []
        pool = _pool(1, opened)
        await _used(pool, "a")
        opened[0].holding = asyncio.Event()
        other = asyncio.create_task(_used(pool, "b"))
        await asyncio.sleep(0)
        while not opened[0].closed:
            await asyncio.sleep(0)
        again = asyncio.create_task(_used(pool, "a"))
        await asyncio.sleep(0)
        opened[0].holding.set()
        assert (await other).name == "b"
        assert (await again) is opened[2]
        assert [(each.name, each.closed) for each in opened] == [("a", 1), ("b", 1), ("a", 0)]

    asyncio.run(run())


def test_two_who_ask_at_once_get_the_same() -> None:
    async def run() -> None:
        opened: list[Opened] = []
        pool = _pool(1, opened)
        one, two = await asyncio.gather(pool.borrow("a"), pool.borrow("a"))
        assert one is two
        assert (len(opened), pool.places["a"].users) == (1, 2)

    asyncio.run(run())


def test_one_that_cannot_be_opened_is_not_counted() -> None:
    async def run() -> None:
        pool = _pool(1, [])
        with pytest.raises(ServiceUnavailable, match="broken"):
            await pool.borrow("broken")
        assert pool.places["broken"].users == 0
        await _used(pool, "a")

    asyncio.run(run())
