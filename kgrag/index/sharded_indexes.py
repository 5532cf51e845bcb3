"""Several stores searched as one: rankings merged exactly, and rows of stored queries joined.

Vectors: the k nearest of each shard, merged, are the k nearest of all. BM25: the parts of all word indexes make one
index, which counts texts, terms and lengths over all of them before it scores any (``kgrag.index.bm25``). Cosines and
scores of a text are computed alike wherever it is, and ties go by IRI, so that a ranking has the same bits as that of
one store with all documents.

Rows: a stored query runs in every shard, and its header says how rows are joined (``# shards``): *union*, each row
once; *sum*, of its one row of counts. A query that does not say it is not asked of shards.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Any, Protocol, TypeVar

import numpy as np
import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, ServiceError, StorageFailed
from kgrag.index.array_files import Iris
from kgrag.index.word_segments import Part
from kgrag.late_patterns import late_re
from kgrag.model import Table, Term, plain
from kgrag.ports import TripleStore, VectorIndex, Vectors, VectorSpaces
from kgrag.vocab import XSD, Names

__all__ = ["Shard", "ShardLost", "ShardedStore", "ShardedVectors", "Words"]

_JOINING = late_re(r"^shards +(union|sum)$", re.MULTILINE)

_MAX_KEYS_NAMED = 3

_Part = TypeVar("_Part")
_Made = TypeVar("_Made")
_Words = TypeVar("_Words", bound="Words")


class ShardLost(Exception):
    """A shard does not answer: its disk, server or service fails. ``place`` names it."""

    def __init__(self, place: str, error: Exception) -> None:
        super().__init__(f"{place}: {error}")
        self.place = place


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """One of several stores: where it is, for a person, and its indexes as methods have them."""

    place: str
    store: TripleStore
    spaces: VectorSpaces
    lexical: Path | None

    def read(self, reading: Callable[[], _Made]) -> _Made:
        """Return what is read of the shard. Raises ShardLost: it does not answer."""
        try:
            return reading()
        except (StorageFailed, ServiceError) as error:
            raise ShardLost(self.place, error) from error


class ShardedStore:
    """Stores that are read as one, at the revisions that they have when it is made; nothing is written through it."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self.shards = tuple(shards)
        self.revision = sum(shard.store.revision for shard in shards)
        self._made: dict[str, Any] = {}
        self._lock = RLock()

    @property
    def names(self) -> Names:
        """The IRIs, which are those of every shard."""
        return self.shards[0].store.names

    def __len__(self) -> int:
        """Count the quads."""
        return sum(shard.read(lambda shard=shard: len(shard.store)) for shard in self.shards)  # type: ignore[misc]

    def select(self, query: str) -> Table:
        """Run a stored query in every shard and join its rows.

        Raises:
            InputError: the query does not say how its rows are joined.
            ShardLost: a shard does not answer.
        """
        name = query.name if isinstance(query, queries.OrderedText) else ""
        declared = _JOINING.search(queries.describe(name).header) if name else None
        if declared is None:
            raise InputError(
                f"shards are not asked {name or 'this query'}, as its rows cannot be joined. Ask each alone."
            )
        tables = [shard.read(lambda shard=shard: shard.store.select(query)) for shard in self.shards]  # type: ignore[misc]
        rows = [row for table in tables for row in table.rows]
        return Table(tables[0].variables, _summed(rows) if declared[1] == "sum" else list(dict.fromkeys(rows)))

    def follow(self) -> int:
        """Return the revision: whoever asks shards looks for changes before it makes this."""
        return self.revision

    def joined(self, kind: str, read: Callable[[Shard], _Part], join: Callable[[list[_Part]], _Made]) -> _Made:
        """Return what is made of parts that are read of every shard, once for each kind. Raises ShardLost."""
        with self._lock:
            if kind not in self._made:
                self._made[kind] = join([shard.read(lambda shard=shard: read(shard)) for shard in self.shards])  # type: ignore[misc]
            made: _Made = self._made[kind]
            return made

    def words(self, space: str, read: Callable[[Shard], _Words]) -> _Words:
        """Return the word indexes of a space as one. Raises ShardLost, and InputError: a text is in two shards."""
        return self.joined(f"words {space}", read, _joined_words)

    def vectors(self, space: str, read: Callable[[Shard], VectorIndex]) -> VectorIndex:
        """Return the vectors of a space as one index. Raises ShardLost."""
        return self.joined(f"vectors {space}", read, ShardedVectors)


