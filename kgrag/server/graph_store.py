"""The endpoint ``/graphs``: SPARQL 1.1 Graph Store HTTP Protocol.

``?graph=IRI`` names a graph, ``?default`` the default graph, and an address below ``/graphs/`` a graph of that name;
POST without any makes a new graph and returns its address in Location, which also serves as a name of it. ETags are
weak, and change with the graph.
"""

from __future__ import annotations

import asyncio
import secrets
from functools import partial
from pathlib import Path
from urllib.parse import quote, unquote

import pyoxigraph as ox
from starlette.datastructures import UploadFile
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

import kgrag
from kgrag.server.media_types import RDF, choose, content_type, main_type
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import body_of, iri, parameters
from kgrag.server.readers.reader_request import ReaderRequest
from kgrag.server.request_log import record_of
from kgrag.server.server_state import ServerState, address, state_of, writer_of
from kgrag.server.streaming import collect_result, stream_result
from kgrag.server.write_gate import PlannedUpload
from kgrag.store.language_tags import spelled_tags
from kgrag.store.rdf_guard import check_json, check_turtle, check_xml
from kgrag.store.xml_literals import with_well_formed_xml

__all__ = ["graph", "parsed"]

_MAX_PARTS = 100
_TEXT_CHECKS = {
    "text/turtle": check_turtle,
    "application/n-triples": check_turtle,
    "text/n3": check_turtle,
    "application/ld+json": check_json,
}
_XML = "application/rdf+xml"
_UPLOAD_TYPES = (*_TEXT_CHECKS, _XML)
_UPLOAD_NAME = Path("upload")
"""The name of the body in messages of ``rdf_guard``, which expects a file."""


