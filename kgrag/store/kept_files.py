"""Copies of files that cannot be made again from the quads of a knowledge base, each with its checksum.

Trained weights, completions that were paid for, the log of writes, and the settings without secrets. Vectors, word
indexes and the cache of embeddings are left out: the first use makes them again.
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kgrag.errors import StorageFailed

__all__ = ["LEFT_OUT", "KeptFile", "checked", "copy", "listing"]

LEFT_OUT = "vectors, word indexes and the cache of embeddings"
"""What a backup and an export do not hold, in words."""

_MODELS = "models"
_COMPLETIONS = "cache/completions.sqlite"
_WRITES = "writes.jsonl"
_UNFINISHED = (".part",)


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file as it was copied: its path below the folder, with ``/``, its size in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str


def copy(source: Path | None, target: Path, *, settings: str) -> list[KeptFile]:
    """Copy what cannot be made again from one folder of a knowledge base into another one.

    Args:
        source: the folder of the knowledge base; None for one in memory, which has no files.
        target: the folder to be filled.
        settings: the text of ``kgrag.toml``; "" writes none.

    Raises:
        StorageFailed: a file cannot be read or written.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        if settings:
            (target / "kgrag.toml").write_text(settings, encoding="utf-8")
        if source is not None:
            models = (path for path in (source / _MODELS).rglob("*") if path.suffix not in _UNFINISHED)
            for path in (*models, source / _WRITES):
                if path.is_file():
                    copied = target / path.relative_to(source)
                    copied.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(path, copied)
            if (source / _COMPLETIONS).is_file():
                _copy_database(source / _COMPLETIONS, target / _COMPLETIONS)
        return listing(target)
    except (OSError, sqlite3.Error) as error:
        raise StorageFailed(
            f"what cannot be made again could not be copied to {target}: {error}. Free space, or permit reading and "
            "writing there."
        ) from error


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database to one file as it is at one moment, also while another process writes to it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as old,
        closing(sqlite3.connect(target)) as new,
    ):
        old.backup(new)
        (verdict,) = new.execute("PRAGMA integrity_check").fetchone()
    if verdict != "ok":
        raise sqlite3.DatabaseError(f"{source} is damaged: {verdict}")


def listing(folder: Path, *, without: Iterable[str] = ()) -> list[KeptFile]:
    """Return every file below a folder with its checksum, sorted by path; ``without`` are names to be left out."""
    names = set(without)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in names)
    return [_described(path, path.relative_to(folder).as_posix()) for path in files]


def checked(folder: Path, stated: Sequence[dict[str, Any]]) -> list[str]:
    """Return the paths of files that are not in a folder as a manifest states them."""
    wanted = {file["path"] for file in stated}
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    # no others are read: the folder may have a store at work, whose files come and go
    found = {name: asdict(_described(there[name], name)) for name in wanted & there.keys()}
    return [file["path"] for file in stated if found.get(file["path"]) != file]


def _described(path: Path, name: str) -> KeptFile:
    return KeptFile(name, path.stat().st_size, _sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
