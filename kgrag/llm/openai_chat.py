"""Finds out, request by request, how much of the OpenAI protocol a server understands.

A reply's form is asked for by JSON schema, else by "some JSON object", else in words only. Parameters that a server
names in a refusal are left out (``temperature``, ``seed``) or called by their newer name (``max_tokens``). What was
found is remembered once a request has succeeded.

Does slow work side by side and yields results as they come.

Daemon threads, not an executor: an executor's threads are joined when the process ends, so an interrupted command would
hang until the slowest request under way has timed out.

A language model behind ``/chat/completions``.

Every reply is checked here against the schema that was asked for, since some servers ignore it without a word; a reply
that departs from it is sent back once with what is wrong. Prompts read: ``repair/format``, ``repair/json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Literal, Self, TypeVar

from kgrag import prompting
from kgrag.errors import ServiceRefused
from kgrag.llm import structured_output
from kgrag.llm.openai_connection import DEFAULT_URL, Connection, RejectedRequestError, Retries, encodable
from kgrag.model import Completion, Prompt, Usage

__all__ = [
    "Dialect",
    "Dialects",
    "OpenAIModel",
    "response_format",
    "side_by_side",
    "simpler",
]

Form = Literal["json_schema", "json_object", "text"]

_FORMS: tuple[Form, ...] = ("json_schema", "json_object", "text")
_OPTIONAL = ("seed", "temperature")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a request is put: the form of the reply, the name of the token limit, and parameters left out."""

    form: Form = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    without: frozenset[str] = frozenset()


def simpler(dialect: Dialect, error: RejectedRequestError) -> Dialect | None:
    """Give the next dialect to try after a refusal, or None when there is none.

    >>> refusal = RejectedRequestError(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
    >>> simpler(Dialect(), refusal).limit
    'max_completion_tokens'
    """
    if dialect.limit == "max_tokens" and (error.parameter == "max_tokens" or "max_completion_tokens" in str(error)):
        return replace(dialect, limit="max_completion_tokens")
    for name in _OPTIONAL:
        named = error.parameter == name if error.parameter else re.search(rf"\b{name}\b", str(error))
        if named and name not in dialect.without:
            return replace(dialect, without=dialect.without | {name})
    at = _FORMS.index(dialect.form)
    return replace(dialect, form=_FORMS[at + 1]) if at + 1 < len(_FORMS) else None


@dataclass(eq=False)
class Dialects:
    """What is known of one server; shared by threads, each of which only ever replaces a whole entry.

    A schema that a server refuses says little about other schemas when it has accepted one, so forms are remembered by
    schema, and an unknown schema starts at the best form that any schema was served in.
    """

    _common: Dialect = Dialect()
    _forms: dict[str, Form] = field(default_factory=dict)

    def first(self, schema: Mapping[str, Any] | None) -> Dialect:
        """Give the dialect to try first; free text (no schema) has nothing to ask for."""
        if schema is None:
            return replace(self._common, form="text")
        best = min(self._forms.values(), key=_FORMS.index, default=_FORMS[0])
        return replace(self._common, form=self._forms.get(_key(schema), best))

    def remember(self, schema: Mapping[str, Any] | None, dialect: Dialect) -> None:
        """Keep what was understood."""
        self._common = dialect
        if schema is not None:
            self._forms[_key(schema)] = dialect.form


def response_format(name: str, schema: Mapping[str, Any], form: str) -> dict[str, Any] | None:
    """Give the ``response_format`` of a request; None where the form is asked for in words."""
    if form == "json_schema":
        safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "reply"
        return {"type": form, "json_schema": {"name": safe, "schema": schema, "strict": _closed(schema)}}
    return {"type": form} if form == "json_object" else None


