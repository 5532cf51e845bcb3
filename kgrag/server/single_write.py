"""Sends head and body of a small answer in one piece.

The HTTP protocol writes them one after the other, and each write is a call of the system and wakes the client. What is
written within one turn of the event loop goes together here; long blocks go at once.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["Gathering", "OneWrite"]

_LONG = 4096


class Gathering:
    """A transport that holds short writes back until the turn of the loop is over; all else is the transport's.

    Args:
        transport: the real one.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._soon = asyncio.get_running_loop().call_soon
        self._kept: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        """Give what the real transport has."""
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send bytes, after those that were written before."""
        if len(data) > _LONG:
            self._send()
            self._transport.write(data)
            return
        if not self._kept:
            self._soon(self._send)
        self._kept.append(data)

    def close(self) -> None:
        """Close the connection when all is sent."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._kept:
            data = b"".join(self._kept)
            self._kept.clear()
            self._transport.write(data)


class OneWrite(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The HTTP protocol that uvicorn takes by itself, with a transport that gathers."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection."""
        super().connection_made(cast("Any", Gathering(cast("asyncio.Transport", transport))))
