"""``/v1/models``: one model per method that is built; and which method a model is."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag import plugins
from kgrag.errors import KgragError
from kgrag.knowledge_base.built_methods import built_methods
from kgrag.server.openai_api.request_bodies import refusal
from kgrag.server.problems import Problem
from kgrag.server.server_state import workers_of

__all__ = ["PREFIX", "method_of", "model", "models", "unknown_address"]

PREFIX = "kgrag-"
_CREATED = 1735689600
"""A model has no date of its own, and clients want one: the beginning of 2025."""


async def models(request: Request) -> Response:
    """List the models."""
    built = await _built(request)
    return JSONResponse({"object": "list", "data": [_model(name) for name in built]})


async def model(request: Request) -> Response:
    """Return one model.

    Raises:
        Problem: 404: there is none of this name.
    """
    method = await method_of(request, request.path_params["name"])
    return JSONResponse(_model(method))


async def unknown_address(_: Request) -> Response:
    """Refuse what has no address here.

    Raises:
        Problem: 404.
    """
    raise Problem(404, "this is not served here. /v1 has GET models; POST chat/completions, responses, embeddings.")


async def method_of(request: Request, name: str) -> str:
    """Return the method, with its hyper-parameters, that the name of a model means.

    Raises:
        Problem: 404: there is no such method, or it is not built; 400: it has no such hyper-parameter.
    """
    spec = name.removeprefix("kgrag/").removeprefix(PREFIX)
    method, workers, built = spec.partition(":")[0], workers_of(request), await _built(request)
    if method not in built:
        reason = "is not built yet" if method in plugins.methods() else "does not exist"
        listed = ", ".join(PREFIX + each for each in built) or "none"
        message = f"the model '{name[:200]}' {reason}. There are: {listed}."
        raise refusal(message, "model", "model_not_found", status=404)
    try:
        await workers.run(lambda: workers.alone(lambda: workers.kb.method(spec)))
    except KgragError as error:
        raise refusal(str(error), "model") from error
    return spec


async def _built(request: Request) -> list[str]:
    workers = workers_of(request)
    return await workers.run(lambda: built_methods(workers.kb.store))


def _model(method: str) -> dict[str, Any]:
    return {"id": PREFIX + method, "object": "model", "created": _CREATED, "owned_by": "kgrag"}
