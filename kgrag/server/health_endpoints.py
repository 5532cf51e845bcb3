"""The state of the server: ``/health``, ``/health/ready``, ``/metrics``, and ``/writes`` for its operators."""

from __future__ import annotations

import asyncio

from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kgrag.http_api.json_schemas import WritesParameters
from kgrag.server.access_keys import Rights
from kgrag.server.api.request_parameters import read_parameters
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_request import ReaderRequest
from kgrag.server.server_state import state_of, writer_of
from kgrag.server.streaming import collect_result

__all__ = ["ROUTES"]

_READY_SECONDS = 5.0


async def health(request: HttpRequest) -> Response:
    """Report that the server lives, whatever its readers do."""
    dataset = state_of(request).dataset
    return JSONResponse({"status": "ok", "revision": dataset.revision, "base": dataset.names.base})


async def ready(request: HttpRequest) -> Response:
    """Report that a reader can open the present state of the store, and that the servers that it is on answer.

    Raises:
        ServiceUnavailable: no reader is free; or it, or one of these servers, does not answer within 5 seconds.
        StorageFailed: no snapshot can be written.
    """
    state = state_of(request)
    if state.backing is not None:
        await state.backing.refuse_missing()
    await collect_result(state.pool, ReaderRequest("ping", {}, seconds=_READY_SECONDS))
    return JSONResponse({"status": "ready", "revision": state.dataset.revision})


async def metrics(request: HttpRequest) -> Response:
    """Return what the server counts."""
    state = state_of(request)
    quads = await asyncio.to_thread(state.dataset.quads)
    text = state.metrics.text(state.pool, revision=state.dataset.revision, quads=quads)
    return Response(text, headers={"Content-Type": state.metrics.media})


async def writes(request: HttpRequest) -> Response:
    """Return the last lines of the log of writes, to a key with the right 'admin'.

    Raises:
        Problem: 400, 401, 403; 404: there is no such log.
    """
    state = state_of(request)
    writer_of(request, needed=Rights.ADMIN)
    lines = read_parameters(request, WritesParameters).last
    if state.write_log is None:
        raise Problem(404, "this server keeps no log of writes.")
    text = await asyncio.to_thread(state.write_log.last, lines)
    return Response(text, headers={"Content-Type": "application/x-ndjson"})


ROUTES = (
    Route("/health", health, methods=["GET"]),
    Route("/health/ready", ready, methods=["GET"]),
    Route("/metrics", metrics, methods=["GET"]),
    Route("/writes", writes, methods=["GET"]),
)
