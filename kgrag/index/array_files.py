"""Files of arrays next to the store: caches that record the revision they reflect and are made again when in doubt.

They record its lineage too (``kgrag.store.lineage``): those of another store are not used.

A file is an uncompressed ``.npz`` after its own SHA-256; it is parsed only if that agrees, as arrays without
objects, and replaced by one rename. ``Sidecars`` keeps what was read open for as long as the store lives.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, local
from typing import Any, Generic, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from kgrag.errors import StorageFailed
from kgrag.ports import TripleStore
from kgrag.store.lineage import lineage

__all__ = [
    "FileFault",
    "Iris",
    "KeptPlaces",
    "Making",
    "Sidecars",
    "being_made",
    "packed",
    "read_arrays",
    "unpacked",
    "write_arrays",
]

Places = npt.NDArray[np.int64]

_CHECKSUM_BYTES = 32
_IN_NO_IRI = b"\xff"  # a byte that UTF-8 does not have
_MAX_SETS_KEPT = 8
_KEYS_COMPARED_PER_KEY_FOUND = 10  # in the time that looking up one takes
_LINEAGE = "lineage"
_DESCRIPTIONS = {_LINEAGE, "settings"}
"""Arrays of a file that say what it was made from; the others are what it was made for."""


class RevisionedArrays(Protocol):
    """Arrays made from the store at one revision."""

    @property
    def revision(self) -> int:
        """The store revision that it reflects."""

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write it, with the lineage of its revision (``write_arrays``). Raises StorageFailed."""

    def at(self, revision: int) -> Self:
        """Return the same arrays as those of another revision, where the store did not change them in between."""


Cached = TypeVar("Cached", bound=RevisionedArrays)


@dataclass(frozen=True, slots=True)
class FileFault:
    """A file next to the store that is not what it should be.

    ``message`` names it and the way out; ``remade`` when it can be deleted, since the next use makes it again.
    """

    path: Path
    message: str
    remade: bool = True


@dataclass(frozen=True, slots=True)
class Making(Generic[Cached]):
    """How a sidecar is read, made, brought up to date, and found to be out of date.

    ``load`` reads a file, None for one that is missing, damaged or of another format; ``make`` reads the store;
    ``changed`` returns whether the store may have changed since a revision; False is certain. ``followed`` returns
    arrays of an earlier revision with what changed since, None where all has to be read again.
    ``same`` compares what is in a file with what was made anew; None compares what both write.
    """

    load: Callable[[Path], Cached | None]
    make: Callable[[], Cached]
    changed: Callable[[int], bool]
    followed: Callable[[Cached], Cached | None] | None = None
    same: Callable[[Cached, Cached], bool] | None = None


_OF_THREAD = local()


@contextmanager
def _marked_as_making() -> Iterator[None]:
    before = being_made()
    _OF_THREAD.making = True
    try:
        yield
    finally:
        _OF_THREAD.making = before


def being_made() -> bool:
    """Return whether this thread is reading or making a sidecar, for which others may wait: no time to let them in."""
    return bool(getattr(_OF_THREAD, "making", False))


