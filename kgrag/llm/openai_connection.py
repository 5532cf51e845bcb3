"""One service: sends a request, repeats it where that can help, and maps every failure to an error of ours.

What is repeated: no connection, a timeout, a connection cut within the reply, status 408, 409, 429 and 5xx, and a reply
of status 200 that is no JSON of the expected form (an HTML page of a proxy). What is never repeated: a wrong key, no
quota, an unknown model, a request that the server does not understand.
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

if TYPE_CHECKING:
    import openai
    import tenacity

__all__ = ["Connection", "RejectedRequestError", "Retries", "content_key", "encodable", "retry_after"]

DEFAULT_URL = "https://api.openai.com/v1"

_LOG = logging.getLogger(__name__)
_CONNECT = 10.0
_NO_QUOTA = {"billing_hard_limit_reached", "billing_not_active", "insufficient_quota"}
_NOT_UNDERSTOOD = {400, 413, 415, 422}
_REPEATED = {408, 409, 425, 429}
_FINAL_5XX = {501, 505}
_SHOWN = 300

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Retries:
    """When a request is sent again, and for how long; all waits in seconds.

    The n-th wait is ``first_wait`` doubled n times plus jitter, or what the server's Retry-After asks for when that is
    more. A server that asks for more than ``longest_wait`` is not waited for. No request is begun later than
    ``patience`` after the first. ``sleep`` waits (default: a wait that ends early when the batch is given up).
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 120.0
    patience: float = 600.0
    sleep: Callable[[float], object] | None = None


