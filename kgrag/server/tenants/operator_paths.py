"""Paths for whoever runs a server of tenants: ``/metrics`` and ``/tenants``; and ``/health``, which anybody may ask.

An operator's key reads no content of any tenant. What is refused before a tenant is chosen is refused here too, so that
it has an id and a line in the log.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kgrag.errors import KgragError
from kgrag.server.access_keys import Key, Keys, check_reader
from kgrag.server.app import SHARED_MIDDLEWARE
from kgrag.server.problems import Problem, problem_response
from kgrag.server.request_log import RequestLog, RequestTracker
from kgrag.server.server_metrics import ServerMetrics
from kgrag.server.tenants.open_tenants import OpenTenants
from kgrag.server.tenants.tenant_file import Tenant
from kgrag.server.tenants.tenant_opening import OpenTenant, TenantMemory

__all__ = ["OPERATOR_PATHS", "REFUSAL", "operator_app"]

OPERATOR_PATHS = frozenset({"/metrics", "/tenants"})
"""Paths that no tenant's key opens: they concern all tenants."""
REFUSAL = "kgrag.refusal"
"""Where the scope of a request has the error that it is refused with."""


def operator_app(
    operators: Sequence[Key],
    tenants: Mapping[str, Tenant],
    pool: OpenTenants[OpenTenant],
    memories: Mapping[str, TenantMemory],
    log: RequestLog,
) -> Starlette:
    """Return the application for requests that are no tenant's.

    Args:
        operators: keys of whoever runs the server.
        tenants: by name.
        pool: what is open of them.
        memories: what outlives a closing, by tenant.
        log: of requests that are no tenant's.
    """
    routes = [
        Route("/health", _health, methods=["GET"]),
        Route("/health/ready", _health, methods=["GET"]),
        Route("/metrics", _metrics, methods=["GET"]),
        Route("/tenants", _tenants, methods=["GET"]),
    ]
    own = ServerMetrics()
    tracker = Middleware(
        RequestTracker,
        metrics=own,
        log=log,
        paths={"health", *(path.strip("/") for path in OPERATOR_PATHS)},
        log_refused_write=lambda scope, record: None,  # no write begins here  # noqa: ARG005
    )
    errors: tuple[type[Exception], ...] = (Problem, KgragError, HTTPException, Exception)
    app = Starlette(
        routes=routes,
        middleware=[tracker, *SHARED_MIDDLEWARE],
        exception_handlers=dict.fromkeys(errors, problem_response),
    )
    app.router.default = _elsewhere
    app.state.keys = Keys(writing="never", more=operators, private=True)
    app.state.tenants, app.state.pool = tenants, pool
    app.state.registry = CollectorRegistry()
    app.state.registry.register(_LabelledMetrics(own, memories))
    return app


class _LabelledMetrics(Collector):
    """The metrics of the server and of each tenant, each of these with the tenant's name as a label."""

    def __init__(self, own: ServerMetrics, memories: Mapping[str, TenantMemory]) -> None:
        self._own = own
        self._memories = memories

    def collect(self) -> Iterable[Metric]:
        """Yield each family once, with the samples of all tenants."""
        families: dict[str, Metric] = {}
        for name, metrics in [("", self._own), *((name, one.metrics) for name, one in self._memories.items())]:
            for family in metrics.families():
                if not name and family.name.startswith("kgrag_") and family.type == "gauge":
                    continue  # of a store and its readers: the server itself has none
                merged = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                label = {"tenant": name} if name else {}
                merged.samples += [sample._replace(labels={**sample.labels, **label}) for sample in family.samples]
        return families.values()


def _refuse(request: Request) -> None:
    """Raise what a request is refused with, or that it brings no operator's key."""
    refusal = request.scope.get(REFUSAL)
    if refusal is not None:
        raise refusal
    check_reader(request, request.app.state.keys)


async def _health(request: Request) -> Response:
    """Report that the server lives, and nothing of any tenant."""
    return JSONResponse({"status": "ready" if request.url.path.endswith("/ready") else "ok"})


async def _metrics(request: Request) -> Response:
    """Return what is counted, of each tenant apart.

    Raises:
        Problem: 401, 403.
    """
    _refuse(request)
    pool: OpenTenants[OpenTenant] = request.app.state.pool
    for opened in [place.opened for place in pool.places.values() if place.opened is not None]:
        await opened.set_gauges()
    text = await asyncio.to_thread(generate_latest, request.app.state.registry)
    return Response(text, headers={"Content-Type": ServerMetrics.media, "Cache-Control": "no-store"})


async def _tenants(request: Request) -> Response:
    """Return the tenants: what is open, and what each may spend.

    Raises:
        Problem: 401, 403.
    """
    _refuse(request)
    tenants: Mapping[str, Tenant] = request.app.state.tenants
    pool: OpenTenants[OpenTenant] = request.app.state.pool
    listed = [_described(tenants[name], place.opened, place.users, place.used) for name, place in pool.places.items()]
    return JSONResponse(listed, headers={"Cache-Control": "no-store"})


def _described(tenant: Tenant, opened: OpenTenant | None, users: int, used: float) -> dict[str, Any]:
    return {
        "name": tenant.name,
        "open": opened is not None,
        "requests": users,
        "seconds_since_use": round(time.monotonic() - used, 1) if used else None,
        "revision": None if opened is None else opened.state.dataset.revision,
        "budget": None if tenant.budget is None else tenant.budget.model_dump(exclude_none=True),
    }


async def _elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse what is no path of an operator."""
    request = Request(scope, receive)
    try:
        _refuse(request)
        raise Problem(403, "an operator's key opens no knowledge base: /metrics and /tenants are what it is for.")
    except (Problem, KgragError) as error:
        await (await problem_response(request, error))(scope, receive, send)
