"""Sends requests to an OpenAI-compatible service, repeats those that may succeed, and maps failures to our errors.

Repeated: no connection, a timeout, a connection cut within the reply, status 408, 409, 425, 429 and 5xx, and a reply
of status 200 that is no JSON of the expected form (an HTML page of a proxy). Never repeated: a wrong key, no quota, an
unknown model, a request that the server does not understand.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from kgrag.errors import InvalidSettings, ServiceError, ServiceRefused, ServiceUnavailable
from kgrag.llm.openai_streams import StreamReader, is_stream, joined
from kgrag.telemetry import Attributes, span

if TYPE_CHECKING:
    import openai
    import tenacity

__all__ = ["Connection", "RejectedRequestError", "Retries", "content_key", "encodable", "retry_after"]

DEFAULT_URL = "https://api.openai.com/v1"

_LOG = logging.getLogger(__name__)
_CONNECT_TIMEOUT_SECONDS = 10.0
_NO_QUOTA_CODES = {"billing_hard_limit_reached", "billing_not_active", "insufficient_quota"}
_REJECTED_STATUSES = {400, 413, 415, 422}
_REPEATED_STATUSES = {408, 409, 425, 429}
_FINAL_SERVER_STATUSES = {501, 505}
_MAX_CHARACTERS_SHOWN = 300
_OPERATIONS = {"chat.completions": "chat", "embeddings": "embeddings"}
"""Resource -> ``gen_ai.operation.name``."""
_USAGE = {
    "gen_ai.usage.input_tokens": "prompt_tokens",
    "gen_ai.usage.output_tokens": "completion_tokens",
}

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a request is sent again, and for how long; all waits in seconds.

    The n-th wait is ``first_wait`` doubled n times plus jitter, or the wait of the server's Retry-After where that is
    longer. A server that asks for more than ``longest_wait`` is not waited for. No request is begun later than
    ``patience`` after the first. ``sleep`` waits (default: a wait that ends early when the batch is abandoned).
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 120.0
    patience: float = 600.0
    sleep: Callable[[float], object] | None = None

    def longest(self, timeout: float) -> float:
        """Return the seconds after which a request is over, at most: no attempt begins after ``patience``.

        >>> Retries().longest(2.0), Retries().longest(120.0)
        (48.0, 720.0)
        """
        growing = (self.first_wait * (2.0**number + 1) for number in range(self.attempts - 1))  # with the most jitter
        waits = sum(min(each, self.longest_wait) for each in growing)
        return min(self.attempts * timeout + waits, self.patience + timeout)


class RejectedRequestError(ServiceError):
    """The server does not understand a request (400, 413, 415, 422): it may understand a simpler one."""

    def __init__(self, status: int, message: str, *, code: str = "", parameter: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.parameter = parameter


class _TransientError(ServiceError):
    """A failure that the same request may not meet again; ``wait`` is the wait that the server asks for, in seconds."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, eq=False)
