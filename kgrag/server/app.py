"""The application: paths, and what stands around them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kgrag.adapters.readers import Limits, ReaderPool, Snapshots
from kgrag.errors import KgragError
from kgrag.server import description, graphs, sparql
from kgrag.server.datasets import Dataset
from kgrag.server.keys import Keys
from kgrag.server.problems import Problem, told
from kgrag.server.site import Site, site_of

__all__ = ["create_app"]

_GRAPHS = ("/graphs", "/graphs/{graph:path}")
"""By name, and by address: the graph is then named by the address."""


def create_app(
    dataset: Dataset, snapshots: Path, *, keys: Keys | None = None, limits: Limits | None = None
) -> Starlette:
    """Give the ASGI application that serves a data set.

    Args:
        dataset: what is served; nobody else writes to it meanwhile.
        snapshots: a folder on the store's file system that belongs to this application; it is emptied.
        keys: who may write; without, nobody.
        limits: what a request may use.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        copies = Snapshots(snapshots, dataset.snapshot, lambda: dataset.revision)
        pool = ReaderPool(copies, limits or Limits())
        app.state.site = Site(dataset, pool, keys or Keys())
        try:
            yield
        finally:
            await pool.close()

    return Starlette(
        routes=[
            Route("/sparql", sparql.query, methods=["GET", "POST"]),
            Route("/update", sparql.update, methods=["POST"]),
            *(Route(path, graphs.graph, methods=["GET", "HEAD", "PUT", "POST", "DELETE"]) for path in _GRAPHS),
            Route("/void", description.void, methods=["GET"]),
            Route("/health", _health, methods=["GET"]),
        ],
        middleware=[
            Middleware(
                CORSMiddleware,
                allow_origins=["*"],
                allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
                allow_headers=["Authorization", "Content-Type", "If-Match", "If-None-Match"],
                expose_headers=["ETag", "Location"],
            ),
            Middleware(GZipMiddleware, minimum_size=2048, compresslevel=4),
        ],
        exception_handlers={Problem: told, KgragError: told, Exception: told},
        lifespan=lifespan,
    )


async def _health(request: Request) -> Response:
    return JSONResponse({"status": "ok", "revision": site_of(request).dataset.revision})
