"""Answers as server-sent events: ``hits`` when they are there, a ``sentence`` each, the whole answer with ``done``.

A language model is asked for a whole answer, whose quotes are then looked up; so the sentences come when it is there.
What goes wrong after the hits is told as the event ``problem``, with what a reply with a status would hold.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.responses import StreamingResponse

from kgrag.model import Answer, Hit
from kgrag.server.problems import problem_json, problem_of
from kgrag.stages.json_forms import answer_json, citation_json, hit_json

__all__ = ["events"]

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
