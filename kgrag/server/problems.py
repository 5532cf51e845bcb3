"""What a client is told when something goes wrong: a status and a message, never a path or a traceback."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.adapters.readers import TookTooLong
from kgrag.errors import InputError, KgragError, ServiceUnavailable, ShapeViolation

__all__ = ["Problem", "told"]

_STATUS: dict[type[KgragError], int] = {
    TookTooLong: 504,
    ServiceUnavailable: 503,
    ShapeViolation: 422,
    InputError: 400,
}
"""Errors whose message is for the client; the first that fits."""

_LOG = logging.getLogger("kgrag.server")


class Problem(Exception):
    """A request that is refused.

    Attributes:
        status: the HTTP status.
        headers: what goes with it.
    """

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


async def told(_request: Request, error: Exception) -> Response:
    """Answer with what went wrong."""
    if isinstance(error, Problem):
        return _answer(error.status, str(error), error.headers)
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return _answer(status, str(error), {"Retry-After": "1"} if status == 503 else {})
    _LOG.error("a request failed", exc_info=error)
    if isinstance(error, KgragError):
        return _answer(503, "the store cannot serve this now. The server's log tells why.", {"Retry-After": "5"})
    return _answer(500, "something went wrong within the server. Its log tells what.", {})


def _answer(status: int, message: str, headers: dict[str, str]) -> Response:
    return JSONResponse({"status": status, "message": message}, status, headers)
