"""The ASGI application: routes, and the middleware around them."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from collections import OrderedDict
from collections.abc import AsyncIterator, Collection
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from kgrag.audit.profiles import catalogue_of, load_profile
from kgrag.errors import KgragError
from kgrag.knowledge_base import KnowledgeBase
from kgrag.server import (
    api,
    graph_store,
    health_endpoints,
    openai_api,
    openapi,
    pages,
    query_list,
    service_description,
    sparql_endpoints,
)
from kgrag.server.access_keys import Keys, PrivateAccess
from kgrag.server.data_gate_program import are_shapes, gate_shapes
from kgrag.server.fast_path import FastPath
from kgrag.server.jobs import JobQueue
from kgrag.server.mcp.mcp_endpoint import McpEndpoint
from kgrag.server.problems import Problem, problem_response
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.readers.snapshot_pool import SnapshotPool
from kgrag.server.request_log import RequestTracker
from kgrag.server.revision_following import HEADER, RevisionFollower, RevisionHeader
from kgrag.server.served_data import ServedDataset
from kgrag.server.server_state import AccessRules, ServerLogs, ServerState, log_refused_write
from kgrag.server.upload_jobs import resume_uploads
from kgrag.server.worker_threads import WorkerThreads
from kgrag.server.write_gate import WriteGate

__all__ = ["SHARED_MIDDLEWARE", "create_app"]

_QUERY_METHODS = frozenset({"GET", "POST"})
_MCP_METHODS = ["GET", "POST", "DELETE"]
_GRAPH_METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE"]
_ROUTES = [
    Route("/sparql", sparql_endpoints.query, methods=sorted(_QUERY_METHODS)),
    Route("/update", sparql_endpoints.update, methods=["POST"]),
    Route("/update/effect", sparql_endpoints.effect, methods=["POST"]),
    Route("/queries", query_list.listed, methods=["GET"]),
    Route("/queries/{id}", query_list.cancel, methods=["DELETE"]),
    Route("/void", service_description.void, methods=["GET"]),
    Route("/graphs", graph_store.graph, methods=_GRAPH_METHODS),
    Route("/graphs/{graph:path}", graph_store.graph, methods=_GRAPH_METHODS),
    *health_endpoints.ROUTES,
]
SHARED_MIDDLEWARE = [
    Middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "If-Match", "If-None-Match", "Prefer", "X-Request-Id", HEADER],
        expose_headers=["ETag", "Location", "Retry-After", "X-Request-Id", HEADER],
    ),
    Middleware(GZipMiddleware, minimum_size=2048, compresslevel=4),
]
"""Around every path of a server: other sites may ask, and long answers are compressed."""


def create_app(
    dataset: ServedDataset,
    snapshots: Path,
    *,
    rules: AccessRules | None = None,
    limits: ServerLimits | None = None,
    kb: KnowledgeBase | None = None,
    logs: ServerLogs | None = None,
) -> Starlette:
    """Return the ASGI application that serves a dataset.

    Args:
        dataset: what is served; nobody else writes to it meanwhile, unless ``kb`` is open for reading only.
        snapshots: a folder on the store's file system that belongs to this application; it is emptied.
        rules: who may do what; without, nobody writes.
        limits: what a request may use.
        kb: the knowledge base behind the dataset, for the JSON API and the pages; without, there are neither.
        logs: where requests and writes are logged; without, nowhere.

    Raises:
        UnknownName: there is no profile of the name that the rules have for the gate.
        InvalidSettings: its file is not sound.
    """
    rules, logs, limits = rules or AccessRules(), logs or ServerLogs(), limits or ServerLimits()
    workers = None if kb is None else WorkerThreads(kb, answer_budget=limits.answer)
    agents = None if kb is None else _agents_endpoint()
    if rules.gate is not None and are_shapes(rules.gate):
        gate_shapes(rules.gate)
    elif rules.gate is not None:
        catalogue_of(load_profile(rules.gate))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        copies = SnapshotPool(snapshots, dataset.snapshot, lambda: dataset.revision)
        pool = ReaderPool(copies, limits)
        gate = None if rules.gate is None else WriteGate(rules.gate, dataset, copies, limits)
        state = ServerState(dataset, pool, rules, gate, logs.metrics, logs.writes, workers, jobs=app.state.jobs)
        app.state.server, app.state.page_tables = state, OrderedDict()
        app.state.follower, app.state.chats = None, pages.Chats()
        try:
            async with contextlib.AsyncExitStack() as running:
                if agents:
                    await running.enter_async_context(agents.running())
                if workers is not None and workers.kb.read_only:
                    app.state.follower = RevisionFollower(workers)
                    await running.enter_async_context(app.state.follower.following())
                await resume_uploads(state)
                yield
        finally:
            await state.close()
            if workers is not None:
                await asyncio.to_thread(workers.close)

    routes = [*_ROUTES, *([] if workers is None else _routes_of_knowledge_base(agents))]
    paths = {route.path.split("/")[1] for route in routes if isinstance(route, Route)}
    middleware = _middleware(logs, rules.keys, paths)
    errors: tuple[type[Exception], ...] = (Problem, KgragError, HTTPException, Exception)
    handlers = dict.fromkeys(errors, problem_response)
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers, lifespan=lifespan)
    app.state.jobs = JobQueue()
    if workers is not None:
        app.router.default = pages.elsewhere
    return app


def _routes_of_knowledge_base(agents: McpEndpoint | None) -> list[BaseRoute]:
    by_protocol = Route("/mcp", agents or _not_installed, methods=_MCP_METHODS)
    described = Route("/openapi.json", openapi.openapi, methods=["GET"])
    return [*api.ROUTES, *openai_api.ROUTES, by_protocol, described, *pages.ROUTES]


def _middleware(logs: ServerLogs, keys: Keys, paths: Collection[str]) -> list[Middleware]:
    """Return what is around the routes; first that by which any request has an id and a line in the log."""
    tracker = Middleware(
        RequestTracker, metrics=logs.metrics, log=logs.requests, paths=paths, log_refused_write=log_refused_write
    )
    fast = Middleware(FastPath, path="/sparql", methods=_QUERY_METHODS, endpoint=sparql_endpoints.query, keys=keys)
    revision = Middleware(RevisionHeader)
    return [
        tracker,
        revision,
        fast,
        *SHARED_MIDDLEWARE,
        *([Middleware(PrivateAccess, keys=keys)] if keys.private else []),
    ]


def _agents_endpoint() -> McpEndpoint | None:
    """Return the endpoint of the Model Context Protocol; None where its SDK is not installed."""
    return None if importlib.util.find_spec("mcp") is None else McpEndpoint()


async def _not_installed(_: Request) -> Response:
    raise Problem(501, "the Model Context Protocol is not installed here. Install it: pip install '.[mcp]'")
