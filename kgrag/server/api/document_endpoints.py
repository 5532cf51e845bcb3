"""The endpoint ``/documents``: what the commands ingest, sync and forget do.

A document or a few are in the knowledge base when the answer comes. More of them, files and erasures become a job: 202
with its address (``job_endpoints``). All but reading needs a key that may write to every graph.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag import queries
from kgrag.errors import UnknownName
from kgrag.http_api.json_schemas import (
    AddParameters,
    DocumentRequest,
    DocumentsRequest,
    FeedParameters,
    ForgetParameters,
    IntakeParameters,
    ReadDocument,
    UnreadFile,
)
from kgrag.knowledge_base import KnowledgeBase, forgetting, intake, waiting_uploads
from kgrag.knowledge_base.erasure import Erasure
from kgrag.model import Document
from kgrag.server.api.content_endpoints import as_listed
from kgrag.server.api.json_endpoints import problem_of_body, read_body
from kgrag.server.api.request_parameters import read_parameters
from kgrag.server.api.write_steps import accepted, renewed, write_record, written_alone, written_in_parts
from kgrag.server.document_intake import (
    DocumentIntake,
    IntakeOptions,
    forgotten_json,
    report_json,
    upload_name,
)
from kgrag.server.jobs import Job
from kgrag.server.media_types import main_type
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import body_of
from kgrag.server.request_log import RequestRecord
from kgrag.server.server_state import address, state_of, workers_of
from kgrag.server.upload_jobs import keep_upload, submit_upload
from kgrag.text import documents
from kgrag.text.json_documents import document_json, read_document

__all__ = ["delete", "get", "post", "put", "vacuum"]

_JSON = "application/json"
_LINES = ("application/x-ndjson", "application/jsonl")
_MAX_AT_ONCE = 32
_MAX_BYTES_AT_ONCE = 1 << 20
_MAX_FILES = 100
_MAX_FILES_NAMED = 3
_LINE = TypeAdapter[ReadDocument | UnreadFile](ReadDocument | UnreadFile)


async def put(request: Request) -> Response:
    """Add a document of an id, or replace it.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
    """
    record, options = write_record(request, "document"), _options(read_parameters(request, IntakeParameters))
    body = await read_body(request, DocumentRequest, state_of(request).pool.limits.body)
    name = request.path_params["id"]
    if body.id not in ("", name):
        raise Problem(400, f"the document has the id {body.id[:200]!r}, and the address {name[:200]!r}. Send one id.")
    document = _placed(body.model_copy(update={"id": name}), options)
    workers = workers_of(request)
    existed = bool(await workers.run(lambda: _at(workers.kb, documents.places_of(document)[:1])))
    record.success = 200 if existed else 201
    report = await _add(request, record, [document], options)
    return JSONResponse(report, record.success, {"Location": address(request, f"/documents/{name}")})


async def post(request: Request) -> Response:
    """Add documents: a few at once, many and files as a job.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        ServiceUnavailable: too many jobs wait already.
    """
    record, state = write_record(request, "documents"), state_of(request)
    parameters = read_parameters(request, AddParameters)
    options, name = _options(parameters), parameters.name
    media, charset = main_type(request.headers.get("content-type", ""))
    if not name and (media not in (_JSON, *_LINES, "multipart/form-data") or charset not in ("", "utf-8", "utf8")):
        known = ", ".join((_JSON, *_LINES, "multipart/form-data"))
        raise Problem(415, f"the body is {media or 'of no type'} {charset}. Send {known}, or a file with ?name=.")
    state.jobs.check()
    body = await body_of(request, state.pool.limits.body)
    if name:
        return await _file_job(request, record, {upload_name(name): body}, options)
    if media == "multipart/form-data":
        files, fields = await _form(request, body)
        return await _file_job(request, record, files, _with_fields(options, files, fields))
    _check_replaced(options, says_places=media in _LINES)
    if media in _LINES:
        return await _line_job(request, record, body, options)
    sent = await asyncio.to_thread(_read_documents, body, options)
    wants_job = "respond-async" in request.headers.get("prefer", "")
    if len(sent) <= _MAX_AT_ONCE and len(body) <= _MAX_BYTES_AT_ONCE and not wants_job:
        return JSONResponse(await _add(request, record, sent, options))
    lines = "\n".join(json.dumps({**document_json(each), "feed": each.source}) for each in sent)
    return await _line_job(request, record, lines.encode(), options)


async def get(request: Request) -> Response:
    """Return a document with its text.

    Raises:
        Problem: 400, 401; 404: there is none of this id.
    """
    workers, feed = workers_of(request), read_parameters(request, FeedParameters).feed
    name = request.path_params["id"]
    return JSONResponse(await workers.run(lambda: _stored(workers.kb, _named(workers.kb, name, feed)[0])))


async def delete(request: Request) -> Response:
    """Delete a document, and what was derived from it alone; with ``erase`` from every file, as a job.

    Raises:
        Problem: 400: several have this name; 401, 403; 404: there is none of this id.
        ServiceUnavailable: too many jobs wait already.
    """
    record, workers = write_record(request, "forget"), workers_of(request)
    parameters, name = read_parameters(request, ForgetParameters), request.path_params["id"]
    if parameters.erase:
        return await _erase_job(request, record, parameters, name)

    def forget() -> list[dict[str, Any]]:
        kb = workers.kb
        named = _named(kb, name, parameters.feed, every=parameters.all)
        record.documents = named
        found = forgetting.forget(named, store=kb.store, spaces=kb.spaces)
        kb.store.flush()
        return [forgotten_json(each) for each in found]

    return JSONResponse(await written_alone(state_of(request), record, workers, forget))


# --- what a request means -----------------------------------------------------------------------------------------


def _options(parameters: IntakeParameters) -> IntakeOptions:
    return IntakeOptions(**parameters.model_dump(exclude={"name"}))


def _check_replaced(options: IntakeOptions, *, says_places: bool) -> None:
    """Check that documents say what of theirs is to be replaced. Raises Problem (400)."""
    if options.replaces != "places" and not says_places:
        raise Problem(400, f"replaces={options.replaces} needs the file of each document. Send JSON Lines with it.")
    if options.replaces == "folder" and not os.path.isabs(options.folder):  # noqa: PTH117 - it may be of another machine
        raise Problem(400, "replaces=folder needs folder=, the real path of the folder. Name it.")


def _placed(body: DocumentRequest, options: IntakeOptions) -> Document:
    document = read_document(body.model_dump())
    (placed,) = intake.of_feed([document], options.feed if body.feed is None else body.feed)
    return placed


def _read_documents(body: bytes, options: IntakeOptions) -> list[Document]:
    try:
        sent = DocumentsRequest.model_validate_json(body).root
    except ValidationError as error:
        raise problem_of_body(error, DocumentRequest) from None
    return [_placed(each, options) for each in (sent if isinstance(sent, list) else [sent])]


async def _form(request: Request, body: bytes) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the files of a form by name, and its fields."""

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    found: dict[str, bytes] = {}
    fields: dict[str, str] = {}
    # the body is read already, to limit its size, and given to starlette's parser from here
    async with Request(request.scope, receive).form(max_files=_MAX_FILES, max_fields=_MAX_FILES) as form:
        for field, part in form.multi_items():
            if not isinstance(part, UploadFile):
                if field not in ("title", "metadata"):
                    raise Problem(400, "a part of the form is no file, title or metadata. Give each file a filename.")
                fields[field] = part
                continue
            name = upload_name(part.filename or "")
            if name in found:
                raise Problem(400, f"two files are named {name}. One place holds one document.")
            found[name] = await part.read()
    if not found:
        raise Problem(400, "the form has no file. Send one part for each.")
    return found, fields