class Connection:
    """A base URL and a key. The key appears nowhere: not in ``repr``, an error or a log."""

    base_url: str
    api_key: str = field(repr=False)
    timeout: float
    retries: Retries = Retries()

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            message = f"base URL {self.host!r} is no http(s) address. Use e.g. {DEFAULT_URL}"
            raise InvalidSettings(message)
        if not re.fullmatch(r"[\x21-\x7e]*", self.api_key.strip()):
            raise InvalidSettings("the API key contains blanks or letters that no key has. Copy it again.")

    @property
    def host(self) -> str:
        """Host, port and path of the base URL, without user name and password."""
        parts = urlsplit(self.base_url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}" or self.base_url.rpartition("@")[2]

    @cached_property
    def client(self) -> openai.OpenAI:
        """The client; made at first use. Raises ServiceRefused when OpenAI's own service is asked without a key."""
        import openai

        if not self.api_key.strip() and self.base_url == DEFAULT_URL:
            raise ServiceRefused(f"there is no API key for {self.host}. Set KGRAG_API_KEY, or another base URL.")
        return openai.OpenAI(
            api_key=self.api_key.strip() or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=openai.Timeout(self.timeout, connect=min(_CONNECT_TIMEOUT_SECONDS, self.timeout)),
        )

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        client = vars(self).pop("client", None)
        if client is not None:
            client.close()

    def post(
        self,
        resource: Literal["chat.completions", "embeddings"],
        body: Mapping[str, Any],
        read: Callable[[dict[str, Any]], Read],
        *,
        stopping: Event,
        reader: StreamReader | None = None,
    ) -> Read:
        """Send a request, repeat it within ``retries``, and return what ``read`` makes of the JSON reply.

        Args:
            resource: the endpoint.
            body: the request; its content is also its Idempotency-Key, so that a server may recognise it after a crash.
            read: turns the reply into a value; raises ValueError when the reply is not of the expected form.
            stopping: once set, nothing is repeated any more.
            reader: gets the bytes of a reply as they come; once it has passed text on, nothing is repeated.

        Raises:
            ServiceUnavailable: retries used up.
            ServiceRefused: wrong key, no quota, unknown model or endpoint.
            RejectedRequestError: the server does not understand this request.
        """
        policy = self._policy(stopping)

        def noted(reply: dict[str, Any]) -> Read:
            add(_usage(reply))
            return read(reply)

        def once() -> Read:
            try:
                return self._once(resource, body, noted, reader)
            except _TransientError as error:
                if reader is None or not reader.passed_on:
                    raise
                raise ServiceUnavailable(f"{self.host} broke off within its reply ({error}). Ask again.") from None

        operation = _OPERATIONS[resource]
        model = str(body.get("model", ""))
        attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
        }
        attributes["server.address"] = urlsplit(self.base_url).hostname or ""
        with span(f"{operation} {model}", attributes, client=True) as add:
            return self._answered(policy, once)

    def _answered(self, policy: tenacity.Retrying, once: Callable[[], Read]) -> Read:
        """Return what comes of a request that is repeated by a policy."""
        try:
            return policy(once)
        except _TransientError as error:
            failure = error
        if failure.wait > self.retries.longest_wait:
            message = f"{self.host} asks to wait {failure.wait:.0f} s ({failure}). Run again after that time."
            raise ServiceUnavailable(message)
        attempts = policy.statistics["attempt_number"]
        tried = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        raise ServiceUnavailable(
            f"{self.host} gave no usable reply in {tried}; the last one: {failure}. "
            "Check that the service is up and the base URL right, then run again."
        )

    def _policy(self, stopping: Event) -> tenacity.Retrying:
        import tenacity

        waits = self.retries
        growing = tenacity.wait_exponential(multiplier=waits.first_wait) + tenacity.wait_random(0, waits.first_wait)

        def wait(state: tenacity.RetryCallState) -> float:
            return max(min(growing(state), waits.longest_wait), _asked_wait(state))

        def sleep(seconds: float) -> None:
            (waits.sleep or stopping.wait)(seconds)
            if stopping.is_set():
                raise _TransientError("abandoned, since the batch was")

        def stop(state: tenacity.RetryCallState) -> bool:
            # idle_for adds up the waits as asked for, also where ``sleep`` returns at once, as it does in tests
            spent = max(state.seconds_since_start or 0.0, state.idle_for)
            return (
                stopping.is_set()
                or spent + state.upcoming_sleep > waits.patience
                or state.attempt_number >= waits.attempts
                or _asked_wait(state) > waits.longest_wait
            )

        def log(state: tenacity.RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if self._first_repeated():
                total = waits.longest(self.timeout)
                words = "%s: %s. The request is sent again, %d times at most and for no more than %.0f s in all"
                _LOG.warning(words, self.host, error, waits.attempts - 1, total)
            _LOG.info("%s: %s; next attempt in %.1f s", self.host, error, state.upcoming_sleep)

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            wait=wait,
            stop=stop,
            sleep=sleep,
            before_sleep=log,
            reraise=True,
        )

    def _first_repeated(self) -> bool:
        """Return whether nothing was repeated before: who waits is told once, not for each request of a build."""
        first, vars(self)["_repeated"] = "_repeated" not in vars(self), True
        return first

    def _once(
        self,
        resource: str,
        body: Mapping[str, Any],
        read: Callable[[dict[str, Any]], Read],
        reader: StreamReader | None = None,
    ) -> Read:
        text = self._exchange(resource, body, reader)
        try:
            reply = joined(text) if reader is not None and is_stream(text) else json.loads(text)
            if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
                # Gateways pass on an error of the service behind them under status 200.
                code = reply["error"].get("code")
                raise self._failure(code if isinstance(code, int) and 400 <= code < 600 else 502, reply["error"], {})
            return read(reply)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise _TransientError(f"status 200 with no usable JSON: {self._redacted(text)!r}") from None

    def _exchange(self, resource: str, body: Mapping[str, Any], reader: StreamReader | None = None) -> str:
        """Return the text of a reply of status 2xx; everything else is one of our errors."""
        import openai

        client = self.client
        endpoint = client.chat.completions if resource == "chat.completions" else client.embeddings
        send: Any = endpoint.with_streaming_response.create
        deadline = time.monotonic() + self.timeout
        try:
            with send(**body, extra_headers={"Idempotency-Key": content_key(body)}) as response:
                parts = []
                for part in response.iter_bytes():
                    parts.append(part)
                    if reader is not None:
                        reader.feed(part)
                    # The client's timeout starts anew with every byte, so a server that drips them would never meet it.
                    if time.monotonic() > deadline:
                        raise TimeoutError
                return b"".join(parts).decode("utf-8", "replace")
        except openai.APIStatusError as error:
            failure = self._failure(error.status_code, error.body, error.response.headers)
        except (openai.APITimeoutError, TimeoutError):
            failure = _TransientError(f"no complete reply within {self.timeout:g} s")
        except openai.APIConnectionError as error:
            failure = _TransientError(f"no connection ({self._redacted(error.__cause__ or error)})")
        except Exception as error:  # while a body is read, the client maps no error of its transport
            failure = _TransientError(f"connection cut within the reply ({self._redacted(error)})")
        raise failure  # outside of the handlers: the client's errors carry the request, and with it the key

    def _failure(self, status: int, body: object, headers: Mapping[str, str]) -> ServiceError:
        """Map a status and the ``error`` of a body to an error of ours."""
        details = body if isinstance(body, Mapping) else {}
        code, kind, message = (_string(details, name) for name in ("code", "type", "message"))
        whole = json.dumps(body, default=str) if isinstance(body, Mapping) else str(body or "")
        shown = self._redacted(message or whole)
        reason = f"status {status}: {shown}" if shown else f"status {status}"
        if status == 402 or {code, kind} & _NO_QUOTA_CODES:
            return ServiceRefused(
                f"{self.host} says that the quota is used up ({reason}). Top it up, or use another key."
            )
        if status in _REPEATED_STATUSES or (status >= 500 and status not in _FINAL_SERVER_STATUSES):
            return _TransientError(reason, wait=retry_after(headers))
        if status in {401, 403}:
            return ServiceRefused(
                f"{self.host} refused the API key ({reason}). Set KGRAG_API_KEY to a key that it accepts."
            )
        if status == 404:
            return ServiceRefused(
                f"{self.host} has no such model or address ({reason}). Check model name and base URL."
            )
        if status in _REJECTED_STATUSES:
            return RejectedRequestError(status, reason, code=code or kind, parameter=_string(details, "param"))
        return ServiceRefused(f"{self.host} refused the request ({reason}). Check model name and base URL.")

    def _redacted(self, content: object) -> str:
        """Return a text on one line, cut, with anything that looks like a key taken out."""
        text = " ".join(str(content).split())
        if key := self.api_key.strip():
            text = text.replace(key, "…")
        text = re.sub(r"\b(sk|Bearer)([- ])[\w*.-]{6,}", r"\1\2…", text)
        return text if len(text) <= _MAX_CHARACTERS_SHOWN else f"{text[:_MAX_CHARACTERS_SHOWN]} …"


def content_key(body: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a request's JSON, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def encodable(text: str) -> str:
    """Return the text with every character that UTF-8 cannot encode (a lone surrogate) as a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that Retry-After asks for (a number or a date); 0 when it is absent or unreadable.

    >>> retry_after({"retry-after": "2.5"}), retry_after({"retry-after": "soon"}), retry_after({})
    (2.5, 0.0, 0.0)
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value):
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _asked_wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    return error.wait if isinstance(error, _TransientError) else 0.0


def _string(details: Mapping[str, Any], name: str) -> str:
    value = details.get(name)
    return value if isinstance(value, str) else ""


def _usage(reply: Mapping[str, Any]) -> Attributes:
    """Return what a reply says that it cost, for its span."""
    said = reply.get("usage")
    counts = said if isinstance(said, Mapping) else {}
    found: dict[str, str | int] = {
        name: counts[key] for name, key in _USAGE.items() if isinstance(counts.get(key), int)
    }
    return found | ({"gen_ai.response.model": reply["model"]} if isinstance(reply.get("model"), str) else {})
