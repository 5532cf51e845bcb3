"""Why a query has these rows: the query, what its check found, and the triples behind each row, with their graphs.

``/explore/query?query=``. Query read: ``pages/stated_in``; the query of the address runs as that of a question does, in
a process that can be stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.errors import NotBuilt
from kgrag.knowledge_base import KnowledgeBase
from kgrag.querying.ontology_check import Finding
from kgrag.querying.text_to_sparql import Asker, Execution
from kgrag.querying.text_to_sparql.row_evidence import Row
from kgrag.querying.text_to_sparql.row_facts import Triple, names_in, triples_behind
from kgrag.server.pages.iri_links import Naming, Shown, naming_for
from kgrag.server.pages.page_queries import rows
from kgrag.server.pages.page_rendering import check_visited, guarded, page
from kgrag.server.problems import Problem
from kgrag.server.server_state import state_of, workers_of
from kgrag.sparql.query_reader import read

__all__ = ["query_rows"]

_MAX_ROWS_SHOWN = 10
_MAX_QUERY_CHARACTERS = 20_000


@dataclass(frozen=True)
class _Grounds:
    """What a query gave; ``unchecked`` is why it was not checked, "" where it was."""

    execution: Execution
    rows: Sequence[Row]
    behind: Mapping[Row, tuple[Triple, ...]]
    issues: tuple[Finding, ...] = ()
    unchecked: str = ""


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
    found = await workers.run(lambda: workers.alone(lambda: _grounds(workers.kb, sparql)))
    if found.execution.problem:
        raise Problem(400, f"the query did not run: {found.execution.problem}")
    triples = list(dict.fromkeys(triple for behind in found.behind.values() for triple in behind))
    graphs = await _graphs(request, triples)
    terms = [*(term for triple in triples for term in triple), *(term for row in found.rows for term in row)]
    naming = await naming_for(request, [*terms, *(graph for stating in graphs.values() for graph in stating)])
    naming = replace(naming, labels={**names_in(triples), **naming.labels})
    return page(
        request,
        "query_rows.html",
        query=sparql,
        issues=found.issues,
        unchecked=found.unchecked,
        rows=[_shown(row, found, graphs, naming) for row in found.rows],
        more=len(set(found.execution.rows)) - len(found.rows),
    )


def _grounds(kb: KnowledgeBase, sparql: str) -> _Grounds:
    """Run a query as a question does, check it, and find the triples behind its rows."""
    asker = kb.method("obqc")
    assert isinstance(asker, Asker)
    query = read(sparql)
    execution = asker.runner(sparql, rows=asker.rows, seconds=asker.seconds)
    first = list(dict.fromkeys(execution.rows))[:_MAX_ROWS_SHOWN]
    behind = triples_behind(
        query, execution, first, run=lambda text: asker.runner(text, rows=asker.rows, seconds=asker.seconds)
    )
    try:
        return _Grounds(execution, first, behind, tuple(kb.check(sparql).findings))
    except NotBuilt as error:
        return _Grounds(execution, first, behind, unchecked=str(error))


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
