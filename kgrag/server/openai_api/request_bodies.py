"""What ``/v1`` takes. What would change an answer and is not done here is refused; what would not is passed over."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from kgrag.answering.conversation import Turn
from kgrag.http_api.json_schemas import AnswerLimits, Filter, Top
from kgrag.server.api.json_endpoints import read_body
from kgrag.server.problems import Problem

__all__ = ["AnswerOptions", "ChatBody", "EmbeddingsBody", "ResponsesBody", "body_as", "refusal", "refuse_unsupported"]

_MAX_BODY_BYTES = 8 << 20
_TEXT_PARTS = ("text", "input_text", "output_text")
_Body = TypeVar("_Body", bound=BaseModel)


ModelName = Annotated[str, Field(description="A method that is built; GET /v1/models.", examples=["kgrag-auto"])]


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class AnswerOptions(AnswerLimits):
    """What is ours, as the member ``kgrag`` of a body."""

    model_config = ConfigDict(extra="forbid", strict=False, frozen=True)

    k: Top = 5
    where: Filter | None = None
    kind: Literal["query", "passage"] = "passage"


class Message(_Lenient):
    """A message; of its content only texts are taken."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    def turn(self, param: str) -> Turn:
        """Return who said what. Raises Problem where a part is no text."""
        if isinstance(self.content, list):
            for part in self.content:
                if part.get("type") not in _TEXT_PARTS:
                    raise refusal(f"a part of the type {part.get('type')!r} cannot be read. Send texts.", param)
            return Turn(self.role, "\n".join(str(part.get("text", "")) for part in self.content))
        return Turn(self.role, self.content or "")


class StreamOptions(_Lenient):
    """Whether usage comes at the end of a stream."""

    include_usage: bool = False


class ChatBody(_Lenient):
    """The body of a chat completion."""

    model: ModelName
    messages: Annotated[
        list[Message], Field(min_length=1, examples=[[{"role": "user", "content": "When is chickpea sown?"}]])
    ]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = 1
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    response_format: dict[str, Any] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    functions: list[Any] | None = None
    logprobs: bool | None = None
    audio: Any = None
    kgrag: AnswerOptions = AnswerOptions()

    def turns(self) -> list[Turn]:
        """Return the conversation; messages of the system are no part of it."""
        found = [message.turn(f"messages.{place}.content") for place, message in enumerate(self.messages)]
        return [turn for turn in found if turn.role in ("user", "assistant")]

    @property
    def stops(self) -> list[str]:
        """The texts that end an answer."""
        return [self.stop] if isinstance(self.stop, str) else self.stop or []


class ResponsesBody(_Lenient):
    """The body of a response."""

    model: ModelName
    input: str | Annotated[list[dict[str, Any]], Field(min_length=1)]
    instructions: str | None = None
    stream: bool | None = False
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    previous_response_id: str | None = None
    conversation: Any = None
    background: bool | None = None
    text: dict[str, Any] | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    metadata: dict[str, str] | None = None
    kgrag: AnswerOptions = AnswerOptions()

    def turns(self) -> list[Turn]:
        """Return the conversation."""
        if isinstance(self.input, str):
            return [Turn("user", self.input)]
        turns = []
        for place, item in enumerate(self.input):
            param = f"input.{place}"
            if item.get("type", "message") != "message" or "role" not in item:
                raise refusal(f"an item of the type {item.get('type')!r} cannot be read. Send messages.", param)
            content = item.get("content")
            turns.append(Message.model_construct(role=item["role"], content=content).turn(f"{param}.content"))
        return [turn for turn in turns if turn.role in ("user", "assistant")]


class EmbeddingsBody(_Lenient):
    """The body of a request for embeddings."""

    model: Annotated[str, Field(examples=["kgrag-embedder"])]
    input: str | Annotated[list[str], Field(min_length=1, max_length=2048)]
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: int | None = None
    kgrag: AnswerOptions = AnswerOptions()


async def body_as(request: Request, kind: type[_Body]) -> _Body:
    """Return the body of a request.

    Raises:
        Problem: 400, with the parameter that is wrong; 413, 415.
    """
    try:
        return await read_body(request, kind, _MAX_BODY_BYTES)
    except Problem as problem:
        if problem.status != 422:
            raise
        param = problem.errors[0]["pointer"].strip("/").replace("/", ".")
        raise refusal(f"{param or 'the body'}: {problem.errors[0]['detail']}.", param) from None


def refusal(message: str, param: str, code: str = "invalid_value", *, status: int = 400) -> Problem:
    """Return a refusal that names the parameter that it is about."""
    return Problem(status, message, more={"param": param or None, "code": code})


def refuse_unsupported(body: ChatBody | ResponsesBody) -> None:
    """Refuse what would change an answer and is not done here.

    Raises:
        Problem: 400, with the parameter.
    """
    refused: dict[str, tuple[bool, str]] = {
        "tools": (bool(body.tools) and body.tool_choice != "none", "no tools are called. /mcp has tools for agents.")
    }
    if isinstance(body, ChatBody):
        form = (body.response_format or {}).get("type", "text")
        refused |= {
            "functions": (bool(body.functions), "no functions are called. /mcp has tools for agents."),
            "n": (body.n not in (None, 1), "there is one answer to a question. Leave it out."),
            "logprobs": (bool(body.logprobs), "answers have no probabilities. Leave it out."),
            "audio": (body.audio is not None, "answers are texts. Leave it out."),
            "response_format": (
                form not in ("text", "json_object"),
                f"an answer has the form of text or json_object, not {form!r}.",
            ),
        }
    else:
        form = ((body.text or {}).get("format") or {}).get("type", "text")
        stored = "no response is stored here. Send the conversation as `input`."
        refused |= {
            "previous_response_id": (body.previous_response_id is not None, stored),
            "conversation": (body.conversation is not None, stored),
            "background": (bool(body.background), "an answer comes with its request. Leave it out."),
            "text.format": (form not in ("text", "json_object"), f"an answer is text or json_object, not {form!r}."),
        }
    for param, (wrong, message) in refused.items():
        if wrong:
            raise refusal(f"'{param}' is not supported: {message}", param, "unsupported_parameter")
