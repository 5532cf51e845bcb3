"""Stands before everything on a private server: who reads needs a key too."""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from kgrag.server.keys import Keys
from kgrag.server.problems import Problem, told
from kgrag.server.watch import record_of

__all__ = ["Guard", "admit"]

_OPEN = ("/health", "/health/ready")


def admit(request: Request, keys: Keys) -> None:
    """Let a request through that brings a key for reading, and note whose.

    Raises:
        Problem: 401, 403.
    """
    record_of(request).key = keys.reader(request.headers.get("authorization", "")).name


class Guard:
    """ASGI middleware that asks for a key; liveness and readiness tell nothing, and stay open."""

    def __init__(self, app: ASGIApp, *, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            admit(request, self._keys)
        except Problem as problem:
            await (await told(request, problem))(scope, receive, send)
            return
        await self._app(scope, receive, send)
