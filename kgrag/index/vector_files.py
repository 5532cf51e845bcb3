"""The files of one vector space: segments of rows and IRIs, an HNSW graph, and the manifest that makes them valid.

New files get new names and are synced first; the manifest is then swapped by one rename, and only after that are files
that it does not name removed. A kill at any moment leaves the old or the new state, and files nobody names.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kgrag.errors import VectorsCorrupt
from kgrag.ports import Vectors

__all__ = [
    "Manifest",
    "Segment",
    "StoredFile",
    "adopt",
    "check",
    "commit",
    "faults",
    "read_keys",
    "read_manifest",
    "read_rows",
    "sweep",
    "write",
    "write_segment",
]

_MANIFEST = "manifest.json"
_FORMAT = 1

_MIN_MAPPED_BYTES = 64 << 20  # smaller files are read, which is quicker; larger ones would fill the memory


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as it was written: its name inside the folder, size in bytes and SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive slots: ``rows`` float32 vectors, and a JSON array of their IRIs."""

    rows: int
    vectors: StoredFile
    keys: StoredFile


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a space consists of; ``graph`` covers the first ``covered`` slots, ``dead`` are slots without a key.

    ``revision`` is the store revision that it reflects, and ``lineage`` the lineage of that revision.
    """

    identity: str
    dimension: int
    revision: int = -1
    generation: int = 0
    segments: tuple[Segment, ...] = ()
    dead: tuple[int, ...] = ()
    graph: StoredFile | None = None
    covered: int = 0
    lineage: str = ""

    def names(self) -> set[str]:
        """Return the names of the files that belong to the space, the manifest's too."""
        files = [file.name for segment in self.segments for file in (segment.vectors, segment.keys)]
        return {_MANIFEST, *files, *([self.graph.name] if self.graph else [])}


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of a space; None when there is none.

    Raises:
        VectorsCorrupt: it is damaged, or of another format.
    """
    try:
        data = json.loads((folder / _MANIFEST).read_bytes())
        if data["sha256"] != _checksum(data["space"]):
            raise VectorsCorrupt(f"{folder / _MANIFEST} does not match its own checksum.")
        return _manifest(data["space"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise VectorsCorrupt(f"{folder / _MANIFEST} cannot be read: {error}.") from error


def _manifest(data: dict[str, Any]) -> Manifest:
    if data.pop("format") != _FORMAT:
        raise ValueError("it has another format than this kgrag writes")
    segments = (
        Segment(segment["rows"], StoredFile(**segment["vectors"]), StoredFile(**segment["keys"]))
        for segment in data["segments"]
    )
    graph = StoredFile(**data["graph"]) if data["graph"] else None
    return Manifest(**{**data, "segments": tuple(segments), "dead": tuple(data["dead"]), "graph": graph})


def _checksum(space: Any) -> str:
    return hashlib.sha256(json.dumps(space, sort_keys=True).encode()).hexdigest()


def commit(folder: Path, manifest: Manifest) -> None:
    """Make a manifest, whose files are all written, the valid one. Raises OSError."""
    space = {"format": _FORMAT, **asdict(manifest)}
    fresh = folder / f"{_MANIFEST}.new"
    with fresh.open("wb") as handle:
        handle.write(json.dumps({"sha256": _checksum(json.loads(json.dumps(space))), "space": space}).encode())
        handle.flush()
        os.fsync(handle.fileno())
    fresh.replace(folder / _MANIFEST)
    _sync_folder(folder)


def sweep(folder: Path, keep: Iterable[str]) -> None:
    """Remove the files of a space that are not in ``keep``; one that cannot be removed stays."""
    kept = set(keep)
    for path in folder.iterdir():
        if path.name not in kept and path.is_file():
            with suppress(OSError):
                path.unlink()


def write(path: Path, pieces: Iterable[bytes | memoryview]) -> StoredFile:
    """Write a new file and make it survive a power cut. Raises OSError."""
    path.unlink(missing_ok=True)  # of a killed run; never written over, since a reader may have it mapped
    sha, size = hashlib.sha256(), 0
    with path.open("xb") as handle:
        for piece in pieces:
            handle.write(piece)
            sha.update(piece)
            size += len(piece)
        handle.flush()
        os.fsync(handle.fileno())
    return StoredFile(path.name, size, sha.hexdigest())


def write_segment(folder: Path, stem: str, *, rows: Iterable[Vectors], keys: Sequence[str]) -> Segment:
    """Write consecutive rows and their IRIs as two new files. Raises OSError."""
    pieces = (np.ascontiguousarray(piece, dtype="<f4").data.cast("B") for piece in rows if len(piece))
    vectors = write(folder / f"{stem}.f32", pieces)
    return Segment(len(keys), vectors, write(folder / f"{stem}.json", [json.dumps(list(keys)).encode()]))


def adopt(path: Path) -> StoredFile:
    """Sync and describe a file that a library wrote. Raises OSError."""
    with path.open("rb+") as handle:
        os.fsync(handle.fileno())
    return StoredFile(path.name, path.stat().st_size, _sha256(path))


def check(folder: Path, file: StoredFile) -> Path:
    """Return the path of a file whose size and SHA-256 are as recorded.

    Raises:
        VectorsCorrupt: it is missing, cut short or changed.
    """
    path = folder / file.name
    try:
        if path.stat().st_size == file.size and _sha256(path) == file.sha256:
            return path
    except OSError as error:
        raise VectorsCorrupt(f"{path} cannot be read: {error}.") from error
    raise VectorsCorrupt(f"{path} is cut short or damaged: its size or SHA-256 is not the recorded one.")


def faults(folder: Path) -> list[str]:
    """Return why the files of a space are not what its manifest says; [] for a sound space, and where there is none."""
    try:
        manifest = read_manifest(folder)
    except VectorsCorrupt as error:
        return [str(error)]
    if manifest is None:
        return []
    found = []
    for file in (*(f for segment in manifest.segments for f in (segment.vectors, segment.keys)), manifest.graph):
        try:
            if file is not None:
                check(folder, file)
        except VectorsCorrupt as error:
            found.append(str(error))
    return found


def read_keys(folder: Path, segment: Segment) -> list[str]:
    """Read the IRIs of a segment. Raises VectorsCorrupt."""
    keys = json.loads(check(folder, segment.keys).read_bytes())
    return [str(key) for key in keys]


def read_rows(folder: Path, segment: Segment, dimension: int, *, checked: bool = False) -> Vectors:
    """Read or map the rows of a segment, shape (rows, dimension). Raises VectorsCorrupt, OSError."""
    path = folder / segment.vectors.name if checked else check(folder, segment.vectors)
    if segment.rows * dimension * 4 != segment.vectors.size:
        raise VectorsCorrupt(f"{path} has {segment.vectors.size} bytes, not {segment.rows} rows of {dimension}.")
    if not segment.rows:
        return np.empty((0, dimension), np.float32)
    if segment.vectors.size < _MIN_MAPPED_BYTES:
        return np.fromfile(path, dtype="<f4").reshape(segment.rows, dimension)
    return np.asarray(np.memmap(path, dtype="<f4", mode="r", shape=(segment.rows, dimension)))


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
