"""A list of places for each of many owners, in two arrays: adjacency without an object a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["PlaceLists", "Places", "distinct"]

Places = npt.NDArray[np.int32]
_Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class PlaceLists:
    """A list of places for each of n owners: list i is ``places[bounds[i]:bounds[i + 1]]``."""

    bounds: _Integers
    places: Places

    @classmethod
    def grouped(cls, owners: npt.NDArray[Any], places: npt.NDArray[Any], count: int) -> PlaceLists:
        """Return the places of each of ``count`` owners, ascending; both arrays have shape (m,)."""
        return cls(_bounds(owners, count), places[np.lexsort((places, owners))].astype(np.int32))

    @classmethod
    def of_pairs(cls, pairs: _Integers, count: int) -> PlaceLists:
        """Return the places of each of ``count`` owners, of pairs of shape (m, 2); one that comes twice counts once.

        >>> PlaceLists.of_pairs(np.array([[1, 7], [0, 5], [1, 7], [1, 2]]), 2).of(1).tolist()
        [2, 7]
        """
        distinct = np.unique(pairs, axis=0) if len(pairs) else pairs
        return cls(_bounds(distinct[:, 0], count), distinct[:, 1].astype(np.int32))

    @classmethod
    def restored(cls, members: Mapping[str, Any], name: str) -> PlaceLists:
        """Return the lists of the two arrays that ``members`` returned. Raises KeyError."""
        return cls(members[f"{name}_bounds"], members[f"{name}_places"])

    def members(self, name: str) -> dict[str, Any]:
        """Return two arrays for a file."""
        return {f"{name}_bounds": self.bounds, f"{name}_places": self.places}

    def inverted(self, count: int) -> PlaceLists:
        """Return the owners of each of ``count`` places, ascending."""
        owners = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.bounds))
        return PlaceLists(_bounds(self.places, count), owners[np.argsort(self.places, kind="stable")])

    def __len__(self) -> int:
        """Count the owners."""
        return len(self.bounds) - 1

    def of(self, owner: int) -> Places:
        """Return the places of one owner."""
        return self.places[self.bounds[owner] : self.bounds[owner + 1]]

    def of_all(self, owners: Sequence[int] | npt.NDArray[Any]) -> Places:
        """Return the places of several owners, one list after the other."""
        return self.places[self._within(owners)[1]]

    def pairs(self, owners: Sequence[int] | npt.NDArray[Any]) -> tuple[_Integers, Places]:
        """Return every place of several owners after the number of its owner in ``owners``, each of shape (m,)."""
        rows, within = self._within(owners)
        return rows, self.places[within]

    def lengths(self, owners: npt.NDArray[Any]) -> _Integers:
        """Return how many places each of some owners has."""
        lengths: _Integers = self.bounds[owners + 1] - self.bounds[owners]
        return lengths

    def length(self, owner: int) -> int:
        """Return how many places an owner has."""
        return int(self.bounds[owner + 1] - self.bounds[owner])

    def _within(self, owners: Sequence[int] | npt.NDArray[Any]) -> tuple[_Integers, _Integers]:
        several = np.asarray(owners, dtype=np.int64)
        first, lengths = self.bounds[several], self.lengths(several)
        rows = np.repeat(np.arange(len(several)), lengths)
        return rows, np.arange(len(rows)) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)


def _bounds(owners: npt.NDArray[Any], count: int) -> _Integers:
    bounds = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=count), out=bounds[1:])
    return bounds


def distinct(places: npt.NDArray[Any]) -> _Integers:
    """Return places ascending and each once; as ``np.unique``, which takes longer over a few.

    >>> distinct(np.array([7, 2, 7])).tolist()
    [2, 7]
    """
    ascending = np.sort(places).astype(np.int64)
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(ascending) else ascending