def _with_fields(options: IntakeOptions, files: Collection[str], fields: Mapping[str, str]) -> IntakeOptions:
    """Return how files are taken in that came with a title or metadata in their form."""
    title = fields.get("title", "").strip()
    if title and len(files) > 1:
        raise Problem(400, f"the form has one title and {len(files)} files. Send a title with one file.")
    if not fields.get("metadata"):
        return replace(options, title=title)
    try:
        sent = DocumentRequest(text="-", metadata=json.loads(fields["metadata"]))
    except ValidationError as error:
        raise problem_of_body(error, DocumentRequest) from None
    except ValueError:
        raise Problem(400, "the metadata of the form is no JSON object.") from None
    return replace(options, title=title, metadata=read_document(sent.model_dump()).metadata)


def _at(kb: KnowledgeBase, places: list[str]) -> list[str]:
    """Return the documents at places."""
    values = {"catalogue": kb.store.names.catalogue, "places": [ox.Literal(each) for each in places]}
    rows = kb.store.select(queries.bind("documents/at_places", **values)).values()
    return list(dict.fromkeys(document for document, location, _ in rows if location in places))


def _named(kb: KnowledgeBase, name: str, feed: str | None, *, every: bool = False) -> list[str]:
    """Return the documents of a name: by feed and id, else by IRI, location, id or title."""
    found = _at(kb, [f"{feed or 'api'}#{name}"])
    if found:
        return found[:1]
    try:
        if feed is not None:
            raise UnknownName(f"the feed '{feed[:200]}' has no document of the id {name[:200]!r}.")
        return forgetting.named(kb.store, name, every=every)
    except UnknownName as error:
        raise Problem(404, str(error)) from None


def _stored(kb: KnowledgeBase, iri: str) -> dict[str, Any]:
    text = documents.document_text(kb.store, iri)
    return {**as_listed(documents.described(kb.store, [iri])[iri]), "text": text}


# --- writing ------------------------------------------------------------------------------------------------------


