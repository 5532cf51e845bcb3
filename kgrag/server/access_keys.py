"""Access keys with rights, and how a request brings one.

A request brings its key as ``Authorization: Bearer KEY``. For reading, a browser may bring it as the password of HTTP
Basic, with any user name; for writing it may not, since a browser also sends that along when another site asks it to.
On a private server, ``PrivateAccess`` asks for a key before every other part of the server.
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

from kgrag.server.problems import Problem, problem_response
from kgrag.server.request_log import record_of

__all__ = [
    "ANYONE",
    "HERE",
    "Key",
    "Keys",
    "PrivateAccess",
    "Rights",
    "authorization_of",
    "check_reader",
    "digest_of",
    "key_of",
]

_CHALLENGE_BEARER = {"WWW-Authenticate": 'Bearer realm="kgrag"'}
_CHALLENGE_ANY = {"WWW-Authenticate": 'Bearer realm="kgrag", Basic realm="kgrag", charset="UTF-8"'}
_OPEN_PATHS = ("/health", "/health/ready")
"""Liveness and readiness reveal nothing, and monitors have no keys."""


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
        name: its name in logs.
        digest: SHA-256 of the key, 32 bytes.
        rights: what it allows.
        graphs: IRIs of the graphs that it may write to, or beginnings of such IRIs with ``*`` at their end; None: all.
        protected: IRIs of graphs that it may read only, whatever ``graphs`` has.
    """

    name: str
    digest: bytes = b""
    rights: Rights = Rights.WRITE
    graphs: tuple[str, ...] | None = None
    protected: frozenset[str] = frozenset()

    @property
    def is_limited(self) -> bool:
        """Whether there are graphs that it may not write to."""
        return self.graphs is not None or bool(self.protected)

    def may_write(self, graph: str) -> bool:
        """Return whether a graph is among those that the key may write to.

        >>> key = Key("loader", graphs=("urn:one", "http://example.org/data/*"))
        >>> [key.may_write(iri) for iri in ("urn:one", "urn:one2", "http://example.org/data/a/b")]
        [True, False, True]
        >>> key.may_write("http://example.org/data/../other")
        False
        >>> Key("loader", protected=frozenset({"urn:shared"})).may_write("urn:shared")
        False
        """
        if graph in self.protected:
            return False
        if self.graphs is None:
            return True
        if {".", ".."} & set(graph.replace("?", "/").replace("#", "/").split("/")):
            return False
        return any(graph.startswith(own[:-1]) if own.endswith("*") else graph == own for own in self.graphs)

    def check_graphs(self, graphs: Iterable[str]) -> None:
        """Check that the key may write to all of these graphs.

        Raises:
            Problem: 403: it may not write to one of them.
        """
        for graph in graphs:
            if graph in self.protected:
                raise Problem(403, f"<{graph}> is shared by the tenants of this server, and read-only here.")
            if not self.may_write(graph):
                own = ", ".join(self.graphs or ())
                raise Problem(403, f"the key '{self.name}' may not write to <{graph}>, only to {own}. Use another key.")


ANYONE = Key("", rights=Rights.READ)
"""The key of a request without one, where none is needed."""
HERE = Key("this machine", rights=Rights.ADMIN)
"""The key of a request from this machine, where such ones may write without one."""


