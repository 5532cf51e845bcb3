"""Tasks done by workers that may die, with results in the order of the tasks.

A slot is a worker with a short queue. One that dies is replaced, and what it was at is done again, twice at most: a
task that ended three workers has no result but a reason. What waited behind it in the queue is not blamed. All of this
runs in the thread that asks for results, so nothing is started that nobody will read.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Protocol

from kgrag.errors import StateError
from kgrag.workers.shards import Job, Task

__all__ = ["LocalRunner", "Outcome", "ProcessSlot", "Runner", "Slot", "SlotPool"]

_MAX_DEATHS = 3  # of workers at one task
_TASKS_PER_SLOT = 2  # one under way, and one for when the loader has no time
_AHEAD_PER_SLOT = 3  # tasks of one sequence that are under way or wait to be read


@dataclass(slots=True)
class Outcome:
    """A task and the names of its files; ``died`` is "", or why there are none."""

    task: Task
    shards: Sequence[str] = ()
    died: str = ""
    deaths: int = 0
    done: bool = False


class Runner(Protocol):
    """Does the tasks of one job."""

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Yield the outcome of each task, in their order; a few tasks are read ahead. Sequences may be nested.

        Raises:
            StorageFailed: a file of a task cannot be written or read.
        """

    def close(self) -> None:
        """End the workers, whatever they do."""


class Slot(Protocol):
    """One worker."""

    @property
    def deaths(self) -> tuple[type[BaseException], ...]:
        """What its futures raise when it died."""

    def submit(self, task: Task | None) -> Future[list[str]]:
        """Have a task done behind those that were submitted before; None only answers."""

    def close(self) -> None:
        """End it."""


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """Does tasks in this process, one at a time, when its result is asked for."""

    job: Job

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Yield the outcome of each task. Raises StorageFailed."""
        for task in tasks:
            yield Outcome(task, self.job(task), done=True)

    def close(self) -> None:
        """There is nothing to end."""


@dataclass(slots=True)
class _Worker:
    slot: Slot
    queue: deque[tuple[Outcome, Future[list[str]]]] = field(default_factory=deque)


class SlotPool:
    """A ``Runner`` of some slots.

    Args:
        start: starts a worker.
        workers: how many, at least 1.

    Raises:
        StateError: a worker ends before it was given anything to do, and so does another in its place.
    """

    def __init__(self, start: Callable[[], Slot], workers: int) -> None:
        self._start = start
        self._waiting: deque[Outcome] = deque()
        self._workers: list[_Worker] = []
        try:
            self._workers += [_Worker(start()) for _ in range(workers)]
            answers = [_asked(worker.slot) for worker in self._workers]
            for worker, answer in zip(self._workers, answers, strict=True):
                self._settle(worker, answer)
        except BaseException:
            self.close()
            raise

    def _settle(self, worker: _Worker, answer: Future[list[str]]) -> None:
        """Wait for a worker's first answer; one that ended gets another in its place, once."""
        try:
            answer.result()
            return
        except worker.slot.deaths:
            worker.slot.close()
            worker.slot = self._start()
        _answered(worker.slot, _asked(worker.slot))

    def outcomes(self, tasks: Iterable[Task]) -> Iterator[Outcome]:
        """Yield the outcome of each task, in their order."""
        ahead: deque[Outcome] = deque()
        for task in tasks:
            ahead.append(Outcome(task))
            self._waiting.append(ahead[-1])
            self._submit()
            if len(ahead) >= _AHEAD_PER_SLOT * len(self._workers):
                yield self._finished(ahead.popleft())
        while ahead:
            yield self._finished(ahead.popleft())

    def close(self) -> None:
        """End the workers."""
        while self._workers:
            self._workers.pop().slot.close()

    def _finished(self, outcome: Outcome) -> Outcome:
        while not outcome.done:
            self._submit()
            futures = [future for worker in self._workers for _, future in worker.queue]
            wait(futures, return_when=FIRST_COMPLETED)
            for worker in self._workers:
                self._collect(worker)
        return outcome

    def _submit(self) -> None:
        """Give what waits to workers, to the one with the shortest queue first."""
        while self._waiting:
            worker = min(self._workers, key=lambda each: len(each.queue))
            if len(worker.queue) >= _TASKS_PER_SLOT:
                self._collect_all()
                if all(len(each.queue) >= _TASKS_PER_SLOT for each in self._workers):
                    return
                continue
            outcome = self._waiting.popleft()
            try:
                worker.queue.append((outcome, worker.slot.submit(outcome.task)))
            except worker.slot.deaths:
                self._waiting.appendleft(outcome)
                self._replace(worker)

    def _collect_all(self) -> None:
        for worker in self._workers:
            self._collect(worker)

    def _collect(self, worker: _Worker) -> None:
        """Take the results of a worker that are there; replace it when it died."""
        while worker.queue and worker.queue[0][1].done():
            outcome, future = worker.queue[0]
            try:
                outcome.shards, outcome.done = future.result(), True
            except worker.slot.deaths:
                self._replace(worker)
                return
            worker.queue.popleft()

    def _replace(self, worker: _Worker) -> None:
        """Start a worker in place of one that died; what it was at goes first, and is given up after three deaths."""
        queued = [outcome for outcome, future in worker.queue if not _has_result(future)]
        for outcome, future in worker.queue:
            if _has_result(future):
                outcome.shards, outcome.done = future.result(), True
        worker.queue.clear()
        worker.slot.close()
        if queued:
            first = queued[0]
            first.deaths += 1
            if first.deaths >= _MAX_DEATHS:
                first.died, first.done = f"the worker that was at it ended, {first.deaths} times", True
        self._waiting.extendleft(outcome for outcome in reversed(queued) if not outcome.done)
        worker.slot = self._start()


def _has_result(future: Future[list[str]]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _asked(slot: Slot) -> Future[list[str]]:
    """Return a worker's answer to no task; also where it ended before it could be asked."""
    try:
        return slot.submit(None)
    except slot.deaths as error:
        failed: Future[list[str]] = Future()
        failed.set_exception(error)
        return failed


def _answered(slot: Slot, answer: Future[list[str]]) -> None:
    try:
        answer.result()
    except slot.deaths as error:
        raise StateError(
            f"a worker ended before it had anything to do ({error}). In a program of your own, call kgrag below "
            "`if __name__ == '__main__':`, since workers import the program; what else there is, is above on "
            "standard error."
        ) from error


_JOB: list[Job] = []  # of this process, where it is a worker


class ProcessSlot:
    """A process of this machine, with one thread for the model. It ends with the process that started it."""

    deaths: tuple[type[BaseException], ...] = (BrokenProcessPool,)

    def __init__(self, job: Job) -> None:
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(job,))

    def submit(self, task: Task | None) -> Future[list[str]]:
        """Have a task done. Raises BrokenProcessPool."""
        return self._executor.submit(_do, task)

    def close(self) -> None:
        """Kill the process."""
        processes = list((self._executor._processes or {}).values())
        for process in processes:
            process.kill()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _begin(job: Job) -> None:
    """Make this process a worker of a job."""
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    _JOB[:] = [job]
    parent = multiprocessing.parent_process()
    if parent is not None:  # a queue that nobody fills any more looks like one that is empty
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def _do(task: Task | None) -> list[str]:
    return [] if task is None else _JOB[0](task)
