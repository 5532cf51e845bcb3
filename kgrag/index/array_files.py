"""Files of arrays beside the store: caches that say which revision they reflect and are made again when in doubt.

A file is an uncompressed ``.npz`` behind the SHA-256 of itself; it is parsed only if that agrees, as arrays without
objects, and replaced by one rename. ``Sidecars`` keeps what was read open for as long as the store lives.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Generic, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from kgrag.errors import StorageFailed
from kgrag.ports import TripleStore

__all__ = ["Iris", "Making", "Sidecars", "packed", "read_arrays", "unpacked", "write_arrays"]

Places = npt.NDArray[np.int64]

_CHECKSUM = 32


class Reflecting(Protocol):
    """What a sidecar holds."""

    @property
    def revision(self) -> int:
        """The store revision that it reflects."""

    def save(self, path: Path) -> None:
        """Write it. Raises StorageFailed."""

    def at(self, revision: int) -> Self:
        """Return the same, said to reflect another revision."""


Held = TypeVar("Held", bound=Reflecting)


@dataclass(frozen=True, slots=True)
class Making(Generic[Held]):
    """How a sidecar comes about.

    ``load`` reads a file, None for one that is missing, damaged or of another format; ``make`` reads the store;
    ``changed`` says whether the store says something else than at a revision, False being certain.
    """

    load: Callable[[Path], Held | None]
    make: Callable[[], Held]
    changed: Callable[[int], bool]


class Sidecars(Generic[Held]):
    """The sidecars of one kind that are open, by store and path."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: WeakKeyDictionary[TripleStore, dict[Path, Held]] = WeakKeyDictionary()

    def clear(self) -> None:
        """Forget what is open."""
        self._open.clear()

    def fresh(
        self, store: TripleStore, folder: Path | None, making: Making[Held], *, name: str, save: bool = True
    ) -> Held:
        """Return a sidecar as the store stands now: the open one, that of the file, or a new one.

        Args:
            store: what it reflects.
            folder: where its file is; None keeps it in memory.
            making: how it is read and made.
            name: of the file, without suffix.
            save: False leaves the disk as it is.

        Raises:
            StorageFailed: the disk refused a new file.
        """
        path = Path(f"{name}.npz") if folder is None else folder / f"{name}.npz"
        with self._lock:
            opened = self._open.setdefault(store, {})
            held = opened.get(path)
            if held is None and folder is not None:
                held = making.load(path)
            if held is None or held.revision > store.revision or self._behind(held, store, making):
                held = making.make()
                if folder is not None and save:
                    held.save(path)
            elif held.revision != store.revision:
                held = held.at(store.revision)
            opened[path] = held
        return held

    @staticmethod
    def _behind(held: Held, store: TripleStore, making: Making[Held]) -> bool:
        return held.revision != store.revision and making.changed(held.revision)


@dataclass(frozen=True, slots=True, eq=False)
class Iris:
    """Distinct IRIs by place: a common beginning, and the rest as bytes of one width, shape (n,), dtype ``S``."""

    beginning: str
    rest: npt.NDArray[np.bytes_]

    @classmethod
    def of(cls, iris: Sequence[str]) -> Iris:
        """Keep IRIs in the order given.

        >>> [*Iris.of(["urn:b", "urn:a"]).at([1, 0])]
        ['urn:a', 'urn:b']
        """
        first, last = min(iris, default=""), max(iris, default="")
        cut = next(
            (place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first)
        )
        return cls(first[:cut], np.array([iri[cut:].encode() for iri in iris], dtype=np.bytes_))

    @classmethod
    def restored(cls, members: Mapping[str, Any], name: str) -> Iris:
        """Take from a file's arrays what ``members`` gave. Raises KeyError, ValueError."""
        (beginning,) = unpacked(members[f"{name}_beginning"])
        return cls(beginning, members[f"{name}_rest"])

    def members(self, name: str) -> dict[str, Any]:
        """Return two arrays for a file."""
        return {f"{name}_beginning": packed([self.beginning]), f"{name}_rest": self.rest}

    def __len__(self) -> int:
        """Count them."""
        return len(self.rest)

    def __getitem__(self, place: int) -> str:
        """Return the IRI at a place."""
        return f"{self.beginning}{self.rest[place].decode()}"

    def at(self, places: Sequence[int] | npt.NDArray[Any]) -> list[str]:
        """Return the IRIs at places."""
        beginning = self.beginning
        return [beginning + rest.decode() for rest in self.rest[np.asarray(places, dtype=np.int64)].tolist()]

    def places(self, iris: Sequence[str]) -> Places:
        """Return where each IRI stands, -1 where it does not, shape (len(iris),); they must be in ascending order.

        >>> Iris.of(["urn:a", "urn:b"]).places(["urn:b", "urn:c", "tag:b"]).tolist()
        [1, -1, -1]
        """
        cut, beginning = len(self.beginning), self.beginning
        asked = np.array([iri[cut:].encode() for iri in iris], dtype=np.bytes_)
        if not len(self) or not len(asked):
            return np.full(len(iris), -1, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.rest, asked), len(self) - 1)
        ours = np.fromiter((iri.startswith(beginning) for iri in iris), dtype=np.bool_, count=len(iris))
        return np.where((self.rest[found] == asked) & ours, found, -1)


def packed(lines: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Return lines (none holds a line end) as bytes, shape (n,), each closed by a line end."""
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked(data: npt.NDArray[np.uint8]) -> list[str]:
    """Return the lines that ``packed`` took."""
    return data.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1]


def read_arrays(path: Path) -> dict[str, Any]:
    """Read a file's arrays by name.

    Raises:
        OSError: there is none, or it cannot be read.
        ValueError: it is damaged.
        zipfile.BadZipFile: it is none of ours.
    """
    with path.open("rb") as file:
        if file.read(_CHECKSUM) != hashlib.file_digest(file, "sha256").digest():
            raise ValueError(f"{path} is damaged")
        with zipfile.ZipFile(file) as archive:
            return {name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()}


def _array(data: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def write_arrays(path: Path, members: Mapping[str, Any]) -> None:
    """Write arrays beside the old file, then swap.

    Raises:
        StorageFailed: the disk refused; the old file then still stands.
    """
    try:
        _swap_in(path, members)
    except OSError as error:
        message = f"the index {path} could not be written: {error}. Free space or make the folder writable."
        raise StorageFailed(message) from error


def _swap_in(path: Path, members: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".part", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            file.write(bytes(_CHECKSUM))
            np.savez(file, **members)
            file.seek(_CHECKSUM)
            checksum = hashlib.file_digest(file, "sha256").digest()
            file.seek(0)
            file.write(checksum)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
