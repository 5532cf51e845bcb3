"""What a loader reads: the documents of files in the order of the files, and what workers made of them.

A file is read by one worker, which leaves its documents in shards; each shard is cut, validated and embedded by one
worker, and shards of one large file by many. Documents that the loader has stored already are read and not worked on.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kgrag.errors import UnreadableDocument
from kgrag.model import Document
from kgrag.ports import Vectors
from kgrag.text import documents
from kgrag.text.ingestion import CutDocument
from kgrag.vocab import Names
from kgrag.workers.arrow_rows import document_of
from kgrag.workers.ended_tasks import outcomes
from kgrag.workers.shards import FilesTask, Job, ShardTask, read_shard
from kgrag.workers.slot_pool import Outcome, Runner
from kgrag.workers.stages import draft_of, file_digest

__all__ = ["ShardSource"]

# What a worker embeds together: of short files, 8 took 1.4 times the processor's time of 32; of long pages, 32 leave
# the second worker without work at the end.
_FILES_PER_TASK = 32
_BYTES_PER_TASK = 200_000


@dataclass(slots=True)
class _Shard:
    """Some documents as they were read, with an error instead of each that is none, and the task that works on them."""

    files: list[Path]
    read: list[Document | str]
    name: str = ""
    task: ShardTask | None = None
    failed: dict[int, str] = field(default_factory=dict)  # row -> why workers made nothing of it


@dataclass(slots=True)
class ShardSource:
    """Documents for ``intake.take_in``, and what workers made of each for ``ingestion.ingest(cut=…)``.

    Attributes:
        runner: does the work.
        job: what it does.
        names: the IRIs of the knowledge base.
        stored: returns of documents whether each is stored already, cut in the same way.
        keep: called with vectors by the SHA-256 of their texts, before the documents that have these texts are yielded.
        broken: files that could not be read, or not whole, each with the reason, filled on the way.
        pending: files of which workers could not make what is to be stored, likewise; they are in ``broken`` too.
    """

    runner: Runner
    job: Job
    names: Names
    stored: Callable[[Sequence[Document]], Sequence[bool]]
    keep: Callable[[Mapping[str, Vectors]], None]
    broken: dict[Path, str]
    pending: dict[Path, str] = field(default_factory=dict)
    _cut: dict[tuple[str, str], CutDocument] = field(default_factory=dict)  # by graph and place
    _shards: deque[_Shard] = field(default_factory=deque)

    def documents(self, files: Mapping[Path, bool]) -> Iterator[Document]:
        """Yield the documents of files (``find_files``), in their order.

        Raises:
            UnreadableDocument: a file that was named itself cannot be read.
            StorageFailed: a shard cannot be written or read.
        """
        named = {path for path, is_named in files.items() if is_named}
        for outcome in outcomes(self.runner, self.job, self._tasks(files)):
            while (shard := self._shards.popleft()).task is None:
                yield from self._yielded(shard, named)
            self._take(shard, outcome)
            yield from self._yielded(shard, named)
        while self._shards:
            yield from self._yielded(self._shards.popleft(), named)

    def cut(self, document: Document) -> CutDocument | None:
        """Return what workers made of a document that was just yielded; None where it is stored already."""
        graph = self.names.document_graph(documents.document_iri(document, self.names))
        return self._cut.pop((graph.value, document.location), None)

    def _tasks(self, files: Iterable[Path]) -> Iterator[ShardTask]:
        """Yield the work on documents, while files are being read, and note every shard."""
        for outcome in outcomes(self.runner, self.job, _file_tasks(files)):
            for shard in self._read(outcome):
                self._shards.append(shard)
                if shard.task is not None:
                    yield shard.task

    def _read(self, outcome: Outcome) -> Iterator[_Shard]:
        for name in outcome.shards:
            rows = read_shard(self.job.folder, name).to_pylist()
            files = [Path(os.fsdecode(row["file"])) for row in rows]
            read = [row["error"] or document_of(row) for row in rows]
            yield _Shard(files, read, name, self._task(name, read))
        if outcome.died and isinstance(outcome.task, FilesTask):
            if len(outcome.task.files) > 1:
                for part in self.runner.outcomes(outcome.task.parts()):
                    yield from self._read(part)
            else:
                path = Path(os.fsdecode(outcome.task.files[0][0]))
                self.pending[path] = outcome.died
                yield _Shard([path], [f"{path}: {outcome.died}."])

    def _task(self, name: str, read: Sequence[Document | str]) -> ShardTask | None:
        """Return the work that a shard needs: none where all is stored, what was done already where that has it all."""
        rows = [row for row, each in enumerate(read) if isinstance(each, Document)]
        there = self.stored([each for each in read if isinstance(each, Document)])
        lacking = tuple(row for row, is_stored in zip(rows, there, strict=True) if not is_stored)
        return self.job.chosen(ShardTask(name, lacking, len(read))) if lacking else None

    def _take(self, shard: _Shard, outcome: Outcome) -> None:
        """Take what workers made of a shard; what ended them is tried document by document."""
        task = outcome.task
        assert isinstance(task, ShardTask)
        rows = range(task.length) if task.rows is None else task.rows
        for name in outcome.shards:
            for row, made in zip(rows, read_shard(self.job.folder, name).to_pylist(), strict=True):
                if made["error"]:
                    shard.failed[row] = made["error"]
                elif isinstance(read := shard.read[row], Document):
                    self._take_row(made, read.location)
        if outcome.died and len(rows) > 1:
            for part in self.runner.outcomes(task.parts()):
                self._take(shard, part)
        elif outcome.died:
            shard.failed[rows[0]] = outcome.died

    def _take_row(self, made: Mapping[str, Any], location: str) -> None:
        cut = CutDocument(draft_of(made), made["chunks"], conforms=bool(made["conforms"]))
        self._cut[made["graph"], location] = cut
        if made["sha256"]:
            vectors = np.frombuffer(made["vectors"], "<f4").reshape(len(made["sha256"]), -1)
            self.keep(dict(zip(made["sha256"], vectors, strict=True)))

    def _yielded(self, shard: _Shard, named: Collection[Path]) -> Iterator[Document]:
        for row, (path, read) in enumerate(zip(shard.files, shard.read, strict=True)):
            failed = shard.failed.get(row, "")
            if failed and isinstance(read, Document):
                self.pending[path] = failed
                self.broken[path] = f"{read.location or path}: {failed}"
            elif isinstance(read, Document):
                yield read
            elif path in named:
                raise UnreadableDocument(read)
            else:
                self.broken[path] = read


def _file_tasks(files: Iterable[Path]) -> Iterator[FilesTask]:
    """Yield files some at a time, always the same ones, each with the digest of its content."""
    batch: list[tuple[bytes, str]] = []
    size = 0
    for path in files:
        batch.append((os.fsencode(path), file_digest(path)))
        size += path.stat().st_size if path.exists() else 0
        if len(batch) >= _FILES_PER_TASK or size >= _BYTES_PER_TASK:
            yield FilesTask(tuple(batch))
            batch, size = [], 0
    if batch:
        yield FilesTask(tuple(batch))
