"""Tasks in the order of tasks, whoever dies."""

from collections.abc import Callable
from concurrent.futures import Future
from itertools import count

import pytest

from kgrag.errors import InputError, StateError, StorageFailed
from kgrag.workers import runners
from kgrag.workers.shards import ShardTask, Task
from kgrag.workers.slot_pool import SlotPool


class Died(Exception):
    pass


class FakeSlot:
    """A worker that is done at once, dies at some tasks, and then refuses what comes, as a process does."""

    deaths = (Died,)

    def __init__(self, deadly: Callable[[str], bool]) -> None:
        self.deadly, self.dead, self.closed, self.asked = deadly, False, False, list[str]()

    def submit(self, task: Task | None) -> Future[list[str]]:
        future: Future[list[str]] = Future()
        name = "" if task is None else task.shard
        self.dead = self.dead or self.deadly(name)
        self.asked.append(name)
        if self.dead:
            future.set_exception(Died())
        elif name.startswith("full"):
            future.set_exception(StorageFailed("no space left"))
        else:
            future.set_result([f"{name}.parquet"])
        return future

    def close(self) -> None:
        self.closed = True


def pool(workers: int, deadly: Callable[[str], bool]) -> tuple[SlotPool, list[FakeSlot]]:
    slots: list[FakeSlot] = []

    def start() -> FakeSlot:
        slots.append(FakeSlot(deadly))
        return slots[-1]

    return SlotPool(start, workers), slots


def named(*names: str) -> list[ShardTask]:
    return [ShardTask(name) for name in names]


NAMES = [f"t{number}" for number in range(20)]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_outcomes_come_in_the_order_of_the_tasks(workers: int) -> None:
    running, _ = pool(workers, lambda name: False)
    assert [outcome.shards for outcome in running.outcomes(named(*NAMES))] == [[f"{name}.parquet"] for name in NAMES]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_that_dies_is_replaced_and_its_task_done_again(workers: int) -> None:
    deaths = count()
    running, slots = pool(workers, lambda name: name == "t7" and next(deaths) < 2)
    outcomes = list(running.outcomes(named(*NAMES)))
    assert [outcome.shards for outcome in outcomes] == [[f"{name}.parquet"] for name in NAMES]
    assert [outcome.deaths for outcome in outcomes if outcome.task.shard == "t7"] == [2]
    assert (len(slots), sum(slot.closed for slot in slots)) == (workers + 2, 2)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_that_ends_three_workers_is_given_up_and_no_other_is(workers: int) -> None:
    running, slots = pool(workers, lambda name: name == "t7")
    outcomes = {outcome.task.shard: outcome for outcome in running.outcomes(named(*NAMES))}
    assert [name for name, outcome in outcomes.items() if outcome.died] == ["t7"]
    assert [outcomes[name].shards for name in NAMES if name != "t7"] == [
        [f"{name}.parquet"] for name in NAMES if name != "t7"
    ]
    assert len(slots) == workers + 3


def test_sequences_may_be_nested() -> None:
    running, _ = pool(2, lambda name: False)
    inner = (ShardTask(f"{outcome.task.shard}-{part}") for outcome in running.outcomes(named(*NAMES)) for part in "ab")
    assert [outcome.task.shard for outcome in running.outcomes(inner)] == [
        f"{name}-{part}" for name in NAMES for part in "ab"
    ]


def test_a_disk_that_is_full_ends_the_run() -> None:
    running, _ = pool(2, lambda name: False)
    with pytest.raises(StorageFailed, match="no space"):
        list(running.outcomes(named("t1", "full", "t2")))


def test_workers_that_end_at_once_are_no_runner() -> None:
    slots: list[FakeSlot] = []
    with pytest.raises(StateError, match="__main__"):
        SlotPool(lambda: slots.append(FakeSlot(lambda name: True)) or slots[-1], 2)
    assert all(slot.closed for slot in slots)


def test_a_worker_that_ends_at_its_start_is_replaced_once() -> None:
    slots: list[FakeSlot] = []
    running = SlotPool(lambda: slots.append(FakeSlot(lambda name, first=not slots: first)) or slots[-1], 2)
    assert [slot.closed for slot in slots] == [True, False, False]
    assert [outcome.shards for outcome in running.outcomes(named(*NAMES))] == [[f"{name}.parquet"] for name in NAMES]


@pytest.mark.parametrize(
    "name", ["process://0", "process://", "ray://", "ray://host:1", "threads", "process://2/3", ""]
)
def test_what_is_no_runner_is_refused_with_the_forms(name: str) -> None:
    with pytest.raises(InputError, match="is no runner. Write local, process://WORKERS"):
        runners.check(name)
