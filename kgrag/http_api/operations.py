"""The operations of the JSON API: the server checks requests by them, describes them, and the client is made from them.

The routes, ``/openapi.json``, ``/docs`` and ``kgrag.client`` all follow ``OPERATIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from kgrag.http_api.json_schemas import (
    AddParameters,
    AnswerReply,
    AskRequest,
    AuditReply,
    AuditRequest,
    CheckReply,
    CheckRequest,
    DocumentReply,
    DocumentRequest,
    DocumentsRequest,
    FeedParameters,
    ForgetParameters,
    ForgottenReply,
    HealthReply,
    IngestReply,
    IntakeParameters,
    ProblemReply,
    ReadDocument,
    ReadyReply,
    RetrievalReply,
    RetrieveRequest,
    ValidateRequest,
    WritesParameters,
)
from kgrag.http_api.write_schemas import (
    BuildRequest,
    DecisionsRequest,
    IndexListReply,
    IndexReply,
    IndexRequest,
    JobReply,
    JobsReply,
    ProposalsParameters,
    ProposalsReply,
    QueryRequest,
    RunningReply,
    SavedQueriesReply,
    SavedQueryReply,
)

__all__ = ["BINARY", "OPERATIONS", "SCHEMAS", "TEXT", "ApiOperation", "schema_of"]

SCHEMAS = "#/components/schemas/"
TEXT: Mapping[str, Any] = {"type": "string"}
BINARY: Mapping[str, Any] = {"type": "string", "format": "binary"}
_JSON = "application/json"


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return a reference to the schema of a model.

    >>> schema_of(ProblemReply)
    {'$ref': '#/components/schemas/ProblemReply'}
    """
    return {"$ref": f"{SCHEMAS}{model.__name__}"}


