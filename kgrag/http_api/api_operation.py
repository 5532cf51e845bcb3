"""An operation of the HTTP API as data: address, what it takes, what it returns, and how it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from kgrag.http_api.json_schemas import ProblemReply

__all__ = ["BINARY", "SCHEMAS", "TEXT", "ApiOperation", "schema_of"]

SCHEMAS = "#/components/schemas/"
TEXT: Mapping[str, Any] = {"type": "string"}
BINARY: Mapping[str, Any] = {"type": "string", "format": "binary"}


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return a reference to the schema of a model.

    >>> schema_of(ProblemReply)
    {'$ref': '#/components/schemas/ProblemReply'}
    """
    return {"$ref": f"{SCHEMAS}{model.__name__}"}


@dataclass(frozen=True)
class ApiOperation:
    """One method of a path of the API.

    Attributes:
        name: what the client calls it.
        path: its address, with the names of its variables in braces.
        summary: what it does.
        request: the body, as JSON; None for none.
        reply: the answer, as JSON; None: none, or one of ``replies``.
        refusals: statuses of errors.
        streams: what the events of an answer are, where it may be a stream of them.
        method: of HTTP.
        status: of the answer.
        also: other statuses of the same answer.
        empty: other statuses, without an answer.
        accepted: the answer where it becomes a job (202).
        more: other bodies by media type, each with its schema.
        replies: other answers by media type, each with its schema.
        parameters: of the query.
        tag: the part of the API that it belongs to.
        problem: what an error is; None: it has no body.
    """

    name: str
    path: str
    summary: str
    request: type[BaseModel] | None
    reply: type[BaseModel] | None
    refusals: tuple[str, ...] = ()
    streams: str = ""
    method: str = "post"
    status: str = "200"
    also: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    accepted: type[BaseModel] | None = None
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    replies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parameters: type[BaseModel] | None = None
    tag: str = "JSON"
    problem: type[BaseModel] | None = ProblemReply

    @property
    def path_variables(self) -> list[str]:
        """The names of the variables of its path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