class Keys:
    """The keys of a server.

    Args:
        text: keys with commas between them that may write to every graph; they are named ``key-1``, ``key-2`` …
        writing: "with a key"; "here", with a key or by whoever sits at this machine; "never", whatever key is sent;
            "always", without one, for a scratch dataset only.
        more: keys with rights of their own.
        private: whether reading needs a key too.
    """

    def __init__(
        self,
        text: str = "",
        *,
        writing: Literal["with a key", "here", "never", "always"] = "with a key",
        more: Sequence[Key] = (),
        private: bool = False,
    ) -> None:
        simple = [key.strip() for key in text.split(",") if key.strip()]
        self._keys = [Key(f"key-{number}", digest_of(key)) for number, key in enumerate(simple, 1)]
        self._keys += more
        self._writing = writing
        self.private = private

    @property
    def refuse_all_writes(self) -> bool:
        """Whether nobody writes, whatever key is sent."""
        return self._writing == "never"

    @property
    def needed_for_writing(self) -> bool | None:
        """Whether a write needs a key; None where nobody may write."""
        if self._writing in ("always", "here"):
            return False
        return None if self._writing == "never" or not any(key.rights >= Rights.WRITE for key in self._keys) else True

    @property
    def _how_to_write(self) -> str:
        if self._writing == "never":
            return "Write with the commands of kgrag, or through a server that was started without --read-only."
        return "It takes writes when it is started with KGRAG_API_KEYS."

    def check(self, authorization: str, *, needed: Rights = Rights.WRITE, from_here: bool = False) -> Key:
        """Return the key of a write that may touch any graph.

        Raises:
            Problem: as ``writer`` does; 403 also with a key that may write to some graphs only.
        """
        key = self.writer(authorization, needed=needed, from_here=from_here)
        if key.graphs is not None:
            raise Problem(403, f"the key '{key.name}' may write to some graphs only. Use another key for this.")
        return key

    def writer(self, authorization: str, *, needed: Rights = Rights.WRITE, from_here: bool = False) -> Key:
        """Return the key of a write; which graphs it may write to is for the caller to check.

        Args:
            authorization: the header that brings the key.
            needed: what it has to allow.
            from_here: whether the request comes from this machine, and no page of another site sent it.

        Raises:
            Problem: 401 without a key or with a wrong one, 403 with one that does not allow it, or where nobody may
                write.
        """
        if self._writing == "always":
            return Key("anyone", rights=Rights.ADMIN)
        if self._writing == "here" and from_here and not authorization:
            return HERE
        nobody_may = self._writing == "never" or all(key.rights < needed for key in self._keys)
        if needed is Rights.WRITE and nobody_may:
            raise Problem(403, f"this server is read-only. {self._how_to_write}")
        key = self._known(_bearer(authorization))
        if key is None:
            raise Problem(401, "this needs a key that is known. Send Authorization: Bearer KEY.", _CHALLENGE_BEARER)
        if key.rights < needed:
            has, wanted = key.rights.name.lower(), needed.name.lower()
            raise Problem(403, f"the key '{key.name}' has the right '{has}', and this needs '{wanted}'.")
        return key

    def reader(self, authorization: str) -> Key:
        """Return the key of a reading request; without one, ``ANYONE`` where the server is not private.

        Raises:
            Problem: 401: the server is private, and no key that is known came along.
        """
        key = self._known(key_of(authorization))
        if key is None and self.private:
            message = "reading here needs a key that is known. Send Authorization: Bearer KEY."
            raise Problem(401, message, _CHALLENGE_ANY)
        return key or ANYONE

    def key_wanted(self, reason: str) -> Problem:
        """Return the refusal of a request without a key where one is needed: 401, or 403 where there are no keys."""
        if self._keys:
            return Problem(401, f"{reason}. Send Authorization: Bearer KEY.", _CHALLENGE_ANY)
        start = "Start it with KGRAG_API_KEYS or --keys, or --open-ask"
        return Problem(403, f"{reason}, and this server has none. {start}.")

    def _known(self, sent: str) -> Key | None:
        """Return the key that was sent.

        The time that this takes reveals neither which key comes close nor how long a key is: digests of one length are
        compared, each in constant time, and all of them each time.
        """
        digest, known = digest_of(sent), None
        for key in self._keys:
            if hmac.compare_digest(digest, key.digest):
                known = key
        return known


def digest_of(key: str) -> bytes:
    """Return the SHA-256 of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def key_of(authorization: str) -> str:
    """Return the key that a header brings, as Bearer or as the password of Basic; "" without one."""
    return _bearer(authorization) or _password(authorization)


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


def authorization_of(request: Request) -> str:
    """Return the header that brings a key, "" without one."""
    return request.headers.get("authorization", "")


def check_reader(request: Request, keys: Keys) -> None:
    """Check that a request may read, and store the name of its key in its record.

    Raises:
        Problem: 401: the server is private, and no key that is known came along.
    """
    record_of(request).key = keys.reader(authorization_of(request)).name


class PrivateAccess:
    """ASGI middleware that asks for a key, except for liveness and readiness."""

    def __init__(self, app: ASGIApp, *, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["path"] not in _OPEN_PATHS:
            request = Request(scope, receive)
            try:
                check_reader(request, self._keys)
            except Problem as problem:
                await (await problem_response(request, problem))(scope, receive, send)
                return
        await self._app(scope, receive, send)
