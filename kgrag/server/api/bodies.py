"""Reads JSON bodies strictly."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from kgrag.server.media import main_type
from kgrag.server.operations import body_of
from kgrag.server.problems import Problem

__all__ = ["read_body"]

_BYTES = 1 << 20
_TOLD = 20
_Model = TypeVar("_Model", bound=BaseModel)


async def read_body(request: Request, model: type[_Model]) -> _Model:
    """Give the body of a request as a model has it.

    Raises:
        Problem: 413, 415; 400: it is no JSON; 422: it is not what the model declares, and ``errors`` say where.
    """
    media, charset = main_type(request.headers.get("content-type", ""))
    if media != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send application/json, in UTF-8.")
    body = await body_of(request, _BYTES)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise _refused(error, model) from None


def _refused(error: ValidationError, model: type[BaseModel]) -> Problem:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if any(fault["type"] == "json_invalid" for fault in found):
        return Problem(400, f"the body is no JSON: {found[0]['msg']}.")
    faults = [{"pointer": _pointer(fault["loc"]), "detail": fault["msg"]} for fault in found[:_TOLD]]
    told = "; ".join(f"{fault['pointer'] or 'the body'}: {fault['detail']}" for fault in faults[:3])
    known = ", ".join(model.model_fields)
    return Problem(422, f"the body is not as it should be: {told}. It takes {known}; see /openapi.json.", errors=faults)


def _pointer(place: tuple[int | str, ...]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)
