"""``/v1/responses``: OpenAI's newer API. Nothing is stored, so each request brings its conversation."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from kgrag.server.api.json_endpoints import KEEP_ALIVE_SECONDS
from kgrag.server.openai_api.chat_completions import SECONDS_BEFORE_STREAM, STREAM_HEADERS
from kgrag.server.openai_api.request_bodies import ResponsesBody, body_as, refuse_unsupported
from kgrag.server.openai_api.written_answers import WrittenAnswer, limited, pieces, written_answer
from kgrag.server.problems import openai_json, problem_of

__all__ = ["create"]

_EVENTS = "text/event-stream"


async def create(request: Request) -> Response:
    """Answer the last message of a conversation.

    Raises:
        Problem: 400, 401, 403, 404, 413, 415.
        KgragError: what ``KnowledgeBase.ask`` raises.
    """
    body = await body_as(request, ResponsesBody)
    refuse_unsupported(body)
    as_json = ((body.text or {}).get("format") or {}).get("type") == "json_object"
    working = asyncio.create_task(written_answer(request, body.model, body.turns(), body.kgrag, as_json=as_json))
    working.add_done_callback(lambda task: task.cancelled() or task.exception())  # as for completions
    head = _head(body)
    if not body.stream:
        written = limited(await working, tokens=body.max_output_tokens)
        return JSONResponse(_response(head, written), headers={"Cache-Control": "no-store"})
    if (await asyncio.wait({working}, timeout=SECONDS_BEFORE_STREAM))[0]:
        working.result()
    return StreamingResponse(_stream(head, body, working), 200, STREAM_HEADERS, _EVENTS)


def _head(body: ResponsesBody) -> dict[str, Any]:
    return {
        "id": f"resp_{secrets.token_hex(16)}",
        "object": "response",
        "created_at": int(time.time()),
        "model": body.model,
        "instructions": body.instructions,
        "metadata": body.metadata or {},
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
        "temperature": None,
        "top_p": None,
        "error": None,
        "incomplete_details": None,
        "status": "in_progress",
        "output": [],
    }


def _response(head: dict[str, Any], written: WrittenAnswer) -> dict[str, Any]:
    cut = written.finish == "length"
    total = written.tokens_in + written.tokens_out
    usage = {
        "input_tokens": written.tokens_in,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": written.tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": total,
    }
    return {
        **head,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": [_message(head, written)],
        "usage": usage,
        **({"kgrag": written.evidence} if written.evidence else {}),
    }


def _message(head: dict[str, Any], written: WrittenAnswer) -> dict[str, Any]:
    status = "incomplete" if written.finish == "length" else "completed"
    item = {"id": f"msg_{head['id'].removeprefix('resp_')}", "type": "message", "role": "assistant", "status": status}
    return {**item, "content": [_text(written)]}


def _text(written: WrittenAnswer) -> dict[str, Any]:
    annotations = [{"type": "url_citation", **each} for each in written.annotations]
    return {"type": "output_text", "text": written.text, "annotations": annotations, "logprobs": []}


async def _stream(
    head: dict[str, Any], body: ResponsesBody, working: asyncio.Task[WrittenAnswer]
) -> AsyncIterator[str]:
    numbers = count()

    def event(kind: str, **members: Any) -> str:
        data = {"type": kind, "sequence_number": next(numbers), **members}
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

    yield event("response.created", response=head)
    yield event("response.in_progress", response=head)
    while not (await asyncio.wait({working}, timeout=KEEP_ALIVE_SECONDS))[0]:
        yield ": still at work\n\n"
    try:
        written = limited(working.result(), tokens=body.max_output_tokens)
    except Exception as error:
        fault = openai_json(problem_of(error))["error"]
        yield event("response.failed", response={**head, "status": "failed", "error": fault})
        return
    for kind, members in _steps(head, written):
        yield event(kind, **members)
    done = _response(head, written)
    yield event("response.incomplete" if done["status"] == "incomplete" else "response.completed", response=done)


def _steps(head: dict[str, Any], written: WrittenAnswer) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a stream says of its one message: begun, text, annotations, done."""
    message, text = _message(head, written), _text(written)
    item = {"item_id": message["id"], "output_index": 0}
    place = {**item, "content_index": 0}
    yield "response.output_item.added", {"output_index": 0, "item": {**message, "status": "in_progress", "content": []}}
    yield "response.content_part.added", {**place, "part": {**text, "text": "", "annotations": []}}
    for piece in pieces(written.text):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    for number, annotation in enumerate(text["annotations"]):
        yield (
            "response.output_text.annotation.added",
            {**place, "annotation_index": number, "annotation": annotation},
        )
    yield "response.output_text.done", {**place, "text": written.text, "logprobs": []}
    yield "response.content_part.done", {**place, "part": text}
    yield "response.output_item.done", {"output_index": 0, "item": message}
