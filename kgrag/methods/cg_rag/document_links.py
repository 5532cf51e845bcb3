"""Which documents cite which, and by which markers: votes for documents, without training and without vectors.

A document is heard through those that cite it. Each citing document votes with its own best relevance to the question,
and the sum is divided by a power of the number of votes: 0 adds them up, 1 is their mean, between the two a document
that many cite is ahead of one that few cite, but not by their number alone.

A question that carries an author-year marker is answered by those who use the same marker: the document that it was
resolved to, else what the documents that hold it cite in common and others do not. Nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgrag.index.array_files import Iris

__all__ = ["DocumentLinks", "MarkerUse"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_ARRAYS = ("citing", "cited", "marker_offsets", "holders", "meant")
_UNRESOLVED = -1

MarkerUse = tuple[str, int, int]
"""A marker, the number of a document that holds it (or that it is the byline of), and of the one it means, else -1."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentLinks:
    """Citations between documents, and markers of documents, by document number.

    Document ``citing[p]`` cites ``cited[p]``, each pair once, shape (p,). Marker m is held by the documents
    ``holders[marker_offsets[m]:marker_offsets[m + 1]]``, and ``meant`` at the same places is the document that they
    mean by it, -1 where that is not known.
    """

    citing: npt.NDArray[np.int32]
    cited: npt.NDArray[np.int32]
    markers: Iris
    marker_offsets: IntArray
    holders: npt.NDArray[np.int32]
    meant: npt.NDArray[np.int32]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]] = (), uses: Iterable[MarkerUse] = ()) -> DocumentLinks:
        """Return the links of pairs (citing, cited) and uses of markers; what occurs twice counts once."""
        distinct = np.array(sorted(set(pairs)), dtype=np.int32).reshape(-1, 2)
        rows = sorted(set(uses))
        markers = sorted({marker for marker, _, _ in rows})
        number = {marker: place for place, marker in enumerate(markers)}
        offsets = np.zeros(len(markers) + 1, np.int64)
        numbers = np.array([number[marker] for marker, _, _ in rows], dtype=np.int64)
        np.cumsum(np.bincount(numbers, minlength=len(markers)), out=offsets[1:])
        held = np.array([(holder, meant) for _, holder, meant in rows], dtype=np.int32).reshape(-1, 2)
        return cls(distinct[:, 0], distinct[:, 1], Iris.of(markers), offsets, held[:, 0], held[:, 1])

    def members(self) -> dict[str, Any]:
        """Return the arrays for a file."""
        return {name: getattr(self, name) for name in _ARRAYS} | self.markers.members("markers")

    @classmethod
    def restored(cls, members: Mapping[str, Any]) -> DocumentLinks:
        """Return the links of the arrays that ``members`` returned. Raises KeyError, ValueError."""
        return cls(markers=Iris.restored(members, "markers"), **{name: members[name] for name in _ARRAYS})

    def degrees(self, count: int, hidden: IntArray) -> IntArray:
        """Count the documents that cite each of ``count`` documents, without the hidden ones, shape (count,)."""
        return np.bincount(self.cited[~np.isin(self.citing, hidden)], minlength=count)

    def votes(self, relevance: FloatArray, hidden: IntArray, *, exponent: float) -> FloatArray:
        """Return what those that cite each document say for it.

        Args:
            relevance: of every document to the question, at least 0, shape (documents,).
            hidden: numbers of documents that do not vote.
            exponent: of the number of votes by which their sum is divided, 0 to 1.
        """
        shown = ~np.isin(self.citing, hidden)
        citing, cited = self.citing[shown], self.cited[shown]
        heard = np.bincount(cited, weights=relevance[citing], minlength=len(relevance))
        counts = np.bincount(cited, minlength=len(relevance))
        return heard / np.maximum(counts, 1) ** exponent

    def marked(self, markers: Sequence[str], count: int, hidden: IntArray) -> FloatArray:
        """Return how surely the markers of a question mean each of ``count`` documents, 0 to 1, shape (count,).

        Of the holders that say which document they mean by it, the share that means this one. The others agree on a
        document by the harmonic mean of two shares, how many of those that cite it hold the marker, and how many of
        those that hold the marker cite it; times n / (n + 1) for n such holders, since one alone proves little.
        """
        sure = np.zeros(count)
        places = self.markers.places(list(markers))
        for place in places[places >= 0].tolist():
            rows = slice(self.marker_offsets[place], self.marker_offsets[place + 1])
            holders, meant = self.holders[rows], self.meant[rows]
            shown = ~np.isin(holders, hidden) & ~np.isin(meant, hidden)
            holders, meant = holders[shown], meant[shown]
            known = meant[meant != _UNRESOLVED]
            if len(known):
                sure = np.maximum(sure, np.bincount(known, minlength=count) / len(known))
            silent = np.setdiff1d(holders[meant == _UNRESOLVED], holders[meant != _UNRESOLVED])
            if len(silent):
                sure = np.maximum(sure, self._agreed(silent, count, hidden))
        return sure

    def _agreed(self, holders: npt.NDArray[np.int32], count: int, hidden: IntArray) -> FloatArray:
        shown = np.isin(self.citing, holders)
        both = np.bincount(self.cited[shown], minlength=count).astype(np.float64)
        precision = both / np.maximum(self.degrees(count, hidden), 1)
        recall = both / len(holders)
        agreement: FloatArray = 2 * precision * recall / np.maximum(precision + recall, 1e-9) * both / (both + 1)
        return agreement
