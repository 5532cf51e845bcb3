"""SPARQL 1.1 Protocol: what a request asks for (sections 2.1 and 2.2)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote_to_bytes

import pyoxigraph as ox
from starlette.requests import Request

from kgrag.server.media_types import main_type
from kgrag.server.problems import Problem

__all__ = ["MAX_GRAPHS", "Operation", "body_of", "iri", "parameters", "read_query", "read_update"]

MAX_GRAPHS = 20
"""Graphs that a request may name: a dataset of many graphs is slow out of proportion."""

_FORM = "application/x-www-form-urlencoded"
_TEXT_BYTES = 4_000_000
_Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Operation:
    """A query or an update, and what the request says beside it.

    ``union`` and ``seconds`` are None where the request leaves them to the server.
    """

    text: str
    default: tuple[ox.NamedNode, ...] = ()
    named: tuple[ox.NamedNode, ...] = ()
    union: bool | None = None
    seconds: float | None = None


async def read_query(request: Request) -> Operation | None:
    """Read a query operation; None for a GET without a query.

    Raises:
        Problem: 400, 413 or 415: the request is not as the protocol wants it.
    """
    if request.method == "POST":
        return await _posted(request, "query", ("default-graph-uri", "named-graph-uri"))
    text = request.scope["query_string"]
    if text.startswith(b"query=") and b"&" not in text and text.isascii():  # as most requests are
        with suppress(UnicodeDecodeError):  # else what is wrong is told below
            return Operation(unquote_to_bytes(text[6:].replace(b"+", b" ")).decode())
    pairs = parameters(request)
    if not any(name == "query" for name, _ in pairs):
        _only(pairs, "query", "update")
        return None
    return _operation(pairs, "query", ("default-graph-uri", "named-graph-uri"))


async def read_update(request: Request) -> Operation:
    """Read an update operation.

    Raises:
        Problem: 400, 413 or 415: the request is not as the protocol wants it.
    """
    return await _posted(request, "update", ("using-graph-uri", "using-named-graph-uri"))


async def _posted(request: Request, name: str, datasets: tuple[str, str]) -> Operation:
    media, charset = main_type(request.headers.get("content-type", ""))
    direct = f"application/sparql-{name}"
    if media not in (_FORM, direct) or charset not in ("", "utf-8", "utf8"):
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send {direct} or {_FORM}, in UTF-8.")
    body = _decoded(await body_of(request, _TEXT_BYTES))
    pairs = parameters(request)
    if media == _FORM:
        return _operation(pairs + _pairs(body), name, datasets)
    _only(pairs, "query", "update")
    return _operation([*pairs, (name, body)], name, datasets)


def _operation(pairs: _Pairs, name: str, datasets: tuple[str, str]) -> Operation:
    _only(pairs, "query" if name == "update" else "update")
    texts = [value for key, value in pairs if key == name]
    if len(texts) != 1:
        raise Problem(400, f"the request has {len(texts)} '{name}' parameters, and exactly one is expected.")
    default, named = (_graphs(pairs, key) for key in datasets)
    if len(default) + len(named) > MAX_GRAPHS:
        raise Problem(400, f"the request names {len(default) + len(named)} graphs; at most {MAX_GRAPHS} are allowed.")
    return Operation(texts[0], default, named, _flag(pairs), _seconds(pairs))


def _only(pairs: _Pairs, *forbidden: str) -> None:
    for key, _ in pairs:
        if key in forbidden:
            raise Problem(400, f"a '{key}' parameter has no place in this request. POST a query or an update alone.")


def _graphs(pairs: _Pairs, name: str) -> tuple[ox.NamedNode, ...]:
    return tuple(iri(value) for key, value in pairs if key == name)


def iri(text: str) -> ox.NamedNode:
    """Give an absolute IRI.

    Raises:
        Problem: 400: it is none.
    """
    try:
        return ox.NamedNode(text)
    except ValueError as error:
        raise Problem(400, f"{text[:200]!r} is no absolute IRI: {error}.") from None


def _flag(pairs: _Pairs) -> bool | None:
    for key, value in pairs:
        if key == "union-default-graph":
            if value.lower() not in ("", "true", "false"):
                raise Problem(400, f"union-default-graph is {value[:50]!r}; true or false is expected.")
            return value.lower() != "false"
    return None


def _seconds(pairs: _Pairs) -> float | None:
    for key, value in pairs:
        if key == "timeout":
            try:
                seconds = float(value)
            except ValueError:
                seconds = -1.0
            if not 0 < seconds < 1e9:
                raise Problem(400, f"timeout is {value[:50]!r}; a number of seconds above 0 is expected.")
            return seconds
    return None


def parameters(request: Request) -> _Pairs:
    """Give the parameters of the request's URL.

    Raises:
        Problem: 400: they are not UTF-8.
    """
    return _pairs(request.scope["query_string"].decode("latin-1"))


def _pairs(text: str) -> _Pairs:
    try:
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise Problem(400, "the parameters are not UTF-8, or there are more than 100 of them.") from None


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"byte {error.start} of the body is not UTF-8.") from None


async def body_of(request: Request, most: int) -> bytes:
    """Give the body, refused as soon as it is known to be too large.

    Raises:
        Problem: 413: it has more than ``most`` bytes. 415: it is compressed.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "the body is compressed. Send it as it is.")
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > most:
            raise _too_large(most)
    return bytes(body)


def _too_large(most: int) -> Problem:
    return Problem(413, f"the body has more than {most:,} bytes. Send it in parts.", {"Connection": "close"})