class Words(Protocol):
    """A word index of parts, which share no key: what ``kgrag.index.bm25`` makes."""

    @property
    def revision(self) -> int:
        """The store revision that it reflects."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its parts."""


def _joined_words(several: Sequence[_Words]) -> _Words:
    """Return one index of all texts, with the statistics of all. Raises InputError: two have a text of the same key."""
    parts = tuple(part for words in several for part in words.parts)
    every = Iris.joined([part.iris for part in parts])
    keys, counts = np.unique(every.rest, return_counts=True)
    if len(keys) < len(every):
        twice = [f"<{every.beginning}{key.decode()}>" for key in keys[counts > 1][:_MAX_KEYS_NAMED].tolist()]
        raise InputError(
            f"{int((counts > 1).sum()):,} texts are in two shards, as {', '.join(twice)}. A document belongs in one: "
            "forget it in the others."
        )
    revision = sum(words.revision for words in several)
    own: Any = {"revision": revision, "parts": parts, "_files": {}, "_norms_of_parts": {}}
    joined: _Words = replace(several[0], **own)  # type: ignore[type-var]
    return joined


def _summed(rows: Sequence[tuple[Term | None, ...]]) -> list[tuple[Term | None, ...]]:
    """Return one row of the sums of whole numbers."""
    sums = [sum(int(plain(term)) for term in column) for column in zip(*rows, strict=True)]
    return [tuple(ox.Literal(str(number), datatype=XSD.integer) for number in sums)]


class ShardedVectors:
    """The same vector space of several stores, searched as one; it is only read."""

    def __init__(self, parts: Sequence[VectorIndex]) -> None:
        self._parts = tuple(parts)
        self.revision = sum(part.revision for part in parts)

    def __len__(self) -> int:
        """Count the keys."""
        return sum(map(len, self._parts))

    def __contains__(self, iri: object) -> bool:
        """Return whether a key is there."""
        return any(iri in part for part in self._parts)

    def lacking(self, iris: Sequence[str]) -> list[str]:
        """Return those keys that are not there, in their order."""
        left = list(iris)
        for part in self._parts:
            left = part.lacking(left)
        return left

    def keys(self) -> list[str]:
        """Return every key."""
        return list(itertools.chain.from_iterable(part.keys() for part in self._parts))

    def search(self, vector: Vectors, k: int, within: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Return at most k (IRI, cosine) pairs, best first, ties by IRI; among ``within`` only, unless it is None."""
        found = [pair for part in self._parts for pair in part.search(vector, k, within)]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]

    def vectors(self, iris: Sequence[str]) -> Vectors:
        """Return the vectors of known keys, shape (len(iris), d). Raises KeyError."""
        rows: dict[str, Vectors] = {}
        for part in self._parts:
            own = [iri for iri in iris if iri in part]
            rows |= zip(own, part.vectors(own), strict=True)
        return np.array([rows[iri] for iri in iris], np.float32)

    def upsert(self, iris: Sequence[str], vectors: Vectors) -> None:
        """Refuse: vectors are written in the shard of their text. Raises InputError."""
        raise _written(iris, vectors)

    def delete(self, iris: Collection[str]) -> None:
        """Refuse, as ``upsert``."""
        raise _written(iris)

    def save(self, revision: int) -> None:
        """Refuse, as ``upsert``."""
        raise _written(revision)


def _written(*_: object) -> InputError:
    return InputError("shards together are only read. Open the shard that is to be written.")
