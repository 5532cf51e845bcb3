"""The endpoints ``/documents``, ``/jobs`` and ``/build``: what the commands ingest, sync, forget and build do.

A document or a few are in the knowledge base when the answer comes. More of them, files and builds become a job: 202
with its address, at which JSON or server-sent events show how far it is. All but reading needs a key that may write to
every graph.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyoxigraph as ox
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from kgrag import queries
from kgrag.errors import UnknownName
from kgrag.http_api.json_schemas import (
    AddParameters,
    BuildRequest,
    DocumentRequest,
    DocumentsRequest,
    FeedParameters,
    ForgetParameters,
    IntakeParameters,
    ReadDocument,
    UnreadFile,
)
from kgrag.index.array_files import being_made
from kgrag.knowledge_base import KnowledgeBase, forgetting, intake
from kgrag.knowledge_base.build_options import read_options
from kgrag.llm.budget import Budget
from kgrag.model import Document
from kgrag.server.access_keys import authorization_of
from kgrag.server.api.json_endpoints import KEEP_ALIVE_SECONDS, event, problem_of_body, read_body
from kgrag.server.api.request_parameters import read_parameters
from kgrag.server.document_intake import (
    DocumentIntake,
    IntakeOptions,
    forgotten_json,
    read_files,
    report_json,
    upload_name,
)
from kgrag.server.jobs import Job
from kgrag.server.media_types import choose, main_type
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import body_of
from kgrag.server.request_log import RequestRecord, record_of
from kgrag.server.server_state import ServerState, address, state_of, workers_of
from kgrag.server.worker_threads import WorkerThreads
from kgrag.text import documents
from kgrag.text.ingestion import IngestReport
from kgrag.text.json_documents import document_json, read_document

__all__ = ["build", "delete", "get", "job", "post", "put"]

_JSON, _EVENTS = "application/json", "text/event-stream"
_LINES = ("application/x-ndjson", "application/jsonl")
_LINES_NAME, _FILES_NAME = "documents.jsonl", "files"
_MAX_AT_ONCE = 32
_MAX_BYTES_AT_ONCE = 1 << 20
_MAX_FILES = 100
_SECONDS_BETWEEN_EVENTS = 0.25
_LINE = TypeAdapter[ReadDocument | UnreadFile](ReadDocument | UnreadFile)
_Value = TypeVar("_Value")


async def put(request: Request) -> Response:
    """Add a document of an id, or replace it.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
    """
    record, options = _writer(request, "document"), _options(read_parameters(request, IntakeParameters))
    body = await read_body(request, DocumentRequest, state_of(request).pool.limits.body)
    name = request.path_params["id"]
    if body.id not in ("", name):
        raise Problem(400, f"the document has the id {body.id[:200]!r}, and the address {name[:200]!r}. Send one id.")
    document = _placed(body.model_copy(update={"id": name}), options)
    workers = workers_of(request)
    existed = bool(await workers.run(lambda: _at(workers.kb, [document.location])))
    report = await _add(request, record, [document], options)
    return JSONResponse(report, 200 if existed else 201, {"Location": address(request, f"/documents/{name}")})


async def post(request: Request) -> Response:
    """Add documents: a few at once, many and files as a job.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        ServiceUnavailable: too many jobs wait already.
    """
    record, state = _writer(request, "documents"), state_of(request)
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
        return await _file_job(request, record, await _files(request, body), options)
    _check_replaced(options, says_places=media in _LINES)
    if media in _LINES:
        return await _line_job(request, record, body, options)
    sent = await asyncio.to_thread(_read_documents, body, options)
    wants_job = "respond-async" in request.headers.get("prefer", "")
    if len(sent) <= _MAX_AT_ONCE and len(body) <= _MAX_BYTES_AT_ONCE and not wants_job:
        return JSONResponse(await _add(request, record, sent, options))
    lines = "\n".join(json.dumps(document_json(each)) for each in sent)
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
    """Delete a document, and what was derived from it alone.

    Raises:
        Problem: 400: several have this name; 401, 403; 404: there is none of this id.
    """
    record, workers = _writer(request, "forget"), workers_of(request)
    parameters, name = read_parameters(request, ForgetParameters), request.path_params["id"]

    def forget() -> list[dict[str, Any]]:
        kb = workers.kb
        named = _named(kb, name, parameters.feed, every=parameters.all)
        found = forgetting.forget(named, store=kb.store, spaces=kb.spaces)
        kb.store.flush()
        return [forgotten_json(each) for each in found]

    return JSONResponse(await _write(state_of(request), record, workers, forget))


async def build(request: Request) -> Response:
    """Begin to build a method.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        ServiceUnavailable: too many jobs wait already.
    """
    record, workers = _writer(request, "build"), workers_of(request)
    body, method = await read_body(request, BuildRequest), request.path_params["method"]
    chosen = read_options(method, body.options)
    for option in fields(chosen):
        value = getattr(chosen, option.name)
        if any(isinstance(each, Path) for each in (value if isinstance(value, tuple) else (value,))):
            raise Problem(400, f"the option '{option.name}' names a file, and a server reads none for a request.")
    limited = body.max_completions is not None or body.max_tokens is not None
    budget = Budget(body.max_completions, body.max_tokens) if limited else None

    async def work(job: Job) -> dict[str, Any]:
        def in_parts(pause: Callable[[], None]) -> dict[str, Any]:
            def progress(stage: str, done: int, total: int) -> None:
                job.progress(stage, done, total)
                if not being_made():
                    pause()

            report = workers.kb.build(method, progress=progress, dry_run=body.dry_run, budget=budget, **body.options)
            usage = {name: getattr(report.usage, name) for name in ("completions", "input_tokens", "output_tokens")}
            found = {"method": report.method, "counts": dict(report.counts), "usage": usage}
            return {**found, "notes": list(report.notes), "pending": list(report.pending)}

        return await _written(state_of(request), _renewed(record), lambda: workers.alone_in_parts(in_parts))

    return _accepted(request, record, state_of(request).jobs.submit("build", work))


async def job(request: Request) -> Response:
    """Return how far a job is: as JSON, or as server-sent events until it is over.

    Raises:
        Problem: 404, 406.
    """
    found = state_of(request).jobs.find(request.path_params["id"])
    if found is None:
        raise Problem(404, "there is no such job, or it is long over.")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    media = choose(request.headers.get("accept", ""), (_JSON, _EVENTS))
    if not media:
        raise Problem(406, f"a job is {_JSON} or {_EVENTS}. Accept one of them.")
    if media == _JSON:
        return JSONResponse(found.to_json(), headers=headers)
    return StreamingResponse(_events(found), 200, headers, _EVENTS)


async def _events(job: Job) -> AsyncIterator[str]:
    """Yield the states of a job: ``progress``, and at its end ``done`` or ``failed``."""
    while not job.is_over:
        changed = job.changed
        yield event("progress", job.to_json())
        try:
            await asyncio.wait_for(changed.wait(), KEEP_ALIVE_SECONDS)
        except TimeoutError:
            yield ": still at work\n\n"
        if not job.is_over:
            await asyncio.sleep(_SECONDS_BETWEEN_EVENTS)
    yield event(job.state, job.to_json())


# --- what a request means -----------------------------------------------------------------------------------------


def _writer(request: Request, operation: str) -> RequestRecord:
    """Check that a request may write, and return its record."""
    record = record_of(request)
    record.key, record.operation = state_of(request).rules.keys.check(authorization_of(request)).name, operation
    return record


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


async def _files(request: Request, body: bytes) -> dict[str, bytes]:
    """Return the files of a form by name."""

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    found: dict[str, bytes] = {}
    # the body is read already, to limit its size, and given to starlette's parser from here
    async with Request(request.scope, receive).form(max_files=_MAX_FILES, max_fields=_MAX_FILES) as form:
        for _, part in form.multi_items():
            if not isinstance(part, UploadFile):
                raise Problem(400, "a part of the form is no file. Give each part a filename.")
            name = upload_name(part.filename or "")
            if name in found:
                raise Problem(400, f"two files are named {name}. One place holds one document.")
            found[name] = await part.read()
    if not found:
        raise Problem(400, "the form has no file. Send one part for each.")
    return found


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
    (found,) = (each for each in documents.listing(kb.store) if each.iri == iri)
    said = document_json(Document("", metadata=found.metadata)).get("metadata", {})
    known = {"iri": iri, "id": found.id, "title": found.title, "url": found.url, "locations": list(found.locations)}
    return {**known, "chunks": found.chunks, "metadata": said, "text": documents.document_text(kb.store, iri)}


# --- writing ------------------------------------------------------------------------------------------------------


async def _write(
    state: ServerState, record: RequestRecord, workers: WorkerThreads, work: Callable[[], _Value]
) -> _Value:
    """Return the result of a function that writes; no question is answered meanwhile."""
    return await _written(state, record, lambda: workers.alone(work))


async def _written(state: ServerState, record: RequestRecord, work: Callable[[], _Value]) -> _Value:
    results: list[_Value] = []
    async with state.write_lock:
        await state.write(record, lambda: results.append(work()), status=200)
    return results[0]


async def _add(request: Request, record: RequestRecord, sent: list[Document], options: IntakeOptions) -> dict[str, Any]:
    """Take in a few documents, and return what became of them."""
    workers = workers_of(request)
    taking = DocumentIntake(workers.kb, Path(), options)
    await _write(state_of(request), record, workers, lambda: taking.add(sent, last=True))
    if taking.report.violations:
        reasons = "; ".join(violation.message for violation in taking.report.violations[:5])
        raise Problem(422, f"the document does not conform to its shape and was put into quarantine: {reasons}")
    return report_json(taking.report)


async def _line_job(request: Request, record: RequestRecord, body: bytes, options: IntakeOptions) -> Response:
    folder = _upload_folder(workers_of(request).kb)
    try:
        await asyncio.to_thread(_check_lines, body)
        (folder / _LINES_NAME).write_bytes(body)
        return _document_job(request, record, folder, options)
    except BaseException:
        shutil.rmtree(folder)
        raise


async def _file_job(
    request: Request, record: RequestRecord, files: dict[str, bytes], options: IntakeOptions
) -> Response:
    folder = _upload_folder(workers_of(request).kb)
    try:
        (folder / _FILES_NAME).mkdir()
        for name, data in files.items():
            (folder / _FILES_NAME / name).write_bytes(data)
        return _document_job(request, record, folder, replace(options, replaces="files"))
    except BaseException:
        shutil.rmtree(folder)
        raise


def _upload_folder(kb: KnowledgeBase) -> Path:
    assert kb.path is not None  # one in memory is not served
    uploads = kb.path / "cache" / "uploads"
    uploads.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=uploads))


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


def _document_job(request: Request, record: RequestRecord, folder: Path, options: IntakeOptions) -> Response:
    """Return the reply to what becomes a job: it takes in the documents of a folder, and deletes that."""
    state, workers = state_of(request), workers_of(request)

    async def work(job: Job) -> dict[str, Any]:
        left_out, done = IngestReport(), 0
        lines, files = folder / _LINES_NAME, folder / _FILES_NAME
        try:
            if files.is_dir():
                job.progress("files", 0, len(list(files.iterdir())))
                left_out = await asyncio.to_thread(read_files, files, lines, options.feed)
            taking = DocumentIntake(workers.kb, lines, options, left_out)
            total, batches = await asyncio.to_thread(taking.count), taking.batches()
            while step := await asyncio.to_thread(next, batches, None):
                batch, last = step
                job.progress("documents", done, total)
                begun = time.monotonic()
                await _write(state, _renewed(record), workers, partial(taking.add, batch, last))
                if workers.is_asked:  # they have as much time as the batch took
                    await asyncio.sleep(time.monotonic() - begun)
                done += len(batch)
            job.progress("documents", done, total)
            return taking.result()
        finally:
            await asyncio.to_thread(shutil.rmtree, folder)

    return _accepted(request, record, state.jobs.submit("documents", work))


def _renewed(record: RequestRecord) -> RequestRecord:
    """Return the record of a step of a job, under the id and key of the request that it began with."""
    return RequestRecord(record.id, key=record.key, operation=record.operation)


def _accepted(request: Request, record: RequestRecord, job: Job) -> Response:
    record.written = True  # by the job, step by step
    return JSONResponse(job.to_json(), 202, {"Location": address(request, f"/jobs/{job.id}")})
