"""``/v1/embeddings``: vectors of the embedder of the knowledge base."""

from __future__ import annotations

import base64
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.late_patterns import late_re
from kgrag.ports import Vectors
from kgrag.server.openai_api.request_bodies import EmbeddingsBody, body_as, refusal
from kgrag.server.server_state import state_of, workers_of

__all__ = ["create"]

_OWN_NAME = "kgrag-embedder"
_TOKEN = late_re(r"\w+|[^\w\s]")
_MAX_CHARACTERS = 2_000_000


async def create(request: Request) -> Response:
    """Return the vectors of texts.

    Raises:
        Problem: 401, 403: embedding costs money here; 400: not these texts or this form; 404: no such model.
        KgragError: what the embedder raises.
    """
    state, workers = state_of(request), workers_of(request)
    if state.rules.paid_access.searches_cost:
        state.rules.paid_access.check(request, state.rules.keys)
    body = await body_as(request, EmbeddingsBody)
    texts = [body.input] if isinstance(body.input, str) else body.input
    _check(texts, body, workers.kb.settings.embedder)

    def embed() -> Vectors:
        embedder = workers.kb.embedder
        if body.dimensions not in (None, embedder.dimension):
            raise refusal(f"vectors here have {embedder.dimension} dimensions.", "dimensions", "unsupported_value")
        return embedder.embed(texts, body.kgrag.kind)

    vectors = await workers.run(lambda: workers.alone(embed))
    tokens = sum(len(_TOKEN.findall(text)) for text in texts)
    return JSONResponse(
        {
            "object": "list",
            "model": body.model,
            "data": [_embedding(place, row, body) for place, row in enumerate(vectors)],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )


def _check(texts: list[str], body: EmbeddingsBody, embedder: str) -> None:
    if body.model not in (_OWN_NAME, embedder):
        message = f"the embedder here is '{embedder}', also called '{_OWN_NAME}', not '{body.model[:200]}'."
        raise refusal(message, "model", "model_not_found", status=404)
    if not all(text.strip() for text in texts):
        raise refusal("a text is empty.", "input")
    if sum(len(text) for text in texts) > _MAX_CHARACTERS:
        raise refusal(f"the texts have more than {_MAX_CHARACTERS:,} characters. Send some at a time.", "input")


def _embedding(place: int, row: Vectors, body: EmbeddingsBody) -> dict[str, Any]:
    value: object
    if body.encoding_format == "base64":
        value = base64.b64encode(row.astype("<f4").tobytes()).decode()
    else:
        value = [float(number) for number in row]
    return {"object": "embedding", "index": place, "embedding": value}
