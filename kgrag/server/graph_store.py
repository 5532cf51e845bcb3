"""The endpoint ``/graphs``: SPARQL 1.1 Graph Store HTTP Protocol.

``?graph=IRI`` names a graph, ``?default`` the default graph, and an address below ``/graphs/`` a graph of that name;
POST without any makes a new graph and gives its address in Location, which also serves as a name of it. ETags are weak,
and change with the graph.
"""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from urllib.parse import quote, unquote

import pyoxigraph as ox
from starlette.datastructures import UploadFile
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from kgrag.server.media_types import RDF, choose, content_type, main_type
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import body_of, iri, parameters
from kgrag.server.readers.reader_request import Request
from kgrag.server.request_log import record_of
from kgrag.server.site import Site, address, site_of
from kgrag.server.streaming import collected, streamed
from kgrag.server.write_gate import Upload
from kgrag.server.write_turn import write
from kgrag.store.rdf_guard import check_json, check_turtle, check_xml

__all__ = ["graph"]

_UPLOADS = {
    "text/turtle": check_turtle,
    "application/n-triples": check_turtle,
    "text/n3": check_turtle,
    "application/ld+json": check_json,
    "application/rdf+xml": None,
}
_UPLOAD = Path("upload")
"""What messages of the guard call the body."""


