"""The endpoints ``/sparql`` and ``/update``: SPARQL 1.1 Protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from kgrag.querying.searches import refuse_in_update
from kgrag.server import service_description
from kgrag.server.access_keys import Key, Rights
from kgrag.server.media_types import RDF, RESULTS, choose
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import Operation, read_query, read_update
from kgrag.server.readers.reader_request import Request
from kgrag.server.request_log import record_of
from kgrag.server.search_calls import searched
from kgrag.server.site import Site, address, site_of
from kgrag.server.streaming import collected, streamed
from kgrag.server.update_rewriting import with_dataset, without_silent_calls
from kgrag.server.update_targets import written
from kgrag.server.write_gate import Update
from kgrag.server.write_turn import write
from kgrag.sparql.gate import AdmittedText, check_query, check_update, harmless

__all__ = ["query", "update"]

_Value = TypeVar("_Value")
_QUICK = 20_000
"""Characters that the gate reads in a few milliseconds."""
_SHORT = 300
"""Characters of an address that is worth remembering."""
_SEARCHING = frozenset({"WHERE", "COPY", "MOVE", "ADD"})
"""Words of updates whose work has no bound in their own length."""


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
        return service_description.service(request)
    results, rdf = choose(accept, RESULTS), choose(accept, RDF)
    if not results and not rdf:
        raise Problem(406, f"no result has a format of Accept: {accept[:200]}. Known: {', '.join((*RESULTS, *RDF))}.")
    site = site_of(request)
    record_of(request).query = operation.text
    text, reading = await _gate(operation.text, _checked)
    found = await searched(request, text)
    dataset = _dataset(operation, site, chooses=reading.chooses_dataset)
    form = _Form(address(request, "/sparql"), results, rdf, dataset["union"])
    if found.similar is None and dataset["dataset"] is None and len(form.base) < _SHORT:
        header: dict[str, Any] | bytes = _packed(form, tuple(site.dataset.prefixes.items()))
    else:
        header = {**_header(form, site.dataset.prefixes), "similar": found.similar, **dataset}
    task = Request("query", header, found.text.encode(), operation.seconds or site.pool.limits.seconds)
    return await streamed(request, site.pool, task, {"Vary": "Accept"})


class _Form(NamedTuple):
    """What is the same for many queries: base IRI, media types for tables and for graphs, default graph."""

    base: str
    results: str
    rdf: str
    union: bool


def _header(form: _Form, prefixes: Mapping[str, str]) -> dict[str, Any]:
    return {**form._asdict(), "prefixes": dict(prefixes), "similar": None, "dataset": None}


@lru_cache(maxsize=256)
def _packed(form: _Form, prefixes: tuple[tuple[str, str], ...]) -> bytes:
    return json.dumps(_header(form, dict(prefixes))).encode()


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

    An update that searches (WHERE, COPY, MOVE, ADD) is first run by a reader on a copy of the store that is thrown
    away: whatever takes too long or too much memory is stopped there, and never begins to hold the writer. Only a key
    with the right 'admin' is trusted to know what it asks for, and saves that time.

    Raises:
        Problem: 400, 401, 403, 413, 415 or, where ontologies may not get worse, 422.
        InvalidSPARQL: the gate or the engine refuses the update.
        ServiceUnavailable: no reader was free to try it, or it used up its time there.
    """
    site, record = site_of(request), record_of(request)
    key = site.keys.writer(request.headers.get("authorization", ""))
    record.key, record.operation = key.name, "update"
    operation = await read_update(request)
    record.query = operation.text
    intent = await _gate(operation.text, lambda text: _intended(text, operation, key, site))
    record.graphs = intent.graphs
    base = address(request, "/update")
    again = await _allowed(site, intent, {"base": base, "prefixes": dict(site.dataset.prefixes)}, operation.seconds)
    async with site.turn:
        await again()
        await write(request, lambda: site.dataset.update(intent.text, base))
    return Response(status_code=204)


@dataclass(frozen=True)
class _Intent:
    """An update as it is run, the graphs that it may write to (None: any), whether it searches, and is tried first."""

    text: str
    graphs: frozenset[str] | None
    searches: bool
    tried: bool


def _intended(text: str, operation: Operation, key: Key, site: Site) -> _Intent:
    """Read what an update is about to do.

    Raises:
        Problem: 403: the key may not do that.
        InvalidSPARQL: the gate refuses it.
    """
    tame = without_silent_calls(text)
    reading = check_update(tame)
    refuse_in_update(tame)
    if operation.default or operation.named:
        tame = with_dataset(tame, operation.default, operation.named)
    if key.graphs is not None:
        limited = written(tame, site.dataset.prefixes)
        key.check_graphs(sorted(site.dataset.stored_as(graph) for graph in limited.graphs))
        tame = limited.text
    graphs = _spoken_of(tame, reading, site)
    stored = None if graphs is None else frozenset(site.dataset.stored_as(graph) for graph in graphs)
    searches = bool(reading.words & _SEARCHING)
    return _Intent(tame, stored, searches, searches and key.rights < Rights.ADMIN)


def _spoken_of(text: str, reading: AdmittedText, site: Site) -> Collection[str] | None:
    """Give the graphs that an update writes to, or, for a long or strange text, all those that it names."""
    with suppress(Problem):
        if len(text) < _QUICK:
            return written(text, site.dataset.prefixes).graphs
    return None if reading.graphs is None else reading.graphs | {""}


async def _allowed(
    site: Site, intent: _Intent, header: dict[str, Any], seconds: float | None
) -> Callable[[], Awaitable[None]]:
    """Let an update pass that can be run, and that the gate does not refuse; gives what is to be called in its turn."""
    if site.gate is not None:
        return await site.gate.update(Update(intent.text, header, intent.graphs, intent.searches, seconds))
    await _tried(site, intent, header, seconds)
    return _nothing


async def _nothing() -> None:
    """Do nothing."""


async def _tried(site: Site, intent: _Intent, header: dict[str, Any], seconds: float | None) -> None:
    """Let a reader parse an update, or run it on a copy of the store."""
    text, most = intent.text.encode(), seconds or site.pool.limits.seconds
    if not intent.tried:
        await collected(site.pool, Request("check_update", header, text, most, of_store=False))
        return
    async with site.pool.trial() as copy:
        task = Request("try_update", {**header, "copy": str(copy)}, text, most, of_store=False)
        await collected(site.pool, task)


def _checked(text: str) -> tuple[str, AdmittedText]:
    if harmless(text):
        return text, AdmittedText()
    tame = without_silent_calls(text)
    return tame, check_query(tame)


async def _gate(text: str, read: Callable[[str], _Value]) -> _Value:
    return read(text) if len(text) < _QUICK else await asyncio.to_thread(read, text)
