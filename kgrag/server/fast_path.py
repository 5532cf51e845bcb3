"""A shorter way to ``/sparql``, for the many requests that need none of what surrounds the other paths.

A request without ``Origin`` and without gzip in ``Accept-Encoding`` would pass through CORS, compression and routing
unchanged, at twice the cost of a small query.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgrag.errors import KgragError
from kgrag.server.access_keys import Keys, check_reader
from kgrag.server.problems import Problem, problem_response

__all__ = ["FastPath"]

_VARY = (b"vary", b"Accept-Encoding, Origin")
"""What CORS and compression would add: caches must not serve this answer to requests that they would change."""


class FastPath:
    """ASGI middleware that passes plain requests for one path to its endpoint, and all others on.

    Args:
        app: the rest of the application.
        path: the path.
        methods: methods that the endpoint takes.
        endpoint: answers, or raises what ``problem_response`` turns into an answer.
        keys: on a private server, a request needs one of them.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        path: str,
        methods: frozenset[str],
        endpoint: Callable[[Request], Awaitable[Response]],
        keys: Keys,
    ) -> None:
        self._app = app
        self._path = path
        self._methods = methods
        self._endpoint = endpoint
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a plain request, or pass it on."""
        if scope["type"] != "http" or scope["path"] != self._path or not self._is_plain(scope):
            await self._app(scope, receive, send)
            return

        async def send_with_vary(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], _VARY]
            await send(message)

        request = Request(scope, receive)
        try:
            if self._keys.private:
                check_reader(request, self._keys)
            response = await self._endpoint(request)
        except (Problem, KgragError, HTTPException) as error:
            response = await problem_response(request, error)
        await response(scope, receive, send_with_vary)

    def _is_plain(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            if name == b"origin" or (name == b"accept-encoding" and b"gzip" in value):
                return False
        return scope["method"] in self._methods
