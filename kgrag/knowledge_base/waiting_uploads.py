"""Uploads that a server accepted and has not taken in to their end, in the folder ``uploads`` of a knowledge base.

Each is a folder of its own: what was sent, and a description that makes it an accepted one. Both are on the disk before
the client is told that it was accepted; the next server over this folder goes on with it, under the same job. Files of
a folder without a description were never accepted, or are done with.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from kgrag.errors import StorageFailed

__all__ = [
    "FILES",
    "LINES",
    "WaitingUpload",
    "clear",
    "discard",
    "keep",
    "new_folder",
    "noted",
    "refused",
    "waiting",
    "warning",
    "withdraw",
]

LINES = "documents.jsonl"
"""What was sent as documents, a line each; for files what is read from them."""
FILES = "files"
"""A folder of files as they were sent."""
_UPLOADS, _DESCRIPTION = "uploads", "upload.json"


@dataclass(frozen=True)
class WaitingUpload:
    """An accepted upload.

    Attributes:
        folder: what was sent.
        id: of its job.
        about: what is in it, for a person.
        options: how it is taken in, as JSON.
        request: id of the request that brought it.
        key: name of the key that came with it.
        begun: how many servers have begun to take it in and ended before they were done.
        accepted: when, in seconds of the epoch.
    """

    folder: Path
    id: str
    about: str
    options: Mapping[str, Any]
    request: str = ""
    key: str = ""
    begun: int = 0
    accepted: float = field(default_factory=time.time)


def new_folder(kb: Path) -> Path:
    """Return a new folder for an upload. Raises StorageFailed."""
    uploads = kb / _UPLOADS
    try:
        uploads.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=uploads))
    except OSError as error:
        raise refused(uploads, error) from error


def keep(upload: WaitingUpload) -> None:
    """Have an upload on the disk: what was sent first, then what makes it an accepted one.

    Raises:
        StorageFailed: the disk refused; it is not accepted.
    """
    folder = upload.folder
    try:
        for path in sorted(folder.rglob("*"), reverse=True):
            _sync(path)
        _write(upload)
        for path in (folder.parent, folder.parent.parent):
            _sync(path)
    except OSError as error:
        raise refused(folder, error) from error


def noted(upload: WaitingUpload, *, begun: int) -> WaitingUpload:
    """Return an upload with another count of servers that began it, which is on the disk. Raises StorageFailed."""
    again = replace(upload, begun=begun)
    try:
        _write(again)
    except OSError as error:
        raise refused(upload.folder, error) from error
    return again


def _write(upload: WaitingUpload) -> None:
    described = {name: value for name, value in asdict(upload).items() if name != "folder"}
    fresh = upload.folder / f"{_DESCRIPTION}.new"
    fresh.write_text(json.dumps(described), encoding="utf-8")
    _sync(fresh)
    fresh.replace(upload.folder / _DESCRIPTION)
    _sync(upload.folder)


def withdraw(folder: Path) -> None:
    """Let no later server go on with an upload."""
    (folder / _DESCRIPTION).unlink(missing_ok=True)


def discard(folder: Path) -> None:
    """Delete an upload that is done with."""
    withdraw(folder)  # first: half of its files are no upload
    shutil.rmtree(folder, ignore_errors=True)


def waiting(kb: Path) -> list[WaitingUpload]:
    """Return the accepted uploads in the order in which they came."""
    found = []
    for description in (kb / _UPLOADS).glob(f"*/{_DESCRIPTION}"):
        fields = json.loads(description.read_bytes())
        found.append(WaitingUpload(description.parent, **fields))
    return sorted(found, key=lambda upload: (upload.accepted, upload.id))


def clear(kb: Path) -> None:
    """Delete what was not accepted to its end, or is done with; for a server that begins."""
    for folder in (kb / _UPLOADS).glob("*"):
        if not (folder / _DESCRIPTION).exists():
            discard(folder)


def warning(kb: Path) -> str:
    """Return in words that uploads wait; "" where none does."""
    if not (count := len(waiting(kb))):
        return ""
    which = "1 upload that a server accepted is" if count == 1 else f"{count} uploads that a server accepted are"
    return f"{which} not taken in yet; the next `kgrag serve` goes on with what waits in {kb / _UPLOADS}"


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():  # a folder cannot be opened there
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refused(path: Path, error: OSError) -> StorageFailed:
    """Return the error of an upload that the disk refused."""
    return StorageFailed(f"the upload cannot be kept in {path}: {error.strerror}. Make room, or permit writing there.")
