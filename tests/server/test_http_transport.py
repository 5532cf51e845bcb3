"""The transport that gathers short writes."""

import asyncio
from collections.abc import Callable

import pytest

from kgrag.server.http_transport import BatchedTransport


class _Recorded(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.did: list[bytes | str] = []

    def write(self, data: bytes) -> None:  # type: ignore[override]
        self.did.append(bytes(data))

    def close(self) -> None:
        self.did.append("closed")


def _done(work: Callable[[BatchedTransport], None]) -> list[bytes | str]:
    async def whole() -> list[bytes | str]:
        real = _Recorded()
        work(BatchedTransport(real))
        await asyncio.sleep(0)
        return real.did

    return asyncio.run(whole())


def test_what_is_written_in_one_turn_goes_in_one_piece() -> None:
    def work(transport: BatchedTransport) -> None:
        transport.write(b"head ")
        transport.write(b"body")

    assert _done(work) == [b"head body"]


def test_a_long_block_goes_at_once_and_after_what_was_written_before() -> None:
    def work(transport: BatchedTransport) -> None:
        transport.write(b"head")
        transport.write(b"x" * 5000)
        transport.write(b"end")

    assert _done(work) == [b"head", b"x" * 5000, b"end"]


def test_what_was_written_goes_before_the_connection_closes() -> None:
    def work(transport: BatchedTransport) -> None:
        transport.write(b"last")
        transport.close()

    assert _done(work) == [b"last", "closed"]


@pytest.mark.parametrize("name", ["peername", "socket"])
def test_all_else_is_that_of_the_real_transport(name: str) -> None:
    async def whole() -> object:
        return BatchedTransport(_Recorded()).get_extra_info(name)

    assert asyncio.run(whole()) == (("127.0.0.1", 1) if name == "peername" else None)
