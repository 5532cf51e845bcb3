"""The endpoints ``/build`` and ``/jobs``: what takes long, how far it is, and how it is cancelled.

A build is a job: 202 with its address, at which JSON or server-sent events show how far it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from kgrag.http_api.write_schemas import BuildRequest
from kgrag.index.array_files import being_made
from kgrag.knowledge_base.build_options import read_options
from kgrag.llm.costs import Price, rounded_money
from kgrag.model import BuildReport
from kgrag.server.api.json_endpoints import KEEP_ALIVE_SECONDS, budget_of, event, read_body
from kgrag.server.api.write_steps import accepted, renewed, write_record, written
from kgrag.server.jobs import Job
from kgrag.server.media_types import choose
from kgrag.server.problems import Problem
from kgrag.server.server_state import state_of, workers_of, writer_of
from kgrag.server.worker_threads import Turn

__all__ = ["build", "cancel", "job", "listed"]

_JSON, _EVENTS = "application/json", "text/event-stream"
_SECONDS_BETWEEN_EVENTS = 0.25


async def build(request: Request) -> Response:
    """Begin to build a method.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        InvalidSettings: a budget in money, and no price is known.
        ServiceUnavailable: too many jobs wait already.
    """
    record, workers = write_record(request, "build"), workers_of(request)
    body, method = await read_body(request, BuildRequest), request.path_params["method"]
    chosen = read_options(method, body.options)
    for option in fields(chosen):
        value = getattr(chosen, option.name)
        if any(isinstance(each, Path) for each in (value if isinstance(value, tuple) else (value,))):
            raise Problem(400, f"the option '{option.name}' names a file, and a server reads none for a request.")
    price = workers.kb.price()
    budget = budget_of(body, price)

    async def work(job: Job) -> dict[str, Any]:
        job.progress("", 0, 0)

        def in_parts(turn: Turn) -> BuildReport:
            def progress(stage: str, done: int, total: int) -> None:
                job.progress(stage, done, total)
                if not being_made():
                    turn.pause()

            return workers.kb.build(method, progress=progress, dry_run=body.dry_run, budget=budget, **body.options)

        report = await written(state_of(request), renewed(record), lambda: workers.alone_in_parts(in_parts))
        return _report_json(report, price, dry_run=body.dry_run)

    about = f"{method}, dry run" if body.dry_run else method
    return accepted(request, record, state_of(request).jobs.submit("build", work, about=about))


def _report_json(report: BuildReport, price: Price | None, *, dry_run: bool) -> dict[str, Any]:
    usage = {name: getattr(report.usage, name) for name in ("completions", "input_tokens", "output_tokens")}
    found: dict[str, Any] = {"method": report.method, "counts": dict(report.counts), "usage": usage}
    if price is not None:
        tokens = report.counts if dry_run else usage  # what a dry run would ask for is among its counts
        cost = tokens.get("input_tokens", 0) * price.input + tokens.get("output_tokens", 0) * price.output
        found |= {"price": [price.input, price.output], "cost": rounded_money(cost / 1e6)}
    return {**found, "notes": list(report.notes), "pending": list(report.pending)}


async def listed(request: Request) -> Response:
    """Return the jobs that are remembered, the last first, to a key that may write.

    Raises:
        Problem: 401, 403.
    """
    writer_of(request)
    jobs = [each.to_json() for each in state_of(request).jobs.all()]
    return JSONResponse(jobs, headers={"Cache-Control": "no-store"})


async def cancel(request: Request) -> Response:
    """End a job: at once where it waits, else with its next step. What is done by then is kept.

    Raises:
        Problem: 401, 403, 404.
    """
    writer_of(request)
    found = _found(request)
    found.cancel()
    return JSONResponse(found.to_json(), headers={"Cache-Control": "no-store"})


async def job(request: Request) -> Response:
    """Return how far a job is: as JSON, or as server-sent events until it is over.

    Raises:
        Problem: 404, 406.
    """
    found = _found(request)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    media = choose(request.headers.get("accept", ""), (_JSON, _EVENTS))
    if not media:
        raise Problem(406, f"a job is {_JSON} or {_EVENTS}. Accept one of them.")
    if media == _JSON:
        return JSONResponse(found.to_json(), headers=headers)
    return StreamingResponse(_events(found), 200, headers, _EVENTS)


def _found(request: Request) -> Job:
    found = state_of(request).jobs.find(request.path_params["id"])
    if found is None:
        raise Problem(404, "there is no such job; it is long over, or of a server before this one.")
    return found


async def _events(job: Job) -> AsyncIterator[str]:
    """Yield the states of a job: ``progress``, and at its end ``done``, ``failed`` or ``cancelled``."""
    while not job.is_over:
        changed = job.changed
        yield event("progress", job.to_json())
        try:
            await asyncio.wait_for(changed.wait(), KEEP_ALIVE_SECONDS)
        except TimeoutError:
            yield ": still at work\n\n"
        if not job.is_over:
            await asyncio.sleep(_SECONDS_BETWEEN_EVENTS)
    yield event(job.state, job.to_json())
