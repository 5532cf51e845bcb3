"""Requests to endpoints of this process, made for a tool of an agent or for a form of a page."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message

from kgrag.server.request_log import attach_record

__all__ = ["Endpoint", "called", "local_request", "reply_of"]

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
    """Return the JSON that an endpoint answers to JSON with; arguments and errors as of ``reply_of``."""
    data = json.dumps(body or {}).encode()
    return json.loads(bytes((await reply_of(endpoint, request, data, path=path, query=query)).body))


async def reply_of(  # noqa: PLR0913 - the parts of a request
    endpoint: Endpoint,
    request: Request,
    body: bytes,
    *,
    media: str = "application/json",
    method: str = "POST",
    path: Mapping[str, str] | None = None,
    query: str = "",
    key: str = "",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return what an endpoint answers to a request with the rights of another one.

    Args:
        endpoint: answers it.
        request: the one that it is made for.
        body: what is sent.
        media: the media type of the body.
        method: of HTTP.
        path: parameters of the path.
        query: the part of an address after the question mark.
        key: an access key, in the place of the one that the request brings.
        headers: further ones.

    Raises:
        Problem: what the endpoint raises.
        KgragError: what the endpoint raises.
    """
    kept = [pair for pair in request.scope["headers"] if pair[0] in _KEPT_HEADERS]
    if key:
        kept = [pair for pair in kept if pair[0] != b"authorization"]
        kept.append((b"authorization", f"Bearer {key}".encode("utf-8", "surrogateescape")))
    kept += [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {
        **request.scope,
        "method": method,
        "headers": [*kept, (b"content-type", media.encode())],
        "path_params": dict(path or {}),
        "query_string": query.encode(),
    }

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return await endpoint(Request(scope, receive))


def local_request(app: Starlette) -> Request:
    """Return a request of whoever runs this process: without a key, from this machine."""
    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "app": app, "method": "POST", "scheme": "http", "path": "/mcp", "query_string": b""}
    scope |= {"headers": headers, "root_path": "", "server": ("localhost", None)}
    attach_record(scope)
    return Request(scope)
