"""Workers in a Ray cluster: one actor each. Needs ray: ``pip install 'kgrag[ray]'``.

The machines of the cluster share the folder of the files, and have kgrag installed; their environment has the key of a
service that embeds.
"""

from __future__ import annotations

import os
from concurrent.futures import Future
from functools import cached_property
from typing import Any

from kgrag.errors import InputError, ServiceUnavailable
from kgrag.workers.shards import Job, Task

__all__ = ["RaySlot", "connect"]

_LOCAL = "local"


def connect(address: str, workers: int) -> None:
    """Connect this process to a cluster, unless it is; ``local`` starts one on this machine, with a core per worker.

    Raises:
        InputError: ray is not installed.
        ServiceUnavailable: there is no such cluster.
    """
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError("a runner in a Ray cluster needs ray. Install it: pip install 'kgrag[ray]'.") from None
    if ray.is_initialized():
        return
    try:
        if address == _LOCAL:
            ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
        else:
            ray.init(address="auto" if address == "auto" else f"ray://{address}", log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ServiceUnavailable(f"the Ray cluster {address!r} cannot be reached: {error}") from error


class RaySlot:
    """An actor with one core and one thread for the model."""

    def __init__(self, job: Job) -> None:
        import ray

        variables = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        passed = {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
        actor: Any = ray.remote(num_cpus=1, runtime_env={"env_vars": variables | passed})(_Actor)
        self._ray: Any = ray
        self._actor = actor.remote(job)

    @cached_property
    def deaths(self) -> tuple[type[BaseException], ...]:
        """What a future raises when the actor, or its machine, died."""
        from ray.exceptions import RayActorError

        return (RayActorError,)

    def submit(self, task: Task | None) -> Future[list[str]]:
        """Have a task done."""
        future: Future[list[str]] = self._actor.do.remote(task).future()
        return future

    def close(self) -> None:
        """Kill the actor."""
        self._ray.kill(self._actor)


class _Actor:
    def __init__(self, job: Job) -> None:
        self._job = job

    def do(self, task: Task | None) -> list[str]:
        return [] if task is None else self._job(task)
