"""The endpoints ``/why`` and ``/reason``: what follows from graphs of the knowledge base, and what it rests on.

A proof is searched beside questions, for the seconds that are asked for. Inferring is a job: its rules run in a process
of their own, questions are answered meanwhile, and other writes wait.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.audit import AuditOptions, profile_names
from kgrag.errors import NotDecided
from kgrag.http_api.content_schemas import ReasonRequest, WhyRequest
from kgrag.knowledge_base import explanation_runs, reasoning_runs
from kgrag.ports import TripleStore
from kgrag.reasoning.grounds import Grounds
from kgrag.reasoning.inference import PROFILES
from kgrag.reasoning.proofs import Proof
from kgrag.resources import closest
from kgrag.server.api.json_endpoints import read_body
from kgrag.server.api.write_steps import accepted, renewed, write_record, written
from kgrag.server.jobs import Job
from kgrag.server.media_types import choose, content_type
from kgrag.server.problems import Problem
from kgrag.server.server_state import state_of, workers_of

__all__ = ["reason", "why"]

_JSON, _TEXT, _TURTLE = "application/json", "text/plain", "text/turtle"


async def why(request: Request) -> Response:
    """Return what a triple follows from, or a finding rests on: as JSON, Turtle or text.

    Raises:
        Problem: 400, 406, 413, 415, 422; 504: the time was over, and there is no verdict.
        InputError: it does not follow, there is no such finding or graph.
    """
    media = choose(request.headers.get("accept", ""), (_JSON, _TURTLE, _TEXT))
    if not media:
        raise Problem(406, f"a proof is {_JSON}, {_TURTLE} or {_TEXT}. Accept one of them.")
    asked, workers = await read_body(request, WhyRequest), workers_of(request)
    _check(asked)
    try:
        found = await workers.report(lambda: _explained(workers.kb.store, asked))
    except NotDecided as reason:
        raise Problem(504, f"not decided: {reason}") from None
    if media == _JSON:
        return JSONResponse(explanation_runs.as_json(found), 200, {"Cache-Control": "no-store"})
    text = explanation_runs.as_text(found) if media == _TEXT else explanation_runs.as_turtle(found)
    return Response(text, 200, {"Content-Type": content_type(media), "Cache-Control": "no-store"})


def _check(asked: WhyRequest) -> None:
    """Check that one thing is to be explained, by a profile that there is. Raises Problem (400)."""
    if sum(map(bool, (asked.triple, asked.finding, asked.query))) != 1:
        raise Problem(400, "name one thing to explain: a triple, a finding, or a query.")
    if asked.triple and len(asked.triple) != 3:
        raise Problem(400, f"a triple has three terms, and these are {len(asked.triple)}.")
    known = profile_names() if asked.finding else list(PROFILES)
    if asked.profile and asked.profile not in known:
        raise Problem(400, f"there is no profile '{asked.profile}' for this. {closest(asked.profile, known)}")


def _explained(store: TripleStore, asked: WhyRequest) -> Proof | list[Grounds]:
    given = explanation_runs.premises(store, asked.graphs, graphs_only=True)
    if asked.finding:
        options = AuditOptions(profile=asked.profile or "default", seconds=asked.seconds)
        return [explanation_runs.why_found(given, asked.finding, options)]
    if asked.query:
        return explanation_runs.why_refused(given, asked.query, seconds=asked.seconds)
    triple = explanation_runs.read_triple(asked.triple, given.prefixes)
    return explanation_runs.why(given, triple, profile=asked.profile or None, seconds=asked.seconds)


async def reason(request: Request) -> Response:
    """Begin to write what follows from graphs to a graph of its own, or to drop what was written so.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        ServiceUnavailable: too many jobs wait already.
    """
    record, workers = write_record(request, "reason"), workers_of(request)
    asked, store = await read_body(request, ReasonRequest), workers.kb.store
    if asked.graphs or not asked.drop:
        # refuses a graph that is not there now, and not as a job
        await workers.report(lambda: reasoning_runs.sources(store, asked.graphs))

    def infer() -> dict[str, Any]:
        if asked.drop:
            dropped = reasoning_runs.drop(store, asked.graphs, profile=asked.profile if asked.graphs else None)
            return {"dropped": dropped}
        try:
            done = reasoning_runs.infer(store, asked.graphs, profile=asked.profile, seconds=asked.seconds)
        except NotDecided as over:
            raise Problem(504, f"not decided: {over}") from None
        return reasoning_runs.materialised_json(store, done)

    async def work(job: Job) -> dict[str, Any]:
        job.progress(asked.profile, 0, 0)
        return await written(state_of(request), renewed(record), infer)

    about = f"{'drop, ' if asked.drop else ''}{asked.profile}"
    return accepted(request, record, state_of(request).jobs.submit("reason", work, about=about))
