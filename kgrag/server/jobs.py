"""What takes longer than a request may: one job after the other, each with its progress and its end.

A job is asked for its state at ``/jobs/{id}``, and cancelled there. The last hundred are remembered, until the server
ends; uploads that it had not taken in to their end are jobs of the next one, under the same id.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Literal

from kgrag.errors import ServiceUnavailable
from kgrag.server.problems import problem_json, problem_of

__all__ = ["Job", "JobQueue", "new_id"]

_MAX_WAITING = 8
_MAX_KEPT = 100
_REST = {True: "the next server on this knowledge base goes on with the rest", False: "ask for the rest again"}


def new_id() -> str:
    """Return a name for a job that nobody guesses."""
    return secrets.token_hex(16)


class _Cancelled(Exception):
    """Somebody cancelled the job; raised where it reports its progress."""


class Job:
    """A piece of work, and how far it is.

    Args:
        kind: what is done: "documents", "build", "erase", "reason", "vacuum".
        loop: of the server.
        about: what it is done to or with, for a person.
        name: that nobody guesses; "" for a new one.

    Attributes:
        id: its name.
        state: "waiting", "running", "done", "failed" or "cancelled".
        cancelled: called when somebody cancels it, before that is told.
        changed: set whenever something of it changes, and then replaced by a new event.
    """

    def __init__(self, kind: str, loop: asyncio.AbstractEventLoop, about: str = "", name: str = "") -> None:
        self.id = name or new_id()
        self.state: Literal["waiting", "running", "done", "failed", "cancelled"] = "waiting"
        self.changed = asyncio.Event()
        self.cancelled: Callable[[], None] = lambda: None
        self._kind = kind
        self._about = about
        self._loop = loop
        self._begun = time.time()
        self._ended: float | None = None
        self._stage, self._done, self._total = "", 0, 0
        self._result: dict[str, Any] | None = None
        self._problem: dict[str, object] | None = None
        self._stopping = False
        self._cancelled = False

    @property
    def is_over(self) -> bool:
        """Whether it is done, has failed or was cancelled."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def is_stopping(self) -> bool:
        """Whether the server is about to end."""
        return self._stopping

    def progress(self, stage: str, done: int, total: int) -> None:
        """Note how far it is; may be called from any thread.

        Raises:
            ServiceUnavailable: the server is about to end, and the job has to.
            Exception: it was cancelled; the work is not to catch this.
        """
        if self._cancelled:
            raise _Cancelled
        if self._stopping:
            raise ServiceUnavailable(f"the server stops. What is done is kept; {_REST[self._kind == 'documents']}.")
        self._stage, self._done, self._total = stage, done, total
        self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def run(self, work: Callable[[Job], Awaitable[dict[str, Any]]]) -> None:
        """Do the work, and keep what it returns or raises."""
        if not self._cancelled:
            self.state = "running"
            self._tell()
        try:
            self._result = await work(self)
            self.state = "done"
        except _Cancelled:
            self.state = "cancelled"
        except Exception as error:  # whatever it is, the state of the job has to show it
            self._problem = problem_json(problem_of(error))
            self.state = "failed"
        self._ended = time.time()
        self._tell()

    def cancel(self) -> None:
        """End it: at once where it waits, else with its next step; what is done by then is kept."""
        if not self.is_over:
            self.cancelled()
        self._cancelled = True
        if self.state == "waiting":
            self.state, self._ended = "cancelled", time.time()
            self._tell()

    def stop(self) -> None:
        """Let the next call of ``progress`` raise."""
        self._stopping = True

    def to_json(self) -> dict[str, Any]:
        """Return what a client may know: ``result`` of one that is done, ``problem`` of one that failed."""
        found: dict[str, Any] = {"id": self.id, "kind": self._kind, "about": self._about, "state": self.state}
        found["begun"] = datetime.fromtimestamp(self._begun, UTC).isoformat(timespec="seconds")
        found["progress"] = {"stage": self._stage, "done": self._done, "total": self._total}
        found["seconds"] = round((self._ended or time.time()) - self._begun, 3)
        if self._result is not None:
            found["result"] = self._result
        if self._problem is not None:
            found["problem"] = self._problem
        return found


class JobQueue:
    """Does jobs one after the other, in the order in which they came."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    @property
    def under_way(self) -> int:
        """How many jobs are at work or wait."""
        return len(self._tasks)

    def check(self) -> None:
        """Check that one more job may wait.

        Raises:
            ServiceUnavailable: too many do already.
        """
        if len(self._tasks) > _MAX_WAITING:
            raise ServiceUnavailable(f"{len(self._tasks)} jobs are waiting already. Ask again later.")

    def submit(
        self, kind: str, work: Callable[[Job], Awaitable[dict[str, Any]]], *, about: str = "", name: str = ""
    ) -> Job:
        """Return a new job, which begins when those before it are over.

        Args:
            kind: what is done.
            work: does it, and calls ``progress`` of the job often, first before anything else; its result is a JSON
                object. It is called also for a job that was cancelled while it waited, to clear away what it was given.
            about: what it is done to or with, for a person.
            name: of one that has an id already, which the caller has checked a place for; "" for a new one.

        Raises:
            ServiceUnavailable: too many jobs wait already.
        """
        if not name:
            self.check()
        job = Job(kind, asyncio.get_running_loop(), about, name)
        self._jobs[job.id] = job
        over = [each for each in self._jobs.values() if each.is_over]
        for each in over[: max(len(self._jobs) - _MAX_KEPT, 0)]:
            del self._jobs[each.id]
        task = asyncio.create_task(self._run(job, work))
        self._tasks.add(task)  # the loop itself keeps weak references only
        task.add_done_callback(self._tasks.discard)
        return job

    async def _run(self, job: Job, work: Callable[[Job], Awaitable[dict[str, Any]]]) -> None:
        async with self._turn:
            await job.run(work)

    def find(self, job: str) -> Job | None:
        """Return a job that is remembered."""
        return self._jobs.get(job)

    def all(self) -> list[Job]:
        """Return the jobs that are remembered, the last first."""
        return list(reversed(self._jobs.values()))

    async def close(self) -> None:
        """End all jobs after the step that each is at."""
        for job in self._jobs.values():
            job.stop()
        await asyncio.gather(*self._tasks)
