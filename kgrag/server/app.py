"""The application: paths, and what stands around them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Route

from kgrag.audit.profiles import load_profile
from kgrag.errors import KgragError
from kgrag.knowledge_base import KnowledgeBase
from kgrag.server import api, graph_store, health_endpoints, pages, service_description, sparql_endpoints
from kgrag.server.access_keys import Guard
from kgrag.server.fast_path import Front
from kgrag.server.problems import Problem, told
from kgrag.server.readers.reader_pool import Limits, ReaderPool
from kgrag.server.readers.snapshot_pool import Snapshots
from kgrag.server.request_log import Watch
from kgrag.server.request_metrics import Metrics
from kgrag.server.served_data import Dataset
from kgrag.server.site import Logs, Rules, Site
from kgrag.server.worker_threads import Desk
from kgrag.server.write_gate import Gate
from kgrag.server.write_turn import refused

__all__ = ["create_app"]

_GRAPHS = ("/graphs", "/graphs/{graph:path}")
"""By name, and by address: the graph is then named by the address."""

_METHODS = frozenset({"GET", "POST"})
_ROUTES = [
    Route("/sparql", sparql_endpoints.query, methods=sorted(_METHODS)),
    Route("/update", sparql_endpoints.update, methods=["POST"]),
    Route("/void", service_description.void, methods=["GET"]),
]
_MIDDLEWARE = [
    Middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
        allow_headers=["Authorization", "Content-Type", "If-Match", "If-None-Match", "X-Request-Id"],
        expose_headers=["ETag", "Location", "Retry-After", "X-Request-Id"],
    ),
    Middleware(GZipMiddleware, minimum_size=2048, compresslevel=4),
]


def create_app(
    dataset: Dataset,
    snapshots: Path,
    *,
    rules: Rules | None = None,
    limits: Limits | None = None,
    kb: KnowledgeBase | None = None,
    logs: Logs | None = None,
) -> Starlette:
    """Give the ASGI application that serves a data set.

    Args:
        dataset: what is served; nobody else writes to it meanwhile.
        snapshots: a folder on the store's file system that belongs to this application; it is emptied.
        rules: who may do what; without, nobody writes.
        limits: what a request may use.
        kb: the knowledge base behind the data set, which the JSON API and the pages ask; without, there are neither.
        logs: where requests and writes are told of; without, nowhere.

    Raises:
        UnknownName: there is no such profile as the rules name for the gate.
        InvalidSettings: its file is not sound.
    """
    desk = Desk(kb) if kb is not None else None
    rules, logs, metrics, limits = rules or Rules(), logs or Logs(), Metrics(), limits or Limits()
    keys = rules.keys
    if rules.gate is not None:
        load_profile(rules.gate)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        copies = Snapshots(snapshots, dataset.snapshot, lambda: dataset.revision)
        pool = ReaderPool(copies, limits)
        gate = None if rules.gate is None else Gate(rules.gate, dataset, copies, limits)
        app.state.site = Site(dataset, pool, keys, rules.spending, gate, metrics, logs.writes)
        app.state.desk, app.state.kept = desk, OrderedDict()
        try:
            yield
        finally:
            if gate is not None:
                await gate.close()
            await pool.close()
            if desk is not None:
                await asyncio.to_thread(desk.close)

    routes = [
        *_ROUTES,
        *(Route(path, graph_store.graph, methods=["GET", "HEAD", "PUT", "POST", "DELETE"]) for path in _GRAPHS),
        *health_endpoints.ROUTES,
        *(() if desk is None else (*api.ROUTES, *pages.ROUTES)),
    ]
    firsts = {route.path.split("/")[1] for route in routes if isinstance(route, Route)}
    watch = Middleware(Watch, metrics=metrics, log=logs.requests, paths=firsts, refused=refused)
    front = Middleware(Front, path="/sparql", methods=_METHODS, endpoint=sparql_endpoints.query, keys=keys)
    app = Starlette(
        routes=routes,
        middleware=[watch, front, *_MIDDLEWARE, *([Middleware(Guard, keys=keys)] if keys.private else [])],
        exception_handlers={Problem: told, KgragError: told, HTTPException: told, Exception: told},
        lifespan=lifespan,
    )
    if desk is not None:
        app.router.default = pages.elsewhere
    return app
