"""Finds out, request by request, how much of the OpenAI protocol a server understands.

A reply's form is asked for by JSON schema, else by "some JSON object", else in words only. Parameters that a server
names in a refusal are left out (``temperature``, ``seed``) or called by their newer name (``max_tokens``). What was
found is remembered once a request has succeeded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kgrag.adapters.openai_service.connection import RejectedRequestError

__all__ = ["Dialect", "Dialects", "response_format", "simpler"]

Form = Literal["json_schema", "json_object", "text"]

_FORMS: tuple[Form, ...] = ("json_schema", "json_object", "text")
_OPTIONAL = ("seed", "temperature")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a request is put: the form of the reply, the name of the token limit, and parameters left out."""

    form: Form = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    without: frozenset[str] = frozenset()


def simpler(dialect: Dialect, error: RejectedRequestError) -> Dialect | None:
    """Give the next dialect to try after a refusal, or None when there is none.

    >>> refusal = RejectedRequestError(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
    >>> simpler(Dialect(), refusal).limit
    'max_completion_tokens'
    """
    if dialect.limit == "max_tokens" and (error.parameter == "max_tokens" or "max_completion_tokens" in str(error)):
        return replace(dialect, limit="max_completion_tokens")
    for name in _OPTIONAL:
        named = error.parameter == name if error.parameter else re.search(rf"\b{name}\b", str(error))
        if named and name not in dialect.without:
            return replace(dialect, without=dialect.without | {name})
    at = _FORMS.index(dialect.form)
    return replace(dialect, form=_FORMS[at + 1]) if at + 1 < len(_FORMS) else None


@dataclass(eq=False)
class Dialects:
    """What is known of one server; shared by threads, each of which only ever replaces a whole entry.

    A schema that a server refuses says little about other schemas when it has accepted one, so forms are remembered by
    schema, and an unknown schema starts at the best form that any schema was served in.
    """

    _common: Dialect = Dialect()
    _forms: dict[str, Form] = field(default_factory=dict)

    def first(self, schema: Mapping[str, Any] | None) -> Dialect:
        """Give the dialect to try first; free text (no schema) has nothing to ask for."""
        if schema is None:
            return replace(self._common, form="text")
        best = min(self._forms.values(), key=_FORMS.index, default=_FORMS[0])
        return replace(self._common, form=self._forms.get(_key(schema), best))

    def remember(self, schema: Mapping[str, Any] | None, dialect: Dialect) -> None:
        """Keep what was understood."""
        self._common = dialect
        if schema is not None:
            self._forms[_key(schema)] = dialect.form


def response_format(name: str, schema: Mapping[str, Any], form: str) -> dict[str, Any] | None:
    """Give the ``response_format`` of a request; None where the form is asked for in words."""
    if form == "json_schema":
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "reply"
        return {"type": form, "json_schema": {"name": safe, "schema": schema, "strict": _closed(schema)}}
    return {"type": form} if form == "json_object" else None


def _closed(schema: Any) -> bool:
    """Say whether every object is closed and requires all its properties, as "strict" mode demands."""
    if isinstance(schema, list | tuple):
        return all(_closed(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    if "properties" in schema or schema.get("type") == "object":
        named = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(named) != set(schema.get("required", ())):
            return False
    return all(_closed(item) for item in schema.values())


def _key(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)