async def graph(request: HttpRequest) -> Response:
    """Read, replace, extend or remove a graph.

    Raises:
        Problem: 400, 401, 403, 404, 406, 412, 413, 415 or 422.
        InputError: the body does not parse.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    site = site_of(request)
    if request.method in ("GET", "HEAD"):
        return await _read(request, site, _named(request))
    key, record = site.keys.writer(request.headers.get("authorization", "")), record_of(request)
    record.key, record.operation = key.name, request.method.lower()
    name = _fresh(site) if _unnamed(request) else _named(request)
    record.graphs = [site.dataset.stored_as(name)]
    key.check_graphs(record.graphs)
    if request.method == "DELETE":
        return await _delete(request, site, name)
    return await _write(request, site, name)


def _unnamed(request: HttpRequest) -> bool:
    """Say whether a POST leaves the name of its graph to the server."""
    if request.method != "POST" or request.path_params:
        return False
    return not {key for key, _ in parameters(request)} & {"graph", "default"}


def _fresh(site: Site) -> str:
    return site.dataset.names.loaded_graph(secrets.token_hex(16)).value


def _named(request: HttpRequest) -> str:
    """Give the IRI of the graph that the request names, "" for the default graph."""
    if request.path_params:
        return iri(address(request, request.scope["raw_path"].decode("ascii"))).value
    pairs = parameters(request)
    names = [value for key, value in pairs if key == "graph"]
    default = any(key == "default" for key, _ in pairs)
    if len(names) + default != 1:
        raise Problem(400, "the request must name one graph, by ?graph=IRI or ?default.")
    if default:
        return ""
    own, name = address(request, "/graphs?graph="), names[0]
    return iri(unquote(name.removeprefix(own)) if name.startswith(own) else name).value


def _etag(site: Site, name: str) -> str:
    return site.tags.of(site.dataset.stored_as(name))


def _matches(header: str, etag: str) -> bool:
    return header.strip() == "*" or etag in [part.strip() for part in header.split(",")]


async def _read(request: HttpRequest, site: Site, name: str) -> Response:
    etag = _etag(site, name)  # before the snapshot: the graph may be newer than its tag, never older
    if not site.dataset.contains(name):
        raise Problem(404, f"there is no graph <{name}>.")
    accept = request.headers.get("accept", "")
    media = choose(accept, RDF)
    if not media:
        raise Problem(406, f"a graph has no format of Accept: {accept[:200]}. Known: {', '.join(RDF)}.")
    headers = {"ETag": etag, "Vary": "Accept"}
    if _matches(request.headers.get("if-none-match", ""), etag):
        return Response(status_code=304, headers=headers)
    if request.method == "HEAD":
        return Response(headers={**headers, "Content-Type": content_type(media)})
    header = {"graph": site.dataset.stored_as(name), "rdf": media}
    return await streamed(request, site.pool, Request("dump", header, seconds=site.pool.limits.seconds), headers)


async def _delete(request: HttpRequest, site: Site, name: str) -> Response:
    async with site.turn:
        if not site.dataset.contains(name):
            raise Problem(404, f"there is no graph <{name}>.")
        _unchanged(request, site, name)
        await write(request, lambda: site.dataset.drop(name))
    return Response(status_code=204)


def _unchanged(request: HttpRequest, site: Site, name: str) -> None:
    """Let a write pass whose conditions hold (RFC 9110, section 13.1; a graph that is not there has no tag)."""
    there = site.dataset.contains(name)
    wanted, unwanted = (request.headers.get(header, "") for header in ("if-match", "if-none-match"))
    if wanted and not (there and _matches(wanted, _etag(site, name))):
        raise Problem(412, "the graph is not as it was at the tag of If-Match. GET it again.")
    if unwanted and there and _matches(unwanted, _etag(site, name)):
        raise Problem(412, "the graph is there, and If-None-Match wants it not to be. Use If-Match to replace it.")


async def _write(request: HttpRequest, site: Site, name: str) -> Response:
    parts = await _parts(request, site.pool.limits.body)
    triples = [triple for media, body in parts for triple in await _parsed(site, media, body, name or str(request.url))]

    def planned() -> Upload:
        add = request.method == "POST" and site.dataset.contains(name)
        return Upload(site.dataset.stored_as(name), triples, add)

    _unchanged(request, site, name)
    again = None if site.gate is None else await site.gate.upload(planned)
    async with site.turn:
        there = site.dataset.contains(name)
        _unchanged(request, site, name)
        if again is not None:
            await again()
        add = request.method == "POST" and there
        await write(request, lambda: site.dataset.put(name, triples, add=add), status=204 if there else 201)
        headers = {"ETag": _etag(site, name)}
    if not there:
        headers["Location"] = address(request, f"/graphs?graph={quote(name, safe='')}")
    return Response(status_code=204 if there else 201, headers=headers)


async def _parts(request: HttpRequest, most: int) -> list[tuple[str, bytes]]:
    """Give media type and bytes of each document in the body."""
    media, charset = main_type(request.headers.get("content-type", ""))
    body = await body_of(request, most)
    if media != "multipart/form-data":
        return [(_readable(media, charset), body)]
    form = await _replayed(request, body).form(max_files=100, max_fields=100)
    found = []
    for part in form.values():
        if not isinstance(part, UploadFile):
            raise Problem(400, "a part of the form is no file. Give each part a filename and a Content-Type.")
        found.append((_readable(*main_type(part.content_type or "")), await part.read()))
    await form.close()
    return found


def _replayed(request: HttpRequest, body: bytes) -> HttpRequest:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    return HttpRequest(request.scope, receive)


def _readable(media: str, charset: str) -> str:
    if media not in _UPLOADS or charset not in ("", "utf-8", "utf8", "us-ascii"):
        known = ", ".join(_UPLOADS)
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send {known}, in UTF-8.")
    return media


async def _parsed(site: Site, media: str, body: bytes, base: str) -> list[ox.Triple]:
    """Parse a document: guarded first, then in a reader, whose N-Quads are safe to parse here."""
    await asyncio.to_thread(_guard, media, body)
    header = {"media": media, "base": base}
    seconds = site.pool.limits.seconds
    lines = await collected(site.pool, Request("parse", header, body, seconds, of_store=False))
    return await asyncio.to_thread(_triples, lines)


def _guard(media: str, body: bytes) -> None:
    check = _UPLOADS[media]
    if check is None:
        check_xml(body, _UPLOAD)
        return
    try:
        check(body.decode(), _UPLOAD)
    except UnicodeDecodeError as error:
        raise Problem(400, f"byte {error.start} of the body is not UTF-8.") from None


def _triples(lines: bytes) -> list[ox.Triple]:
    quads = list(ox.parse(lines, ox.RdfFormat.N_QUADS))
    if any(quad.graph_name != ox.DefaultGraph() for quad in quads):
        raise Problem(400, "the body names graphs of its own. Send triples.")
    return [quad.triple for quad in quads]
