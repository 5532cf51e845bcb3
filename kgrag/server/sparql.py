"""The endpoints ``/sparql`` and ``/update``: SPARQL 1.1 Protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from kgrag.adapters.readers import Request
from kgrag.server import description
from kgrag.server.media import RDF, RESULTS, choose
from kgrag.server.operations import Operation, read_query, read_update
from kgrag.server.problems import Problem
from kgrag.server.site import Site, address, site_of
from kgrag.server.streaming import collected, streamed
from kgrag.stages.sparql_dataset import with_dataset
from kgrag.stages.sparql_gate import Reading, check_query
from kgrag.stages.sparql_silent import without_silent_calls

__all__ = ["query", "update"]

_Value = TypeVar("_Value")
_QUICK = 20_000
"""Characters that the gate reads in a few milliseconds."""


async def query(request: HttpRequest) -> Response:
    """Answer a query, or describe the service to a bare GET.

    Raises:
        Problem: 400, 406, 413 or 415, as the protocol says.
        InvalidSPARQL: the gate or the engine refuses the query.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    accept = request.headers.get("accept", "")
    operation = await read_query(request)
    if operation is None:
        return description.service(request)
    results, rdf = choose(accept, RESULTS), choose(accept, RDF)
    if not results and not rdf:
        raise Problem(406, f"no result has a format of Accept: {accept[:200]}. Known: {', '.join((*RESULTS, *RDF))}.")
    site = site_of(request)
    text, reading = await _gate(operation.text, _checked)
    task = Request(
        "query",
        {
            "base": address(request, "/sparql"),
            "prefixes": dict(site.dataset.prefixes),
            "results": results,
            "rdf": rdf,
            **_dataset(operation, site, chooses=reading.chooses_dataset),
        },
        text.encode(),
        operation.seconds or site.pool.limits.seconds,
    )
    return await streamed(request, site.pool, task, {"Vary": "Accept"})


def _dataset(operation: Operation, site: Site, *, chooses: bool) -> dict[str, Any]:
    """Say what the query reads: the graphs of the request, else those of its FROM, else the server's default."""
    if operation.default or operation.named:
        graphs = {"default": _iris(operation.default), "named": _iris(operation.named)}
        return {"union": False, "dataset": graphs}
    union = site.dataset.union if operation.union is None else operation.union
    return {"union": union and not chooses, "dataset": None}


def _iris(graphs: tuple[ox.NamedNode, ...]) -> list[str]:
    return [graph.value for graph in graphs]


async def update(request: HttpRequest) -> Response:
    """Run an update; 204 means that it is done and survives the death of the server.

    Raises:
        Problem: 400, 401, 403, 413 or 415.
        InvalidSPARQL: the gate or the engine refuses the update.
        ServiceUnavailable: no reader was free to parse it.
    """
    site = site_of(request)
    site.keys.check(request.headers.get("authorization", ""))
    operation = await read_update(request)
    text = await _gate(
        operation.text, lambda text: with_dataset(without_silent_calls(text), operation.default, operation.named)
    )
    base = address(request, "/update")
    header = {"base": base, "prefixes": dict(site.dataset.prefixes)}
    await collected(site.pool, Request("check_update", header, text.encode(), of_store=False))
    async with site.turn:
        await asyncio.to_thread(site.dataset.update, text, base)
    return Response(status_code=204)


def _checked(text: str) -> tuple[str, Reading]:
    tame = without_silent_calls(text)
    return tame, check_query(tame)


async def _gate(text: str, read: Callable[[str], _Value]) -> _Value:
    return read(text) if len(text) < _QUICK else await asyncio.to_thread(read, text)
