"""The intake that ``benchmarks.worker_kills`` kills: it takes in a folder by two workers, and reports where it is.

``python -m benchmarks.killed_intake FOLDER KNOWLEDGE_BASE TRACE``. Each line of the trace has the number of a process
and the place that it has come to, or the SHA-256 of each text that it embeds.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from kgrag.ports import Vectors
from kgrag.workers import runners
from kgrag.workers.shards import Job, Task
from kgrag.workers.slot_pool import Runner
from kgrag.workers.stages import Read

__all__ = ["HashedWords", "NotingWords", "announced_at", "main", "note", "watched"]

_SECONDS_PER_TEXT = 0.002  # that embedding takes


def main(folder: str, path: str, trace: str) -> None:
    """Take in a folder by two workers, and report each place that is reached."""
    note(trace, "starting")
    # the workers import this module too, and need none of this
    from kgrag import KnowledgeBase
    from kgrag.knowledge_base import document_sources
    from kgrag.settings import Settings
    from kgrag.text import ingestion
    from kgrag.workers import shard_source

    ingestion._BATCH_DOCUMENTS = 10
    shard_source._FILES_PER_TASK = 2
    with KnowledgeBase(path, settings=Settings(), embedder=NotingWords(trace)) as kb:
        note(trace, "opened")
        vars(kb.store)["publish"] = announced_at(trace, kb.store.publish, "publishing", "published")
        document_sources.note_folder = announced_at(trace, document_sources.note_folder, "noting", "noted")
        vars(kb)["_embed"] = announced_at(trace, kb._embed, "embedding", "made")
        kb.ingest(folder, runner=partial(watched, trace))
        note(trace, "closing")


def announced_at(trace: str, work: Callable[..., Any], before: str, after: str) -> Callable[..., Any]:
    """Return a function that reports a place before it works, and another behind it."""

    def announced(*arguments: Any, **named: Any) -> Any:
        note(trace, before)
        done = work(*arguments, **named)
        note(trace, after)
        return done

    return announced


def note(trace: str, *what: str) -> None:
    """Add a line with the number of this process, in one step, so that lines of several processes do not mix."""
    file = os.open(trace, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{os.getpid()} {' '.join(what)}\n".encode())
    finally:
        os.close(file)


def watched(trace: str, job: Job) -> Runner:
    """Return the runner of two processes, of a job that reports its stages."""
    note(trace, "working")
    stages = {name: tuple(_NotingStage(trace, stage) for stage in some) for name, some in job.stages.items()}
    read = None if job.read is None else _NotingRead(job.read.whole_pages, trace)
    noting = _NotingJob(job.folder, job.version, stages, read, trace)
    return runners.opened("process://2", noting)


@dataclass(frozen=True, slots=True)
class _NotingJob(Job):
    trace: str = ""

    def __call__(self, task: Task) -> list[str]:
        left = Job.__call__(self, task)
        note(self.trace, "idle")
        return left

    def write(self, table: pa.Table) -> str:
        note(self.trace, "writing")
        return Job.write(self, table)


@dataclass(frozen=True, slots=True)
class _NotingRead(Read):
    trace: str = ""

    def __call__(self, files: pa.Table) -> Iterator[pa.Table]:
        note(self.trace, "Read")
        return Read.__call__(self, files)


@dataclass(frozen=True, slots=True)
class _NotingStage:
    trace: str
    stage: Callable[[pa.Table], pa.Table]

    def __call__(self, table: pa.Table) -> pa.Table:
        note(self.trace, type(self.stage).__name__)
        return self.stage(table)


class HashedWords:
    """Embeds a text as the sum of vectors drawn by its words."""

    dimension, identity = 32, "hashed-words"

    def embed(self, texts: Sequence[str], kind: str) -> Vectors:
        """Return unit rows of shape (len(texts), 32)."""
        rows: Vectors = np.ones((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split():
                row[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % self.dimension] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


class NotingWords(HashedWords):
    """Takes its time, as a model does, and reports what it embedded."""

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def embed(self, texts: Sequence[str], kind: str) -> Vectors:
        """Return what the others do, a while later."""
        time.sleep(_SECONDS_PER_TEXT * len(texts))
        note(self.trace, "embedded", *(hashlib.sha256(text.encode()).hexdigest() for text in texts))
        return super().embed(texts, kind)


if __name__ == "__main__":
    main(*sys.argv[1:])
