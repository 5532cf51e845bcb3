"""What agents can read as resources: the catalogue, each ontology, the stored queries."""

from __future__ import annotations

import json
from dataclasses import dataclass
from urllib.parse import quote, unquote

import pyoxigraph as ox
from starlette.requests import Request

from kgrag import queries
from kgrag.errors import InputError, UnknownName
from kgrag.server.mcp.reading_tools import graphs
from kgrag.server.mcp.tool_arguments import GraphsArguments
from kgrag.server.server_state import workers_of
from kgrag.vocab import PREFIXES

__all__ = ["TEMPLATES", "Readable", "listed", "read"]

_CATALOGUE, _QUERIES = "kgrag://catalogue", "kgrag://queries"
_GRAPH, _QUERY = "kgrag://graph/", "kgrag://query/"
_JSON, _TURTLE, _SPARQL = "application/json", "text/turtle", "application/sparql-query"
_MAX_CHARACTERS = 1_000_000
_MAX_ONTOLOGIES = 100


@dataclass(frozen=True)
class Readable:
    """A resource, or with ``{…}`` in its address a family of them."""

    uri: str
    name: str
    description: str
    media: str


TEMPLATES = (
    Readable(_GRAPH + "{iri}", "graph", "A named graph as Turtle; its IRI is percent-encoded.", _TURTLE),
    Readable(_QUERY + "{+name}", "query", "A stored query; kgrag://queries lists them.", _SPARQL),
)


async def listed(request: Request) -> list[Readable]:
    """Return the catalogue, the list of stored queries, and each ontology."""
    found = await graphs(request, GraphsArguments(kind="OntologyGraph", limit=_MAX_ONTOLOGIES))
    return [
        Readable(_CATALOGUE, "catalogue", "Named graphs: how many of each kind; ontologies and data by name.", _JSON),
        Readable(_QUERIES, "queries", "The stored SPARQL queries with what each answers.", _JSON),
        *(
            Readable(_GRAPH + quote(graph["iri"], safe=""), graph["title"] or graph["iri"], "An ontology.", _TURTLE)
            for graph in found["graphs"]
        ),
    ]


async def read(request: Request, uri: str) -> tuple[str, str]:
    """Return media type and text of a resource.

    Raises:
        UnknownName: there is none at this address.
        InputError: it is too long to be read at once.
    """
    if uri == _CATALOGUE:
        return _JSON, json.dumps(await graphs(request, GraphsArguments(limit=500)), ensure_ascii=False)
    if uri == _QUERIES:
        return _JSON, json.dumps({name: queries.describe(name).title for name in queries.names()}, ensure_ascii=False)
    if uri.startswith(_QUERY):
        return _SPARQL, queries.describe(unquote(uri.removeprefix(_QUERY))).text
    if not uri.startswith(_GRAPH):
        raise UnknownName(f"there is no resource {uri[:200]}. There are {_CATALOGUE}, {_QUERIES} and {_GRAPH}IRI.")
    workers, iri = workers_of(request), unquote(uri.removeprefix(_GRAPH))

    def turtle() -> str:
        data = ox.serialize(workers.kb.graph(iri), format=ox.RdfFormat.TURTLE, prefixes=dict(PREFIXES))
        return (data or b"").decode()

    text = await workers.run(lambda: workers.alone(turtle))
    if len(text) > _MAX_CHARACTERS:
        raise InputError(f"<{iri}> has {len(text):,} characters as Turtle. Use the tools `schema` and `sparql`.")
    return _TURTLE, text
