"""The OpenAPI 3.1 document, generated from the models that requests are checked by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    BuildRequest,
    CheckReply,
    CheckRequest,
    DocumentReply,
    DocumentRequest,
    ForgottenReply,
    IngestReply,
    JobReply,
    ProblemReply,
    ReadDocument,
    RetrievalReply,
    RetrieveRequest,
)

__all__ = ["OPERATIONS", "ApiOperation", "openapi"]

_SCHEMAS = "#/components/schemas/"
_REFUSALS = {
    "400": "The body is no JSON, or a value makes no sense here (an unknown method).",
    "401": "Writing, also keeping an answer, needs a key that is known; so does asking where answers cost money.",
    "403": "The server or the key does not write; or answers cost money, and there are no keys or another site asks.",
    "404": "There is no such document or job.",
    "409": "The method has nothing to look in yet.",
    "413": "The body is too large.",
    "415": "The body is no JSON by its Content-Type.",
    "422": "The body is not what is declared here; `errors` has the places.",
    "501": "The configured model cannot do this.",
    "503": "Too much is asked at once, or a service did not answer; Retry-After has the seconds to wait.",
}


@dataclass(frozen=True)
class ApiOperation:
    """One method of a path of the API.

    Attributes:
        path: its address, with the names of its variables in braces.
        summary: what it does.
        request: the body; None for none.
        reply: the answer.
        refusals: statuses of errors.
        streams: what the events of an answer are, where it may be a stream of them.
        method: of HTTP.
        status: of the answer.
        more: other bodies by media type, each with its schema.
        parameters: of the query, each with its meaning.
    """

    path: str
    summary: str
    request: type[BaseModel] | None
    reply: type[BaseModel]
    refusals: tuple[str, ...]
    streams: str = ""
    method: str = "post"
    status: str = "200"
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)


_COMMON = ("400", "409", "413", "415", "422", "503")
_WRITING = ("400", "401", "403", "413", "415", "422", "503")
_FEED = {"feed": "The collection that the id belongs to; `api` without."}
_INTAKE = {
    **_FEED,
    "chunk_tokens": "The largest chunk, in words and marks.",
    "chunker": "Name of a registered chunker.",
    "embed": "Whether the chunks are embedded now (`true`), or at their first use.",
}
_REPLACES = {
    "name": "Name of the file that the body is.",
    "replaces": "What goes: `places`: what was at the places of these documents; `files`: what else their files"
    " contained; `folder`: what else was read from `folder`.",
    "folder": "Real path of a folder.",
    "source": "What the source that the folder is is to be called; as it is without.",
}
_FILE: dict[str, Any] = {"type": "string", "format": "binary"}
OPERATIONS = (
    ApiOperation(
        "/ask",
        "Answer a question with citations from stored texts, or with `unknown`",
        AskRequest,
        AnswerReply,
        (*_COMMON, "401", "403", "501"),
        streams="Events `hits`, `sentence` (one each), `done` (the whole answer), `problem`.",
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
    ApiOperation(
        "/documents",
        "Add documents: up to 32 at once (200), more, JSON Lines and files as a job (202)",
        DocumentRequest,
        IngestReply,
        _WRITING,
        more={
            "application/x-ndjson": {"$ref": f"{_SCHEMAS}{ReadDocument.__name__}"},
            "multipart/form-data": {"type": "object", "additionalProperties": _FILE},
            "*/*": _FILE,
        },
        parameters=_INTAKE | _REPLACES,
    ),
    ApiOperation(
        "/documents/{id}",
        "Add a document, or replace that of the same id (200)",
        DocumentRequest,
        IngestReply,
        _WRITING,
        method="put",
        status="201",
        parameters=_INTAKE,
    ),
    ApiOperation(
        "/documents/{id}",
        "Return the document of an id, IRI, location or title",
        None,
        DocumentReply,
        ("400", "404", "503"),
        method="get",
        parameters=_FEED,
    ),
    ApiOperation(
        "/documents/{id}",
        "Delete the document of an id, IRI, location or title, and what was derived from it alone",
        None,
        ForgottenReply,
        ("400", "401", "403", "404", "503"),
        method="delete",
        parameters=_FEED | {"all": "`true`: all documents of this id or title."},
    ),
    ApiOperation("/build/{method}", "Begin to build a method", BuildRequest, JobReply, _WRITING, status="202"),
    ApiOperation(
        "/jobs/{id}",
        "Return how far a job is",
        None,
        JobReply,
        ("404",),
        method="get",
        streams="Events `progress`, and at the end `done` or `failed`.",
    ),
)
"""Every path, as it is served and described."""


async def openapi(_request: Request) -> Response:
    """Return the document."""
    return JSONResponse(_document())


@cache
def _document() -> dict[str, Any]:
    models: list[type[BaseModel]] = [ProblemReply, JobReply, ReadDocument]
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        models += [operation.reply, *([] if operation.request is None else [operation.request])]
        paths.setdefault(operation.path, {})[operation.method] = _item(operation)
    every = [(model, "validation") for model in dict.fromkeys(models)]
    _, schemas = models_json_schema(every, ref_template=f"{_SCHEMAS}{{model}}")  # type: ignore[arg-type]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kgrag",
            "version": "1",
            "description": "Questions to one knowledge base. SPARQL is at `/sparql`, as its standard has it.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _item(operation: ApiOperation) -> dict[str, Any]:
    replies: dict[str, Any] = {"application/json": {"schema": _ref(operation.reply)}}
    if operation.streams:
        replies["text/event-stream"] = {"schema": {"type": "string", "description": operation.streams}}
    problem = {"application/problem+json": {"schema": _ref(ProblemReply)}}
    refusals = {status: {"description": _REFUSALS[status], "content": problem} for status in sorted(operation.refusals)}
    words = operation.path.replace("{", "").replace("}", "").strip("/").split("/")
    item: dict[str, Any] = {
        "operationId": "_".join([operation.method, *words] if operation.path.startswith("/documents") else words),
        "summary": operation.summary,
        "responses": {operation.status: {"description": "Done.", "content": replies}, **refusals},
    }
    if operation.more:
        job = {"application/json": {"schema": _ref(JobReply)}}
        item["responses"]["202"] = {"description": "A job; Location has its address.", "content": job}
    if operation.request is not None:
        bodies = {"application/json": {"schema": _ref(operation.request)}}
        bodies |= {media: {"schema": dict(schema)} for media, schema in operation.more.items()}
        item["requestBody"] = {"required": True, "content": bodies}
    text = {"type": "string"}
    named = [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in words
        if f"{{{name}}}" in operation.path
    ]
    named += [
        {"name": name, "in": "query", "description": meaning, "schema": text}
        for name, meaning in operation.parameters.items()
    ]
    if named:
        item["parameters"] = named
    return {**item, "security": [{}, {"key": []}]} if "401" in operation.refusals else item


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"{_SCHEMAS}{model.__name__}"}
