"""Rows of stored queries, run in reader processes that can be stopped, as everything from outside is."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest

from kgrag import queries
from kgrag.model import Table
from kgrag.server.readers.reader_request import ReaderRequest
from kgrag.server.server_state import state_of
from kgrag.server.streaming import collect_result

__all__ = ["bound", "kept", "rows"]

_JSON = "application/sparql-results+json"
_SECONDS_PER_QUERY = 10.0
_MAX_TABLES_KEPT = 16
"""Tables in memory; each is used until the store changes."""


async def rows(request: HttpRequest, name: str, /, *, seconds: float = _SECONDS_PER_QUERY, **values: Any) -> Table:
    """Return the rows of a stored SELECT; ``values`` are its parameters.

    Raises:
        TookTooLong: it worked longer than ``seconds``.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    found = await collect_result(state_of(request).pool, bound(name, results=_JSON, seconds=seconds, **values))
    solutions = ox.parse_query_results(found, ox.QueryResultsFormat.JSON)
    if not isinstance(solutions, ox.QuerySolutions):
        raise TypeError(f"queries/{name} is no SELECT")
    names = tuple(variable.value for variable in solutions.variables)
    return Table(names, [tuple(row) for row in solutions])


async def kept(request: HttpRequest, name: str, /, **values: Any) -> Table:
    """Return the rows of a stored SELECT, from memory while the store has not changed."""
    results: OrderedDict[tuple[int, str, str], Table] = request.app.state.page_tables
    wanted = (state_of(request).dataset.revision, name, repr(sorted(values.items())))
    if wanted not in results:
        results[wanted] = await rows(request, name, **values)
    results.move_to_end(wanted)
    while len(results) > _MAX_TABLES_KEPT:
        results.popitem(last=False)
    return results[wanted]


def bound(
    name: str, /, *, results: str = "", rdf: str = "", seconds: float = _SECONDS_PER_QUERY, **values: Any
) -> ReaderRequest:
    """Return a stored query as a request to a reader, which writes rows or RDF of these media types."""
    header = {"base": "", "prefixes": {}, "results": results, "rdf": rdf, "union": False, "dataset": None}
    return ReaderRequest("query", header, queries.bind(name, **values).encode(), seconds)
