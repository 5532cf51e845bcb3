"""The operations of ``/v1``, and the models of what they return."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

from kgrag.http_api.api_operation import ApiOperation
from kgrag.server.openai_api.request_bodies import ChatBody, EmbeddingsBody, ResponsesBody

__all__ = ["OPERATIONS"]


class ModelReply(BaseModel):
    """A method that is built, as a model."""

    id: str = Field(examples=["kgrag-auto"])
    object: Literal["model"]
    created: int
    owned_by: str


class ModelsReply(BaseModel):
    """The methods that are built, as models."""

    object: Literal["list"]
    data: list[ModelReply]


class CompletionMessage(BaseModel):
    """An answer; `kgrag` has its citations with document, span, quote and score."""

    role: Literal["assistant"]
    content: str
    refusal: str | None
    annotations: list[dict[str, Any]]
    kgrag: dict[str, Any] = {}


class CompletionChoice(BaseModel):
    """The one answer."""

    index: int
    message: CompletionMessage
    logprobs: None
    finish_reason: Literal["stop", "length"]


class CompletionUsage(BaseModel):
    """Tokens: words and marks, unless a language model counted its own."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionReply(BaseModel):
    """A chat completion of OpenAI."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage


class ResponseReply(BaseModel):
    """A response of OpenAI; `kgrag` has the citations."""

    id: str
    object: Literal["response"]
    created_at: int
    model: str
    status: Literal["completed", "incomplete"]
    output: list[dict[str, Any]]
    usage: dict[str, Any]
    incomplete_details: dict[str, Any] | None
    kgrag: dict[str, Any] = {}


class EmbeddingReply(BaseModel):
    """A vector: numbers, or with base64 little-endian float32."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingsReply(BaseModel):
    """Vectors, in the order of the texts."""

    object: Literal["list"]
    model: str
    data: list[EmbeddingReply]
    usage: dict[str, int]


class OpenaiError(BaseModel):
    """What went wrong, and with which parameter."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenaiErrorReply(BaseModel):
    """What went wrong."""

    error: OpenaiError


_READING = ("400", "401", "404")
_ASKING = ("400", "401", "403", "404", "409", "413", "415", "501", "503", "504")


def _operation(
    name: str, path: str, summary: str, request: type[BaseModel] | None, reply: type[BaseModel], **more: Any
) -> ApiOperation:
    refusals = _READING if request is None else _ASKING
    method = "get" if request is None else "post"
    known: dict[str, Any] = {"tag": "OpenAI", "problem": OpenaiErrorReply, "method": method}
    return ApiOperation(name, f"/v1/{path}", summary, request, reply, refusals, **known, **more)


OPERATIONS = (
    _operation("models", "models", "List the methods that are built, as models", None, ModelsReply),
    _operation("model", "models/{name}", "Return a method as a model", None, ModelReply),
    _operation(
        "chat_completions",
        "chat/completions",
        "Answer the last message of a conversation, with citations",
        ChatBody,
        CompletionReply,
        streams="Chunks `chat.completion.chunk`, and `[DONE]`.",
    ),
    _operation(
        "responses",
        "responses",
        "Answer the last message of a conversation: OpenAI's newer API",
        ResponsesBody,
        ResponseReply,
        streams="Events `response.…`.",
    ),
    _operation("embeddings", "embeddings", "Return the vectors of texts", EmbeddingsBody, EmbeddingsReply),
)
"""Every operation of ``/v1``."""