def _closed(schema: Any) -> bool:
    """Say whether every object is closed and requires all its properties, as "strict" mode demands."""
    if isinstance(schema, list | tuple):
        return all(_closed(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    if "properties" in schema or schema.get("type") == "object":
        named = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(named) != set(schema.get("required", ())):
            return False
    return all(_closed(item) for item in schema.values())


def _key(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


Item = TypeVar("Item")
Result = TypeVar("Result")


class _Ended:
    """Says that a worker will do no more."""


def side_by_side(
    work: Callable[[Item, Event], Result], items: Sequence[Item], *, limit: int
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) as work on each item ends.

    After the first failure nothing more is begun; what is under way ends, its results are yielded, and then the failure
    is raised. When the caller stops early, or is interrupted, nothing more is begun either.

    Args:
        work: called with an item and an event that says, once set, that waiting is no longer worth while.
        items: what to work on.
        limit: how many at a time; at least 1.
    """
    stopping = Event()
    todo: SimpleQueue[tuple[int, Item]] = SimpleQueue()
    done: SimpleQueue[tuple[int, Result] | Exception | _Ended] = SimpleQueue()
    for numbered in enumerate(items):
        todo.put(numbered)
    count = min(limit, len(items))
    try:
        for _ in range(count):
            Thread(target=_serve, args=(work, todo, done, stopping), name="kgrag-request", daemon=True).start()
        yield from _arrivals(done, count)
    finally:
        stopping.set()


def _serve(
    work: Callable[[Item, Event], Result],
    todo: SimpleQueue[tuple[int, Item]],
    done: SimpleQueue[tuple[int, Result] | Exception | _Ended],
    stopping: Event,
) -> None:
    try:
        while not stopping.is_set():
            index, item = todo.get_nowait()
            done.put((index, work(item, stopping)))
    except Empty:
        pass
    except Exception as error:
        done.put(error)
        stopping.set()
    finally:
        done.put(_Ended())


def _arrivals(done: SimpleQueue[tuple[int, Result] | Exception | _Ended], workers: int) -> Iterator[tuple[int, Result]]:
    failure: Exception | None = None
    while workers:
        arrived = done.get()
        if isinstance(arrived, _Ended):
            workers -= 1
        elif isinstance(arrived, Exception):
            failure = failure or arrived
        else:
            yield arrived
    if failure:
        raise failure


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
# words for a reply that ends at its limit: OpenAI's, Mistral's, and those of others that gateways pass on
_CUT = ("length", "model_length", "max_tokens", "MAX_TOKENS")

_Finish = Literal["stop", "length", "prompt_length", "content_filter"]

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
        max_tokens: the longest reply, in tokens as the service counts them; None leaves it to the service. A reply that
            ends by itself is the same whatever the limit, so the limit is no part of ``identity``.
        seed: sent with every request, for services that honour it.
        retries: when and how often a request is sent again.
    """

    model: str
    _: KW_ONLY
    base_url: str | None
    api_key: str = field(repr=False)
    concurrency: int = 8
    timeout: float = 120.0
    max_tokens: int | None = None
    seed: int = 0
    retries: Retries = field(default_factory=Retries)
    _dialects: Dialects = field(default_factory=Dialects, init=False, repr=False)

    @cached_property
    def _connection(self) -> Connection:
        return Connection(self.base_url or DEFAULT_URL, self.api_key, self.timeout, self.retries)

    @property
    def identity(self) -> str:
        """Model, host and parameters; never the key."""
        return f"{self.model} at {self._connection.host} (temperature={_TEMPERATURE} seed={self.seed})"

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
        data, wrong = structured_output.reply(first.text, prompt.schema)
        if not wrong:
            return replace(first, data=data)
        repair = prompting.render("repair/json", problem=wrong, expected=json.dumps(prompt.schema, ensure_ascii=False))
        answered: Message = {"role": "assistant", "content": first.text.strip() or "(nothing)"}
        second = self._ask(prompt, [question, answered, {"role": "user", "content": repair.text}], stopping)
        second = replace(second, usage=first.usage + second.usage)
        if second.problem:
            return second
        data, wrong = structured_output.reply(second.text, prompt.schema)
        return replace(second, data=data, problem=wrong)

    def _ask(self, prompt: Prompt, messages: Sequence[Message], stopping: Event) -> Completion:
        """Ask once, in the richest dialect that the server understands."""
        dialect = self._dialects.first(prompt.schema)
        while True:
            try:
                body = self._body(prompt, messages, dialect)
                reply = self._connection.post("chat.completions", body, self._read, stopping=stopping)
            except RejectedRequestError as error:
                if fault := _about_prompt(error):
                    return Completion(text="", model=self.model, problem=fault[1], finish=fault[0])
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
        body: dict[str, Any] = {"model": self.model, "messages": list(messages)}
        if self.max_tokens is not None:
            body[dialect.limit] = self.max_tokens
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
        usage = _usage(reply.get("usage"))
        finish, problem = _ending(choice, usage, self.max_tokens)
        known = name if isinstance(name, str) and name else self.model
        return Completion(text=text, model=known, usage=usage, problem=problem, finish=finish)


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


def _ending(choice: Mapping[str, Any], usage: Usage, limit: int | None) -> tuple[_Finish, str]:
    """Give why a reply ends, and what is wrong with that ("" when it ends by itself)."""
    if choice.get("finish_reason") in _CUT:
        tokens = f" after {usage.output_tokens:,} tokens" if usage.output_tokens else ""
        asked = f"{limit:,}, as asked for" if limit else "the service's own"
        return "length", f"the reply was cut{tokens}; the limit is {asked}. Set KGRAG_MAX_TOKENS higher."
    if choice.get("finish_reason") == "content_filter":
        return "content_filter", "the service's content filter withheld the reply"
    refusal = choice["message"].get("refusal")
    return ("content_filter", f"the model refused: {refusal}") if refusal else ("stop", "")


def _about_prompt(error: RejectedRequestError) -> tuple[_Finish, str] | None:
    """Give what is wrong with this one prompt; None when the refusal is about how requests are put."""
    said = f"{error.code} {error}".lower()
    if error.status == 413 or any(words in said for words in _TOO_LONG):
        return "prompt_length", f"the prompt is too long for the model ({error})"
    if any(words in said for words in _WITHHELD):
        return "content_filter", f"the service's content filter refused the prompt ({error})"
    return None
