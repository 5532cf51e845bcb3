"""The endpoints ``/ask``, ``/retrieve``, ``/check``, ``/audit``: what the commands of these names do, as JSON.

Reads JSON bodies strictly.

Answers as server-sent events: ``hits`` when they are there, a ``sentence`` each, the whole answer with ``done``.

A language model is asked for a whole answer, whose quotes are then looked up; so the sentences come when it is there.
What goes wrong after the hits is told as the event ``problem``, with what a reply with a status would hold.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from kgrag.answering.json_forms import answer_json, citation_json, hit_json, retrieval_json
from kgrag.audit import Audit, AuditOptions, profile_names
from kgrag.errors import UnknownName
from kgrag.model import Answer, Hit
from kgrag.querying import ontology_check
from kgrag.resources import closest
from kgrag.server.api.json_schemas import AskRequest, AuditRequest, CheckRequest, RetrieveRequest
from kgrag.server.media_types import choose, main_type
from kgrag.server.problems import Problem, problem_json, problem_of
from kgrag.server.protocol_requests import body_of
from kgrag.server.request_log import record_of
from kgrag.server.site import site_of
from kgrag.server.worker_threads import Desk
from kgrag.server.write_turn import write

__all__ = [
    "ask",
    "audit",
    "audited",
    "check",
    "desk_of",
    "events",
    "read_body",
    "retrieve",
]

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
            after = ontology_check.mended(found, desk.kb.check)
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


_BYTES = 1 << 20
_TOLD = 20
_Model = TypeVar("_Model", bound=BaseModel)


async def read_body(request: Request, model: type[_Model]) -> _Model:
    """Give the body of a request as a model has it.

    Raises:
        Problem: 413, 415; 400: it is no JSON; 422: it is not what the model declares, and ``errors`` say where.
    """
    media, charset = main_type(request.headers.get("content-type", ""))
    if media != "application/json" or charset not in ("", "utf-8", "utf8"):
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send application/json, in UTF-8.")
    body = await body_of(request, _BYTES)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise _refused(error, model) from None


def _refused(error: ValidationError, model: type[BaseModel]) -> Problem:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    if any(fault["type"] == "json_invalid" for fault in found):
        return Problem(400, f"the body is no JSON: {found[0]['msg']}.")
    faults = [{"pointer": _pointer(fault["loc"]), "detail": fault["msg"]} for fault in found[:_TOLD]]
    told = "; ".join(f"{fault['pointer'] or 'the body'}: {fault['detail']}" for fault in faults[:3])
    known = ", ".join(model.model_fields)
    return Problem(422, f"the body is not as it should be: {told}. It takes {known}; see /openapi.json.", errors=faults)


def _pointer(place: tuple[int | str, ...]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)


_SILENCE = 15.0
"""Seconds after which a comment shows that the connection stands."""


def events(hits: list[Hit], working: asyncio.Task[Answer], *, explain: bool) -> StreamingResponse:
    """Stream an answer whose hits are known, and which is being worked on."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_told(hits, working, explain=explain), 200, headers, "text/event-stream")


async def _told(hits: list[Hit], working: asyncio.Task[Answer], *, explain: bool) -> AsyncIterator[str]:
    yield _event("hits", {"hits": [hit_json(hit) for hit in hits]})
    while not working.done():
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asyncio.wait({working})), _SILENCE)
            break
        yield ": still at work\n\n"
    try:
        answer = working.result()
    except Exception as error:
        yield _event("problem", problem_json(problem_of(error)))
        return
    for number, text in enumerate(answer.sentences):
        cited = [citation_json(citation) for citation in answer.citations if citation.sentence == number]
        yield _event("sentence", {"number": number, "text": text, "citations": cited})
    yield _event("done", answer_json(answer, explain=explain))


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
