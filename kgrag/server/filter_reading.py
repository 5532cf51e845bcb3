"""Filters of clients: their SPARQL patterns run in a reader that can be stopped, as everything from outside does."""

from __future__ import annotations

from dataclasses import replace

import pyoxigraph as ox
from starlette.requests import Request

from kgrag.errors import InvalidSPARQL
from kgrag.querying.document_filters import DocumentFilter, Where, matching_query, read_filter
from kgrag.server.readers.reader_request import ReaderRequest
from kgrag.server.server_state import state_of
from kgrag.server.streaming import collect_result
from kgrag.sparql.gate import check_query
from kgrag.vocab import PREFIXES

__all__ = ["filter_of"]

_JSON = "application/sparql-results+json"
_SECONDS_PER_PATTERN = 10.0


async def filter_of(request: Request, where: Where | None) -> DocumentFilter | None:
    """Return a filter of a client's, with the documents of each pattern in the place of the pattern; None for none.

    Raises:
        InputError: it is no filter.
        InvalidSPARQL: a pattern is no group, or the gate or the engine refuses it.
        TookTooLong: a pattern worked longer than ten seconds.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    if where is None:
        return None
    wanted = read_filter(where)
    bound = [await _bound(request, pattern) for pattern in wanted.patterns]
    return replace(wanted, patterns=(), within=(*wanted.within, *bound))


async def _bound(request: Request, pattern: str) -> frozenset[str]:
    query = matching_query(pattern)
    check_query(query)
    header = {"base": "", "prefixes": PREFIXES, "results": _JSON, "rdf": "", "union": True, "dataset": None}
    task = ReaderRequest("query", header, query.encode(), _SECONDS_PER_PATTERN)
    solutions = ox.parse_query_results(await collect_result(state_of(request).pool, task), ox.QueryResultsFormat.JSON)
    if not isinstance(solutions, ox.QuerySolutions):
        raise InvalidSPARQL("the filter is no pattern that binds ?document.")
    return frozenset(row[0].value for row in solutions if isinstance(row[0], ox.NamedNode))
