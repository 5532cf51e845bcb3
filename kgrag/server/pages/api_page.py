"""``/docs``: the API for people, from its OpenAPI document; nothing is loaded from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kgrag.server.openapi import document
from kgrag.server.pages.page_rendering import guarded, page

__all__ = ["docs"]

_Schema = Mapping[str, Any]


@dataclass(frozen=True)
class _Member:
    """A parameter, or a member of a JSON object."""

    name: str
    kind: str
    required: bool
    default: str
    about: str


@dataclass(frozen=True)
class _Body:
    """What is sent or returned as one media type: members where it is an object, else its kind."""

    media: str
    kind: str
    about: str
    members: list[_Member]


@dataclass(frozen=True)
class _Operation:
    name: str
    method: str
    path: str
    summary: str
    takes_key: bool
    parameters: list[_Member]
    bodies: list[_Body]
    replies: list[tuple[str, str, list[_Body]]]


@guarded
async def docs(request: Request) -> Response:
    """Show every operation of the API: what it takes and returns."""
    described = document()
    parts: dict[str, list[_Operation]] = {each["name"]: [] for each in described["tags"]}
    for path, methods in described["paths"].items():
        for method, item in methods.items():
            parts[item["tags"][0]].append(_operation(method, path, item))
    return page(request, "docs.html", parts=parts, about=described["info"]["description"])


def _operation(method: str, path: str, item: _Schema) -> _Operation:
    replies = [(status, reply["description"], _bodies(reply)) for status, reply in item["responses"].items()]
    parameters = [
        _member(each["name"], {**each["schema"], "description": each.get("description", "")}, "required" in each)
        for each in item.get("parameters", ())
    ]
    bodies = _bodies(item.get("requestBody", {}))
    takes_key = "security" in item
    return _Operation(
        item["operationId"], method.upper(), path, item["summary"], takes_key, parameters, bodies, replies
    )


def _bodies(described: _Schema) -> list[_Body]:
    return [_body(media, each["schema"]) for media, each in described.get("content", {}).items()]


def _body(media: str, schema: _Schema) -> _Body:
    resolved = _resolved(schema)
    about = schema.get("description") or resolved.get("description", "")
    return _Body(media, _kind(schema), about, list(_members(resolved)))


def _resolved(schema: _Schema) -> _Schema:
    while "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def _members(schema: _Schema) -> Iterator[_Member]:
    required = schema.get("required", ())
    for name, described in schema.get("properties", {}).items():
        yield _member(name, described, name in required)


def _member(name: str, schema: _Schema, required: bool) -> _Member:
    default = json.dumps(schema["default"]) if schema.get("default") not in (None, "", {}, []) else ""
    return _Member(name, _kind(schema), required, default, schema.get("description", ""))


def _kind(schema: _Schema) -> str:
    """Return the type of a schema in words.

    >>> _kind({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]})
    'list of string, or null'
    >>> _kind({"enum": ["text", "json"]})
    '"text" | "json"'
    """
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[1])
    if "anyOf" in schema:
        return ", or ".join(_kind(each) for each in schema["anyOf"])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    kind = str(schema.get("type", "any value"))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return kind + _bounds(schema)


def _bounds(schema: _Schema) -> str:
    low, high = schema.get("minimum", schema.get("minLength")), schema.get("maximum", schema.get("maxLength"))
    if low is None and high is None:
        return ""
    return f" ({'' if low is None else low} to {'' if high is None else high})"
