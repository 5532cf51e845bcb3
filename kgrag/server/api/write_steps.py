"""What endpoints that write share: the check of the key, the turn of a write, and the reply that names a job."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.server.jobs import Job
from kgrag.server.request_log import RequestRecord, record_of
from kgrag.server.server_state import ServerState, address, writer_of
from kgrag.server.worker_threads import Turn, WorkerThreads

__all__ = ["accepted", "renewed", "write_record", "written", "written_alone", "written_in_parts"]

_Value = TypeVar("_Value")


def write_record(request: Request, operation: str) -> RequestRecord:
    """Check that a request may write to every graph, and return its record.

    Raises:
        Problem: 401, 403.
    """
    writer_of(request)
    record = record_of(request)
    record.operation = operation
    return record


async def written_alone(
    state: ServerState, record: RequestRecord, workers: WorkerThreads, work: Callable[[], _Value]
) -> _Value:
    """Return the result of a function that writes; no question is answered meanwhile."""
    return await written(state, record, lambda: workers.alone(work))


async def written_in_parts(
    state: ServerState, record: RequestRecord, workers: WorkerThreads, work: Callable[[Turn], _Value]
) -> _Value:
    """Return the result of a function that writes; questions are answered while it is away from its turn."""
    return await written(state, record, lambda: workers.alone_in_parts(work))


async def written(state: ServerState, record: RequestRecord, work: Callable[[], _Value]) -> _Value:
    """Return the result of a function that writes, run in a thread when its turn has come."""
    results: list[_Value] = []
    async with state.turn_to_write():
        await state.write(record, lambda: results.append(work()), status=record.success)
    return results[0]


def renewed(record: RequestRecord, documents: Collection[str] = ()) -> RequestRecord:
    """Return the record of a step of a job, under the id and key of the request that it began with.

    Args:
        record: of that request, which was answered with 202.
        documents: that the step writes or forgets.
    """
    return RequestRecord(record.id, key=record.key, operation=record.operation, documents=documents, success=202)


def accepted(request: Request, record: RequestRecord, job: Job) -> Response:
    """Return the reply to a request that became a job."""
    record.written = True  # by the job, step by step
    return JSONResponse(job.to_json(), 202, {"Location": address(request, f"/jobs/{job.id}")})
