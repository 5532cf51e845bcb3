"""Stages of a build done by workers: each table is left in the folder of the job, and its result read from there.

A task whose result is there is not done again, so a build that was ended goes on with what workers had done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from kgrag.workers.ended_tasks import outcomes
from kgrag.workers.shards import Job, ShardTask, read_shard
from kgrag.workers.slot_pool import Outcome, Runner

__all__ = ["StageRuns"]


@dataclass(frozen=True, slots=True)
class StageRuns:
    """``kgrag.ports.Workers`` of a runner and its job."""

    runner: Runner
    job: Job

    def results(self, stage: str, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        """Yield what a stage makes of each table, in their order, row for row.

        A table that ended three workers is taken apart; a row that did so by itself has an error.

        Raises:
            StorageFailed: a file in the folder of the job cannot be written or read.
        """
        for outcome in outcomes(self.runner, self.job, (self._task(stage, table) for table in tables)):
            yield self._result(outcome)

    def _task(self, stage: str, table: pa.Table) -> ShardTask:
        return ShardTask(self.job.write(table), length=table.num_rows, stages=stage)

    def _result(self, outcome: Outcome) -> pa.Table:
        if not outcome.died:
            (shard,) = outcome.shards
            return read_shard(self.job.folder, shard)
        parts = outcome.task.parts()
        if len(parts) == 1:
            return pa.table({"error": pa.array([outcome.died], pa.large_string())})
        results = [self._result(part) for part in self.runner.outcomes(parts)]
        return pa.concat_tables(results, promote_options="default")
