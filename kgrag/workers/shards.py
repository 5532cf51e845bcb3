"""The work of one run as tasks, and the Parquet files that they leave, each named by the SHA-256 of its content.

What a task left is listed in a file named by the hash of what it was made from, which is written last. A task whose
list and files are there is not done again, so a run that was ended goes on where it was. A file is whole or absent: it
is written under another name, and moved; whoever reads it compares its content with its name. One with an error in it
is called ``….errors.parquet`` and is in no list: it is read by the run that made it, and a later run does the task
again.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
from pyarrow import parquet

from kgrag.errors import StorageFailed
from kgrag.ports import Stage
from kgrag.vocab import digest
from kgrag.workers.arrow_rows import FILES, table_of
from kgrag.workers.shard_folders import ShardFolder, shard_folder
from kgrag.workers.stages import Read

__all__ = ["DOCUMENTS_STAGES", "FilesTask", "Job", "ShardTask", "Task", "read_shard"]

_FAULTY = ".errors.parquet"
_WHOLE = ".parquet"
DOCUMENTS_STAGES = "documents"
"""The name of the stages that documents go through when they are taken in."""


@dataclass(frozen=True, slots=True)
class FilesTask:
    """Read files: pairs of a path, as the file system spells it, and the SHA-256 of its content."""

    files: tuple[tuple[bytes, str], ...]

    def parts(self) -> list[FilesTask]:
        """Return a task for each file."""
        return [FilesTask((file,)) for file in self.files]


@dataclass(frozen=True, slots=True)
class ShardTask:
    """Do the stages of a name with some rows of a file in the folder of the job, all of them where None."""

    shard: str
    rows: tuple[int, ...] | None = None
    length: int = 0
    stages: str = DOCUMENTS_STAGES

    def parts(self) -> list[ShardTask]:
        """Return a task for each row."""
        rows = range(self.length) if self.rows is None else self.rows
        return [replace(self, rows=(row,)) for row in rows]


Task = FilesTask | ShardTask


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker does with a task; the same for every task of a run, and for every runner.

    Attributes:
        folder: where the files are, a path or ``s3://BUCKET/PREFIX``; on a cluster, one that all its machines reach.
        version: of everything that the result depends on besides the task: settings, shapes, kgrag, embedder.
        stages: by the name that a ``ShardTask`` has, in their order.
        read: the stage for files; None where no file is read.
    """

    folder: str
    version: str
    stages: Mapping[str, tuple[Stage, ...]]
    read: Read | None = None

    def __call__(self, task: Task) -> list[str]:
        """Do a task, unless it is done, and return the names of its files, in order.

        Raises:
            StorageFailed: a file cannot be written, or one that was written cannot be read.
        """
        shards = self._left(task)
        if shards is None:
            shards = [self.write(table) for table in self.tables(task)]
            if not any(shard.endswith(_FAULTY) for shard in shards):
                self._files.put(self._listing(task), json.dumps(shards).encode())
        return shards

    def chosen(self, task: ShardTask) -> ShardTask:
        """Return the task to be done for some rows of a shard: an earlier one that has them all and is done, or this.

        A run that ended between two publications has stored some documents of a task, so that the next one lacks fewer
        than were cut and embedded. Which rows were chosen last is written down beside what tasks leave, by the loader.

        Raises:
            StorageFailed: what was chosen cannot be written down.
        """
        whole, note = replace(task, rows=None), f"{digest(self.version, task.shard)}.rows"
        if len(task.rows or ()) == task.length:
            return whole
        with suppress(FileNotFoundError):
            before = replace(task, rows=tuple(json.loads(self._files.read(note))))
            if set(task.rows or ()) <= set(before.rows or ()) and self._left(before) is not None:
                return before
        if self._left(whole) is not None:
            return whole
        self._files.put(note, json.dumps(task.rows).encode())
        return task

    def note_ended(self, task: Task) -> None:
        """Write down, in the loader, that a task of several parts ended its workers. Raises StorageFailed."""
        self._files.put(self._note(task), json.dumps(_rows(task)).encode())

    def has_ended(self, task: Task) -> bool:
        """Return whether a task of several parts, or one with these parts among others, ended its workers before."""
        if len(_rows(task)) == 1:
            return False
        with suppress(FileNotFoundError):
            return set(_rows(task)) <= set(json.loads(self._files.read(self._note(task))))
        return False

    def _note(self, task: Task) -> str:
        what = repr(task) if isinstance(task, FilesTask) else f"{task.stages} {task.shard}"
        return f"{digest(self.version, what)}.ended"

    def _left(self, task: Task) -> list[str] | None:
        try:
            shards: list[str] = json.loads(self._files.read(self._listing(task)))
        except FileNotFoundError:
            return None
        return shards if all(map(self._files.has, shards)) else None

    @property
    def _files(self) -> ShardFolder:
        return shard_folder(self.folder)

    def _listing(self, task: Task) -> str:
        return f"{digest(self.version, repr(task))}.json"

    def tables(self, task: Task) -> Iterator[pa.Table]:
        """Yield what a task leaves. Raises StorageFailed: a file that it reads is not there, or damaged."""
        if isinstance(task, FilesTask):
            assert self.read is not None, "a job that reads no files was given some"
            files = [{"file": file, "sha256": sha256} for file, sha256 in task.files]
            yield from self.read(table_of(files, FILES))
            return
        table = read_shard(self.folder, task.shard)
        table = table if task.rows is None else table.take(pa.array(task.rows, pa.int64()))
        for stage in self.stages[task.stages]:
            table = stage(table)
        yield table

    def write(self, table: pa.Table) -> str:
        """Write a file of rows, and return its name. Raises StorageFailed."""
        faulty = "error" in table.column_names and any(error != "" for error in table.column("error").to_pylist())
        sink = pa.BufferOutputStream()
        parquet.write_table(table, sink, compression="zstd")
        content = sink.getvalue()
        shard = f"{hashlib.sha256(content).hexdigest()}{_FAULTY if faulty else _WHOLE}"
        self._files.put(shard, content.to_pybytes())
        return shard


def _rows(task: Task) -> list[int]:
    """Return the places of the parts of a task."""
    if isinstance(task, FilesTask):
        return list(range(len(task.files)))
    return list(range(task.length) if task.rows is None else task.rows)


def read_shard(folder: str, shard: str) -> pa.Table:
    """Return the rows of a file that a task left.

    Raises:
        StorageFailed: it is not there, or damaged; it is taken out of the way, for the next run to make it again.
    """
    files, place = shard_folder(folder), f"{folder}/{shard}"
    try:
        content = files.read(shard)
    except FileNotFoundError as error:
        raise StorageFailed(f"{place} is not there. Run the same again.") from error
    if hashlib.sha256(content).hexdigest() != shard.partition(".")[0]:
        files.remove(shard)
        raise StorageFailed(f"{place} is damaged. Run the same again, which makes it anew.")
    return parquet.ParquetFile(io.BytesIO(content)).read()
