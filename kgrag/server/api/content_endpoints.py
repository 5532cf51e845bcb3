"""Endpoints about the content: the list of documents, their sources, figures, the profile of facts, summary trees.

These are ``GET /documents``, ``/sources``, ``/stats``, ``/status``, ``/costs``, ``/plugins``, ``/conversations``,
``/receipts``, ``/profile``, ``/tree``. What reads the store alone is worked out beside questions, and figures are kept
until the store changes. Of the list of documents no more than a few pages are in memory at once; with a filter, the
IRIs of the documents that it lets through.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.capabilities import Counts, Traverses, capable
from kgrag.drawing import tree_picture
from kgrag.drawing.tree_picture import TreeView
from kgrag.errors import UnknownName
from kgrag.http_api.content_schemas import (
    CostsParameters,
    DocumentsParameters,
    ProfileParameters,
    SourceRequest,
    StatsParameters,
    TreeParameters,
)
from kgrag.knowledge_base import document_sources
from kgrag.model import Document
from kgrag.plugins import examined
from kgrag.querying import data_profile
from kgrag.querying.data_profile import DataProfile
from kgrag.querying.document_filters import allowed
from kgrag.server.api.json_endpoints import read_body
from kgrag.server.api.request_parameters import read_parameters
from kgrag.server.api.write_steps import write_record, written
from kgrag.server.filter_reading import filter_of
from kgrag.server.media_types import choose, content_type
from kgrag.server.problems import Problem
from kgrag.server.server_state import address, state_of, workers_of, writer_of
from kgrag.text import documents
from kgrag.text.documents import DocumentPage, StoredDocument
from kgrag.text.json_documents import document_json

__all__ = [
    "as_listed",
    "change_source",
    "conversations",
    "costs",
    "keep_profile",
    "listed",
    "plugins",
    "profile",
    "receipts",
    "sources",
    "stats",
    "status",
    "tree",
]

_JSON, _TEXT, _TURTLE = "application/json", "text/plain", "text/turtle"
_NOT_STORED = {"Cache-Control": "no-store"}


# --- documents ----------------------------------------------------------------------------------------------------


async def listed(request: Request) -> Response:
    """Return a page of the documents that meet a filter; Link leads to the next one.

    Raises:
        Problem: 400.
        KgragError: what the filter raises, as that of ``/retrieve``.
    """
    workers, asked = workers_of(request), read_parameters(request, DocumentsParameters)
    store, after, limit = workers.kb.store, asked.after, asked.limit
    where = await filter_of(request, list(asked.where) or None)

    def find() -> DocumentPage:
        if where is None:
            return documents.page(store, after=after, limit=limit)
        return documents.page_of(store, allowed(where, store).documents, after=after, limit=limit)

    found = await workers.report(find)
    headers = dict(_NOT_STORED)
    if found.after:
        following = request.url.include_query_params(after=found.after).query
        headers["Link"] = f'<{address(request, "/documents")}?{following}>; rel="next"'
    return JSONResponse({"documents": [as_listed(each) for each in found.documents], "next": found.after}, 200, headers)


def as_listed(stored: StoredDocument) -> dict[str, Any]:
    """Return a stored document as the JSON API has it, without its text; metadata as they are sent there."""
    said = document_json(Document("", metadata=stored.metadata)).get("metadata", {})
    own = {name: getattr(stored, name) for name in ("iri", "id", "title", "url", "chunks")}
    return {**own, "locations": list(stored.locations), "metadata": said}


async def sources(request: Request) -> Response:
    """Return what documents come from."""
    return _json(await _sources(request))


async def change_source(request: Request) -> Response:
    """Give a source another name, or say that its folder is elsewhere, which may be on another machine.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422; 404: there is no such source.
        InputError: the name is another source's, or the folder crosses one; or a feed is to have a folder.
    """
    record, workers = write_record(request, "source"), workers_of(request)
    body, name, store = await read_body(request, SourceRequest), request.path_params["name"], workers.kb.store

    def change() -> str:
        if body.root:
            document_sources.move(store, name, Path(body.root), elsewhere=True)
        known = document_sources.rename(store, name, body.new_name or name)
        store.flush()
        return known

    try:
        known = await written(state_of(request), record, change)
    except UnknownName as error:
        raise Problem(404, str(error)) from None
    listed = (await _sources(request))["sources"]
    return _json(next(each for each in listed if each["name"] == known))


async def _sources(request: Request) -> dict[str, Any]:
    workers = workers_of(request)

    def count() -> dict[str, Any]:
        listed, without = document_sources.counted(workers.kb.store)
        return {"sources": [asdict(each) for each in listed], "documents_without_source": without}

    return await workers.figures("sources", count)


# --- figures ------------------------------------------------------------------------------------------------------


async def stats(request: Request) -> Response:
    """Count what is there, or return a method's own figures.

    Raises:
        Problem: 400.
        InvalidSettings: the method has no figures.
    """
    workers, method = workers_of(request), read_parameters(request, StatsParameters).method
    if method is not None:  # it is made on first use, which no two threads may do
        chosen = await workers.run(lambda: workers.alone(lambda: workers.kb.method(method)))
        capable(chosen, Counts, method)
    return _json(dict(await workers.figures(("stats", method), lambda: workers.kb.stats(method))))


async def status(request: Request) -> Response:
    """Return what builds left to do."""
    workers = workers_of(request)
    return _json(dict(await workers.report(workers.kb.status)))


async def costs(request: Request) -> Response:
    """Return what language models cost, to a key that may write.

    Raises:
        Problem: 400, 401, 403.
    """
    writer_of(request)
    workers, method = workers_of(request), read_parameters(request, CostsParameters).method
    return _json(await workers.run(lambda: workers.alone(lambda: workers.kb.priced_costs(method))))


async def plugins(request: Request) -> Response:
    """Return what is registered, to a key that may write.

    Raises:
        Problem: 401, 403.
    """
    writer_of(request)
    return _json(await workers_of(request).report(lambda: [asdict(each) for each in examined()]))


async def conversations(request: Request) -> Response:
    """Return the conversations that are kept."""
    workers = workers_of(request)
    return _json([asdict(each) for each in await workers.report(workers.kb.conversations)])


async def receipts(request: Request) -> Response:
    """Return what erasures stated."""
    workers = workers_of(request)
    return _json([asdict(each) for each in await workers.report(workers.kb.receipts)])


# --- profile and tree ---------------------------------------------------------------------------------------------


async def profile(request: Request) -> Response:
    """Return what the facts have: as JSON, as Turtle in the terms of VoID, or as text for a person.

    Raises:
        Problem: 400, 406; 404: there is no such graph.
    """
    workers, graph = workers_of(request), read_parameters(request, ProfileParameters).graph
    media = choose(request.headers.get("accept", ""), (_JSON, _TURTLE, _TEXT))
    if not media:
        raise Problem(406, f"a profile is {_JSON}, {_TURTLE} or {_TEXT}. Accept one of them.")
    try:
        found = await workers.figures(("profile", graph), lambda: workers.kb.profile(graph=graph))
    except UnknownName as error:
        raise Problem(404, str(error)) from None
    if media == _JSON:
        return _json(found.to_json())
    text = found.as_text() if media == _TEXT else data_profile.as_turtle(found, state_of(request).dataset.names)
    return Response(text, 200, {**_NOT_STORED, "Content-Type": content_type(media), "Vary": "Accept"})


async def keep_profile(request: Request) -> Response:
    """Keep the profile of all facts as a graph, and return it.

    Raises:
        Problem: 401, 403.
    """
    record, workers = write_record(request, "profile"), workers_of(request)
    store = workers.kb.store
    await workers.report(lambda: data_profile.profile_of(store))  # what takes long, before others have to wait

    def keep() -> DataProfile:
        return data_profile.keep(store)

    return _json((await written(state_of(request), record, keep)).to_json())


async def tree(request: Request) -> Response:
    """Return part of a summary tree.

    Raises:
        Problem: 400, 401, 403.
        NotBuilt: there is no tree.
        InvalidSettings: the method has none.
    """
    state, workers, asked = state_of(request), workers_of(request), read_parameters(request, TreeParameters)
    if asked.question and state.rules.paid_access.searches_cost:
        state.rules.paid_access.check(request, state.rules.keys)

    def walk() -> TreeView:
        method = capable(workers.kb.method(asked.method), Traverses, asked.method)
        return method.traverse(asked.question, node=asked.node, width=asked.width)

    return _json(tree_picture.plain(await workers.run(lambda: workers.alone(walk))))


def _json(document: Any) -> Response:
    return JSONResponse(document, headers=_NOT_STORED)
