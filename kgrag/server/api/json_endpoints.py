"""The endpoints ``/ask``, ``/ask/cost``, ``/retrieve``, ``/check``, ``/validate``, ``/audit``: these commands, as JSON.

``/ask`` can also answer with server-sent events: ``hits`` when they are known, one ``sentence`` each, the whole answer
with ``done``. A sentence comes once it is complete and its quotes are found, while a language model that can be read so
still writes the next; none is taken back. An error after the hits is the event ``problem``, with what a reply with a
status would contain.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from kgrag.answering.conversation import History
from kgrag.answering.framed_answers import answer_jsonld
from kgrag.answering.json_forms import answer_json, citation_json, hit_json, retrieval_json
from kgrag.audit import Audit, AuditOptions, ValidationOptions, profile_names
from kgrag.errors import NotBuilt, UnknownName
from kgrag.http_api.json_schemas import (
    AnswerCostRequest,
    AnswerLimits,
    AskRequest,
    AuditRequest,
    CheckRequest,
    RetrieveRequest,
    ValidateRequest,
)
from kgrag.http_api.write_schemas import BuildRequest
from kgrag.knowledge_base import validation_runs
from kgrag.llm.budget import Budget
from kgrag.llm.costs import Price
from kgrag.llm.reply_lengths import Forecast
from kgrag.model import Answer, AnswerSentence, Hit
from kgrag.querying import ontology_check
from kgrag.querying.document_filters import DocumentFilter
from kgrag.resources import closest
from kgrag.server.api.pattern_counts import counted_patterns
from kgrag.server.filter_reading import filter_of
from kgrag.server.media_types import choose, main_type
from kgrag.server.problems import Problem, over_http, problem_json, problem_of
from kgrag.server.protocol_requests import body_of
from kgrag.server.request_log import record_of
from kgrag.server.server_state import state_of, workers_of, writer_of
from kgrag.server.worker_threads import WorkerThreads

__all__ = [
    "KEEP_ALIVE_SECONDS",
    "arriving",
    "ask",
    "ask_cost",
    "audit",
    "audited",
    "budget_of",
    "check",
    "event",
    "problem_of_body",
    "read_body",
    "retrieve",
    "teller",
    "validate",
    "validated",
]

_JSON, _EVENTS, _JSON_LD = "application/json", "text/event-stream", "application/ld+json"
_MAX_BODY_BYTES = 1 << 20
_MAX_FAULTS = 20
KEEP_ALIVE_SECONDS = 15.0
"""Proxies close connections that are silent for longer than about a minute; a comment prevents that."""
_Model = TypeVar("_Model", bound=BaseModel)
_Question = TypeVar("_Question", bound=AnswerCostRequest)


async def ask(request: Request) -> Response:
    """Answer a question: as JSON, or as server-sent events where the client wants them.

    Raises:
        Problem: 400, 401, 403, 406, 413, 415, 422.
        KgragError: what ``KnowledgeBase.ask`` raises.
    """
    media = choose(request.headers.get("accept", ""), (_JSON, _EVENTS, _JSON_LD))
    if not media:
        raise Problem(406, f"an answer is {_JSON}, {_JSON_LD} or {_EVENTS}. Accept one of them.")
    rules = state_of(request).rules
    rules.paid_access.check(request, rules.keys)
    body = await _read_question(request, AskRequest)
    if body.keep or body.session:
        writer_of(request)
        record_of(request).operation = "keep"
    hits: asyncio.Future[list[Hit]] = asyncio.get_running_loop().create_future()
    sentences: asyncio.Queue[AnswerSentence] = asyncio.Queue()
    where = await filter_of(request, body.where)
    answering = asyncio.create_task(_answer(request, body, where, hits, sentences if media == _EVENTS else None))
    # its error is retrieved also when the client has left, or asyncio would complain
    answering.add_done_callback(lambda task: task.cancelled() or task.exception())
    if media == _JSON:
        return _json(answer_json(await answering, explain=body.explain))
    if media == _JSON_LD:
        framed = answer_jsonld(await answering, state_of(request).dataset.names)
        return Response(json.dumps(framed, ensure_ascii=False), 200, {"Cache-Control": "no-store"}, _JSON_LD)
    either: set[asyncio.Future[Any]] = {hits, answering}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not hits.done():
        await answering  # which failed before there were hits
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    events = _events(hits.result(), sentences, answering, explain=body.explain)
    return StreamingResponse(events, 200, headers, _EVENTS)


async def _answer(
    request: Request,
    body: AskRequest,
    where: DocumentFilter | None,
    hits: asyncio.Future[list[Hit]],
    sentences: asyncio.Queue[AnswerSentence] | None,
) -> Answer:
    loop, workers = asyncio.get_running_loop(), workers_of(request)

    def pass_on(known: list[Hit]) -> None:
        loop.call_soon_threadsafe(lambda: None if hits.done() else hits.set_result(known))

    history = await _history(workers, body)
    budget = budget_of(body, workers.kb.price())
    tell = None if sentences is None else teller(sentences)
    answer = await workers.run(
        lambda: workers.ask(
            body.question,
            history=history,
            budget=budget,
            method=body.method,
            k=body.k,
            where=where,
            on_hits=pass_on,
            on_sentence=tell,
        )
    )
    return await _kept(request, answer, body.session) if body.keep or body.session else answer


async def _read_question(request: Request, kind: type[_Question]) -> _Question:
    """Return the body of a request as ``read_body`` does. Raises Problem (422) also where it has two histories."""
    body = await read_body(request, kind)
    if body.session and body.history:
        raise Problem(422, "the body has a session and a history. A session has its own; send one of them.")
    return body


async def _history(workers: WorkerThreads, body: AnswerCostRequest) -> History:
    """Return what was said before: by the body, or in its session."""
    if body.session:
        talk = workers.kb.conversation(body.session)
        return await workers.run(lambda: workers.alone(lambda: talk.answers))
    return [message.model_dump() for message in body.history]


async def ask_cost(request: Request) -> Response:
    """Return what an answer would cost; nothing is asked of the language model.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        KgragError: what ``KnowledgeBase.forecast`` raises.
    """
    rules, workers = state_of(request).rules, workers_of(request)
    rules.paid_access.check(request, rules.keys)
    body = await _read_question(request, AnswerCostRequest)
    where, history = await filter_of(request, body.where), await _history(workers, body)

    def forecast() -> Forecast:
        return workers.kb.forecast(body.question, history=history, method=body.method, k=body.k, where=where)

    cost = await workers.run(lambda: workers.alone(forecast))
    return _json({**cost.priced(workers.kb.price()), "note": cost.note})


def budget_of(body: AnswerLimits | BuildRequest, price: Price | None) -> Budget | None:
    """Return the limits of a body; None without any.

    Raises:
        InvalidSettings: one in money, and no price is known.
    """
    limits = (body.max_completions, body.max_tokens, body.max_cost)
    return None if limits == (None, None, None) else Budget(*limits[:2], body.max_cost, price)


async def _kept(request: Request, answer: Answer, session: str) -> Answer:
    """Keep an answer, as the next turn of a session where it has one, and return it."""
    state, kb, kept = state_of(request), workers_of(request).kb, [answer]

    def keep() -> None:
        if session:
            # read again: another request may have gone on with the conversation meanwhile
            kept[0] = kb.conversation(session).add(answer)
        else:
            kb.keep(answer)

    async with state.turn_to_write():
        await state.write(record_of(request), keep, status=200)
    return kept[0]


async def _events(
    hits: list[Hit], sentences: asyncio.Queue[AnswerSentence], answering: asyncio.Task[Answer], *, explain: bool
) -> AsyncIterator[str]:
    """Yield the hits of an answer, its sentences as they come, and the answer when it is complete."""
    yield event("hits", {"hits": [hit_json(hit) for hit in hits]})
    async for sentence in arriving(sentences, answering):
        if sentence is None:
            yield ": still at work\n\n"
        else:
            cited = [citation_json(citation) for citation in sentence.citations]
            yield event("sentence", {"number": sentence.number, "text": sentence.text, "citations": cited})
    try:
        answer = answering.result()
    except Exception as error:
        yield event("problem", problem_json(problem_of(error)))
        return
    yield event("done", answer_json(answer, explain=explain))


def teller(sentences: asyncio.Queue[AnswerSentence]) -> Callable[[AnswerSentence], None]:
    """Return what a thread calls with a sentence, so that it comes to the queue of this event loop."""
    loop = asyncio.get_running_loop()

    def tell(sentence: AnswerSentence) -> None:
        loop.call_soon_threadsafe(sentences.put_nowait, sentence)

    return tell


async def arriving(
    sentences: asyncio.Queue[AnswerSentence], answering: asyncio.Task[Any]
) -> AsyncIterator[AnswerSentence | None]:
    """Yield sentences as they come until the answer is complete; None where none came for ``KEEP_ALIVE_SECONDS``.

    A sentence is in the queue before its answer is complete: both are told to the event loop in this order.
    """
    while not (answering.done() and sentences.empty()):
        getting = asyncio.create_task(sentences.get())
        done, _ = await asyncio.wait({getting, answering}, timeout=KEEP_ALIVE_SECONDS, return_when="FIRST_COMPLETED")
        if getting in done:
            yield getting.result()
            continue
        getting.cancel()
        if not done:
            yield None


def event(name: str, data: dict[str, Any]) -> str:
    """Return a server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


