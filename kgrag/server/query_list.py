"""The endpoint ``/queries``: the queries under way, and the end of one, for a key that may write."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.server.problems import Problem
from kgrag.server.server_state import state_of, writer_of

__all__ = ["cancel", "listed"]

_MAX_CHARACTERS_SHOWN = 2000


async def listed(request: Request) -> Response:
    """Return the queries at work and those that wait for a reader, the oldest first.

    Raises:
        Problem: 401, 403.
    """
    writer_of(request)
    now = time.monotonic()
    found = [
        {
            "id": run.name,
            "state": "waiting" if run.reader is None or run.reader.runs[0] is not run else "running",
            "seconds": round(now - run.begun, 3),
            "text": (run.request.written or run.request.body.decode(errors="replace"))[:_MAX_CHARACTERS_SHOWN],
            "client": run.request.client,
        }
        for run in state_of(request).pool.under_way()
    ]
    return JSONResponse(found, headers={"Cache-Control": "no-store"})


async def cancel(request: Request) -> Response:
    """End a query; its client gets 503, or a result without its end.

    Raises:
        Problem: 401, 403; 404: it is over.
    """
    writer_of(request)
    if not state_of(request).pool.cancel(request.path_params["id"]):
        raise Problem(404, "there is no such query, or it is over.")
    return Response(status_code=204)
