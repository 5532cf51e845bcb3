"""The tools: what agents are told of each, what it is called with, and what it calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from kgrag.errors import InputError, UnknownName
from kgrag.knowledge_base.built_methods import built_methods
from kgrag.resources import closest
from kgrag.server.api import document_endpoints, json_endpoints
from kgrag.server.inner_requests import called
from kgrag.server.mcp import query_tools, reading_tools
from kgrag.server.mcp import tool_arguments as arguments
from kgrag.server.problems import Problem
from kgrag.server.server_state import workers_of, writer_of

__all__ = ["TOOLS", "Tool", "call", "offered"]

_FEED = "agents"


@dataclass(frozen=True)
class Tool:
    """A tool.

    Attributes:
        name: what agents call it by.
        title: the same for a person.
        description: what it does and when to call it.
        arguments: what it is called with.
        work: does it.
        writes: whether it changes the knowledge base, which needs a key that may.
        destroys: whether something may be gone afterwards.
    """

    name: str
    title: str
    description: str
    arguments: type[BaseModel]
    work: Callable[[Request, Any], Awaitable[Mapping[str, Any]]]
    writes: bool = False
    destroys: bool = False


async def _ask(request: Request, given: arguments.AskArguments) -> dict[str, Any]:
    answer: dict[str, Any] = await called(json_endpoints.ask, request, given.model_dump(exclude_unset=True))
    del answer["hits"]  # the texts again, at length; `retrieve` has them
    return answer


async def _retrieve(request: Request, given: arguments.RetrieveArguments) -> dict[str, Any]:
    found: dict[str, Any] = await called(json_endpoints.retrieve, request, given.model_dump(exclude_unset=True))
    return found


async def _audit(request: Request, given: arguments.AuditArguments) -> dict[str, Any]:
    body = {"target": given.graph, "profile": given.profile, "limit": given.limit}
    report: dict[str, Any] = await called(json_endpoints.audit, request, body)
    return report


async def _add_document(request: Request, given: arguments.NewDocumentArguments) -> dict[str, Any]:
    body = {"feed": _FEED, **given.model_dump(exclude_unset=True)}
    report: dict[str, Any] = await called(document_endpoints.post, request, body)
    return report


async def _forget(request: Request, given: arguments.ForgetArguments) -> dict[str, Any]:
    return {"forgotten": await called(document_endpoints.delete, request, path={"id": given.name})}


TOOLS = (
    Tool(
        "ask",
        "Ask a question",
        "Answers a question from stored texts and facts. Every sentence has citations [n]: words of a stored document, "
        "with its chunk and character offsets. `unknown`: the knowledge base has no answer; do not make one up.",
        arguments.AskArguments,
        _ask,
    ),
    Tool(
        "retrieve",
        "Find evidence",
        "Finds passages or facts for a question, best first, with the spans that they are from. `where` limits the "
        "documents by their fields.",
        arguments.RetrieveArguments,
        _retrieve,
    ),
    Tool(
        "cite",
        "Show a cited span",
        "Shows the words of a citation with those around them, and where a person can open them. Use it to check a "
        "quote before repeating it.",
        arguments.CiteArguments,
        reading_tools.cite,
    ),
    Tool(
        "document",
        "Read a document",
        "Reads a stretch of a stored document's text.",
        arguments.DocumentArguments,
        reading_tools.document,
    ),
    Tool(
        "schema",
        "Show classes and properties",
        "Shows the part of the ontologies that a question is about: classes and properties with labels, domains and "
        "ranges, prefixes, and how often the data use them. Read it before writing SPARQL.",
        arguments.SchemaArguments,
        reading_tools.schema,
    ),
    Tool(
        "sparql",
        "Run a SPARQL query",
        "Runs a SPARQL 1.1 query, read-only, over the union of all named graphs. Terms come as SPARQL writes them. A "
        "query that fails or finds nothing comes back with findings and hints of how to mend it.",
        arguments.SparqlArguments,
        query_tools.sparql,
    ),
    Tool(
        "check_sparql",
        "Check a SPARQL query",
        "Compares a SPARQL query with the ontologies and data without running it: findings with hints, and the "
        "repaired query where the mend is certain.",
        arguments.CheckArguments,
        query_tools.check_sparql,
    ),
    Tool(
        "graphs",
        "List named graphs",
        "Lists the named graphs: how many of each kind, and those of one kind with title and size.",
        arguments.GraphsArguments,
        reading_tools.graphs,
    ),
    Tool(
        "validate",
        "Validate data",
        "Validates named graphs against SHACL shapes in named graphs. Nothing is written.",
        arguments.ValidateArguments,
        query_tools.validate,
    ),
    Tool(
        "audit",
        "Audit an ontology",
        "Reports which quality checks an ontology of the knowledge base fails. Nothing is written.",
        arguments.AuditArguments,
        _audit,
    ),
    Tool(
        "add_document",
        "Store a document",
        "Stores a text with its title, id, URL and metadata, so that it can be found and cited from now on. One with "
        "an id replaces what was stored under this id before.",
        arguments.NewDocumentArguments,
        _add_document,
        writes=True,
        destroys=True,
    ),
    Tool(
        "forget",
        "Delete a document",
        "Deletes a document and everything that was derived from it alone. This cannot be undone.",
        arguments.ForgetArguments,
        _forget,
        writes=True,
        destroys=True,
    ),
)


async def offered(request: Request) -> list[tuple[Tool, dict[str, Any]]]:
    """Return the tools that a request may call, each with the JSON schema of its arguments."""
    workers = workers_of(request)
    methods = await workers.run(lambda: built_methods(workers.kb.store))
    try:
        writer_of(request)
        may_write = True
    except Problem:
        may_write = False
    found = []
    for tool in TOOLS:
        if may_write or not tool.writes:
            schema = tool.arguments.model_json_schema()
            if "method" in schema["properties"]:
                schema["properties"]["method"] |= {"examples": methods}
            found.append((tool, schema))
    return found


async def call(request: Request, name: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result of a tool.

    Raises:
        UnknownName: there is no such tool.
        InputError: the arguments are not those of the tool; the message names each fault.
        Problem: what the tool raises.
        KgragError: what the tool raises.
    """
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        raise UnknownName(f"there is no tool '{name[:100]}'. {closest(name, [tool.name for tool in TOOLS])}")
    try:
        read = tool.arguments.model_validate(dict(given))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        listed = "; ".join(f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in faults[:5])
        known = ", ".join(tool.arguments.model_fields)
        raise InputError(f"{name}: {listed}. It takes {known}.") from None
    return await tool.work(request, read)
