"""Who may do what: keys with rights, and how a key is looked for.

A request brings its key as ``Authorization: Bearer KEY``. For reading, a browser may bring it as the password of HTTP
Basic, with any user name; for writing it may not, since a browser also sends that along when another site asks it to.

Stands before everything on a private server: who reads needs a key too.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from kgrag.server.problems import Problem, told
from kgrag.server.request_log import record_of

__all__ = [
    "ANYONE",
    "Guard",
    "Key",
    "Keys",
    "Rights",
    "admit",
    "digest_of",
]

Writing = Literal["with a key", "never", "always"]

_BEARER = {"WWW-Authenticate": 'Bearer realm="kgrag"'}
_EITHER = {"WWW-Authenticate": 'Bearer realm="kgrag", Basic realm="kgrag", charset="UTF-8"'}


class Rights(IntEnum):
    """What a key allows; each allows what those before it do.

    ADMIN reads the log of writes, and its updates are run without trying them first.
    """

    READ = 1
    WRITE = 2
    ADMIN = 3


@dataclass(frozen=True)
class Key:
    """A key, known by its digest only.

    Attributes:
        name: what logs call it.
        digest: SHA-256 of the key, 32 bytes.
        rights: what it allows.
        graphs: IRIs of the graphs that it may write to, or beginnings of such IRIs with ``*`` at their end; None: all.
    """

    name: str
    digest: bytes = b""
    rights: Rights = Rights.WRITE
    graphs: tuple[str, ...] | None = None

    def may_write(self, graph: str) -> bool:
        """Say whether a graph is among those that the key may write to.

        >>> key = Key("loader", graphs=("urn:one", "http://example.org/data/*"))
        >>> [key.may_write(iri) for iri in ("urn:one", "urn:one2", "http://example.org/data/a/b")]
        [True, False, True]
        >>> key.may_write("http://example.org/data/../other")
        False
        """
        if self.graphs is None:
            return True
        if {".", ".."} & set(graph.replace("?", "/").replace("#", "/").split("/")):
            return False
        return any(graph.startswith(own[:-1]) if own.endswith("*") else graph == own for own in self.graphs)

    def check_graphs(self, graphs: Iterable[str]) -> None:
        """Let writes to these graphs pass.

        Raises:
            Problem: 403: the key may not write to one of them.
        """
        for graph in graphs:
            if not self.may_write(graph):
                own = ", ".join(self.graphs or ())
                raise Problem(403, f"the key '{self.name}' may not write to <{graph}>, only to {own}. Use another key.")


ANYONE = Key("", rights=Rights.READ)
"""Stands for a request without a key, where none is needed."""


class Keys:
    """The keys of a server.

    Args:
        text: keys with commas between them that may write to every graph; they are called ``key-1``, ``key-2`` …
        writing: "with a key"; "never", whatever key is sent; "always", without one, for a scratch dataset only.
        more: keys with rights of their own.
        private: whether reading needs a key too.
    """

    def __init__(
        self,
        text: str = "",
        *,
        writing: Writing = "with a key",
        more: Sequence[Key] = (),
        private: bool = False,
    ) -> None:
        simple = [key.strip() for key in text.split(",") if key.strip()]
        self._keys = [Key(f"key-{number}", digest_of(key)) for number, key in enumerate(simple, 1)]
        self._keys += more
        self._writing = writing
        self.private = private

    def check(self, authorization: str, *, needed: Rights = Rights.WRITE) -> Key:
        """Let a write to whatever graph pass, and give its key.

        Raises:
            Problem: as ``writer`` does; 403 also with a key that may write to some graphs only.
        """
        found = self.writer(authorization, needed=needed)
        if found.graphs is not None:
            raise Problem(403, f"the key '{found.name}' may write to some graphs only. Use another key for this.")
        return found

    def writer(self, authorization: str, *, needed: Rights = Rights.WRITE) -> Key:
        """Give the key of a write; it says which graphs it may write to.

        Raises:
            Problem: 401 without a key or with a wrong one, 403 with one that does not allow it, or where nobody may
                write.
        """
        if self._writing == "always":
            return Key("anyone", rights=Rights.ADMIN)
        if needed is Rights.WRITE and (self._writing == "never" or not self._holders(needed)):
            raise Problem(403, "this server is read-only. It takes writes when it is started with KGRAG_API_KEYS.")
        found = self._known(_bearer(authorization))
        if found is None:
            raise Problem(401, "this needs a key that is known. Send Authorization: Bearer KEY.", _BEARER)
        if found.rights < needed:
            had, wanted = found.rights.name.lower(), needed.name.lower()
            raise Problem(403, f"the key '{found.name}' has the right '{had}', and this needs '{wanted}'.")
        return found

    def reader(self, authorization: str) -> Key:
        """Let a reading request pass, and give its key; without one, ``ANYONE`` where the server is not private.

        Raises:
            Problem: 401: the server is private, and no key that is known came along.
        """
        found = self._known(_bearer(authorization) or _password(authorization))
        if found is None and self.private:
            raise Problem(401, "reading here needs a key that is known. Send Authorization: Bearer KEY.", _EITHER)
        return found or ANYONE

    def wanted(self, why: str) -> Problem:
        """Give what somebody is told who brought no key where one is needed: 401, or 403 where there are no keys."""
        if self._keys:
            return Problem(401, f"{why}. Send Authorization: Bearer KEY.", _EITHER)
        return Problem(403, f"{why}, and this server has none. Start it with KGRAG_API_KEYS or --keys, or --open-ask.")

    def _holders(self, needed: Rights) -> list[Key]:
        return [key for key in self._keys if key.rights >= needed]

    def _known(self, given: str) -> Key | None:
        """Give the key that was sent.

        The time that this takes tells neither which key comes close nor how long a key is: digests of one length are
        compared, each in constant time, and all of them each time.
        """
        sent, found = digest_of(given), None
        for key in self._keys:
            if hmac.compare_digest(sent, key.digest):
                found = key
        return found


def digest_of(key: str) -> bytes:
    """Give the SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _bearer(authorization: str) -> str:
    scheme, _, key = authorization.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _password(authorization: str) -> str:
    scheme, _, packed = authorization.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(packed.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


_OPEN = ("/health", "/health/ready")


def admit(request: Request, keys: Keys) -> None:
    """Let a request through that brings a key for reading, and note whose.

    Raises:
        Problem: 401, 403.
    """
    record_of(request).key = keys.reader(request.headers.get("authorization", "")).name


class Guard:
    """ASGI middleware that asks for a key; liveness and readiness tell nothing, and stay open."""

    def __init__(self, app: ASGIApp, *, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            admit(request, self._keys)
        except Problem as problem:
            await (await told(request, problem))(scope, receive, send)
            return
        await self._app(scope, receive, send)
