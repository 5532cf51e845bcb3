"""The tools ``sparql``, ``check_sparql`` and ``validate``.

A query that fails or finds nothing comes back with what the check of queries finds in it, so that an agent can mend it.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from kgrag.errors import InvalidSPARQL, KgragError
from kgrag.http_api.json_schemas import ValidateRequest
from kgrag.querying import ontology_check
from kgrag.server.api.json_endpoints import validated
from kgrag.server.mcp.tool_arguments import CheckArguments, SparqlArguments, ValidateArguments
from kgrag.server.problems import Problem
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.sparql_endpoints import reader_request
from kgrag.server.streaming import collect_lines

__all__ = ["check_sparql", "sparql", "validate"]

_TABLE, _TRIPLES = "text/tab-separated-values", "application/n-triples"
_MAX_RESULT_BYTES = 200_000
"""An agent has to read it."""


async def sparql(request: Request, given: SparqlArguments) -> dict[str, Any]:
    """Run a query in a reader and return its first rows, each term as SPARQL writes it.

    Raises:
        Problem: 400: the query cannot be run; ``more`` has what the check finds.
        ServiceUnavailable: no reader was free, or it took too long.
    """
    try:
        task = await reader_request(request, given.query, results=_TABLE, rdf=_TRIPLES, seconds=given.seconds)
        pool = state_of(request).pool
        media, lines, truncated = await collect_lines(pool, task, lines=given.rows + 1, max_bytes=_MAX_RESULT_BYTES)
    except InvalidSPARQL as error:
        raise Problem(400, f"InvalidSPARQL: {error}", more=await _advice(request, given.query)) from error
    rows = [line.decode() for line in lines]
    if media == _TRIPLES:
        return {"triples": rows[: given.rows], "truncated": truncated or len(rows) > given.rows}
    if len(rows) == 1 and rows[0] in ("true", "false"):
        return {"boolean": rows[0] == "true"}
    found = {
        "variables": rows[0].replace("?", "").split("\t") if rows[0] else [],
        "rows": [row.split("\t") for row in rows[1:]],
        "truncated": truncated,
    }
    return found if len(rows) > 1 else {**found, **await _advice(request, given.query)}


async def _advice(request: Request, query: str) -> dict[str, Any]:
    """Return what the check finds in a query that failed or found nothing; {} where there is nothing to say."""
    try:
        checked = await _checked(request, query)
    except KgragError:  # there is no ontology, or too much is asked at once
        return {}
    checked.pop("valid")
    return {name: value for name, value in checked.items() if value}


async def check_sparql(request: Request, given: CheckArguments) -> dict[str, Any]:
    """Return where a query departs from the ontologies and data, with hints and, where mending is certain, the mend.

    Raises:
        NotBuilt: no ontology is loaded.
        ServiceUnavailable: too much is asked at once.
    """
    return await _checked(request, given.query)


async def _checked(request: Request, query: str) -> dict[str, Any]:
    workers = workers_of(request)

    def check() -> dict[str, Any]:
        checked = workers.kb.check(query)
        after = ontology_check.mended(checked, workers.kb.check)
        repaired = {"repaired": after.query, "valid_after_repair": after.valid} if after.query != query else {}
        return {**checked.to_json(), **repaired}

    return await workers.run(lambda: workers.alone(check))


async def validate(request: Request, given: ValidateArguments) -> dict[str, Any]:
    """Validate named graphs against shapes in named graphs.

    Raises:
        InputError: there is no such graph or shape, or nothing to validate.
        ServiceUnavailable: too much is asked at once.
    """
    return await validated(request, ValidateRequest(**given.model_dump()))
