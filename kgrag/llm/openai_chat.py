"""A language model behind ``/chat/completions`` of any OpenAI-compatible base URL.

Servers understand different parts of the protocol, which is found out request by request. A reply's form is asked for
by JSON schema, else by "some JSON object", else in words only. Parameters that a server names in a refusal are left out
(``temperature``, ``seed``) or called by their newer name (``max_tokens``). What succeeded is remembered.

Every reply is checked here against the schema that was asked for, since some servers ignore it silently; a reply that
departs from it is sent back once with its violations. One that lacks its end is cut, whatever the server calls it: who
can ask in parts does so at once, and else it is sent back once with how much fits. Prompts read: ``repair/cut``,
``repair/format``, ``repair/json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, Literal, Self, TypeVar

from kgrag import prompting
from kgrag.errors import ServiceRefused
from kgrag.llm import structured_output
from kgrag.llm.openai_connection import DEFAULT_URL, Connection, RejectedRequestError, Retries, encodable
from kgrag.llm.openai_streams import StreamReader
from kgrag.model import Completion, Prompt, Usage
from kgrag.telemetry import in_context

__all__ = ["Dialect", "KnownDialects", "OpenAIModel", "side_by_side", "simpler"]

ReplyForm = Literal["json_schema", "json_object", "text"]
Message = Mapping[str, str]
Item = TypeVar("Item")
Result = TypeVar("Result")
_Finish = Literal["stop", "length", "prompt_length", "content_filter"]

_TEMPERATURE = 0
_FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
_OPTIONAL_PARAMETERS = ("seed", "temperature", "stream_options", "stream")
_TOO_LONG_WORDS = (
    "context length",
    "context_length",
    "context window",
    "maximum context",
    "prompt is too long",
    "input is too long",
)
_WITHHELD_WORDS = ("content_filter", "content_policy")
# Words for a reply that ends at its limit: OpenAI's, Mistral's, and those of others that gateways pass on.
_CUT_WORDS = ("length", "model_length", "max_tokens", "MAX_TOKENS")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The form of a request: the form of its reply, the name of the token limit, and parameters left out."""

    form: ReplyForm = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    without: frozenset[str] = frozenset()


def simpler(dialect: Dialect, error: RejectedRequestError) -> Dialect | None:
    """Return the next dialect to try after a refusal, or None when there is none.

    >>> refusal = RejectedRequestError(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.")
    >>> simpler(Dialect(), refusal).limit
    'max_completion_tokens'
    """
    if dialect.limit == "max_tokens" and (error.parameter == "max_tokens" or "max_completion_tokens" in str(error)):
        return replace(dialect, limit="max_completion_tokens")
    for name in _OPTIONAL_PARAMETERS:
        named = error.parameter == name if error.parameter else re.search(rf"\b{name}\b", str(error))
        if named and name not in dialect.without:
            return replace(dialect, without=dialect.without | {name})
    at = _FORMS.index(dialect.form)
    return replace(dialect, form=_FORMS[at + 1]) if at + 1 < len(_FORMS) else None


@dataclass(eq=False)
class KnownDialects:
    """The dialects that one server understood; shared by threads, each of which only ever replaces a whole entry.

    A schema that a server refuses proves little about other schemas when it has accepted one, so forms are remembered
    by schema, and an unknown schema starts at the best form in which any schema was served.
    """

    _common: Dialect = Dialect()
    _forms: dict[str, ReplyForm] = field(default_factory=dict)

    def first(self, schema: Mapping[str, Any] | None) -> Dialect:
        """Return the dialect to try first; free text (no schema) asks for no form."""
        if schema is None:
            return replace(self._common, form="text")
        best = min(self._forms.values(), key=_FORMS.index, default=_FORMS[0])
        return replace(self._common, form=self._forms.get(json.dumps(schema, sort_keys=True), best))

    def remember(self, schema: Mapping[str, Any] | None, dialect: Dialect) -> None:
        """Keep a dialect that was understood."""
        self._common = dialect
        if schema is not None:
            self._forms[json.dumps(schema, sort_keys=True)] = dialect.form


