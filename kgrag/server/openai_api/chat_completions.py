"""``/v1/chat/completions``.

A stream has each sentence once it is complete and its quotes are found, and nothing that would have to be taken back.
An error that is known within a second has its status; a later one is the last event of the stream.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from kgrag.model import AnswerSentence
from kgrag.server.api.json_endpoints import arriving
from kgrag.server.openai_api.request_bodies import ChatBody, body_as, refuse_unsupported
from kgrag.server.openai_api.written_answers import WrittenAnswer, limited, pieces, written_answer
from kgrag.server.problems import openai_json, problem_of

__all__ = ["SECONDS_BEFORE_STREAM", "STREAM_HEADERS", "create"]

SECONDS_BEFORE_STREAM = 1.0
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_EVENTS = "text/event-stream"


async def create(request: Request) -> Response:
    """Answer the last message of a conversation.

    Raises:
        Problem: 400, 401, 403, 404, 413, 415.
        KgragError: what ``KnowledgeBase.ask`` raises.
    """
    body = await body_as(request, ChatBody)
    refuse_unsupported(body)
    as_json = (body.response_format or {}).get("type") == "json_object"
    sentences: asyncio.Queue[AnswerSentence] = asyncio.Queue()
    asked = request, body.model, body.turns(), body.kgrag
    told = sentences if body.stream else None
    working = asyncio.create_task(written_answer(*asked, as_json=as_json, sentences=told))
    # its error is retrieved also when the client has left, or asyncio would complain
    working.add_done_callback(lambda task: task.cancelled() or task.exception())
    head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": body.model}
    if not body.stream:
        return JSONResponse(_completion(head, _limited(await working, body)), headers={"Cache-Control": "no-store"})
    if (await asyncio.wait({working}, timeout=SECONDS_BEFORE_STREAM))[0]:
        working.result()
    return StreamingResponse(_stream(head, body, sentences, working), 200, STREAM_HEADERS, _EVENTS)


def _limited(written: WrittenAnswer, body: ChatBody) -> WrittenAnswer:
    tokens = body.max_tokens if body.max_completion_tokens is None else body.max_completion_tokens
    return limited(written, tokens=tokens, stops=body.stops)


def _completion(head: dict[str, Any], written: WrittenAnswer) -> dict[str, Any]:
    message = {"role": "assistant", "content": written.text, "refusal": None, **_cited(written)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": written.finish}
    return {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(written)}


def _cited(written: WrittenAnswer) -> dict[str, Any]:
    annotations = [{"type": "url_citation", "url_citation": each} for each in written.annotations]
    return {"annotations": annotations, **({"kgrag": written.evidence} if written.evidence else {})}


def _usage(written: WrittenAnswer) -> dict[str, int]:
    total = written.tokens_in + written.tokens_out
    return {"prompt_tokens": written.tokens_in, "completion_tokens": written.tokens_out, "total_tokens": total}


async def _stream(
    head: dict[str, Any],
    body: ChatBody,
    sentences: asyncio.Queue[AnswerSentence],
    working: asyncio.Task[WrittenAnswer],
) -> AsyncIterator[str]:
    with_usage = body.stream_options is not None and body.stream_options.include_usage

    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        document = {**head, "object": "chat.completion.chunk", "choices": [choice]}
        return _data(document | ({"usage": None} if with_usage else {}))

    yield chunk({"role": "assistant", "content": ""})
    said, sent = "", 0
    async for sentence in arriving(sentences, working):
        if sentence is None:
            yield ": still at work\n\n"
            continue
        said = f"{said} {sentence.marked}".lstrip()
        text = _limited(WrittenAnswer(said, (), {}, 0, 0), body).text
        for piece in pieces(text[sent:]):
            yield chunk({"content": piece})
        sent = max(sent, len(text))
    try:
        written = _limited(working.result(), body)
    except Exception as error:
        yield _data(openai_json(problem_of(error)))
        return
    for piece in pieces(written.text[sent:]):
        yield chunk({"content": piece})
    yield chunk(_cited(written))
    yield chunk({}, written.finish)
    if with_usage:
        yield _data({**head, "object": "chat.completion.chunk", "choices": [], "usage": _usage(written)})
    yield "data: [DONE]\n\n"


def _data(document: dict[str, Any]) -> str:
    return f"data: {json.dumps(document, ensure_ascii=False)}\n\n"
