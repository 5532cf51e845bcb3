"""Reads the parameters of an address as the models declare them."""

from __future__ import annotations

from typing import Any, TypeVar, get_origin

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from kgrag.server.problems import Problem

__all__ = ["read_parameters"]

_Model = TypeVar("_Model", bound=BaseModel)


def read_parameters(request: Request, model: type[_Model]) -> _Model:
    """Return the parameters of a request's address as an instance of a model; a list has each value of its name.

    Raises:
        Problem: 400: one of them is unknown or makes no sense.
    """
    given: dict[str, Any] = dict(request.query_params)
    for name, field in model.model_fields.items():
        if name in given and get_origin(field.annotation) is list:
            given[name] = request.query_params.getlist(name)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)[0]
        raise Problem(400, f"the parameter '{wrong['loc'][0]}' of the address: {wrong['msg']}.") from None