@dataclass(frozen=True)
class ApiOperation:
    """One method of a path of the API.

    Attributes:
        name: what the client calls it.
        path: its address, with the names of its variables in braces.
        summary: what it does.
        request: the body, as JSON; None for none.
        reply: the answer, as JSON; None: none, or one of ``replies``.
        refusals: statuses of errors.
        streams: what the events of an answer are, where it may be a stream of them.
        method: of HTTP.
        status: of the answer.
        also: other statuses of the same answer.
        empty: other statuses, without an answer.
        accepted: the answer where it becomes a job (202).
        more: other bodies by media type, each with its schema.
        replies: other answers by media type, each with its schema.
        parameters: of the query.
        tag: the part of the API that it belongs to.
        problem: what an error is; None: it has no body.
    """

    name: str
    path: str
    summary: str
    request: type[BaseModel] | None
    reply: type[BaseModel] | None
    refusals: tuple[str, ...] = ()
    streams: str = ""
    method: str = "post"
    status: str = "200"
    also: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    accepted: type[BaseModel] | None = None
    more: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    replies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parameters: type[BaseModel] | None = None
    tag: str = "JSON"
    problem: type[BaseModel] | None = ProblemReply

    @property
    def path_variables(self) -> list[str]:
        """The names of the variables of its path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


_COMMON = ("400", "409", "413", "415", "422", "503", "504")
_ASKING = (*_COMMON, "401", "403", "406", "501")
_WRITING = ("400", "401", "403", "413", "415", "422", "503")
OPERATIONS = (
    ApiOperation(
        "ask",
        "/ask",
        "Answer a question with citations from stored texts, or with `unknown`",
        AskRequest,
        AnswerReply,
        _ASKING,
        streams="Events `hits`, `sentence` (each once its citations are found), `done` (the whole answer), `problem`.",
        replies={"application/ld+json": {"type": "object", "description": "The graph that a kept answer has."}},
    ),
    ApiOperation(
        "retrieve", "/retrieve", "Return the evidence only, best first", RetrieveRequest, RetrievalReply, _ASKING
    ),
    ApiOperation(
        "check",
        "/check",
        "Report where a SPARQL query departs from the ontologies and data",
        CheckRequest,
        CheckReply,
        _COMMON,
    ),
    ApiOperation(
        "validate",
        "/validate",
        "Report where graphs of the knowledge base depart from SHACL shapes in graphs of it",
        ValidateRequest,
        AuditReply,
        _COMMON,
    ),
    ApiOperation(
        "audit",
        "/audit",
        "Report which checks an ontology of the knowledge base fails",
        AuditRequest,
        AuditReply,
        _COMMON,
    ),
    ApiOperation(
        "add_documents",
        "/documents",
        "Add documents: up to 32 at once (200), more, JSON Lines and files as a job (202)",
        DocumentsRequest,
        IngestReply,
        _WRITING,
        accepted=JobReply,
        more={
            "application/x-ndjson": schema_of(ReadDocument),
            "multipart/form-data": {
                "type": "object",
                "properties": {"title": TEXT, "metadata": TEXT},
                "additionalProperties": BINARY,
            },
            "*/*": BINARY,
        },
        parameters=AddParameters,
        tag="Documents",
    ),
    ApiOperation(
        "put_document",
        "/documents/{id}",
        "Add a document, or replace that of the same id (200)",
        DocumentRequest,
        IngestReply,
        _WRITING,
        method="put",
        status="201",
        also=("200",),
        parameters=IntakeParameters,
        tag="Documents",
    ),
    ApiOperation(
        "document",
        "/documents/{id}",
        "Return the document of an id, IRI, location or title",
        None,
        DocumentReply,
        ("400", "404", "503"),
        method="get",
        parameters=FeedParameters,
        tag="Documents",
    ),
    ApiOperation(
        "forget",
        "/documents/{id}",
        "Delete the document of an id, IRI, location or title, and what was derived from it alone",
        None,
        ForgottenReply,
        ("400", "401", "403", "404", "503"),
        method="delete",
        accepted=JobReply,
        parameters=ForgetParameters,
        tag="Documents",
    ),
    ApiOperation(
        "build",
        "/build/{method}",
        "Begin to build a method",
        BuildRequest,
        JobReply,
        _WRITING,
        status="202",
        tag="Jobs",
    ),
    ApiOperation(
        "job",
        "/jobs/{id}",
        "Return how far a job is",
        None,
        JobReply,
        ("404", "406"),
        method="get",
        streams="Events `progress`, and at the end `done`, `failed` or `cancelled`.",
        tag="Jobs",
    ),
    ApiOperation(
        "jobs",
        "/jobs",
        "Return the jobs that are remembered",
        None,
        JobsReply,
        ("401", "403"),
        method="get",
        tag="Jobs",
    ),
    ApiOperation(
        "cancel_job",
        "/jobs/{id}",
        "End a job: at once where it waits, else with its next step",
        None,
        JobReply,
        ("401", "403", "404"),
        method="delete",
        tag="Jobs",
    ),
    ApiOperation(
        "proposals",
        "/proposals",
        "Return what a method proposes for the ontology",
        None,
        ProposalsReply,
        ("400", "409", "503"),
        method="get",
        parameters=ProposalsParameters,
        tag="Proposals",
    ),
    ApiOperation(
        "decide",
        "/proposals",
        "Accept, reject or reopen proposals, and return all of them",
        DecisionsRequest,
        ProposalsReply,
        (*_WRITING, "409"),
        tag="Proposals",
    ),
    ApiOperation(
        "saved_queries",
        "/saved-queries",
        "Return the queries that are saved in the knowledge base",
        None,
        SavedQueriesReply,
        ("503",),
        method="get",
        tag="Saved queries",
    ),
    ApiOperation(
        "saved_query",
        "/saved-queries/{name}",
        "Return a saved query",
        None,
        SavedQueryReply,
        ("404", "503"),
        method="get",
        tag="Saved queries",
    ),
    ApiOperation(
        "save_query",
        "/saved-queries/{name}",
        "Save a query, or replace that of the same name (200)",
        QueryRequest,
        SavedQueryReply,
        _WRITING,
        method="put",
        status="201",
        also=("200",),
        tag="Saved queries",
    ),
    ApiOperation(
        "remove_query",
        "/saved-queries/{name}",
        "Remove a saved query",
        None,
        None,
        ("401", "403", "404", "503"),
        method="delete",
        status="204",
        tag="Saved queries",
    ),
    ApiOperation(
        "indexes",
        "/indexes",
        "Return the indexes that users declared, each with how it is",
        None,
        IndexListReply,
        ("503",),
        method="get",
        tag="Indexes",
    ),
    ApiOperation(
        "index",
        "/indexes/{name}",
        "Return an index that a user declared",
        None,
        IndexReply,
        ("404", "503"),
        method="get",
        tag="Indexes",
    ),
    ApiOperation(
        "add_index",
        "/indexes/{name}",
        "Declare an index, or replace that of the same name (200)",
        IndexRequest,
        IndexReply,
        _WRITING,
        method="put",
        status="201",
        also=("200",),
        tag="Indexes",
    ),
    ApiOperation(
        "remove_index",
        "/indexes/{name}",
        "Remove an index that a user declared",
        None,
        None,
        ("401", "403", "404", "503"),
        method="delete",
        status="204",
        tag="Indexes",
    ),
    ApiOperation(
        "running_queries",
        "/queries",
        "Return the queries at work and those that wait",
        None,
        RunningReply,
        ("401", "403"),
        method="get",
        tag="Operation",
    ),
    ApiOperation(
        "cancel_query",
        "/queries/{id}",
        "End a query: its client gets 503, or a result without its end",
        None,
        None,
        ("401", "403", "404"),
        method="delete",
        status="204",
        tag="Operation",
    ),
    ApiOperation("health", "/health", "Report that the server lives", None, HealthReply, method="get", tag="Operation"),
    ApiOperation(
        "ready",
        "/health/ready",
        "Report that the present state of the store can be read",
        None,
        ReadyReply,
        ("503", "504"),
        method="get",
        tag="Operation",
    ),
    ApiOperation(
        "metrics",
        "/metrics",
        "Return what the server counts, for Prometheus",
        None,
        None,
        method="get",
        replies={"text/plain": TEXT},
        tag="Operation",
    ),
    ApiOperation(
        "writes",
        "/writes",
        "Return the last lines of the log of writes, to a key with the right `admin`",
        None,
        None,
        ("400", "401", "403", "404"),
        method="get",
        replies={"application/x-ndjson": TEXT},
        parameters=WritesParameters,
        tag="Operation",
    ),
)
"""Every operation of the JSON API; those of SPARQL, of OpenAI and of agents stand with their endpoints."""
