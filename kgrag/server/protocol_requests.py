"""SPARQL 1.1 Protocol: reads queries and updates from requests (sections 2.1 and 2.2)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote_to_bytes

import pyoxigraph as ox
from starlette.requests import Request

from kgrag.server.media_types import main_type
from kgrag.server.problems import Problem

__all__ = [
    "DOWNLOADS",
    "MAX_GRAPHS",
    "MIN_SECONDS",
    "SparqlOperation",
    "body_of",
    "iri",
    "parameters",
    "read_query",
    "read_update",
]

MAX_GRAPHS = 20
"""Graphs that a request may name: a dataset of many graphs is slow out of proportion."""

DOWNLOADS = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "ttl": "text/turtle",
    "nt": "application/n-triples",
    "jsonld": "application/ld+json",
    "rdf": "application/rdf+xml",
}
"""Ending of a file -> the media type of a result."""

MIN_SECONDS = 0.001
"""What a request may ask for at least: nothing is done in less."""

_MAX_TEXT_BYTES = 4_000_000
_MAX_PARAMETERS = 100
_BODY_SECONDS, _BODY_BYTES_PER_SECOND = 30.0, 4096
"""A body has so long, and longer by what has come of it: who sends less in that time has left, or holds a place."""
_FORM = "application/x-www-form-urlencoded"
_QUERY_GRAPHS = ("default-graph-uri", "named-graph-uri")
_UPDATE_GRAPHS = ("using-graph-uri", "using-named-graph-uri")
_Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class SparqlOperation:
    """A query or an update, and the parameters of its request.

    ``union`` and ``seconds`` are None where the request leaves them to the server. ``download`` is the format in which
    a browser is to keep the result as a file; "" for none.
    """

    text: str
    default: tuple[ox.NamedNode, ...] = ()
    named: tuple[ox.NamedNode, ...] = ()
    union: bool | None = None
    seconds: float | None = None
    download: str = ""


async def read_query(request: Request) -> SparqlOperation | None:
    """Read a query operation; None for a GET without a query.

    Raises:
        Problem: 400, 413 or 415: the request is not as the protocol wants it.
    """
    if request.method == "POST":
        return await _read_posted(request, "query", _QUERY_GRAPHS)
    text = request.scope["query_string"]
    # most requests have a query only, and to parse general parameters would take longer than all else done for them
    if text.startswith(b"query=") and b"&" not in text and text.isascii():
        with suppress(UnicodeDecodeError):  # reported below
            return SparqlOperation(unquote_to_bytes(text[6:].replace(b"+", b" ")).decode())
    pairs = parameters(request)
    if not any(name == "query" for name, _ in pairs):
        _refuse_parameters(pairs, "query", "update")
        return None
    return _operation(pairs, "query", _QUERY_GRAPHS)


async def read_update(request: Request) -> SparqlOperation:
    """Read an update operation.

    Raises:
        Problem: 400, 413 or 415: the request is not as the protocol wants it.
    """
    return await _read_posted(request, "update", _UPDATE_GRAPHS)


async def _read_posted(request: Request, name: str, graph_parameters: tuple[str, str]) -> SparqlOperation:
    media, charset = main_type(request.headers.get("content-type", ""))
    direct = f"application/sparql-{name}"
    if media not in (_FORM, direct) or charset not in ("", "utf-8", "utf8"):
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send {direct} or {_FORM}, in UTF-8.")
    body = await body_of(request, _MAX_TEXT_BYTES)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"byte {error.start} of the body is not UTF-8.") from None
    pairs = parameters(request)
    if media == _FORM:
        return _operation(pairs + _parsed_pairs(text), name, graph_parameters)
    _refuse_parameters(pairs, "query", "update")
    return _operation([*pairs, (name, text)], name, graph_parameters)


def _operation(pairs: _Pairs, name: str, graph_parameters: tuple[str, str]) -> SparqlOperation:
    _refuse_parameters(pairs, "query" if name == "update" else "update")
    texts = [value for key, value in pairs if key == name]
    if len(texts) != 1:
        raise Problem(400, f"the request has {len(texts)} '{name}' parameters, and exactly one is expected.")
    default, named = (
        tuple(iri(value) for key, value in pairs if key == graph_parameter) for graph_parameter in graph_parameters
    )
    if len(default) + len(named) > MAX_GRAPHS:
        raise Problem(400, f"the request names {len(default) + len(named)} graphs; at most {MAX_GRAPHS} are allowed.")
    download = next((value for key, value in pairs if key == "download"), "")
    if download and download not in DOWNLOADS:
        raise Problem(400, f"download is {download[:50]!r}; one of {', '.join(DOWNLOADS)} is expected.")
    return SparqlOperation(texts[0], default, named, _union_flag(pairs), _timeout(pairs), download)


def _refuse_parameters(pairs: _Pairs, *forbidden: str) -> None:
    for key, _ in pairs:
        if key in forbidden:
            raise Problem(400, f"a '{key}' parameter has no place in this request. POST a query or an update alone.")


def iri(text: str) -> ox.NamedNode:
    """Return an absolute IRI.

    Raises:
        Problem: 400: it is none.
    """
    try:
        return ox.NamedNode(text)
    except ValueError as error:
        raise Problem(400, f"{text[:200]!r} is no absolute IRI: {error}.") from None


def _union_flag(pairs: _Pairs) -> bool | None:
    for key, value in pairs:
        if key == "union-default-graph":
            if value.lower() not in ("", "true", "false"):
                raise Problem(400, f"union-default-graph is {value[:50]!r}; true or false is expected.")
            return value.lower() != "false"
    return None


def _timeout(pairs: _Pairs) -> float | None:
    for key, value in pairs:
        if key == "timeout":
            try:
                seconds = float(value)
            except ValueError:
                seconds = -1.0
            if not MIN_SECONDS <= seconds < 1e9:
                raise Problem(400, f"timeout is {value[:50]!r}; a number of seconds from {MIN_SECONDS} is expected.")
            return seconds
    return None


def parameters(request: Request) -> _Pairs:
    """Return the parameters of the request's URL.

    Raises:
        Problem: 400: they are not UTF-8.
    """
    return _parsed_pairs(request.scope["query_string"].decode("latin-1"))


def _parsed_pairs(text: str) -> _Pairs:
    try:
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        raise Problem(400, f"the parameters are not UTF-8, or there are more than {_MAX_PARAMETERS} of them.") from None


async def body_of(request: Request, max_bytes: int) -> bytes:
    """Return the body, refused as soon as it is known to be too large.

    Raises:
        Problem: 408: it comes too slowly. 413: it has more than ``max_bytes``. 415: it is compressed.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "the body is compressed. Send it as it is.")
    # the connection is closed, or the client would have to send the rest of the body first
    too_large = Problem(413, f"the body has more than {max_bytes:,} bytes. Send it in parts.", {"Connection": "close"})
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes:
        raise too_large
    body = bytearray()
    begun = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(_BODY_SECONDS) as limit:
            async for block in request.stream():
                body += block
                if len(body) > max_bytes:
                    raise too_large
                limit.reschedule(begun + _BODY_SECONDS + len(body) / _BODY_BYTES_PER_SECOND)
    except TimeoutError:
        what = f"of the body {len(body):,} bytes came in {_BODY_SECONDS + len(body) / _BODY_BYTES_PER_SECOND:.0f} s"
        raise Problem(408, f"{what}. Send it again, and faster.", {"Connection": "close"}) from None
    return bytes(body)
