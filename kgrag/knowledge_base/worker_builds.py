"""A build whose computing workers do, for the one loader that this process is.

Workers embed, complete prompts by a model that computes, and do what a method has stages for (``HasWorkerStages``). A
service is asked by this process, so that its limits, the cache of completions and the budget are those of the whole
cluster, and a worker that dies loses nothing that was paid for. What workers leave is in ``cache/build_shards`` until
the build ends; one that was ended goes on from there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgrag import plugins
from kgrag.capabilities import HasWorkerStages, capable
from kgrag.errors import InputError, InvalidSettings
from kgrag.knowledge_base import worker_parts
from kgrag.knowledge_base.wiring import Wiring
from kgrag.ports import Stage
from kgrag.vocab import digest

if TYPE_CHECKING:
    from kgrag.workers.shards import Job
    from kgrag.workers.slot_pool import Runner

__all__ = ["BuildWorkers", "check", "working"]

_TEXTS_EMBEDDED_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class BuildWorkers:
    """Who works: ``runner`` as of ``kgrag.workers.runners``, ``shards`` a folder or bucket that all reach."""

    runner: str | Callable[[Job], Runner]
    shards: str = ""


def check(workers: BuildWorkers) -> None:
    """Refuse a runner that there is not, before anything is done.

    Raises:
        InputError: there is no such runner, what workers need is not installed, or shards are named and no runner.
    """
    if not workers.runner:
        if workers.shards:
            raise InputError("shards are the folder of workers, and there are none. Name a runner, or leave them out.")
        return
    try:
        from kgrag.workers import runners
    except ModuleNotFoundError as error:
        raise InputError(f"workers need {error.name}. Install it: pip install 'kgrag[workers]'.") from None
    if isinstance(workers.runner, str):
        runners.check(workers.runner)


@contextmanager
def working(kb: Wiring, method: str, options: Any, workers: BuildWorkers) -> Iterator[Wiring]:
    """Start workers for a build; yield the knowledge base whose model and embedder they are, itself without a runner.

    Args:
        kb: the knowledge base, open for writing.
        method: its name, with hyper-parameters where wanted.
        options: those of the build.
        workers: who works; checked.

    Raises:
        InvalidSettings: nothing of the build can be done by workers here.
        InputError: the embedder cannot be sent to workers, or ray is not installed.
        ServiceUnavailable: the cluster cannot be reached.
        StateError: the method cannot be built, or workers end at once.
    """
    if not workers.runner:
        yield kb
        return
    from kgrag.workers import runners
    from kgrag.workers.shards import Job
    from kgrag.workers.stage_runs import StageRuns

    stages = _stages(kb, method, options, workers)
    name = digest(kb.store.names.base, kb.embedder.identity, kb.model.identity, method, *worker_parts.programs())
    below = f"{worker_parts.BUILD_SHARDS}/{method.partition(':')[0]}"
    with worker_parts.shared_folder(kb.path, workers.shards, below, name) as shards:
        job = Job(shards, name, {stage: (each,) for stage, each in stages.items()})
        runner = runners.opened(workers.runner, job)
        served = _served(kb, StageRuns(runner, job))
        try:
            yield served
        finally:
            runner.close()
            if served.embedder is not kb.embedder:
                served.embedder.close()


def _stages(kb: Wiring, method: str, options: Any, workers: BuildWorkers) -> Mapping[str, Stage]:
    from kgrag.workers.port_stages import COMPLETE, EMBED, Complete, EmbedTexts

    stages: dict[str, Stage] = {}
    if not _embedder_is_service(kb):
        stages[EMBED] = EmbedTexts(worker_parts.recipe(kb, is_local=workers.runner == "local"))
    if _model_computes(kb):
        stages[COMPLETE] = Complete(type(kb.model))
    if issubclass(plugins.implementation(method.partition(":")[0]), HasWorkerStages):
        stages |= capable(kb.method(method), HasWorkerStages, method).worker_stages(options)
    if not stages:
        raise InvalidSettings(
            f"workers have nothing to do in this build of '{method}': its model and its embedder are services, which "
            "this process asks within their limits. Leave out the runner."
        )
    return stages


def _embedder_is_service(kb: Wiring) -> bool:
    return kb._given_embedder is None and kb.settings.embedder not in plugins.registered("kgrag.embedders")


def _model_computes(kb: Wiring) -> bool:
    from kgrag.llm.extractive import ExtractiveModel

    return isinstance(kb.model, ExtractiveModel)


def _served(kb: Wiring, workers: Any) -> Wiring:
    """Return the knowledge base with ports that workers are behind; it shares all else, and is not to be closed."""
    from kgrag.llm.embedders import CachedEmbedder
    from kgrag.workers.port_stages import EMBED, WorkerEmbedder, WorkerModel

    served: dict[str, Any] = {"spaces": kb.spaces, "runner": kb.runner, "_workers": workers}
    if EMBED in workers.job.stages:
        embedder = WorkerEmbedder(kb.embedder.inner, workers)
        served["embedder"] = CachedEmbedder(embedder, kb.embedder.path, texts_per_commit=_TEXTS_EMBEDDED_AT_ONCE)
    if _model_computes(kb):
        served["model"] = WorkerModel(kb.model, workers)
    view = copy.copy(kb)
    view.__dict__ = {**kb.__dict__, "embedder": kb.embedder, **served, "_methods": {}, "_rerankers": {}}
    return view
