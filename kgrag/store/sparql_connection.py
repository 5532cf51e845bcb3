"""Requests to a SPARQL server: addresses, keys, and replies that are read whole.

Keys come from the environment only (``KGRAG_STORE_AUTH``) and are in no message, log or file: what is reported of an
address is without name, password and query.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

import httpx

from kgrag.errors import InvalidSettings, InvalidSPARQL, StorageFailed
from kgrag.settings import is_address

__all__ = ["Reply", "ServerAddress", "SparqlConnection", "key_of"]

_RESULTS, _TRIPLES = "application/sparql-results+json", "application/n-triples"
_MAX_CHARACTERS_SHOWN = 300
_BYTES_AT_ONCE = 2**16
_TAKES_UPDATES_AS_THEY_ARE = "oxigraph"
"""Software that is known to; a form takes longer to write than all else that is done for a large update."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server takes queries and updates."""

    query: str
    update: str

    @classmethod
    def of(cls, setting: str) -> ServerAddress:
        """Read the setting ``store``: one address, below which are ``/query`` and ``/update``; or these two.

        Raises:
            InvalidSettings: it is neither, or contains a name or a password.
        """
        parts = setting.split()
        if not 1 <= len(parts) <= 2 or not all(is_address(part) and urlsplit(part).hostname for part in parts):
            raise InvalidSettings(
                "store: one http address was expected, below which /query and /update are, or the two addresses with a "
                "space between. Write KGRAG_STORE=http://host:7878"
            )
        if any("@" in urlsplit(part).netloc for part in parts):
            raise InvalidSettings(
                "store: an address contains a name or a password. Take it out, and set KGRAG_STORE_AUTH in the "
                "environment to 'basic NAME:PASSWORD', 'digest NAME:PASSWORD' or 'bearer KEY'."
            )
        base = parts[0].rstrip("/")
        return cls(parts[0], parts[1]) if len(parts) == 2 else cls(f"{base}/query", f"{base}/update")


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply: its body, and whether it is N-Triples, not results in JSON."""

    body: bytes
    is_triples: bool


class _Bearer(httpx.Auth):
    def __init__(self, key: str) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add the key to a request."""
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request


def key_of(setting: str) -> httpx.Auth | None:
    """Return what ``KGRAG_STORE_AUTH`` names; None for "".

    Raises:
        InvalidSettings: it is none of the three forms.
    """
    form, _, value = setting.strip().partition(" ")
    name, _, password = value.partition(":")
    if not form:
        return None
    if form.lower() == "bearer" and value:
        return _Bearer(value)
    if form.lower() in ("basic", "digest") and name and password:
        return (httpx.BasicAuth if form.lower() == "basic" else httpx.DigestAuth)(name, password)
    raise InvalidSettings("KGRAG_STORE_AUTH is 'basic NAME:PASSWORD', 'digest NAME:PASSWORD' or 'bearer KEY'.")


class _Body(io.RawIOBase):
    """The body of a reply, as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what has come; return how many bytes that is, 0 at the end."""
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


