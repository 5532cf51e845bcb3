"""Errors over HTTP: a status and a message for the client, never a path or a traceback.

They are sent as ``application/problem+json`` (RFC 9457): ``type``, ``title``, ``status``, ``detail``, and ``errors``
where a body does not have the expected form; ``graphs`` where the gate refuses a write. Under ``/v1`` they are the
error objects of OpenAI: ``message``, ``type``, ``param``, ``code``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.errors import (
    BudgetSpent,
    InputError,
    InvalidSPARQL,
    KgragError,
    NotBuilt,
    ServiceUnavailable,
    ShapeViolation,
    UnsupportedTask,
)
from kgrag.late_patterns import late_re
from kgrag.server.readers.reader_request import Overloaded, TookTooLong

__all__ = ["Problem", "openai_json", "over_http", "problem_json", "problem_of", "problem_response"]

_STATUS: dict[type[KgragError], int] = {
    TookTooLong: 504,
    ServiceUnavailable: 503,
    BudgetSpent: 429,
    ShapeViolation: 422,
    NotBuilt: 409,
    UnsupportedTask: 501,
    InputError: 400,
}
"""Errors whose message is for the client; the first that fits."""

_REQUESTS = (
    (late_re(r"`kgrag build ([^ `]+)[^`]*`"), r"`POST /build/\1`"),
    (late_re(r"`kgrag ingest PATH`"), "`POST /documents`"),
    (late_re(r"`kgrag load ONTOLOGY`"), "`PUT /graphs?graph=IRI`"),
)
"""What does over HTTP what a command does that a message names."""

_OPENAI_PATHS = "/v1/"
_OPENAI_KINDS: dict[int, tuple[str, str | None]] = {
    401: ("authentication_error", "invalid_api_key"),
    403: ("permission_error", "insufficient_permissions"),
    404: ("invalid_request_error", "not_found"),
    429: ("insufficient_quota", "insufficient_quota"),
    501: ("invalid_request_error", "unsupported"),
    503: ("server_error", "service_unavailable"),
    504: ("server_error", "timeout"),
}
"""Status -> type and code; others by their first digit."""

_CLIENT_LEFT = 499
"""A status that RFC 9110 does not know; nobody reads it."""

_LOG = logging.getLogger("kgrag.server")


class Problem(Exception):
    """A request that is refused.

    Attributes:
        status: the HTTP status.
        headers: headers of the answer.
        errors: what is wrong with which part of the body, each with ``pointer`` and ``detail``.
        more: further members of the JSON object.
    """

    def __init__(
        self,
        status: int,
        message: str,
        headers: dict[str, str] | None = None,
        *,
        errors: Sequence[dict[str, str]] = (),
        more: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.errors = errors
        self.more = dict(more or {})


async def problem_response(request: Request, error: Exception) -> Response:
    """Answer with what went wrong."""
    problem = problem_of(error)
    if request.scope["path"].startswith(_OPENAI_PATHS):
        again = {"x-should-retry": "false"} if isinstance(error, BudgetSpent) else {}  # by 429 OpenAI's client would
        return JSONResponse(openai_json(problem), problem.status, {**problem.headers, **again})
    return JSONResponse(problem_json(problem), problem.status, problem.headers, "application/problem+json")


def problem_of(error: Exception) -> Problem:
    """Return what a client may know of an error; one that is not of its making is explained in the log only."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        return Problem(error.status_code, _message_of_starlette(error), dict(error.headers or {}))
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            seconds = error.retry_after if isinstance(error, Overloaded) else 1
            headers = {"Retry-After": str(seconds)} if status == 503 else {}
            return Problem(status, over_http(error), headers, more=_place(error))
    _LOG.error("a request failed", exc_info=error)
    if isinstance(error, KgragError):
        return Problem(503, "the store cannot serve this now. The server's log has the reason.", {"Retry-After": "5"})
    return Problem(500, "something went wrong within the server. Its log has the reason.")


def over_http(error: KgragError) -> str:
    """Return the message of an error with requests in place of the commands that would do what is missing.

    >>> over_http(NotBuilt("method 'cg_rag' has no citation graph yet. Run `kgrag build cg_rag` first."))
    "method 'cg_rag' has no citation graph yet. Send `POST /build/cg_rag` first, or use /workbench."
    """
    message = str(error)
    if not isinstance(error, NotBuilt):
        return message
    sent = message
    for command, request in _REQUESTS:
        sent = command.sub(request, sent)
    return message if sent == message else re.sub(r"Run (.+) first\.", r"Send \1 first, or use /workbench.", sent)


def _place(error: KgragError) -> dict[str, object]:
    """Return where a SPARQL text is wrong, and the change that mends it, where that is known."""
    if not isinstance(error, InvalidSPARQL) or not error.line:
        return {}
    place: dict[str, object] = {"line": error.line, "column": error.column}
    if error.mend is not None:
        place["mend"] = dict(zip(("start", "end", "text"), error.mend, strict=True))
    return place


def problem_json(problem: Problem) -> dict[str, object]:
    """Return a problem as the JSON object of RFC 9457."""
    title = "Client Left" if problem.status == _CLIENT_LEFT else HTTPStatus(problem.status).phrase
    members: dict[str, object] = {
        "type": "about:blank",
        "title": title,
        "status": problem.status,
        "detail": str(problem),
    }
    return {**members, **({"errors": list(problem.errors)} if problem.errors else {}), **problem.more}


def openai_json(problem: Problem) -> dict[str, Any]:
    """Return a problem as OpenAI's error object."""
    kind, code = _OPENAI_KINDS.get(
        problem.status, ("server_error", "server_error") if problem.status >= 500 else ("invalid_request_error", None)
    )
    error = {"message": str(problem), "type": kind, "param": problem.more.get("param")}
    return {"error": {**error, "code": problem.more.get("code", code)}}


def _message_of_starlette(error: HTTPException) -> str:
    if error.status_code == HTTPStatus.NOT_FOUND:
        return "nothing is served at this address. The start page is /, the API is described in /openapi.json."
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "another method")
        return f"this method has no meaning at this address. Use {allowed}."
    return f"{error.detail}."