@dataclass(frozen=True, eq=False)
class OpenAIModel:
    """A chat model at an OpenAI-compatible base URL; temperature 0 and a fixed seed.

    Args:
        model: its name, as the service knows it.
        base_url: the address of the service; None: OpenAI's own.
        api_key: its key; "" for a service that wants none. It appears in no message.
        concurrency: requests under way at once.
        timeout: seconds that one request may take.
        max_tokens: the longest reply, in tokens as the service counts them; None leaves it to the service. A reply that
            ends by itself is the same whatever the limit, so the limit is no part of ``identity``.
        seed: sent with every request, for services that honour it.
        retries: how often and how long a request is sent again.
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
    _dialects: KnownDialects = field(default_factory=KnownDialects, init=False, repr=False)

    @cached_property
    def _connection(self) -> Connection:
        return Connection(self.base_url or DEFAULT_URL, self.api_key, self.timeout, self.retries)

    @property
    def identity(self) -> str:
        """Model, host and parameters; never the key."""
        return f"{self.model} at {self._connection.host} (temperature={_TEMPERATURE} seed={self.seed})"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order.

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

    def complete_streamed(self, prompt: Prompt, on_text: Callable[[str], None]) -> Completion:
        """Return the completion of a prompt, and pass its text on as it is written.

        What was passed on is final: it is not asked for again, neither after an error nor to mend its form. Raises what
        ``complete`` raises; also ServiceUnavailable: the connection broke after text had been passed on.
        """
        reader = StreamReader(on_text)
        question: Message = {"role": "user", "content": encodable(prompt.text)}
        first = self._ask(prompt, [question], Event(), reader)
        if reader.failure is not None:
            raise reader.failure
        if first.problem:
            return first
        if reader.passed_on or prompt.schema is None:
            return structured_output.with_data(first, prompt.schema) if prompt.schema else first
        return self._mended(prompt, question, first, Event())

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return itself."""
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
        return self._mended(prompt, question, first, stopping)

    def _mended(self, prompt: Prompt, question: Message, first: Completion, stopping: Event) -> Completion:
        """Return a reply with its JSON; one that departs from the schema is sent back once."""
        schema = prompt.schema or {}
        data, problem = structured_output.reply(first.text, schema)
        if not problem:
            return replace(first, data=data)
        is_cut = problem == structured_output.NO_END
        if is_cut and prompt.divisible:
            return replace(first, finish="length", problem=f"{problem}, after {len(first.text):,} characters")
        expected = json.dumps(schema, ensure_ascii=False)
        if is_cut:
            repair = prompting.render("repair/cut", characters=len(first.text.strip()), expected=expected)
        else:
            repair = prompting.render("repair/json", problem=problem, expected=expected)
        answered: Message = {"role": "assistant", "content": first.text.strip() or "(nothing)"}
        second = self._ask(prompt, [question, answered, {"role": "user", "content": repair.text}], stopping)
        second = replace(second, usage=first.usage + second.usage)
        if second.problem:
            return second
        return structured_output.with_data(second, schema)

    def _ask(
        self, prompt: Prompt, messages: Sequence[Message], stopping: Event, reader: StreamReader | None = None
    ) -> Completion:
        """Ask once, in the richest dialect that the server understands."""
        dialect = self._dialects.first(prompt.schema)
        while True:
            try:
                body = self._body(prompt, messages, dialect)
                if reader is not None and "stream" not in dialect.without:
                    body["stream"] = True
                    if "stream_options" not in dialect.without:
                        body["stream_options"] = {"include_usage": True}
                reply = self._connection.post("chat.completions", body, self._read, stopping=stopping, reader=reader)
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
        if prompt.schema is None:
            return body
        if dialect.form == "json_schema":
            name = re.sub(r"[^A-Za-z0-9_-]", "_", prompt.name)[:64] or "reply"
            schema = _as_sent(prompt.schema)
            asked = {"name": name, "schema": schema, "strict": _is_closed(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": asked}
            return body
        # The first message describes in words the schema that the server takes as no parameter.
        described = prompting.render("repair/format", expected=json.dumps(prompt.schema, ensure_ascii=False)).text
        first = {**messages[0], "content": f"{messages[0]['content']}\n\n{described}"}
        body["messages"] = [first, *messages[1:]]
        if dialect.form == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _read(self, reply: dict[str, Any]) -> Completion:
        choice = reply["choices"][0]
        content = choice["message"].get("content")
        if content is None:
            content = ""
        if isinstance(content, list):  # some servers send a message in parts
            content = "".join(part["text"] for part in content if isinstance(part.get("text"), str))
        if not isinstance(content, str):
            raise TypeError(f"a message's content is a {type(content).__name__}")
        name = reply.get("model")
        counted = reply["usage"] if isinstance(reply.get("usage"), Mapping) else {}
        tokens = [counted.get(kind) for kind in ("prompt_tokens", "completion_tokens")]
        usage = Usage(1, *(count if isinstance(count, int) and count > 0 else 0 for count in tokens))
        finish, problem = _ending(choice, usage, self.max_tokens)
        return Completion(
            text=content,
            model=name if isinstance(name, str) and name else self.model,
            usage=usage,
            problem=problem,
            finish=finish,
        )


def _as_sent(schema: object) -> object:
    """Return a schema that requires what it has a default for.

    Replies without it can be read, and yet "strict" mode demands all properties, and knows no defaults.
    """
    if isinstance(schema, list | tuple):
        return [_as_sent(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    whole = {name: _as_sent(item) for name, item in schema.items() if name not in ("default", "properties")}
    if isinstance(properties := schema.get("properties"), Mapping):
        whole["properties"] = {name: _as_sent(item) for name, item in properties.items()}
        given = [name for name, item in properties.items() if isinstance(item, Mapping) and "default" in item]
        whole |= {"required": [*schema.get("required", ()), *given]} if given else {}
    return whole


def _is_closed(schema: object) -> bool:
    """Return whether every object of a schema is closed and requires all its properties, as "strict" mode demands."""
    if isinstance(schema, list | tuple):
        return all(_is_closed(item) for item in schema)
    if not isinstance(schema, Mapping):
        return True
    if "properties" in schema or schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(properties) != set(schema.get("required", ())):
            return False
    return all(_is_closed(item) for item in schema.values())


def _ending(choice: Mapping[str, Any], usage: Usage, limit: int | None) -> tuple[_Finish, str]:
    """Return why a reply ends, and what is wrong with that ("" when it ends by itself)."""
    is_at_limit = limit is not None and usage.output_tokens >= limit  # some services call that "stop"
    if choice.get("finish_reason") in _CUT_WORDS or is_at_limit:
        tokens = f" after {usage.output_tokens:,} tokens" if usage.output_tokens else ""
        asked = f"{limit:,}, as asked for" if limit else "the service's own"
        return "length", f"the reply was cut{tokens}; the limit is {asked}. Set KGRAG_MAX_TOKENS higher."
    if choice.get("finish_reason") == "content_filter":
        return "content_filter", "the service's content filter withheld the reply"
    refusal = choice["message"].get("refusal")
    return ("content_filter", f"the model refused: {refusal}") if refusal else ("stop", "")


def _about_prompt(error: RejectedRequestError) -> tuple[_Finish, str] | None:
    """Return what is wrong with this one prompt; None when the refusal is about the form of requests."""
    refusal = f"{error.code} {error}".lower()
    if error.status == 413 or any(words in refusal for words in _TOO_LONG_WORDS):
        return "prompt_length", f"the prompt is too long for the model ({error})"
    if any(words in refusal for words in _WITHHELD_WORDS):
        return "content_filter", f"the service's content filter refused the prompt ({error})"
    return None


def side_by_side(
    work: Callable[[Item, Event], Result], items: Sequence[Item], *, limit: int
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) as work on each item ends.

    As many are under way, or wait to be taken, as ``limit`` says: what was paid for and is kept by the caller alone is
    never more, however slow the caller is, and is all that is paid twice where the process is killed. After the first
    failure nothing more is begun; what is under way ends, its results are yielded, and then the failure is raised. When
    the caller stops early, or is interrupted, nothing more is begun either.

    Args:
        work: called with an item and an event that is set once waiting is no longer worth while.
        items: what to work on.
        limit: how many at a time; at least 1.
    """
    stopping = Event()
    waiting: SimpleQueue[tuple[int, Item]] = SimpleQueue()
    finished: SimpleQueue[tuple[int, Result] | Exception | None] = SimpleQueue()  # None: a thread has ended
    for numbered in enumerate(items):
        waiting.put(numbered)

    threads, failure = min(limit, len(items)), None
    room = Semaphore(threads)
    try:
        # Daemon threads, not an executor: an executor's threads are joined when the process ends, so an interrupted
        # command would hang until the slowest request under way has timed out.
        for _ in range(threads):
            serving = in_context(_serve)
            Thread(
                target=serving, args=(work, waiting, finished, room, stopping), name="kgrag-request", daemon=True
            ).start()
        while threads:
            arrived = finished.get()
            if arrived is None:
                threads -= 1
            elif isinstance(arrived, Exception):
                failure = failure or arrived
            else:
                yield arrived
                room.release()
        if failure:
            raise failure
    finally:
        stopping.set()
        room.release(limit)  # whoever waits for room looks, and ends


def _serve(
    work: Callable[[Item, Event], Result],
    waiting: SimpleQueue[tuple[int, Item]],
    finished: SimpleQueue[tuple[int, Result] | Exception | None],
    room: Semaphore,
    stopping: Event,
) -> None:
    try:
        while room.acquire() and not stopping.is_set():
            index, item = waiting.get_nowait()
            finished.put((index, work(item, stopping)))
    except Empty:
        pass
    except Exception as error:
        finished.put(error)
        stopping.set()
    finally:
        finished.put(None)