class SparqlConnection:
    """Sends queries and updates as forms, over connections that stay open; may be used by several threads.

    Args:
        address: of the server.
        key: what it wants to be shown; None = nothing.
        seconds: how long a request may take.
    """

    def __init__(self, address: ServerAddress, *, key: httpx.Auth | None = None, seconds: float = 120.0) -> None:
        self.address = address
        self.calls = 0
        self.software = ""
        self._key, self._seconds = key, seconds
        self._client = httpx.Client(
            auth=key, timeout=seconds, follow_redirects=False, headers={"User-Agent": "kgrag"}, trust_env=False
        )

    def another(self) -> SparqlConnection:
        """Return a further connection to the same server, with requests and a count of its own."""
        return SparqlConnection(self.address, key=self._key, seconds=self._seconds)

    def query(self, sparql: str, *, options: Mapping[str, str] | None = None, only_triples: bool = False) -> Reply:
        """Return the reply to a query, read to its end; N-Triples are all that is taken with ``only_triples``.

        Raises:
            InvalidSPARQL: the server refuses the query.
            StorageFailed: it cannot be reached, refuses the key, or fails.
        """
        form = {"query": sparql, **(options or {})}
        try:
            return self._sent(self.address.query, form, only_triples=only_triples)
        except httpx.TransportError:  # a connection that had been closed meanwhile; reading twice changes nothing
            try:
                return self._sent(self.address.query, form, only_triples=only_triples)
            except httpx.TransportError as error:
                raise self._unreachable(self.address.query, error) from None

    @contextmanager
    def stream(self, sparql: str) -> Iterator[IO[bytes]]:
        """Send a SELECT, and return its reply as a file that is read as it comes.

        Raises:
            InvalidSPARQL: the server refuses the query.
            StorageFailed: it cannot be reached, refuses the key, or fails, also in the middle of the reply.
        """
        address = self.address.query
        try:
            with ExitStack() as stack:
                try:
                    reply = stack.enter_context(self._streamed(sparql))
                except httpx.TransportError:  # a connection that had been closed meanwhile
                    reply = stack.enter_context(self._streamed(sparql))
                if not reply.is_success:
                    reply.read()
                    raise self._refused(address, reply)
                yield io.BufferedReader(_Body(reply.iter_bytes()), _BYTES_AT_ONCE)
        except httpx.TransportError as error:
            raise self._unreachable(address, error) from None

    def _streamed(self, sparql: str) -> AbstractContextManager[httpx.Response]:
        self.calls += 1
        return self._client.stream("POST", self.address.query, data={"query": sparql}, headers={"Accept": _RESULTS})

    def update(self, sparql: str) -> None:
        """Run an update; it is on record when this returns.

        Raises:
            InvalidSPARQL: the server refuses it.
            StorageFailed: it refuses the key, or fails.
            ConnectionError: no reply came, so that nobody knows whether it entered.
        """
        try:
            self._sent(self.address.update, {"update": sparql})
        except httpx.TransportError as error:
            raise ConnectionError(str(self._unreachable(self.address.update, error))) from None

    def _sent(self, address: str, form: Mapping[str, str], *, only_triples: bool = False) -> Reply:
        self.calls += 1
        headers = {"Accept": _TRIPLES if only_triples else f"{_RESULTS}, {_TRIPLES};q=0.9"}
        if "update" in form and self.software.lower().startswith(_TAKES_UPDATES_AS_THEY_ARE):
            headers["Content-Type"] = "application/sparql-update"
            reply = self._client.post(address, content=form["update"].encode(), headers=headers)
        else:
            reply = self._client.post(address, data=dict(form), headers=headers)
        self.software = reply.headers.get("Server", self.software)
        if reply.is_success:
            return Reply(reply.content, reply.headers.get("Content-Type", "").startswith(_TRIPLES))
        raise self._refused(address, reply)

    def _refused(self, address: str, reply: httpx.Response) -> StorageFailed | InvalidSPARQL:
        told = " ".join(reply.text[:_MAX_CHARACTERS_SHOWN].split()) or reply.reason_phrase
        shown = _shown(address)
        if reply.status_code in (401, 403):
            return StorageFailed(f"{shown} refuses the key (status {reply.status_code}). Set KGRAG_STORE_AUTH.")
        if reply.status_code == 400:
            return InvalidSPARQL(f"the server at {shown} refuses this text: {told.rstrip('.')}. Correct the text.")
        return StorageFailed(
            f"{shown} answers with status {reply.status_code}: {told.rstrip('.')}. See the server's log."
        )

    def _unreachable(self, address: str, error: Exception) -> StorageFailed:
        return StorageFailed(
            f"{_shown(address)} cannot be reached ({type(error).__name__}). Start the server, or correct KGRAG_STORE."
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _shown(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