async def graph(request: HttpRequest) -> Response:
    """Read, replace, extend or remove a graph.

    Raises:
        Problem: 400, 401, 403, 404, 406, 412, 413, 415 or 422.
        InputError: the body does not parse.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    state = state_of(request)
    if request.method in ("GET", "HEAD"):
        return await _read(request, state, _named_graph(request))
    key, record = writer_of(request, every_graph=False), record_of(request)
    record.operation = request.method.lower()
    names_graph = request.path_params or {name for name, _ in parameters(request)} & {"graph", "default"}
    if request.method == "POST" and not names_graph:
        name = state.dataset.names.loaded_graph(secrets.token_hex(16)).value
    else:
        name = _named_graph(request)
    record.graphs = [state.dataset.stored_as(name)]
    key.check_graphs(record.graphs)
    if request.method == "DELETE":
        return await _delete(request, state, name)
    return await _write(request, state, name)


def _named_graph(request: HttpRequest) -> str:
    """Return the IRI of the graph that the request names, "" for the default graph."""
    if request.path_params:
        return iri(address(request, request.scope["raw_path"].decode("ascii"))).value
    pairs = parameters(request)
    names = [value for key, value in pairs if key == "graph"]
    is_default = any(key == "default" for key, _ in pairs)
    if len(names) + is_default != 1:
        raise Problem(400, "the request must name one graph, by ?graph=IRI or ?default.")
    if is_default:
        return ""
    # a client may name a graph by the address that Location had for it
    own, name = address(request, "/graphs?graph="), names[0]
    return iri(unquote(name.removeprefix(own)) if name.startswith(own) else name).value


def _etag(state: ServerState, name: str) -> str:
    return state.etags.of(state.dataset.stored_as(name))


def _matches(header: str, etag: str) -> bool:
    return header.strip() == "*" or etag in [part.strip() for part in header.split(",")]


async def _read(request: HttpRequest, state: ServerState, name: str) -> Response:
    etag = _etag(state, name)  # before the snapshot: the graph may be newer than its ETag, never older
    if not state.dataset.contains(name):
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
    header = {
        "graph": state.dataset.stored_as(name),
        "rdf": media,
        "lexical": state.dataset.lexical_graph(name),
        "tags": state.dataset.language_tags(name),
        "root": str(Path(kgrag.__file__).parents[1]),
    }
    task = ReaderRequest("dump", header, seconds=state.pool.limits.seconds)
    return await stream_result(request, state.pool, task, headers)


async def _delete(request: HttpRequest, state: ServerState, name: str) -> Response:
    recheck = None
    if state.gate is not None and state.dataset.contains(name):
        stored = state.dataset.stored_as(name)
        recheck = await state.gate.upload(lambda: PlannedUpload(stored, (), add=False))
    async with state.turn_to_write():
        if not state.dataset.contains(name):
            raise Problem(404, f"there is no graph <{name}>.")
        _check_conditions(request, state, name)
        if recheck is not None:
            await recheck()
        await state.write(record_of(request), lambda: state.dataset.drop(name))
    return Response(status_code=204)


def _check_conditions(request: HttpRequest, state: ServerState, name: str) -> None:
    """Check If-Match and If-None-Match (RFC 9110, section 13.1); a graph that does not exist has no ETag."""
    exists = state.dataset.contains(name)
    wanted, unwanted = (request.headers.get(header, "") for header in ("if-match", "if-none-match"))
    if wanted and not (exists and _matches(wanted, _etag(state, name))):
        raise Problem(412, "the graph is not as it was at the tag of If-Match. GET it again.")
    if unwanted and exists and _matches(unwanted, _etag(state, name)):
        raise Problem(412, "the graph is there, and If-None-Match wants it not to be. Use If-Match to replace it.")


async def _write(request: HttpRequest, state: ServerState, name: str) -> Response:
    documents = await _documents(request, state.pool.limits.body)
    base = name or str(request.url)
    triples = [triple for media, body in documents for triple in await parsed(state, media, body, base)]
    tags = [tag for media, body in documents for tag in await asyncio.to_thread(_tags, media, body)]

    def adds() -> bool:
        return request.method == "POST" and state.dataset.contains(name)

    _check_conditions(request, state, name)  # before the gate, which takes longer; and again in its turn
    recheck = None
    if state.gate is not None:
        stored = state.dataset.stored_as(name)
        recheck = await state.gate.upload(lambda: PlannedUpload(stored, triples, adds()))
    async with state.turn_to_write():
        existed = state.dataset.contains(name)
        _check_conditions(request, state, name)
        if recheck is not None:
            await recheck()
        add, status = adds(), 204 if existed else 201
        put = partial(state.dataset.put, name, triples, add=add, tags=tags)
        await state.write(record_of(request), put, status=status)
        headers = {"ETag": _etag(state, name)}
    if not existed:
        headers["Location"] = address(request, f"/graphs?graph={quote(name, safe='')}")
    return Response(status_code=status, headers=headers)


async def _documents(request: HttpRequest, max_bytes: int) -> list[tuple[str, bytes]]:
    """Return media type and bytes of each document in the body."""
    media, charset = main_type(request.headers.get("content-type", ""))
    body = await body_of(request, max_bytes)
    if media != "multipart/form-data":
        return [(_upload_type(media, charset), body)]

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    documents = []
    # the body is read already, to limit its size, and given to starlette's parser from here
    async with HttpRequest(request.scope, receive).form(max_files=_MAX_PARTS, max_fields=_MAX_PARTS) as form:
        for part in form.values():
            if not isinstance(part, UploadFile):
                raise Problem(400, "a part of the form is no file. Give each part a filename and a Content-Type.")
            documents.append((_upload_type(*main_type(part.content_type or "")), await part.read()))
    return documents


def _upload_type(media: str, charset: str) -> str:
    if media not in _UPLOAD_TYPES or charset not in ("", "utf-8", "utf8", "us-ascii"):
        known = ", ".join(_UPLOAD_TYPES)
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send {known}, in UTF-8.")
    return media


async def parsed(state: ServerState, media: str, body: bytes, base: str) -> list[ox.Triple]:
    """Return the triples of a document; a reader parses it first, and its N-Quads are safe to parse here.

    Raises:
        Problem: 400: it is not UTF-8, or names graphs of its own.
        InputError: it does not parse.
    """
    await asyncio.to_thread(_check_document, media, body)
    header, seconds = {"media": media, "base": base}, state.pool.limits.seconds
    lines = await collect_result(state.pool, ReaderRequest("parse", header, body, seconds, reads_store=False))
    triples = await asyncio.to_thread(_triples, lines)
    return list(with_well_formed_xml(triples)) if media == _XML else triples


def _check_document(media: str, body: bytes) -> None:
    if media == _XML:
        check_xml(body, _UPLOAD_NAME)
        return
    try:
        _TEXT_CHECKS[media](body.decode(), _UPLOAD_NAME)
    except UnicodeDecodeError as error:
        raise Problem(400, f"byte {error.start} of the body is not UTF-8.") from None


def _tags(media: str, body: bytes) -> list[str]:
    return spelled_tags(body.decode(errors="replace"), ox.RdfFormat.from_media_type(media))


def _triples(lines: bytes) -> list[ox.Triple]:
    try:
        quads = list(ox.parse(lines, ox.RdfFormat.N_QUADS))
    except SyntaxError as error:  # RDF/XML, JSON-LD and N3 may have literals that nothing reads back
        message = str(error.msg).partition(": ")[2] or error.msg
        raise Problem(400, f"the body has a literal that nothing reads back: {message}") from None
    if any(quad.graph_name != ox.DefaultGraph() for quad in quads):
        raise Problem(400, "the body names graphs of its own. Send triples.")
    return [quad.triple for quad in quads]
