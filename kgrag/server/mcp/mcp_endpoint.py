"""``/mcp``, which loads the protocol's SDK when it is first asked.

Each request stands alone: there are no sessions, so none can be taken over, and each brings its key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from kgrag.server.access_keys import authorization_of
from kgrag.server.paid_access import is_cross_site
from kgrag.server.problems import Problem, problem_response

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

__all__ = ["McpEndpoint"]


class McpEndpoint:
    """``/mcp`` as an ASGI application; it serves within ``running``."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take requests until the block ends."""
        self._asked, ended = asyncio.Event(), asyncio.Event()
        self._manager = asyncio.get_running_loop().create_future()
        managing = asyncio.create_task(self._manage(self._manager, ended))
        try:
            yield
        finally:
            ended.set()
            self._asked.set()
            await managing

    async def _manage(self, manager: asyncio.Future[StreamableHTTPSessionManager], ended: asyncio.Event) -> None:
        """Run the SDK's manager from the first request to the end, in one task, as it wants to be run."""
        await self._asked.wait()
        if ended.is_set():
            return
        try:
            # The SDK takes as long to load as all else of a server, most of which nobody asks by the protocol.
            loaded = await asyncio.to_thread(_http_manager)
        except Exception as error:
            manager.set_exception(error)
            return
        async with loaded.run():
            manager.set_result(loaded)
            await ended.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, unless a page of another site made a browser send it without a key."""
        request = Request(scope, receive)
        if is_cross_site(request) and not authorization_of(request).lower().startswith("bearer "):
            problem = Problem(403, "a page of another site sent this. Send a key as Bearer.")
            await (await problem_response(request, problem))(scope, receive, send)
            return
        assert self._manager is not None
        self._asked.set()
        manager = await asyncio.shield(self._manager)  # others wait for it too when this client leaves
        await manager.handle_request(scope, receive, send)


def _http_manager() -> StreamableHTTPSessionManager:
    from kgrag.server.mcp.mcp_protocol import http_manager

    return http_manager()
