"""The endpoint ``/indexes``: which texts of the loaded RDF can be searched for, as users declared it."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.errors import UnknownName
from kgrag.http_api.write_schemas import IndexRequest
from kgrag.querying.text_indexes import declared_indexes
from kgrag.querying.text_indexes.declared_indexes import TextIndex
from kgrag.querying.text_indexes.text_indexes import IndexState
from kgrag.server.api.json_endpoints import read_body
from kgrag.server.api.write_steps import write_record, written_alone
from kgrag.server.problems import Problem
from kgrag.server.server_state import address, state_of, workers_of
from kgrag.server.worker_threads import WorkerThreads

__all__ = ["get", "listed", "put", "remove"]


async def listed(request: Request) -> Response:
    """Return the indexes, by name."""
    workers = workers_of(request)
    return JSONResponse([_json(state) for state in await workers.run(workers.kb.text_indexes.states)])


async def get(request: Request) -> Response:
    """Return an index.

    Raises:
        Problem: 404: there is none of this name.
    """
    workers, name = workers_of(request), request.path_params["name"]
    return JSONResponse(_json(await workers.run(lambda: _found(workers, name))))


async def put(request: Request) -> Response:
    """Declare an index, or replace that of the same name; its query is run before, while others ask and write.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        InputError: the name is none, or taken; or there are too many.
        InvalidSPARQL: the query is refused, fails, takes too long or returns too much.
    """
    record, workers = write_record(request, "add index"), workers_of(request)
    body, name = await read_body(request, IndexRequest), request.path_params["name"]
    indexes = workers.kb.text_indexes
    before = await workers.run(indexes.names)
    checking = workers.begin_search_of_index(lambda: indexes.checked(TextIndex(name, body.sparql, body.title)))
    checked = await asyncio.wrap_future(checking)
    saved = await written_alone(state_of(request), record, workers, lambda: indexes.saved(checked))
    location = address(request, f"/indexes/{name}")
    return JSONResponse(_json(saved), 200 if name in before else 201, {"Location": location})


async def remove(request: Request) -> Response:
    """Remove an index.

    Raises:
        Problem: 401, 403; 404: there is none of this name.
    """
    record, workers = write_record(request, "remove index"), workers_of(request)
    name = request.path_params["name"]
    await workers.run(lambda: _found(workers, name))
    await written_alone(state_of(request), record, workers, lambda: workers.kb.remove_index(name))
    return Response(status_code=204)


def _found(workers: WorkerThreads, name: str) -> IndexState:
    try:
        declared_indexes.find(workers.kb.store, name)
    except UnknownName as error:
        raise Problem(404, str(error)) from None
    return next(state for state in workers.kb.text_indexes.states() if state.index.name == name)


def _json(state: IndexState) -> dict[str, Any]:
    found = asdict(state)
    return {**found.pop("index"), **found}
