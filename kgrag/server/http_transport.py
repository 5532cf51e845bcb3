"""The HTTP protocol of the server: head and body of a small answer go out in one write.

uvicorn writes them one after the other, and each write is a system call and wakes the client. What is written within
one turn of the event loop is joined here; long blocks are written at once.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["BatchedHttpProtocol", "BatchedTransport"]

_MAX_BATCHED_BYTES = 4096


class BatchedTransport:
    """A transport that keeps short writes until the turn of the loop is over; all else is the real transport's.

    Args:
        transport: the real one.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._call_soon = asyncio.get_running_loop().call_soon
        self._unwritten: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        """Return the attribute of the real transport."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send bytes, after those that were written before."""
        if len(data) > _MAX_BATCHED_BYTES:
            self._write_batch()
            self._transport.write(data)
            return
        if not self._unwritten:
            self._call_soon(self._write_batch)
        self._unwritten.append(data)

    def close(self) -> None:
        """Close the connection when all is sent."""
        self._write_batch()
        self._transport.close()

    def _write_batch(self) -> None:
        if self._unwritten:
            data = b"".join(self._unwritten)
            self._unwritten.clear()
            self._transport.write(data)


class BatchedHttpProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The HTTP protocol that uvicorn chooses by itself, over a ``BatchedTransport``."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection."""
        super().connection_made(cast("Any", BatchedTransport(cast("asyncio.Transport", transport))))
