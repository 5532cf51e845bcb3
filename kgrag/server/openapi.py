"""``/openapi.json``: the OpenAPI 3.1 document, made from the operations that requests are checked by."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.http_api.api_operation import SCHEMAS, ApiOperation, schema_of
from kgrag.http_api.json_schemas import ReadDocument
from kgrag.http_api.operations import OPERATIONS as JSON_OPERATIONS
from kgrag.resources import version
from kgrag.server.api.protocol_operations import OPERATIONS as PROTOCOL_OPERATIONS
from kgrag.server.openai_api.v1_operations import OPERATIONS as OPENAI_OPERATIONS

__all__ = ["document", "openapi"]

_OPERATIONS = (*JSON_OPERATIONS, *PROTOCOL_OPERATIONS, *OPENAI_OPERATIONS)
_REFUSALS = {
    "400": "The body is no JSON, or a value makes no sense here (an unknown method).",
    "401": "Writing, also keeping an answer, needs a key that is known; so does asking where answers cost money.",
    "403": "The server or the key does not write; or answers cost money, and there are no keys or another site asks.",
    "404": "There is nothing of this name.",
    "406": "There is no answer of a type that Accept allows.",
    "409": "The method has nothing to look in yet.",
    "412": "The graph is not as the condition of the request wants it to be.",
    "413": "The body is too large.",
    "415": "The body is of another type.",
    "422": "The body is not what is declared here; `errors` has the places.",
    "429": "It may cost more than the limits that were sent, and nothing was asked; or the budget here is spent.",
    "501": "The configured model cannot do this, or a part is not installed.",
    "503": "Too much is asked at once, or a service did not answer; Retry-After has the seconds to wait.",
    "504": "The query took too long.",
}
_DESCRIPTION = (
    "One knowledge base: questions, documents, SPARQL. A private server wants a key for every operation but `/health`."
    " The pages for people are at `/`."
)


async def openapi(request: Request) -> Response:
    """Return the document."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return JSONResponse({**document(), **({"servers": [{"url": root}]} if root else {})})


@cache
def document() -> dict[str, Any]:
    """Return the document of a server with a knowledge base."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in _OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _item(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kgrag",
            "version": version(),
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name} for name in dict.fromkeys(each.tag for each in _OPERATIONS)],
        "paths": paths,
        "components": {
            "schemas": _schemas(_OPERATIONS),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(operations: Iterable[ApiOperation]) -> dict[str, Any]:
    models: list[type[BaseModel]] = [ReadDocument]
    for each in operations:
        own = (each.request, each.reply, each.accepted, each.problem)
        models += [model for model in own if model is not None]
    every = [(model, "validation") for model in dict.fromkeys(models)]
    _, schemas = models_json_schema(every, ref_template=f"{SCHEMAS}{{model}}")  # type: ignore[arg-type]
    found: dict[str, Any] = schemas["$defs"]
    return found


def _item(operation: ApiOperation) -> dict[str, Any]:
    item: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag],
        "responses": _responses(operation),
    }
    bodies = {} if operation.request is None else {"application/json": {"schema": schema_of(operation.request)}}
    bodies |= {media: {"schema": dict(schema)} for media, schema in operation.more.items()}
    if bodies:
        item["requestBody"] = {"required": True, "content": bodies}
    parameters = [*_path_parameters(operation), *_query_parameters(operation.parameters)]
    if parameters:
        item["parameters"] = parameters
    return {**item, "security": [{}, {"key": []}]} if "401" in operation.refusals else item


def _responses(operation: ApiOperation) -> dict[str, Any]:
    replies = {} if operation.reply is None else {"application/json": {"schema": schema_of(operation.reply)}}
    replies |= {media: {"schema": dict(schema)} for media, schema in operation.replies.items()}
    if operation.streams:
        replies["text/event-stream"] = {"schema": {"description": operation.streams}}
    done: dict[str, Any] = {"description": "Done.", **({"content": replies} if replies else {})}
    found = dict.fromkeys((operation.status, *operation.also), done)
    found |= {status: {"description": "Taken; there is no answer."} for status in operation.empty}
    if operation.accepted is not None:
        job = {"application/json": {"schema": schema_of(operation.accepted)}}
        found["202"] = {"description": "A job; Location has its address.", "content": job}
    media = "application/problem+json" if operation.tag != "OpenAI" else "application/json"
    problem = {} if operation.problem is None else {"content": {media: {"schema": schema_of(operation.problem)}}}
    return found | {each: {"description": _REFUSALS[each], **problem} for each in sorted(operation.refusals)}


def _path_parameters(operation: ApiOperation) -> list[dict[str, Any]]:
    schema = {"type": "string", "minLength": 1}
    return [{"name": each, "in": "path", "required": True, "schema": schema} for each in operation.path_variables]


def _query_parameters(model: type[BaseModel] | None) -> list[dict[str, Any]]:
    if model is None:
        return []
    schema = model.model_json_schema()
    found = []
    for name, declared in schema["properties"].items():
        described = dict(declared)
        about = described.pop("description", "")
        required = {"required": True} if name in schema.get("required", ()) else {}
        found.append({"name": name, "in": "query", "description": about, **required, "schema": described})
    return found