class RejectedRequestError(ServiceError):
    """The server does not understand a request (400, 413, 422): it may understand a simpler one."""

    def __init__(self, status: int, message: str, *, code: str = "", parameter: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.parameter = parameter


class _TransientError(ServiceError):
    """A failure that the same request may not meet again; ``wait`` is what the server asks for, in seconds."""

    def __init__(self, message: str, *, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, eq=False)
class Connection:
    """A base URL and a key. The key is shown nowhere: not in ``repr``, an error or a log."""

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
            raise InvalidSettings("the API key holds blanks or letters that no key has. Copy it again.")

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
            timeout=openai.Timeout(self.timeout, connect=min(_CONNECT, self.timeout)),
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
    ) -> Read:
        """Send a request, repeating it as ``retries`` says, and give what ``read`` makes of the JSON reply.

        Args:
            resource: the endpoint.
            body: the request; its content is also its Idempotency-Key, so that a server may recognise it after a crash.
            read: turns the reply into a value; raises ValueError when the reply is not of the expected form.
            stopping: once set, nothing is repeated any more.

        Raises:
            ServiceUnavailable: retries used up.
            ServiceRefused: wrong key, no quota, unknown model or endpoint.
            RejectedRequestError: the server does not understand this request.
        """
        policy = self._policy(stopping)
        try:
            return policy(lambda: self._once(resource, body, read))
        except _TransientError as error:
            failure = error
        attempts = policy.statistics["attempt_number"]
        raise ServiceUnavailable(self._unavailable(failure, attempts))

    def _policy(self, stopping: Event) -> tenacity.Retrying:
        import tenacity

        waits = self.retries
        growing = tenacity.wait_exponential(multiplier=waits.first_wait) + tenacity.wait_random(0, waits.first_wait)

        def wait(state: tenacity.RetryCallState) -> float:
            return max(min(growing(state), waits.longest_wait), _asked_wait(state))

        def sleep(seconds: float) -> None:
            (waits.sleep or stopping.wait)(seconds)
            if stopping.is_set():
                raise _TransientError("given up, since the batch was")

        def stop(state: tenacity.RetryCallState) -> bool:
            spent = max(state.seconds_since_start or 0.0, state.idle_for)
            late = spent + state.upcoming_sleep > waits.patience
            return (
                stopping.is_set()
                or late
                or state.attempt_number >= waits.attempts
                or _asked_wait(state) > waits.longest_wait
            )

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_TransientError),
            wait=wait,
            stop=stop,
            sleep=sleep,
            before_sleep=self._tell,
            reraise=True,
        )

    def _tell(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        _LOG.info("%s: %s; next attempt in %.1f s", self.host, error, state.upcoming_sleep)

    def _unavailable(self, failure: _TransientError, attempts: int) -> str:
        tried = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        if failure.wait > self.retries.longest_wait:
            return f"{self.host} asks to wait {failure.wait:.0f} s ({failure}). Run again after that time."
        return (
            f"{self.host} gave no usable reply in {tried}; the last one: {failure}. "
            "Check that the service is up and the base URL right, then run again."
        )

    def _once(self, resource: str, body: Mapping[str, Any], read: Callable[[dict[str, Any]], Read]) -> Read:
        text = self._exchange(resource, body)
        try:
            reply = json.loads(text)
            if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
                raise self._failure(_status_within(reply["error"]), reply["error"], {})
            return read(reply)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise _TransientError(f"status 200 with no usable JSON: {self._shown(text)!r}") from None

    def _exchange(self, resource: str, body: Mapping[str, Any]) -> str:
        """Give the text of a reply of status 2xx; everything else is one of our errors."""
        import openai

        client = self.client
        endpoint = client.chat.completions if resource == "chat.completions" else client.embeddings
        send: Any = endpoint.with_streaming_response.create
        deadline = time.monotonic() + self.timeout
        try:
            with send(**body, extra_headers={"Idempotency-Key": content_key(body)}) as response:
                return _text(response, deadline)
        except openai.APIStatusError as error:
            failure = self._failure(error.status_code, error.body, error.response.headers)
        except (openai.APITimeoutError, TimeoutError):
            failure = _TransientError(f"no complete reply within {self.timeout:g} s")
        except openai.APIConnectionError as error:
            failure = _TransientError(f"no connection ({self._shown(error.__cause__ or error)})")
        except Exception as error:
            failure = _TransientError(f"connection cut within the reply ({self._shown(error)})")
        raise failure

    def _failure(self, status: int, body: object, headers: Mapping[str, str]) -> ServiceError:
        """Map a status and what stands in the body's ``error`` to an error of ours."""
        details = body if isinstance(body, Mapping) else {}
        code, message = _word(details, "code") or _word(details, "type"), self._shown(_message(body))
        said = f"status {status}: {message}" if message else f"status {status}"
        if status == 402 or {_word(details, "code"), _word(details, "type")} & _NO_QUOTA:
            return ServiceRefused(
                f"{self.host} says that the quota is used up ({said}). Top it up, or use another key."
            )
        if status in _REPEATED or (status >= 500 and status not in _FINAL_5XX):
            return _TransientError(said, wait=retry_after(headers))
        if status in {401, 403}:
            return ServiceRefused(
                f"{self.host} refused the API key ({said}). Set KGRAG_API_KEY to a key that it accepts."
            )
        if status == 404:
            return ServiceRefused(f"{self.host} has no such model or address ({said}). Check model name and base URL.")
        if status in _NOT_UNDERSTOOD:
            return RejectedRequestError(status, said, code=code, parameter=_word(details, "param"))
        return ServiceRefused(f"{self.host} refused the request ({said}). Check model name and base URL.")

    def _shown(self, what: object) -> str:
        """Give a text on one line, cut, with anything that looks like a key taken out."""
        text = " ".join(str(what).split())
        if key := self.api_key.strip():
            text = text.replace(key, "…")
        text = re.sub(r"\b(sk|Bearer)([- ])[\w*.-]{6,}", r"\1\2…", text)
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


def content_key(body: Mapping[str, Any]) -> str:
    """Give the SHA-256 of a request's JSON, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def encodable(text: str) -> str:
    """Give the text with what UTF-8 cannot encode (a lone surrogate) as a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def retry_after(headers: Mapping[str, str]) -> float:
    """Give the seconds that Retry-After asks for (a number or a date); 0 when it is absent or unreadable.

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


def _text(response: Any, deadline: float) -> str:
    """Read a body as it comes, so that a server that keeps dripping bytes meets the deadline too."""
    parts = []
    for part in response.iter_bytes():
        parts.append(part)
        if time.monotonic() > deadline:
            raise TimeoutError
    return b"".join(parts).decode("utf-8", "replace")


def _status_within(error: Mapping[str, Any]) -> int:
    code = error.get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else 502


def _word(details: Mapping[str, Any], name: str) -> str:
    value = details.get(name)
    return value if isinstance(value, str) else ""


def _message(body: object) -> str:
    if isinstance(body, Mapping):
        return _word(body, "message") or json.dumps(body, default=str)
    return str(body or "")