async def _add(request: Request, record: RequestRecord, sent: list[Document], options: IntakeOptions) -> dict[str, Any]:
    """Take in a few documents, and return what became of them."""
    workers = workers_of(request)
    taking = DocumentIntake(workers.kb, Path(), options)
    record.documents = {documents.document_iri(each, workers.kb.store.names).value for each in sent}
    await written_in_parts(state_of(request), record, workers, partial(taking.add, sent, True))
    if taking.report.violations:
        reasons = "; ".join(violation.message for violation in taking.report.violations[:5])
        raise Problem(422, f"the document does not conform to its shape and was put into quarantine: {reasons}")
    return report_json(taking.report)


async def _line_job(request: Request, record: RequestRecord, body: bytes, options: IntakeOptions) -> Response:
    await asyncio.to_thread(_check_lines, body)
    return await _upload_job(request, record, body, options, options.folder or f"feed {options.feed}")


async def _file_job(
    request: Request, record: RequestRecord, files: dict[str, bytes], options: IntakeOptions
) -> Response:
    named = list(files)[:_MAX_FILES_NAMED]
    about = ", ".join(named) + (f" and {len(files) - len(named)} more" if len(files) > len(named) else "")
    return await _upload_job(request, record, files, replace(options, replaces="files"), about)


async def _upload_job(
    request: Request, record: RequestRecord, sent: bytes | Mapping[str, bytes], options: IntakeOptions, about: str
) -> Response:
    """Return the reply to an upload that becomes a job: it is on the disk by then, whatever becomes of this server."""
    state, kb = state_of(request), workers_of(request).kb
    assert kb.path is not None  # one in memory is not served
    kept = partial(keep_upload, kb.path, sent, options, about=about, request=record.id, key=record.key)
    upload = await asyncio.to_thread(kept)
    try:
        state.jobs.check()
    except BaseException:
        await asyncio.to_thread(waiting_uploads.discard, upload.folder)
        raise
    return accepted(request, record, submit_upload(state, upload))


def _check_lines(body: bytes) -> None:
    """Check that each line is a document, or the name of a file that is not read.

    Raises:
        Problem: 400: a line is neither, or there is no document.
    """
    found = 0
    for number, line in enumerate(body.splitlines(), 1):
        if line.isspace() or not line:
            continue
        try:
            found += isinstance(_LINE.validate_json(line), ReadDocument)
        except ValidationError as error:
            problem = problem_of_body(error, ReadDocument)
            raise Problem(400, f"line {number}: {problem}", errors=problem.errors) from None
    if not found:
        raise Problem(400, "the body has no document. Send one per line.")


async def vacuum(request: Request) -> Response:
    """Begin to write every file anew without what is in no triple any more; nobody reads or writes meanwhile.

    Raises:
        Problem: 401, 403.
        ServiceUnavailable: too many jobs wait already.
    """
    record, workers = write_record(request, "vacuum"), workers_of(request)

    async def work(job: Job) -> dict[str, Any]:
        job.progress("vacuum", 0, 1)
        done = await _rewritten(request, renewed(record), workers.kb.vacuum)
        job.progress("vacuum", 1, 1)
        return _erasure_json(done)

    return accepted(request, record, state_of(request).jobs.submit("vacuum", work))


async def _erase_job(request: Request, record: RequestRecord, parameters: ForgetParameters, name: str) -> Response:
    """Return the reply to an erasure: while it rewrites the store, nobody reads or writes, and no copy is left."""
    state, workers = state_of(request), workers_of(request)
    named = await workers.run(lambda: _named(workers.kb, name, parameters.feed, every=parameters.all))

    async def work(job: Job) -> dict[str, Any]:
        job.progress("erase", 0, len(named))

        def erase() -> Erasure:
            return workers.kb.erase(*(each for each in named if _is_there(workers.kb, each)))

        done = await _rewritten(request, renewed(record, named), erase)
        job.progress("erase", len(named), len(named))
        return _erasure_json(done)

    return accepted(request, record, state.jobs.submit("erase", work, about=f"{len(named)} documents"))


async def _rewritten(request: Request, record: RequestRecord, rewrite: Callable[[], Erasure]) -> Erasure:
    """Return what an erasure did, which is done alone; readers, copies of the store and worker threads wait for it."""
    state, workers = state_of(request), workers_of(request)
    done: list[Erasure] = []
    async with state.write_lock, state.without_copies(), workers.at_rest(state.pool.limits.seconds):
        await state.write(record, lambda: done.append(workers.alone(rewrite)), status=record.success)
    request.app.state.page_tables.clear()
    workers.forget_reports()
    request.app.state.chats.clear()  # answers in memory quote documents
    return done[0]


def _erasure_json(done: Erasure) -> dict[str, Any]:
    counts = {"dropped": done.dropped, "completions": done.completions, "sought": done.sought, "files": done.files}
    return {
        "documents": list(done.documents),
        **counts,
        "found": list(done.found),
        "backups": [Path(each).name for each in done.backups],
        "receipt": done.receipt,
    }


def _is_there(kb: KnowledgeBase, document: str) -> bool:
    return kb.store.described(kb.store.names.document_graph(ox.NamedNode(document)))
