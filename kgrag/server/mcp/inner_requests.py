"""Requests to endpoints of this process, made for a tool: with a body of their own, and the key of the agent's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from kgrag.server.request_log import attach_record

__all__ = ["called", "local_request"]

_KEPT_HEADERS = frozenset(
    b"authorization forwarded host origin sec-fetch-site via x-forwarded-for x-forwarded-host".split()
)
"""Headers that rights and prices go by."""

Endpoint = Callable[[Request], Awaitable[Response]]


async def called(
    endpoint: Endpoint,
    request: Request,
    body: Mapping[str, Any] | None = None,
    *,
    path: Mapping[str, str] | None = None,
    query: str = "",
) -> Any:
    """Return the JSON that an endpoint answers with.

    Args:
        endpoint: answers with JSON.
        request: that of the agent.
        body: sent as JSON.
        path: parameters of the path.
        query: the part of an address after the question mark.

    Raises:
        Problem: what the endpoint raises.
        KgragError: what the endpoint raises.
    """
    headers = [pair for pair in request.scope["headers"] if pair[0] in _KEPT_HEADERS]
    scope = {
        **request.scope,
        "headers": [*headers, (b"content-type", b"application/json")],
        "path_params": dict(path or {}),
        "query_string": query.encode(),
    }
    data = json.dumps(body or {}).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": data, "more_body": False}

    reply = await endpoint(Request(scope, receive))
    return json.loads(bytes(reply.body))


def local_request(app: Starlette) -> Request:
    """Return a request of whoever runs this process: without a key, from this machine."""
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "app": app, "method": "POST", "scheme": "http", "path": "/mcp", "query_string": b""}
    scope |= {"headers": headers, "root_path": "", "server": ("localhost", None)}
    attach_record(scope)
    return Request(scope)
