"""How near the keys or the values of a hypergraph are to a question, by their places.

A vector index knows its keys by IRI. Of a few thousand, looking these up takes longer than comparing all, so the
vectors are kept in one array in the order of places, for as long as the hypergraph is. Where there are many, or where
they are elsewhere, the index is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgrag.index.array_files import Iris
from kgrag.index.place_lists import Places
from kgrag.ports import DescribesItself, VectorIndex, Vectors

__all__ = ["Nearness", "SomeTerms", "TermVectors"]

_MAX_TERMS_KEPT = 50_000  # 77 MB of 384 dimensions: what is searched exactly in an index, too
_ROUNDING = 1e-5  # more than float32 rounding moves a cosine

_Integers = npt.NDArray[np.int64]
_Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SomeTerms:
    """Some of the terms, by ascending place, and their IRIs."""

    places: _Integers
    iris: frozenset[str]


class Nearness(Protocol):
    """The cosines of terms with one vector."""

    def first(self, k: int, among: SomeTerms | None) -> tuple[_Integers, _Scores]:
        """Return the k nearest terms that have a vector, by place, with their cosines; best first, ties by IRI.

        ``among`` are the only ones that count; None for all.
        """

    def at(self, places: Places | _Integers) -> _Scores:
        """Return the cosines of some terms, each of which has a vector, shape of ``places``."""


@dataclass(frozen=True, slots=True, eq=False)
class TermVectors:
    """The vectors of terms: ``columns`` by place, float32 of shape (d, terms), zeros where there is none.

    In this order of memory all are compared with a question in half the time. Where ``columns`` is None the index is
    asked; ``known`` are the places that have a vector, None for all.
    """

    terms: Iris
    index: VectorIndex
    columns: Vectors | None
    known: _Integers | None = None

    @classmethod
    def of(cls, terms: Iris, index: VectorIndex) -> TermVectors:
        """Read the vectors of terms, which are in ascending order, from an index."""
        if len(terms) > _MAX_TERMS_KEPT or isinstance(index, DescribesItself):
            return cls(terms, index, None)
        iris = terms.at(range(len(terms)))
        lacking = set(index.lacking(iris))
        rows = index.vectors([iri for iri in iris if iri not in lacking])
        if not lacking:
            return cls(terms, index, np.ascontiguousarray(rows.T))
        known = np.array([place for place, iri in enumerate(iris) if iri not in lacking], dtype=np.int64)
        columns = np.zeros((rows.shape[1], len(iris)), np.float32)
        columns[:, known] = rows.T
        return cls(terms, index, columns, known)

    def nearness(self, vector: Vectors) -> Nearness:
        """Return how near the terms are to a unit vector of shape (d,)."""
        if self.columns is None:
            return _InIndex(self.terms, self.index, vector)
        return _InColumns(self.columns, vector, vector @ self.columns, self.known)


@dataclass(frozen=True, slots=True, eq=False)
class _InColumns:
    columns: Vectors
    vector: Vectors
    cosines: Vectors
    known: _Integers | None

    def first(self, k: int, among: SomeTerms | None) -> tuple[_Integers, _Scores]:
        counting = self.known if among is None else among.places
        if among is not None and self.known is not None:
            counting = np.intersect1d(among.places, self.known)
        cosines = self.cosines if counting is None else self.cosines[counting]
        near = np.arange(len(cosines))
        if len(cosines) > k:
            near = np.flatnonzero(cosines >= np.partition(cosines, len(cosines) - k)[len(cosines) - k] - _ROUNDING)
        places = near if counting is None else counting[near]
        # Added up in the same order for each, so that those with the same vector come out the same.
        exact = np.multiply(self.columns.take(places, axis=1), self.vector[:, None], dtype=np.float64).sum(axis=0)
        best = np.lexsort((places, -exact))[:k]
        return places[best], exact[best]

    def at(self, places: Places | _Integers) -> _Scores:
        return self.cosines[places].astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _InIndex:
    terms: Iris
    index: VectorIndex
    vector: Vectors

    def first(self, k: int, among: SomeTerms | None) -> tuple[_Integers, _Scores]:
        found = self.index.search(self.vector, k, None if among is None else among.iris)
        places = self.terms.places([iri for iri, _ in found])
        cosines = np.array([cosine for _, cosine in found], dtype=np.float64)
        return places[places >= 0], cosines[places >= 0]

    def at(self, places: Places | _Integers) -> _Scores:
        # Many hypernodes share a term: each distinct vector is read once.
        distinct, which = np.unique(places, return_inverse=True)
        if not len(distinct):
            return np.zeros(0)
        cosines: _Scores = (self.index.vectors(self.terms.at(distinct)) @ self.vector).astype(np.float64)
        return cosines[which]
