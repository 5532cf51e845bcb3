"""Uploads as jobs: kept on the disk before they are accepted, and taken in by the next server where this one ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from kgrag.errors import ServiceUnavailable
from kgrag.knowledge_base import waiting_uploads
from kgrag.knowledge_base.waiting_uploads import FILES, LINES, WaitingUpload
from kgrag.model import Document
from kgrag.server.api.write_steps import renewed, written_in_parts
from kgrag.server.document_intake import DocumentIntake, IntakeOptions, read_files
from kgrag.server.jobs import Job, new_id
from kgrag.server.problems import Problem
from kgrag.server.request_log import RequestRecord
from kgrag.server.server_state import ServerState
from kgrag.text.documents import document_iri
from kgrag.text.ingestion import IngestReport
from kgrag.text.json_documents import document_json, read_document

__all__ = ["keep_upload", "resume_uploads", "submit_upload"]

_LOG = logging.getLogger(__name__)
_MAX_BEGUN = 3
"""Servers that may end while they take in one upload; the next one leaves it, since it may be the reason."""


def keep_upload(
    kb: Path, sent: bytes | Mapping[str, bytes], options: IntakeOptions, *, about: str, request: str, key: str
) -> WaitingUpload:
    """Return an upload that is on the disk.

    Args:
        kb: folder of the knowledge base.
        sent: documents, a line each; or files by their names.
        options: how it is taken in.
        about: what is in it, for a person.
        request: id of the request that brought it.
        key: name of the key that came with it.

    Raises:
        StorageFailed: the disk refused.
    """
    folder = waiting_uploads.new_folder(kb)
    try:
        if isinstance(sent, bytes):
            (folder / LINES).write_bytes(sent)
        else:
            (folder / FILES).mkdir()
            for name, data in sent.items():
                (folder / FILES / name).write_bytes(data)
        upload = WaitingUpload(folder, new_id(), about, _options_json(options), request, key)
        waiting_uploads.keep(upload)
    except BaseException as error:
        waiting_uploads.discard(folder)
        if isinstance(error, OSError):
            raise waiting_uploads.refused(folder, error) from error
        raise
    return upload


def submit_upload(state: ServerState, upload: WaitingUpload) -> Job:
    """Return the job that takes in an upload, and deletes it when it is over."""

    async def work(job: Job) -> dict[str, Any]:
        kept = False
        try:
            job.progress("", 0, 0)
            kept = upload.begun >= _MAX_BEGUN
            _refuse_repeated(upload)
            await asyncio.to_thread(waiting_uploads.noted, upload, begun=upload.begun + 1)
            return await _taken_in(state, upload, job)
        except ServiceUnavailable:
            kept = job.is_stopping
            if kept:  # no death that the upload may be the reason of
                await asyncio.to_thread(waiting_uploads.noted, upload, begun=upload.begun)
            raise
        except asyncio.CancelledError:
            kept = True
            raise
        finally:
            if not kept:
                await asyncio.to_thread(waiting_uploads.discard, upload.folder)

    job = state.jobs.submit("documents", work, about=upload.about, name=upload.id)
    job.cancelled = partial(waiting_uploads.withdraw, upload.folder)
    return job


def _options_json(options: IntakeOptions) -> dict[str, Any]:
    described = document_json(Document("-", metadata=options.metadata))
    return {**asdict(replace(options, metadata={})), "metadata": described.get("metadata", {})}


def _options(upload: WaitingUpload) -> IntakeOptions:
    metadata = upload.options.get("metadata", {})
    return IntakeOptions(**{**upload.options, "metadata": read_document({"text": "-", "metadata": metadata}).metadata})


def _refuse_repeated(upload: WaitingUpload) -> None:
    if upload.begun >= _MAX_BEGUN:
        raise Problem(
            500,
            f"{upload.begun} servers ended while they took this upload in. It stays in uploads/{upload.folder.name} of "
            "the knowledge base. Ingest what is in there with the command, and delete the folder.",
        )


async def _taken_in(state: ServerState, upload: WaitingUpload, job: Job) -> dict[str, Any]:
    assert state.workers is not None
    workers, options, left_out = state.workers, _options(upload), IngestReport()
    record = RequestRecord(upload.request, key=upload.key, operation="documents")
    lines, files = upload.folder / LINES, upload.folder / FILES
    if files.is_dir():
        job.progress("files", 0, len(list(files.iterdir())))
        left_out = await asyncio.to_thread(read_files, files, lines, options)
    taking, done = DocumentIntake(workers.kb, lines, options, left_out), 0
    total, batches = await asyncio.to_thread(taking.count), taking.batches()
    while step := await asyncio.to_thread(next, batches, None):
        batch, last = step
        job.progress("documents", done, total)
        begun = time.monotonic()
        named = {document_iri(one, workers.kb.store.names).value for one in batch}
        await written_in_parts(state, renewed(record, named), workers, partial(taking.add, batch, last))
        if workers.is_asked:  # they have as much time as the batch took
            await asyncio.sleep(time.monotonic() - begun)
        done += len(batch)
    job.progress("documents", done, total)
    return taking.result()


async def resume_uploads(state: ServerState) -> None:
    """Make what an earlier server accepted and did not come to the first jobs of this one, where it may write."""
    workers = state.workers
    if workers is None or workers.kb.read_only or workers.kb.path is None or state.rules.keys.refuse_all_writes:
        return
    kb = workers.kb.path
    await asyncio.to_thread(waiting_uploads.clear, kb)
    for upload in await asyncio.to_thread(waiting_uploads.waiting, kb):
        _LOG.warning("going on with the upload of job %s (%s)", upload.id, upload.about)
        submit_upload(state, upload)
