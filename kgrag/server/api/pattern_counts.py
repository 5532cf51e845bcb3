"""What each pattern of somebody's query matches, counted in readers that can be stopped, as every query is.

Queries read: ``explain/count``, ``profile/terms``.
"""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request

from kgrag.errors import InvalidSPARQL
from kgrag.model import plain
from kgrag.querying.query_explanation import SECONDS_PER_PATTERN, Parameters, counted, planned
from kgrag.server.readers.reader_request import TookTooLong
from kgrag.server.server_state import state_of
from kgrag.server.stored_rows import rows

__all__ = ["counted_patterns"]


async def counted_patterns(request: Request, sparql: str) -> list[dict[str, Any]]:
    """Return the patterns of a query with their figures; none of a text that cannot be read.

    All counts together take at most the seconds of one query.

    Raises:
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    state = state_of(request)
    end = time.monotonic() + state.pool.limits.seconds
    uses = await rows(request, "profile/terms", seconds=SECONDS_PER_PATTERN, graph=state.dataset.names.profile_graph)
    try:
        patterns = planned(sparql, state.dataset.prefixes, ((row[0], row[1], row[2]) for row in uses.values()))
    except InvalidSPARQL:
        return []
    found = []
    for pattern, values in patterns:
        left = min(SECONDS_PER_PATTERN, end - time.monotonic())
        found.append(pattern if values is None else counted(pattern, await _count(request, values, left)))
    return [each.to_json() for each in found]


async def _count(request: Request, values: Parameters, seconds: float) -> int | None:
    """Return how many statements a pattern matches; None: counting took too long."""
    if seconds <= 0:
        return None
    try:
        table = await rows(request, "explain/count", seconds=seconds, **values)
    except TookTooLong:
        return None
    return int(plain(table.rows[0][0]))
