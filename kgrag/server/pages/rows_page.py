"""Why a query has these rows: the query, what its check found, and the triples behind each row, with their graphs.

``/explore/query?query=``. Query read: ``pages/stated_in``; the query of the address runs as that of a question does, in
a process that can be stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.errors import NotBuilt
from kgrag.knowledge_base import KnowledgeBase
from kgrag.querying.ontology_check import Finding
from kgrag.querying.text_to_sparql import Execution
from kgrag.querying.text_to_sparql.row_evidence import Row
from kgrag.querying.text_to_sparql.row_facts import Triple, names_in, triples_behind
from kgrag.server.pages.iri_links import Naming, Shown, naming_for
from kgrag.server.pages.page_rendering import check_visited, guarded, page
from kgrag.server.problems import Problem, over_http
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.stored_rows import rows
from kgrag.sparql.query_reader import read

__all__ = ["query_rows"]

_MAX_ROWS_SHOWN, _MAX_ROWS_READ = 10, 1000
_SECONDS_PER_QUERY, _MAX_BYTES = 5.0, 1 << 30
_MAX_QUERY_CHARACTERS = 20_000


@dataclass(frozen=True)
class _Grounds:
    """What a query gave, its first rows, and the triples behind each."""

    execution: Execution
    rows: Sequence[Row]
    behind: Mapping[Row, tuple[Triple, ...]]


@dataclass(frozen=True)
class _ShownRow:
    """A row as columns with their values, and the triples behind it, each with the graphs that state it."""

    cells: tuple[tuple[str, Shown], ...]
    triples: tuple[tuple[Shown, Shown, Shown, tuple[Shown, ...]], ...]


@guarded
async def query_rows(request: Request) -> Response:
    """Show why ``?query=`` has the rows that it has: the first ten, each with its triples."""
    check_visited(request)
    sparql = request.query_params.get("query", "").strip()
    if not sparql or len(sparql) > _MAX_QUERY_CHARACTERS:
        raise Problem(400, f"a query of 1 to {_MAX_QUERY_CHARACTERS:,} characters is expected in ?query=.")
    workers = workers_of(request)
    found = await workers.report(lambda: _grounds(workers.kb, sparql))
    if found.execution.problem:
        raise Problem(400, f"the query did not run: {found.execution.problem}")
    issues, unchecked = await workers.run(lambda: workers.alone(lambda: _checked(workers.kb, sparql)))
    triples = list(dict.fromkeys(triple for behind in found.behind.values() for triple in behind))
    graphs = await _graphs(request, triples)
    terms = [*(term for triple in triples for term in triple), *(term for row in found.rows for term in row)]
    naming = await naming_for(request, [*terms, *(graph for stating in graphs.values() for graph in stating)])
    naming = replace(naming, labels={**names_in(triples), **naming.labels})
    return page(
        request,
        "query_rows.html",
        query=sparql,
        issues=issues,
        unchecked=unchecked,
        rows=[_shown(row, found, graphs, naming) for row in found.rows],
        more=len(set(found.execution.rows)) - len(found.rows),
    )


def _grounds(kb: KnowledgeBase, sparql: str) -> _Grounds:
    """Run a query as a question does, and find the triples behind its rows; nobody waits for that but its client."""
    query = read(sparql)
    run = partial(kb.runner, rows=_MAX_ROWS_READ, seconds=_SECONDS_PER_QUERY, max_bytes=_MAX_BYTES)
    execution = run(sparql)
    first = list(dict.fromkeys(execution.rows))[:_MAX_ROWS_SHOWN]
    return _Grounds(execution, first, triples_behind(query, execution, first, run=run))


def _checked(kb: KnowledgeBase, sparql: str) -> tuple[Sequence[Finding], str]:
    """Return what a check finds, and why there was none, "" where there was."""
    try:
        return kb.check(sparql).findings, ""
    except NotBuilt as error:
        return (), over_http(error)


async def _graphs(request: Request, triples: Sequence[Triple]) -> dict[Triple, list[ox.NamedNode]]:
    """Return the graphs that state each triple; those of kgrag's own books are left out."""
    if not triples:
        return {}
    things, properties, values = (sorted(ends, key=str) for ends in map(set, zip(*triples, strict=True)))
    table = await rows(
        request,
        "pages/stated_in",
        catalogue=state_of(request).dataset.names.catalogue,
        things=things,
        properties=properties,
        values=values,
    )
    found: dict[Triple, list[ox.NamedNode]] = {}
    for thing, property_, value, graph in table:
        if isinstance(thing, ox.NamedNode) and isinstance(property_, ox.NamedNode) and value is not None:
            found.setdefault((thing, property_, value), []).extend([graph] if isinstance(graph, ox.NamedNode) else [])
    return found


def _shown(row: Row, found: _Grounds, graphs: Mapping[Triple, Sequence[ox.NamedNode]], naming: Naming) -> _ShownRow:
    cells = zip(found.execution.variables, row, strict=True)
    return _ShownRow(
        tuple((name, naming.term(term)) for name, term in cells if term is not None),
        tuple(
            (
                naming.term(triple[0]),
                naming.property(triple[1].value),
                naming.term(triple[2]),
                tuple(naming.link(graph.value) for graph in graphs.get(triple, ())),
            )
            for triple in found.behind.get(row, ())
        ),
    )