class Sidecars(Generic[Cached]):
    """The sidecars of one kind that are open, by store, folder and name."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: WeakKeyDictionary[TripleStore, dict[tuple[Path | None, str], Cached]] = WeakKeyDictionary()

    def clear(self) -> None:
        """Forget what is open."""
        self._open.clear()

    def release(self, store: TripleStore) -> None:
        """Forget what is open of a store, so that the next use reads its files, or makes them."""
        self._open.pop(store, None)

    def fresh(
        self, store: TripleStore, folder: Path | None, making: Making[Cached], *, name: str, save: bool = True
    ) -> Cached:
        """Return a sidecar for the present revision: the open one, that of the file, or a new one.

        Args:
            store: what it reflects.
            folder: where its file is; None keeps it in memory.
            making: how it is read and made.
            name: of the file, without suffix.
            save: False leaves the disk as it is.

        Raises:
            StorageFailed: the disk refused a new file.
        """
        with self._lock:
            opened = self._open.setdefault(store, {})
            arrays = opened.get((folder, name))
            if arrays is None or arrays.revision != store.revision:
                with _marked_as_making():
                    arrays = opened[folder, name] = self._followed(store, folder, making, arrays, name=name, save=save)
            return arrays

    @staticmethod
    def _followed(
        store: TripleStore, folder: Path | None, making: Making[Cached], arrays: Cached | None, *, name: str, save: bool
    ) -> Cached:
        path = Path() if folder is None else folder / f"{name}.npz"
        if arrays is None and folder is not None:
            arrays = _of_this_store(store, path, making.load(path))
        # a file of a later revision than the store's was written meanwhile, or before the store was put back
        if arrays is None or arrays.revision > store.revision:
            following = None
        elif arrays.revision == store.revision or not making.changed(arrays.revision):
            return arrays if arrays.revision == store.revision else arrays.at(store.revision)
        else:
            following = making.followed(arrays) if making.followed else None
        arrays = making.make() if following is None else following
        if folder is not None and save:
            arrays.save(path, lineage=lineage(store, arrays.revision))
        return arrays

    def follow(self, store: TripleStore, folder: Path, making: Making[Cached], *, name: str) -> None:
        """Bring a sidecar and its file up to the store where what changed is known; else leave both for ``fresh``.

        Arguments as of ``fresh``. Raises StorageFailed: the disk refused the changed file.
        """
        path = folder / f"{name}.npz"
        with self._lock:
            opened = self._open.setdefault(store, {})
            arrays = opened.get((folder, name)) or _of_this_store(store, path, making.load(path))
            following = making.followed(arrays) if arrays is not None and making.followed else None
            if following is not None:
                following.save(path, lineage=lineage(store, following.revision))
                opened[folder, name] = following

    def faults(self, store: TripleStore, folder: Path | None, making: Making[Cached], *, name: str) -> list[FileFault]:
        """Compare a sidecar's file with one that is made anew; [] also where there is none, or one that is behind.

        Arguments as of ``fresh``; nothing is changed.
        """
        path = Path() if folder is None else folder / f"{name}.npz"
        if not path.is_file():
            return []
        arrays = making.load(path)
        if arrays is None and _is_whole(path):  # of an earlier format: the next use makes it again, in silence
            return []
        if arrays is None:
            return [FileFault(path, f"{path} is damaged; the next use makes it again.")]
        if _of_this_store(store, path, arrays) is None:
            return [FileFault(path, f"{path} was made from another store; the next use makes it again.")]
        if arrays.revision > store.revision or making.changed(arrays.revision):
            return []
        same = making.same or _write_the_same
        message = f"{path} does not have what the store has. Delete it, and the next use makes it again."
        return [] if same(arrays, making.make()) else [FileFault(path, message)]


def _write_the_same(first: RevisionedArrays, second: RevisionedArrays) -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        copies = Path(scratch) / "first.npz", Path(scratch) / "second.npz"
        first.save(copies[0])
        second.save(copies[1])
        stored, made = map(read_arrays, copies)
    members = made.keys() - _DESCRIPTIONS
    return members == stored.keys() - _DESCRIPTIONS and all(
        np.array_equal(stored[member], made[member]) for member in members
    )


def _is_whole(path: Path) -> bool:
    """Return whether a file of arrays is as it was written."""
    try:
        read_arrays(path)
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
    return True


def _of_this_store(store: TripleStore, path: Path, arrays: Cached | None) -> Cached | None:
    """Return arrays that were read from a file; None for those of another store with the same revision number."""
    return arrays if arrays is not None and _lineage_in(path) == lineage(store, arrays.revision) else None


def _lineage_in(path: Path) -> str:
    """Return the lineage that ``write_arrays`` recorded in a file, "" where there is none; only this is read."""
    try:
        with path.open("rb") as file:
            file.seek(_CHECKSUM_BYTES)
            with zipfile.ZipFile(file) as archive:
                data = np.lib.format.read_array(io.BytesIO(archive.read(f"{_LINEAGE}.npy")), allow_pickle=False)
        return "".join(unpacked(data))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return ""


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
        beginning = _common_beginning(iris)
        return cls(beginning, np.array([iri[len(beginning) :].encode() for iri in iris], dtype=np.bytes_))

    @classmethod
    def joined(cls, several: Sequence[Self]) -> Self:
        """Return all IRIs of some arrays, one after the other.

        >>> Iris.joined([Iris.of(["urn:b"]), Iris.of(["urn:a", "urn:c"])]).at([0, 1, 2])
        ['urn:b', 'urn:a', 'urn:c']
        """
        filled = [iris for iris in several if len(iris)]
        if not filled:
            return cls("", np.zeros(0, np.bytes_))
        beginning = _common_beginning([iris.beginning for iris in filled])
        own = [iris.beginning[len(beginning) :].encode() for iris in filled]
        rests = [np.char.add(part, iris.rest) if part else iris.rest for part, iris in zip(own, filled, strict=True)]
        return cls(beginning, np.concatenate(rests))

    @classmethod
    def restored(cls, members: Mapping[str, Any], name: str) -> Iris:
        """Return the IRIs of the two arrays that ``members`` returned. Raises KeyError, ValueError."""
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
        """Return the place of each IRI, -1 of an unknown one, shape (len(iris),); these must be in ascending order.

        >>> Iris.of(["urn:a", "urn:b"]).places(["urn:b", "urn:c", "tag:b"]).tolist()
        [1, -1, -1]
        """
        if not len(self) or not len(iris):
            return np.full(len(iris), -1, dtype=np.int64)
        cut, beginning = len(self.beginning), self.beginning
        rests = [iri[cut:].encode() if iri.startswith(beginning) else _IN_NO_IRI for iri in iris]
        sought = np.array(rests, dtype=np.bytes_)
        nearest = np.minimum(np.searchsorted(self.rest, sought), len(self) - 1)
        return np.where(self.rest[nearest] == sought, nearest, -1)

    def known_places(self, iris: Collection[str]) -> Places:
        """Return the places of those IRIs that are here, ascending; these must be in ascending order.

        >>> Iris.of(["urn:a", "urn:b"]).known_places({"urn:b", "urn:c"}).tolist()
        [1]
        """
        if len(self) * _KEYS_COMPARED_PER_KEY_FOUND < len(iris):
            wanted = frozenset(iris)  # of a frozenset itself
            own = enumerate(self.at(range(len(self))))
            return np.array([place for place, iri in own if iri in wanted], dtype=np.int64)
        places = self.places(list(iris))
        return np.unique(places[places >= 0])


def _common_beginning(texts: Sequence[str]) -> str:
    first, last = min(texts, default=""), max(texts, default="")
    pairs = enumerate(zip(first, last, strict=False))
    return first[: next((place for place, (one, other) in pairs if one != other), len(first))]


class KeptPlaces:
    """The places of the last few sets of keys that a search was limited to: looking them up takes longer than it.

    ``lasting``: a key has one place, which never changes, so that of a set that is almost a kept one only the other
    keys are looked up.
    """

    def __init__(self, *, lasting: bool = False) -> None:
        self._lasting = lasting
        self._places: OrderedDict[frozenset[str], Places] = OrderedDict()

    def of(self, keys: Collection[str], find: Callable[[Collection[str]], Places]) -> Places:
        """Return the places of keys; of a frozenset, whose hash is known, they are kept."""
        if not isinstance(keys, frozenset):
            return find(keys)
        places = self._places.get(keys)
        if places is None:
            places = self._places[keys] = self._from_kept(keys, find) if self._lasting else find(keys)
            while len(self._places) > _MAX_SETS_KEPT:
                self._places.pop(next(iter(self._places)), None)
        return places

    def _from_kept(self, keys: frozenset[str], find: Callable[[Collection[str]], Places]) -> Places:
        for kept, places in reversed(list(self._places.items())):
            gone, come = kept - keys, keys - kept
            if len(gone) + len(come) < len(keys) // _KEYS_COMPARED_PER_KEY_FOUND:
                return _with_places(_without_places(places, find(gone)), find(come))
        return find(keys)

    def moved(self, keys: Sequence[str], find: Callable[[Collection[str]], Places]) -> None:
        """Add the places that some keys have now; whoever asks leaves out those that they had before."""
        for kept, places in list(self._places.items()):
            if own := kept.intersection(keys):
                self._places[kept] = _with_places(places, find(own))

    def clear(self) -> None:
        """Forget them, since the keys have other places now."""
        self._places.clear()


def _without_places(places: Places, gone: Places) -> Places:
    """Return ascending places without some; both ascending, so that nothing is sorted for a few."""
    return np.delete(places, np.searchsorted(places, gone[_are_among(places, gone)]))


def _with_places(places: Places, come: Places) -> Places:
    """Return ascending places with some more, each once; both ascending."""
    new = come[~_are_among(places, come)]
    return np.insert(places, np.searchsorted(places, new), new)


def _are_among(places: Places, some: Places) -> npt.NDArray[np.bool_]:
    at = np.searchsorted(places, some)
    known: npt.NDArray[np.bool_] = at < len(places)
    known[known] = places[at[known]] == some[known]
    return known


def packed(lines: Sequence[str]) -> npt.NDArray[np.uint8]:
    """Return lines (without line ends in them) as bytes, shape (n,), each closed by a line end."""
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpacked(data: npt.NDArray[np.uint8]) -> list[str]:
    """Return the lines that ``packed`` made bytes of."""
    return data.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1]


def read_arrays(path: Path, checksum: str = "") -> dict[str, Any]:
    """Read a file's arrays by name.

    Args:
        path: of the file.
        checksum: what ``write_arrays`` returned for it; "" takes whichever it has.

    Raises:
        OSError: there is none, or it cannot be read.
        ValueError: it is damaged, or has another checksum.
        zipfile.BadZipFile: it is not a file of arrays.
    """
    with path.open("rb") as file:
        recorded = file.read(_CHECKSUM_BYTES)
        if recorded != hashlib.file_digest(file, "sha256").digest() or checksum not in ("", recorded.hex()):
            raise ValueError(f"{path} is damaged")
        with zipfile.ZipFile(file) as archive:
            return {
                # an array of objects is a pickle, which could run code
                name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
            }


def write_arrays(path: Path, members: Mapping[str, Any], *, lineage: str = "") -> str:
    """Write arrays, and the lineage of the revision that they reflect, to a new file; then swap it with the old one.

    Returns:
        The checksum of the file, in hexadecimal digits.

    Raises:
        StorageFailed: the disk refused; the old file is then left as it was.
    """
    try:
        return _swap_in(path, {**members, _LINEAGE: packed([lineage])})
    except OSError as error:
        message = f"the index {path} could not be written: {error}. Free space or make the folder writable."
        raise StorageFailed(message) from error


def _swap_in(path: Path, members: Mapping[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".part", dir=path.parent)
    partial = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            file.write(bytes(_CHECKSUM_BYTES))  # room for the checksum, which is known last
            np.savez(file, **members)
            file.seek(_CHECKSUM_BYTES)
            checksum = hashlib.file_digest(file, "sha256").digest()
            file.seek(0)
            file.write(checksum)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        return checksum.hex()
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
