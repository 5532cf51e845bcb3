"""One request to a server: where to, with which key, and what its errors mean here.

The key is sent to the server that was named, and to nobody that this one redirects to.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json, to_jsonable_python

from kgrag.errors import InputError, InvalidSettings, KgragError, ServiceRefused, ServiceUnavailable

__all__ = ["Call", "LatestRevision", "NotThere", "ServerAddress", "error_of_connection", "failed", "refusal"]

_log = logging.getLogger(__name__)

_REVISION = "Kgrag-Revision"
_MAX_SHOWN_BYTES = 100_000
_SECONDS = 600.0
_Reply = TypeVar("_Reply")


class NotThere(InputError):
    """A server has nothing at an address."""


@dataclass(frozen=True)
class Call(Generic[_Reply]):
    """A request, and what is returned for it.

    Attributes:
        method: of HTTP.
        path: below the address of the server, quoted.
        reply: parses what comes back as JSON; ``str``, ``bytes``, or nothing at all: it is returned as it is.
        parameters: of the address; those that are None are left out.
        json: the body as a JSON object; members that are None are left out.
        body: the body as bytes, where it is no JSON.
        headers: further ones.
    """

    method: str
    path: str
    reply: TypeAdapter[_Reply]
    parameters: Mapping[str, object] = field(default_factory=dict)
    json: object = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of an httpx request."""
        wanted = {name: value for name, value in self.parameters.items() if value is not None}
        parameters = {name: to_jsonable_python(value) for name, value in wanted.items()}
        body, headers = self.body, dict(self.headers)
        if self.json is not None:
            given = self.json
            if isinstance(given, dict):
                given = {name: value for name, value in given.items() if value is not None}
            body, headers = to_json(given), {"Content-Type": "application/json", **headers}
        found = {"method": self.method, "url": self.path, "params": parameters or None}
        return {**found, "content": body, "headers": headers}

    def read(self, url: str, response: httpx.Response) -> _Reply:
        """Return what a server answered, once it is read.

        Raises:
            ServiceUnavailable: it is not what such a server answers.
        """
        media = response.headers.get("content-type", "").partition(";")[0]
        try:
            if media in ("application/json", "application/ld+json"):
                return self.reply.validate_json(response.content)
            return self.reply.validate_python(response.text if response.content else None)
        except ValidationError as error:
            reason = error.errors(include_url=False, include_input=False)[0]
            raise ServiceUnavailable(
                f"{url}{self.path} answers with something else than kgrag does: {reason['msg']}. Is it another version?"
            ) from None


class ServerAddress:
    """The address of a server, and the key for it.

    Args:
        url: e.g. ``http://127.0.0.1:8000``.
        key: None: that of the environment variable ``KGRAG_SERVER_KEY``.
        tenant: the only one whose knowledge base is meant; "" for that of the key, whosever it is.

    Raises:
        InvalidSettings: the URL is none of HTTP.
    """

    def __init__(self, url: str, key: str | None = None, *, tenant: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not re.fullmatch(r".*?(:\d*)?", parts.netloc):
            raise InvalidSettings(f"{url!r} is no address of HTTP. Use e.g. http://127.0.0.1:8000.")
        self.url = url.rstrip("/").removesuffix("/sparql")
        self._key = os.environ.get("KGRAG_SERVER_KEY", "").strip() if key is None else key
        self._tenant = tenant
        host = parts.hostname
        self._loopback = host in ("localhost", "::1") or host.startswith("127.")

    def options(self, seconds: float = _SECONDS) -> dict[str, Any]:
        """Return the options of an httpx client; no proxy is asked for this machine."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        headers |= {"Kgrag-Tenant": self._tenant} if self._tenant else {}
        timeout = httpx.Timeout(seconds, connect=min(30.0, seconds))
        return {"base_url": self.url, "headers": headers, "timeout": timeout, "trust_env": not self._loopback}


class LatestRevision:
    """The latest revision of the store in the answers so far (``Kgrag-Revision``), which each request names.

    So a client finds what it wrote, and no older state than it saw, whichever of several servers answers. Safe to use
    from several threads.
    """

    def __init__(self) -> None:
        self._number = 0
        self._turn = threading.Lock()

    def arguments(self, call: Call[Any]) -> dict[str, Any]:
        """Return the arguments of an httpx request that names the revision."""
        arguments = call.arguments()
        if self._number:
            arguments["headers"] = {_REVISION: str(self._number), **arguments["headers"]}
        return arguments

    def is_gone(self, url: str, response: httpx.Response) -> bool:
        """Note the revision of an answer; return whether the store has fewer, so that the request is to be sent again.

        That is so after a backup was restored, or where a server has its data in memory and was started again. It
        refuses such a request (412) without doing anything. The earlier revision is named from then on.
        """
        named, present = (each.headers.get(_REVISION, "") for each in (response.request, response))
        if not (present.isascii() and present.isdigit()):
            return False
        is_gone = response.status_code == 412 and named.isdigit() and int(present) < int(named)
        with self._turn:
            self._number = int(present) if is_gone else max(self._number, int(present))
        if is_gone:
            _log.warning("%s is at revision %s, and was at %s: its store was replaced by another.", url, present, named)
        return is_gone


def refusal(url: str, response: httpx.Response) -> KgragError:
    """Return the error that a status means; the response is read."""
    try:
        detail = str(json.loads(response.content[:_MAX_SHOWN_BYTES])["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"HTTP status {response.status_code}."
    if response.status_code in (401, 403):
        return ServiceRefused(f"{url} refuses: {detail} The key is taken from KGRAG_SERVER_KEY.")
    if response.status_code == 404:
        return NotThere(f"{url}: {detail}")
    if 400 <= response.status_code < 500:
        return InputError(f"{url} refuses: {detail}")
    return ServiceUnavailable(f"{url}: {detail}")


def failed(url: str, problem: Mapping[str, Any]) -> KgragError:
    """Return the error that the problem of a job means."""
    kind = InputError if problem["status"] < 500 else ServiceUnavailable
    return kind(f"{url}: {problem['detail']}")


def error_of_connection(url: str, error: httpx.HTTPError) -> ServiceUnavailable:
    """Return what it means that a server cannot be reached, or broke off."""
    return ServiceUnavailable(f"{url} broke off or cannot be reached: {error or type(error).__name__}. Is it running?")
