"""The endpoint ``/saved-queries``: queries that people saved for each other, as RDF."""

from __future__ import annotations

from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.errors import UnknownName
from kgrag.http_api.content_schemas import SavedTextRequest
from kgrag.http_api.write_schemas import QueryRequest
from kgrag.index.ontology_prefixes import ontology_prefixes
from kgrag.ports import TripleStore
from kgrag.querying import saved_queries
from kgrag.querying.saved_queries import QueryParameter, SavedQuery
from kgrag.server.api.json_endpoints import read_body
from kgrag.server.api.write_steps import write_record, written_alone
from kgrag.server.problems import Problem
from kgrag.server.server_state import address, state_of, workers_of

__all__ = ["get", "listed", "put", "remove", "text"]


async def listed(request: Request) -> Response:
    """Return the saved queries, by topic and name."""
    workers = workers_of(request)
    found = await workers.run(lambda: saved_queries.listed(workers.kb.store))
    return JSONResponse([asdict(query) for query in found])


async def get(request: Request) -> Response:
    """Return a saved query.

    Raises:
        Problem: 404: there is none of this name.
    """
    workers, name = workers_of(request), request.path_params["name"]
    return JSONResponse(asdict(await workers.run(lambda: _found(workers.kb.store, name))))


async def put(request: Request) -> Response:
    """Save a query, or replace that of the same name.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        InputError: name, text or parameters are none.
    """
    record, workers = write_record(request, "save query"), workers_of(request)
    body, name = await read_body(request, QueryRequest), request.path_params["name"]
    parameters = tuple(QueryParameter(**each.model_dump()) for each in body.parameters)
    query = SavedQuery(name, body.sparql, body.title, body.about, body.topic, body.method, parameters)
    before = {each.name for each in await workers.run(lambda: saved_queries.listed(workers.kb.store))}
    store = workers.kb.store
    saved = await written_alone(state_of(request), record, workers, lambda: saved_queries.save(store, query))
    location = address(request, f"/saved-queries/{saved.name}")
    return JSONResponse(asdict(saved), 200 if name in before else 201, {"Location": location})


async def text(request: Request) -> Response:
    """Return the text of a saved query with values for its parameters.

    Raises:
        Problem: 400, 413, 415, 422; 404: there is none of this name.
        InputError: a parameter has no value, or one of another kind; a value is for none of the parameters.
    """
    body, workers = await read_body(request, SavedTextRequest), workers_of(request)
    name, store = request.path_params["name"], workers.kb.store

    def bind() -> str:
        return saved_queries.bound(_found(store, name), body.values, ontology_prefixes(store))

    return JSONResponse({"sparql": await workers.run(bind)}, headers={"Cache-Control": "no-store"})


async def remove(request: Request) -> Response:
    """Remove a saved query.

    Raises:
        Problem: 401, 403; 404: there is none of this name.
    """
    record, workers = write_record(request, "remove query"), workers_of(request)
    name, store = request.path_params["name"], workers.kb.store
    await workers.run(lambda: _found(store, name))
    await written_alone(state_of(request), record, workers, lambda: saved_queries.remove(store, name))
    return Response(status_code=204)


def _found(store: TripleStore, name: str) -> SavedQuery:
    try:
        return saved_queries.find(store, name)
    except UnknownName as error:
        raise Problem(404, str(error)) from None
