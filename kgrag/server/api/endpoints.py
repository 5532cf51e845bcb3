"""The endpoints ``/ask``, ``/retrieve``, ``/check``, ``/audit``: what the commands of these names do, as JSON."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.audit import Audit, AuditOptions, profile_names
from kgrag.errors import UnknownName
from kgrag.model import Answer, Hit
from kgrag.resources import closest
from kgrag.server.api.bodies import read_body
from kgrag.server.api.declarations import AskRequest, AuditRequest, CheckRequest, RetrieveRequest
from kgrag.server.api.events import events
from kgrag.server.desk import Desk
from kgrag.server.media import choose
from kgrag.server.problems import Problem
from kgrag.server.site import site_of
from kgrag.server.watch import record_of
from kgrag.server.writing import write
from kgrag.stages import sparql_check
from kgrag.stages.json_forms import answer_json, retrieval_json

__all__ = ["ask", "audit", "audited", "check", "desk_of", "retrieve"]

_JSON, _EVENTS = "application/json", "text/event-stream"


def desk_of(request: Request) -> Desk:
    """Give the desk where the questions of a request are worked on."""
    return cast("Desk", request.app.state.desk)


async def ask(request: Request) -> Response:
    """Answer a question: as JSON, or as server-sent events where the client wants them.

    Raises:
        Problem: 400, 401, 403, 406, 413, 415, 422.
        KgragError: what ``KnowledgeBase.ask`` raises.
    """
    media = choose(request.headers.get("accept", ""), (_JSON, _EVENTS))
    if not media:
        raise Problem(406, f"an answer is {_JSON} or {_EVENTS}. Accept one of them.")
    site_of(request).spending.admit(request, site_of(request).keys)
    body = await read_body(request, AskRequest)
    if body.keep:
        record = record_of(request)
        record.key = site_of(request).keys.check(request.headers.get("authorization", "")).name
        record.operation = "keep"
    found: asyncio.Future[list[Hit]] = asyncio.get_running_loop().create_future()
    working = asyncio.create_task(_answered(desk_of(request), body, found, request))
    working.add_done_callback(lambda task: task.cancelled() or task.exception())  # also when the client has left
    if media == _JSON:
        return _json(answer_json(await working, explain=body.explain))
    either: set[asyncio.Future[Any]] = {found, working}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not found.done():
        await working  # which failed before anything was found
    return events(found.result(), working, explain=body.explain)


async def _answered(desk: Desk, body: AskRequest, found: asyncio.Future[list[Hit]], request: Request) -> Answer:
    loop = asyncio.get_running_loop()

    def tell(hits: list[Hit]) -> None:
        loop.call_soon_threadsafe(lambda: None if found.done() else found.set_result(hits))

    answer = await desk.do(lambda: desk.ask(body.question, method=body.method, k=body.k, found=tell))
    if body.keep:
        async with site_of(request).turn:
            await write(request, lambda: desk.kb.keep(answer), status=200)
    return answer


async def retrieve(request: Request) -> Response:
    """Give the evidence only.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        KgragError: what ``KnowledgeBase.retrieve`` raises.
    """
    site_of(request).spending.admit(request, site_of(request).keys)
    body = await read_body(request, RetrieveRequest)
    desk = desk_of(request)

    def found() -> tuple[list[Hit], dict[str, float]]:
        return desk.kb.retrieve_timed(body.question, method=body.method, k=body.k)

    hits, latency = await desk.do(lambda: desk.alone(found))
    return _json(retrieval_json(body.question, hits, method=body.method, k=body.k, latency=latency))


async def check(request: Request) -> Response:
    """Say where a SPARQL query departs from the ontologies and data.

    Raises:
        Problem: 400, 413, 415, 422.
        KgragError: what ``KnowledgeBase.check`` raises.
    """
    body = await read_body(request, CheckRequest)
    desk = desk_of(request)

    def checked() -> dict[str, Any]:
        found = desk.kb.check(body.query)
        document = found.to_json()
        if body.repair:
            after = sparql_check.mended(found, desk.kb.check)
            document |= {"repaired": after.query} if after.query != body.query else {}
        return document

    return _json(await desk.do(lambda: desk.alone(checked)))


async def audit(request: Request) -> Response:
    """Audit graphs of the knowledge base.

    Raises:
        Problem: 400, 413, 415, 422.
        KgragError: what ``KnowledgeBase.audit`` raises.
    """
    body = await read_body(request, AuditRequest)
    options = AuditOptions(profile=body.profile, namespace=body.namespace, limit=body.limit)
    return _json((await audited(request, body.target or "", options)).to_json())


async def audited(request: Request, target: str, options: AuditOptions) -> Audit:
    """Give an audit of a graph, or with "" of all ontology graphs.

    Raises:
        UnknownName: no profile of that name ships; files are not looked for.
        InputError: there is no such graph, or no ontology.
    """
    if options.profile not in profile_names():
        raise UnknownName(f"there is no profile '{options.profile[:50]}'. {closest(options.profile, profile_names())}")
    desk = desk_of(request)
    return await desk.do(lambda: desk.audit(target, options))


def _json(document: dict[str, Any]) -> Response:
    return JSONResponse(document, headers={"Cache-Control": "no-store"})