async def retrieve(request: Request) -> Response:
    """Return the evidence only.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        KgragError: what ``KnowledgeBase.retrieve`` raises.
    """
    rules, workers = state_of(request).rules, workers_of(request)
    rules.paid_access.check(request, rules.keys)
    body = await read_body(request, RetrieveRequest)
    where = await filter_of(request, body.where)

    def search() -> tuple[list[Hit], dict[str, float]]:
        return workers.kb.retrieve_timed(body.question, method=body.method, k=body.k, where=where)

    hits, latency = await workers.run(lambda: workers.alone(search))
    return _json(retrieval_json(body.question, hits, method=body.method, k=body.k, latency=latency))


async def check(request: Request) -> Response:
    """Report where a SPARQL query departs from the ontologies and data.

    Raises:
        Problem: 400, 413, 415, 422.
        KgragError: what ``KnowledgeBase.check`` raises.
    """
    body = await read_body(request, CheckRequest)
    workers = workers_of(request)
    patterns = {"patterns": await counted_patterns(request, body.query)} if body.explain else {}

    def report() -> dict[str, Any]:
        try:
            checked = workers.kb.check(body.query)
        except NotBuilt as error:
            if not body.explain:
                raise
            return {
                "valid": True,
                "findings": [],
                "notes": [over_http(error)],
            }  # without an ontology, counts are all there is
        document = checked.to_json()
        if body.repair:
            after = ontology_check.mended(checked, workers.kb.check)
            document |= {"repaired": after.query} if after.query != body.query else {}
        return document

    return _json({**await workers.run(lambda: workers.alone(report)), **patterns})


