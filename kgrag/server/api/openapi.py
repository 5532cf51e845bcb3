"""The OpenAPI 3.1 document, generated from the models that requests are checked by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.server.api.json_schemas import (
    AnswerReply,
    AskRequest,
    AuditReply,
    AuditRequest,
    CheckReply,
    CheckRequest,
    ProblemReply,
    RetrievalReply,
    RetrieveRequest,
)

__all__ = ["OPERATIONS", "ApiOperation", "openapi"]

_SCHEMAS = "#/components/schemas/"
_REFUSALS = {
    "400": "The body is no JSON, or a value makes no sense here (an unknown method).",
    "401": "Keeping an answer needs a key that is known, and so does asking where answers cost money.",
    "403": "This server takes no writes; or answers cost money, and it has no keys or a page of another site asks.",
    "409": "The method has nothing to look in yet.",
    "413": "The body is too large.",
    "415": "The body is no JSON by its Content-Type.",
    "422": "The body is not what is declared here; `errors` has the places.",
    "501": "The configured model cannot do this.",
    "503": "Too much is asked at once, or a service did not answer; Retry-After has the seconds to wait.",
}


@dataclass(frozen=True)
class ApiOperation:
    """One path of the API."""

    path: str
    summary: str
    request: type[BaseModel]
    reply: type[BaseModel]
    refusals: tuple[str, ...]
    streams: bool = False


_COMMON = ("400", "409", "413", "415", "422", "503")
OPERATIONS = (
    ApiOperation(
        "/ask",
        "Answer a question with citations from stored texts, or with `unknown`",
        AskRequest,
        AnswerReply,
        (*_COMMON, "401", "403", "501"),
        streams=True,
    ),
    ApiOperation(
        "/retrieve",
        "Return the evidence only, best first",
        RetrieveRequest,
        RetrievalReply,
        (*_COMMON, "401", "403", "501"),
    ),
    ApiOperation(
        "/check", "Report where a SPARQL query departs from the ontologies and data", CheckRequest, CheckReply, _COMMON
    ),
    ApiOperation(
        "/audit",
        "Report which checks an ontology of the knowledge base fails",
        AuditRequest,
        AuditReply,
        ("400", "413", "415", "422", "503"),
    ),
)
"""Every path, as it is served and described."""


async def openapi(_request: Request) -> Response:
    """Return the document."""
    return JSONResponse(_document())


@cache
def _document() -> dict[str, Any]:
    models: list[type[BaseModel]] = [ProblemReply]
    for operation in OPERATIONS:
        models += [operation.request, operation.reply]
    _, schemas = models_json_schema([(model, "validation") for model in models], ref_template=f"{_SCHEMAS}{{model}}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kgrag",
            "version": "1",
            "description": "Questions to one knowledge base. SPARQL is at `/sparql`, as its standard has it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {operation.path: {"post": _post_item(operation)} for operation in OPERATIONS},
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _post_item(operation: ApiOperation) -> dict[str, Any]:
    replies: dict[str, Any] = {"application/json": {"schema": _ref(operation.reply)}}
    if operation.streams:
        events = "Events `hits`, `sentence` (one each), `done` (the whole answer), `problem`."
        replies["text/event-stream"] = {"schema": {"type": "string", "description": events}}
    problem = {"application/problem+json": {"schema": _ref(ProblemReply)}}
    refusals = {status: {"description": _REFUSALS[status], "content": problem} for status in sorted(operation.refusals)}
    item: dict[str, Any] = {
        "operationId": operation.path.removeprefix("/"),
        "summary": operation.summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(operation.request)}}},
        "responses": {"200": {"description": "Done.", "content": replies}, **refusals},
    }
    return {**item, "security": [{}, {"key": []}]} if "401" in operation.refusals else item


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"{_SCHEMAS}{model.__name__}"}
