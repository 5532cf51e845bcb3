"""How the server does: ``/health``, ``/health/ready``, ``/metrics``, and ``/writes`` for those who look after it."""

from __future__ import annotations

import asyncio

from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kgrag.server.access_keys import Rights
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_request import Request
from kgrag.server.request_log import record_of
from kgrag.server.site import site_of
from kgrag.server.streaming import collected

__all__ = ["ROUTES"]

_SECONDS = 5.0
_LINES = 100
_MOST_LINES = 1000


async def health(request: HttpRequest) -> Response:
    """Say that the server lives, whatever its readers do."""
    dataset = site_of(request).dataset
    return JSONResponse({"status": "ok", "revision": dataset.revision, "base": dataset.names.base})


async def ready(request: HttpRequest) -> Response:
    """Say that a reader can open the present state of the store.

    Raises:
        ServiceUnavailable: none is free, or it does not answer within 5 seconds.
        StorageFailed: no snapshot can be written.
    """
    site = site_of(request)
    await collected(site.pool, Request("ping", {}, seconds=_SECONDS))
    return JSONResponse({"status": "ready", "revision": site.dataset.revision})


async def metrics(request: HttpRequest) -> Response:
    """Give what the server counts."""
    site = site_of(request)
    quads = await asyncio.to_thread(site.dataset.quads)
    text = site.metrics.text(site.pool, revision=site.dataset.revision, quads=quads)
    return Response(text, headers={"Content-Type": site.metrics.media})


async def writes(request: HttpRequest) -> Response:
    """Give the last lines of the log of writes, to a key with the right 'admin'.

    Raises:
        Problem: 400, 401, 403; 404: there is no such log.
    """
    site = site_of(request)
    record_of(request).key = site.keys.check(request.headers.get("authorization", ""), needed=Rights.ADMIN).name
    lines = request.query_params.get("last", str(_LINES))
    if not lines.isascii() or not lines.isdigit() or not 0 < int(lines) <= _MOST_LINES:
        raise Problem(400, f"last is {lines[:20]!r}; a number from 1 to {_MOST_LINES} is expected.")
    if site.log is None:
        raise Problem(404, "this server keeps no log of writes.")
    return Response(
        await asyncio.to_thread(site.log.last, int(lines)), headers={"Content-Type": "application/x-ndjson"}
    )


ROUTES = (
    Route("/health", health, methods=["GET"]),
    Route("/health/ready", ready, methods=["GET"]),
    Route("/metrics", metrics, methods=["GET"]),
    Route("/writes", writes, methods=["GET"]),
)