async def validate(request: Request) -> Response:
    """Validate graphs of the knowledge base against shapes in graphs of it.

    Raises:
        Problem: 400, 413, 415, 422.
        KgragError: what ``KnowledgeBase.validate`` raises.
    """
    return _json(await validated(request, await read_body(request, ValidateRequest)))


async def validated(request: Request, body: ValidateRequest) -> dict[str, Any]:
    """Return the report of a validation, with its first results; counts are of all.

    Raises:
        InputError: there is no such graph or shape, or nothing to validate.
        ServiceUnavailable: too much is asked at once.
    """
    workers = workers_of(request)
    disallows = tuple(body.conformance_disallows)
    options = ValidationOptions(body.shape, tuple(body.focus), inference=body.inference, disallows=disallows)

    def run() -> dict[str, Any]:
        store, graphs, shapes = workers.kb.store, body.graphs, body.shapes
        found = validation_runs.validate(store, [], graphs=graphs, shapes=shapes, options=options, graphs_only=True)
        return replace(found, findings=found.findings[: body.limit]).to_json()

    return await workers.report(run)


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
    """Return an audit of a graph, or with "" of all ontology graphs.

    Raises:
        UnknownName: no profile of that name ships; files are not looked for.
        InputError: there is no such graph, or no ontology.
    """
    if options.profile not in profile_names():
        raise UnknownName(f"there is no profile '{options.profile[:50]}'. {closest(options.profile, profile_names())}")
    workers = workers_of(request)
    return await workers.report(lambda: workers.audit(target, options))


def _json(document: dict[str, Any]) -> Response:
    return JSONResponse(document, headers={"Cache-Control": "no-store"})


async def read_body(request: Request, model: type[_Model], max_bytes: int = _MAX_BODY_BYTES) -> _Model:
    """Return the body of a request as an instance of a model.

    Raises:
        Problem: 413, 415; 400: it is no JSON; 422: it is not what the model declares, and ``errors`` has the places.
    """
    media, charset = main_type(request.headers.get("content-type", ""))
    if media != _JSON or charset not in ("", "utf-8", "utf8"):
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send {_JSON}, in UTF-8.")
    body = await body_of(request, max_bytes)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise problem_of_body(error, model) from None


def problem_of_body(error: ValidationError, model: type[BaseModel]) -> Problem:
    """Return what is wrong with a body: 400 where it is no JSON, 422 where it is not what a model declares."""
    # without the input: it could be long, and answers of errors should not repeat what clients send
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if any(detail["type"] == "json_invalid" for detail in details):
        return Problem(400, f"the body is no JSON: {details[0]['msg']}.")
    faults = []
    for detail in details[:_MAX_FAULTS]:
        parts = (str(part).replace("~", "~0").replace("/", "~1") for part in detail["loc"])  # RFC 6901
        faults.append({"pointer": "".join(f"/{part}" for part in parts), "detail": detail["msg"]})
    listed = "; ".join(f"{fault['pointer'] or 'the body'}: {fault['detail']}" for fault in faults[:3])
    known = ", ".join(model.model_fields)
    return Problem(
        422, f"the body is not as it should be: {listed}. It takes {known}; see /openapi.json.", errors=faults
    )
