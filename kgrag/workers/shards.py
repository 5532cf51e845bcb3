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
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyarrow import parquet

from kgrag.errors import StorageFailed
from kgrag.ports import Stage
from kgrag.vocab import digest
from kgrag.workers.arrow_rows import FILES, table_of
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
        folder: where the files are; on a cluster, one that all its machines share.
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
                _put(self._listing(task), json.dumps(shards).encode())
        return shards

    def chosen(self, task: ShardTask) -> ShardTask:
        """Return the task to be done for some rows of a shard: an earlier one that has them all and is done, or this.

        A run that ended between two publications has stored some documents of a task, so that the next one lacks fewer
        than were cut and embedded. Which rows were chosen last is written down beside what tasks leave, by the loader.

        Raises:
            StorageFailed: what was chosen cannot be written down.
        """
        whole, note = replace(task, rows=None), Path(self.folder, f"{digest(self.version, task.shard)}.rows")
        if len(task.rows or ()) == task.length:
            return whole
        with suppress(FileNotFoundError):
            before = replace(task, rows=tuple(json.loads(note.read_text(encoding="utf-8"))))
            if set(task.rows or ()) <= set(before.rows or ()) and self._left(before) is not None:
                return before
        if self._left(whole) is not None:
            return whole
        _put(note, json.dumps(task.rows).encode())
        return task

    def note_ended(self, task: Task) -> None:
        """Write down, in the loader, that a task of several parts ended its workers. Raises StorageFailed."""
        _put(self._note(task), json.dumps(_rows(task)).encode())

    def has_ended(self, task: Task) -> bool:
        """Return whether a task of several parts, or one with these parts among others, ended its workers before."""
        if len(_rows(task)) == 1:
            return False
        with suppress(FileNotFoundError):
            return set(_rows(task)) <= set(json.loads(self._note(task).read_text(encoding="utf-8")))
        return False

    def _note(self, task: Task) -> Path:
        what = repr(task) if isinstance(task, FilesTask) else f"{task.stages} {task.shard}"
        return Path(self.folder, f"{digest(self.version, what)}.ended")

    def _left(self, task: Task) -> list[str] | None:
        try:
            shards: list[str] = json.loads(self._listing(task).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return shards if all(Path(self.folder, shard).exists() for shard in shards) else None

    def _listing(self, task: Task) -> Path:
        return Path(self.folder, f"{digest(self.version, repr(task))}.json")

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
        _put(Path(self.folder, shard), content)
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
    path = Path(folder, shard)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StorageFailed(f"{path} cannot be read: {error.strerror}. Run the same again.") from error
    if hashlib.sha256(content).hexdigest() != shard.partition(".")[0]:
        path.unlink(missing_ok=True)
        raise StorageFailed(f"{path} is damaged. Run the same again, which makes it anew.")
    return parquet.ParquetFile(io.BytesIO(content)).read()


def _put(path: Path, content: bytes | pa.Buffer) -> None:
    """Write a file that is whole or absent, also after a power cut."""
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise StorageFailed(f"{path} cannot be written: {error}. Free space, or choose another folder.") from error
