"""Tasks that ended three workers: the next run does their parts one by one, and does not try the whole again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from kgrag.workers.shards import Job, Task
from kgrag.workers.slot_pool import Outcome, Runner

__all__ = ["outcomes"]

_BEFORE = "the workers that were at it ended, in an earlier run"


def outcomes(runner: Runner, job: Job, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Yield the outcome of each task, in their order, as a runner does; one that ended workers before is not run.

    Which tasks ended workers is written down in the folder of the job.

    Raises:
        StorageFailed: a file of a task cannot be written or read.
    """
    order: deque[Outcome | None] = deque()  # None for a task that is run

    def run() -> Iterator[Task]:
        for task in tasks:
            ended = job.has_ended(task)
            order.append(Outcome(task, died=_BEFORE, done=True) if ended else None)
            if not ended:
                yield task

    for outcome in runner.outcomes(run()):
        while (known := order.popleft()) is not None:
            yield known
        if outcome.died and len(outcome.task.parts()) > 1:
            job.note_ended(outcome.task)
        yield outcome
    yield from (known for known in order if known is not None)
