"""BM25 over the texts of a vector space: the sparse half of plain retrieval, and the baseline of every table.

Lower-case words, English stop words left out, English Snowball stems; Lucene's BM25 with k1 0.9 and b 0.4 as Anserini
sets them. The index is a sidecar like the vectors: one file beside the store, rebuilt when it is missing, damaged or
behind. Reads ``queries/spaces/*`` through ``kgrag.stages.sync``; writes no graph.

Deviations:
    A word of one letter is no token, but a single digit is: facts speak of "5 cm" and "zone 3".
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import regex

from kgrag.errors import InvalidSettings, StorageFailed
from kgrag.ports import TripleStore
from kgrag.stages import sync

__all__ = ["LexicalIndex", "fresh", "tokens_of"]

_WORD = regex.compile(r"\w\w+|\d")
_FORMAT = 1
_CHECKSUM = 32
_METHOD = "lucene"
_ARRAYS = ("data", "indices", "indptr")
_LOCK = Lock()
_OPEN: WeakKeyDictionary[TripleStore, dict[Path | None, LexicalIndex]] = WeakKeyDictionary()


def tokens_of(text: str) -> list[str]:
    """Give the index terms of a text, in order, repeated as they occur.

    >>> tokens_of("The varieties are sown 5 cm deep.")
    ['varieti', 'sown', '5', 'cm', 'deep']
    """
    words = [word for word in _WORD.findall(text.lower()) if word not in _stop_words()]
    return list(_stemmer().stemWords(words))


@cache
def _stop_words() -> frozenset[str]:
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


@cache
def _stemmer() -> Any:
    from Stemmer import Stemmer

    return Stemmer("english")


@dataclass(frozen=True, slots=True, eq=False)
class LexicalIndex:
    """A BM25 index: ``iris`` sorted, and the scores of every (term, text) pair computed when it was built.

    ``revision`` is the store revision that it reflects, -1 when it was built from texts that are in no store.
    """

    iris: tuple[str, ...]
    revision: int
    _scores: Any

    @classmethod
    def build(
        cls, iris: Sequence[str], texts: Sequence[str], *, k1: float = 0.9, b: float = 0.4, revision: int = -1
    ) -> LexicalIndex:
        """Index texts by IRI.

        Args:
            iris: distinct keys, in any order.
            texts: one text a key.
            k1: how fast a repeated term saturates, at least 0.
            b: how far long texts are held against themselves, 0 to 1.
            revision: the store revision that the texts come from.

        Raises:
            InvalidSettings: k1 or b is outside its range.
            ValueError: there are not as many texts as keys.
        """
        if k1 < 0 or not 0 <= b <= 1:
            raise InvalidSettings(f"BM25 was given k1={k1} and b={b}. Use k1 of at least 0 and b from 0 to 1.")
        pairs = sorted(zip(iris, texts, strict=True))
        scores = _bm25(k1=k1, b=b)
        terms = [tokens_of(text) for _, text in pairs]
        if any(terms):
            scores.index(terms, show_progress=False)
        else:
            scores.scores, scores.vocab_dict = _nothing(len(pairs)), {}
        return cls(iris=tuple(iri for iri, _ in pairs), revision=revision, _scores=scores)

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.iris)

    def search(self, question: str, k: int) -> list[tuple[str, float]]:
        """Give at most k (IRI, score) pairs that share a term with the question, best first, ties by IRI.

        >>> LexicalIndex.build(["urn:b", "urn:a"], ["sow deep", "sow deep"]).search("How deep?", 5)[0][0]
        'urn:a'
        """
        known = self._scores.get_tokens_ids(tokens_of(question))
        if not known or k < 1:
            return []
        scores = self._scores.get_scores_from_ids(known)
        found = np.flatnonzero(scores > 0)
        if len(found) > k:
            found = found[scores[found] >= np.partition(scores[found], -k)[-k]]
        best = found[np.lexsort((found, -scores[found]))][:k]
        return [(self.iris[i], float(scores[i])) for i in best]

    def save(self, path: Path) -> None:
        """Write the index beside the old file, then swap.

        Raises:
            StorageFailed: the disk refused; the old file then still stands.
        """
        scores = self._scores
        terms = sorted(scores.vocab_dict, key=scores.vocab_dict.__getitem__)
        settings = {"format": _FORMAT, "revision": self.revision, "k1": scores.k1, "b": scores.b}
        members: dict[str, Any] = {name: scores.scores[name] for name in _ARRAYS}
        members |= {"iris": _packed(self.iris), "terms": _packed(terms), "settings": _packed([json.dumps(settings)])}
        try:
            _swap_in(path, members)
        except OSError as error:
            message = f"the BM25 index {path} could not be written: {error}. Free space or make the folder writable."
            raise StorageFailed(message) from error

    @classmethod
    def load(cls, path: Path) -> LexicalIndex | None:
        """Read an index; None when there is none, or it is damaged or of another format, so that it is to be rebuilt.

        The file begins with a checksum of the rest, which is parsed only if it agrees, as arrays without objects.
        """
        try:
            members = _members(path)
            (settings,) = (json.loads(line) for line in _unpacked(members["settings"]))
            if settings["format"] != _FORMAT:
                return None
            return cls._restored(members, settings)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    @classmethod
    def _restored(cls, members: dict[str, Any], settings: dict[str, Any]) -> LexicalIndex:
        iris = tuple(_unpacked(members["iris"]))
        scores = _bm25(k1=settings["k1"], b=settings["b"])
        scores.scores = {name: members[name] for name in _ARRAYS} | {"num_docs": len(iris)}
        scores.vocab_dict = {term: number for number, term in enumerate(_unpacked(members["terms"]))}
        return cls(iris=iris, revision=settings["revision"], _scores=scores)


def fresh(
    store: TripleStore, folder: Path | None, *, space: str = "chunk", save: bool = True, progress: sync.Progress = None
) -> LexicalIndex:
    """Give the BM25 index of a space as the store stands now; it is rebuilt when its texts changed since.

    Args:
        store: holds the texts.
        folder: where the index is kept; None keeps it in memory for as long as the store lives.
        space: the vector space whose texts are indexed.
        save: False leaves the disk as it is (read-only use).
        progress: told (stage label, texts done, texts in all).

    Raises:
        UnknownName: there is no such space.
        StorageFailed: the disk refused the rebuilt index.
    """
    path = None if folder is None else folder / f"{space}.npz"
    with _LOCK:
        opened = _OPEN.setdefault(store, {})
        key = Path(space) if path is None else path
        index = opened.get(key) or (None if path is None else LexicalIndex.load(path))
        if index is None or index.revision > store.revision:
            index = _rebuilt(store, space, path if save else None, progress)
        elif index.revision != store.revision:
            changed = sync.changed(space, store=store, since=index.revision)
            index = _rebuilt(store, space, path if save else None, progress) if changed else _at(index, store.revision)
        opened[key] = index
    return index


def _rebuilt(store: TripleStore, space: str, path: Path | None, progress: sync.Progress) -> LexicalIndex:
    revision = store.revision
    rows = sync.texts(space, store=store)
    index = LexicalIndex.build([iri for iri, _ in rows], [text for _, text in rows], revision=revision)
    if progress:
        progress(f"BM25 {space}", len(rows), len(rows))
    if path is not None:
        index.save(path)
    return index


def _at(index: LexicalIndex, revision: int) -> LexicalIndex:
    return replace(index, revision=revision)


def _bm25(*, k1: float, b: float) -> Any:
    import bm25s

    scores = bm25s.BM25(method=_METHOD, k1=k1, b=b, backend="numpy")
    scores.nonoccurrence_array = None
    return scores


def _nothing(texts: int) -> dict[str, Any]:
    empty: dict[str, Any] = {"data": np.zeros(0, np.float32), "indices": np.zeros(0, np.int32)}
    return empty | {"indptr": np.zeros(1, np.int64), "num_docs": texts}


def _packed(lines: Sequence[str]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Give lines (none holds a line end) as bytes, shape (n,), each closed by a line end."""
    return np.frombuffer("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _unpacked(data: np.ndarray[Any, np.dtype[np.uint8]]) -> list[str]:
    return data.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1]


def _members(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        if file.read(_CHECKSUM) != hashlib.file_digest(file, "sha256").digest():
            raise ValueError(f"{path} is damaged")
        with zipfile.ZipFile(file) as archive:
            return {name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()}


def _array(data: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)


def _swap_in(path: Path, members: dict[str, Any]) -> None:
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
