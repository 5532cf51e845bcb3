"""The operations of standards, as far as OpenAPI can describe them: SPARQL, the Graph Store, and agents' protocol.

Their endpoints read requests as the standards have it, so what stands here is description only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from kgrag.http_api.api_operation import BINARY, TEXT, ApiOperation
from kgrag.http_api.write_schemas import EffectParameters, EffectReply, VoidParameters
from kgrag.server.media_types import RDF, RESULTS
from kgrag.server.protocol_requests import MIN_SECONDS

__all__ = ["OPERATIONS"]

Graphs = Annotated[list[str], Field(default=[], description="IRIs of graphs.", max_length=20)]


class _Parameters(BaseModel):
    model_config = ConfigDict(populate_by_name=True)


class _Timed(_Parameters):
    timeout: float | None = Field(
        default=None, ge=MIN_SECONDS, lt=1e9, description="Seconds; at most those of the server."
    )


class _QueryDataset(_Timed):
    default: Graphs = Field(default=[], alias="default-graph-uri")
    named: Graphs = Field(default=[], alias="named-graph-uri")
    union: bool | None = Field(
        default=None, alias="union-default-graph", description="Whether the default graph is the union of all graphs."
    )


class _QueryOptions(_QueryDataset):
    download: Literal["csv", "tsv", "json", "xml", "ttl", "nt", "jsonld", "rdf"] | None = Field(
        default=None, description="Send the result as a file of this format, whatever Accept says."
    )


class QueryParameters(_QueryOptions):
    """A query; without one, the answer is the description of the service."""

    query: str | None = Field(default=None, description="A query of SPARQL 1.1 or 1.2.")


class QueryForm(_QueryOptions):
    """A query as a form."""

    query: str


class _UpdateDataset(_Timed):
    using: Graphs = Field(default=[], alias="using-graph-uri")
    using_named: Graphs = Field(default=[], alias="using-named-graph-uri")


class _EffectParameters(_UpdateDataset, EffectParameters):
    pass


class UpdateForm(_UpdateDataset):
    """An update as a form."""

    update: str


class GraphParameters(_Parameters):
    """Which graph: exactly one of the two, but for POST, which makes a new graph without any."""

    graph: str | None = Field(default=None, description="IRI of a named graph.")
    default: Literal[""] | None = Field(default=None, description="The default graph; no value.")


class ProtocolMessage(BaseModel):
    """A message of JSON-RPC 2.0, as the Model Context Protocol has them."""

    model_config = ConfigDict(extra="allow")

    jsonrpc: Literal["2.0"]
    id: int | str | None = None
    method: str | None = Field(default=None, examples=["initialize", "tools/list", "tools/call"])
    params: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


_FORM = "application/x-www-form-urlencoded"
_RESULTS = dict.fromkeys((*RESULTS, *RDF), TEXT)
_GRAPH = dict.fromkeys(RDF, TEXT)
_UPLOADS = dict.fromkeys(
    ("text/turtle", "application/n-triples", "text/n3", "application/ld+json", "application/rdf+xml"), TEXT
) | {"multipart/form-data": {"type": "object", "additionalProperties": BINARY}}
_READING = ("400", "401", "403", "406", "413", "415", "503", "504")
_WRITING = ("400", "401", "403", "412", "413", "415", "422", "503", "504")

_QUERIES = (
    ApiOperation(
        "sparql_query",
        "/sparql",
        "Run a query (SPARQL 1.1 Protocol); without one, describe the service",
        None,
        None,
        _READING,
        method="get",
        replies=_RESULTS,
        parameters=QueryParameters,
        tag="SPARQL",
    ),
    ApiOperation(
        "sparql_query_posted",
        "/sparql",
        "Run a query that is the body, or in a form",
        None,
        None,
        _READING,
        more={"application/sparql-query": TEXT, _FORM: QueryForm.model_json_schema()},
        replies=_RESULTS,
        parameters=_QueryDataset,
        tag="SPARQL",
    ),
    ApiOperation(
        "sparql_update",
        "/update",
        "Run an update that is the body, or in a form",
        None,
        None,
        _WRITING,
        status="204",
        more={"application/sparql-update": TEXT, _FORM: UpdateForm.model_json_schema()},
        parameters=_UpdateDataset,
        tag="SPARQL",
    ),
    ApiOperation(
        "update_effect",
        "/update/effect",
        "Report what an update would do, on a copy; nothing is written",
        None,
        EffectReply,
        _WRITING,
        more={"application/sparql-update": TEXT, _FORM: UpdateForm.model_json_schema()},
        parameters=_EffectParameters,
        tag="SPARQL",
    ),
    ApiOperation(
        "void",
        "/void",
        "Describe the named graphs (VoID), a thousand per page; Link leads to the other pages",
        None,
        None,
        ("400", "404", "406", "503", "504"),
        method="get",
        replies=_GRAPH,
        parameters=VoidParameters,
        tag="SPARQL",
    ),
)
_GRAPHS = (
    ApiOperation(
        "graph",
        "/graphs",
        "Return a graph",
        None,
        None,
        ("400", "404", "406", "503", "504"),
        method="get",
        replies=_GRAPH,
        parameters=GraphParameters,
        tag="Graph Store",
    ),
    ApiOperation(
        "graph_head",
        "/graphs",
        "Return the headers of a graph, with its ETag",
        None,
        None,
        ("400", "404", "406", "503"),
        method="head",
        parameters=GraphParameters,
        tag="Graph Store",
    ),
    ApiOperation(
        "put_graph",
        "/graphs",
        "Replace a graph, or make it (201)",
        None,
        None,
        _WRITING,
        method="put",
        status="204",
        also=("201",),
        more=_UPLOADS,
        parameters=GraphParameters,
        tag="Graph Store",
    ),
    ApiOperation(
        "post_graph",
        "/graphs",
        "Add to a graph, or make one (201, Location has its address)",
        None,
        None,
        _WRITING,
        status="204",
        also=("201",),
        more=_UPLOADS,
        parameters=GraphParameters,
        tag="Graph Store",
    ),
    ApiOperation(
        "delete_graph",
        "/graphs",
        "Remove a graph",
        None,
        None,
        ("400", "401", "403", "404", "412", "503"),
        method="delete",
        status="204",
        parameters=GraphParameters,
        tag="Graph Store",
    ),
)
_BY_ADDRESS = tuple(replace(each, name=f"{each.name}_at", path="/graphs/{graph}", parameters=None) for each in _GRAPHS)
_AGENTS = ApiOperation(
    "agents",
    "/mcp",
    "Talk to the tools for agents: Model Context Protocol, streamable HTTP without sessions",
    ProtocolMessage,
    ProtocolMessage,
    ("400", "403", "406", "413", "501"),
    streams="One event `message`, with the answer.",
    empty=("202",),
    tag="Agents",
    problem=None,
)
OPERATIONS = (*_QUERIES, *_GRAPHS, *_BY_ADDRESS, _AGENTS)
"""Every operation of a standard but OpenAI's."""
