"""A language model behind ``/chat/completions``.

Every reply is checked here against the schema that was asked for, since some servers ignore it without a word; a reply
that departs from it is sent back once with what is wrong. Prompts read: ``repair/format``, ``repair/json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from threading import Event
from typing import Any, Self

from kgrag import prompting
from kgrag.adapters.openai_service.connection import DEFAULT_URL, Connection, RejectedRequestError, Retries, encodable
from kgrag.adapters.openai_service.dialects import Dialect, Dialects, response_format, simpler
from kgrag.adapters.openai_service.workers import side_by_side
from kgrag.errors import ServiceRefused
from kgrag.model import Completion, Prompt, Usage
from kgrag.stages import structured

__all__ = ["OpenAIModel"]

_TEMPERATURE = 0
_TOO_LONG = (
    "context length",
    "context_length",
    "context window",
    "maximum context",
    "prompt is too long",
    "input is too long",
)
_WITHHELD = ("content_filter", "content_policy")

Message = Mapping[str, str]


@dataclass(frozen=True, eq=False)
class OpenAIModel:
    """A chat model at an OpenAI-compatible base URL; temperature 0 and a fixed seed.

    Args:
        model: its name, as the service knows it.
        base_url: where the service is; None: OpenAI's own.
        api_key: its key; "" for a service that wants none. Shown nowhere.
        concurrency: requests under way at once.
        timeout: seconds that one request may take.
        max_tokens: the longest reply, in tokens as the service counts them.
        seed: sent with every request, for services that honour it.
        retries: when and how often a request is sent again.
    """

    model: str
    _: KW_ONLY
    base_url: str | None
    api_key: str = field(repr=False)
    concurrency: int = 8
    timeout: float = 120.0
    max_tokens: int = 4096
    seed: int = 0
    retries: Retries = field(default_factory=Retries)
    _dialects: Dialects = field(default_factory=Dialects, init=False, repr=False)

    @cached_property
    def _connection(self) -> Connection:
        return Connection(self.base_url or DEFAULT_URL, self.api_key, self.timeout, self.retries)

    @property
    def identity(self) -> str:
        """Model, host and parameters; never the key."""
        parameters = f"temperature={_TEMPERATURE} seed={self.seed} max_tokens={self.max_tokens}"
        return f"{self.model} at {self._connection.host} ({parameters})"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Give one completion a prompt, in order.

        Raises:
            ServiceUnavailable: no connection, or retries used up.
            ServiceRefused: wrong key, no quota, unknown model, or a request that the service does not understand.
        """
        arrived = dict(self.as_completed(prompts))
        return [arrived[index] for index in range(len(prompts))]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) as replies come.

        After an error no further prompt is asked; replies under way are still yielded before it is raised. Raises what
        ``complete`` raises.
        """
        if prompts:
            _ = self._connection.client  # made once, before threads share it
        yield from side_by_side(self._completion, prompts, limit=self.concurrency)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _completion(self, prompt: Prompt, stopping: Event) -> Completion:
        question: Message = {"role": "user", "content": encodable(prompt.text)}
        first = self._ask(prompt, [question], stopping)
        if first.problem:
            return first
        if prompt.schema is None:
            return first if first.text.strip() else replace(first, problem="the reply is empty")
        data, wrong = structured.reply(first.text, prompt.schema)
        if not wrong:
            return replace(first, data=data)
        repair = prompting.render("repair/json", problem=wrong, expected=json.dumps(prompt.schema, ensure_ascii=False))
        answered: Message = {"role": "assistant", "content": first.text.strip() or "(nothing)"}
        second = self._ask(prompt, [question, answered, {"role": "user", "content": repair.text}], stopping)
        second = replace(second, usage=first.usage + second.usage)
        if second.problem:
            return second
        data, wrong = structured.reply(second.text, prompt.schema)
        return replace(second, data=data, problem=wrong)

    def _ask(self, prompt: Prompt, messages: Sequence[Message], stopping: Event) -> Completion:
        """Ask once, in the richest dialect that the server understands."""
        dialect = self._dialects.first(prompt.schema)
        while True:
            try:
                body = self._body(prompt, messages, dialect)
                reply = self._connection.post("chat.completions", body, self._read, stopping=stopping)
            except RejectedRequestError as error:
                if problem := _about_prompt(error):
                    return Completion(text="", model=self.model, problem=problem)
                following = simpler(dialect, error)
                if following is None:
                    message = f"{self._connection.host} does not accept requests to '{self.model}' ({error})."
                    raise ServiceRefused(f"{message} Check model name and base URL.") from None
                dialect = following
            else:
                self._dialects.remember(prompt.schema, dialect)
                return reply

    def _body(self, prompt: Prompt, messages: Sequence[Message], dialect: Dialect) -> dict[str, Any]:
        optional = {"temperature": _TEMPERATURE, "seed": self.seed}
        body: dict[str, Any] = {"model": self.model, "messages": list(messages), dialect.limit: self.max_tokens}
        body.update((name, value) for name, value in optional.items() if name not in dialect.without)
        if prompt.schema is not None:
            asked = response_format(prompt.name, prompt.schema, dialect.form)
            body.update({"response_format": asked} if asked else {})
            if dialect.form != "json_schema":
                body["messages"] = _with_schema(messages, prompt.schema)
        return body

    def _read(self, reply: dict[str, Any]) -> Completion:
        choice = reply["choices"][0]
        text = _content(choice["message"].get("content"))
        name = reply.get("model")
        return Completion(
            text=text,
            model=name if isinstance(name, str) and name else self.model,
            usage=_usage(reply.get("usage")),
            problem=self._problem(choice),
        )

    def _problem(self, choice: Mapping[str, Any]) -> str:
        refusal = choice["message"].get("refusal")
        if refusal:
            return f"the model refused: {refusal}"
        if choice.get("finish_reason") == "length":
            return f"the reply was cut at {self.max_tokens} tokens. Allow more, or ask for less at a time."
        if choice.get("finish_reason") == "content_filter":
            return "the service's content filter withheld the reply"
        return ""


def _with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """Say in words, in the first message, what the server cannot be told as a parameter."""
    said = prompting.render("repair/format", expected=json.dumps(schema, ensure_ascii=False)).text
    first = {**messages[0], "content": f"{messages[0]['content']}\n\n{said}"}
    return [first, *messages[1:]]


def _content(content: object) -> str:
    """Give a message's text, which some servers send in parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part.get("text"), str))
    if content is None:
        return ""
    if not isinstance(content, str):
        raise TypeError(f"a message's content is a {type(content).__name__}")
    return content


def _usage(usage: object) -> Usage:
    counts = usage if isinstance(usage, Mapping) else {}
    given = [counts.get("prompt_tokens"), counts.get("completion_tokens")]
    known = [count if isinstance(count, int) and count > 0 else 0 for count in given]
    return Usage(1, *known)


def _about_prompt(error: RejectedRequestError) -> str:
    """Say what is wrong with this one prompt, or "" when the refusal is about how requests are put."""
    said = f"{error.code} {error}".lower()
    if error.status == 413 or any(words in said for words in _TOO_LONG):
        return f"the prompt is too long for the model ({error})"
    if any(words in said for words in _WITHHELD):
        return f"the service's content filter refused the prompt ({error})"
    return ""
