"""Unit vectors by slot, each under an IRI, with exact cosines.

A slot is a row number. Rows never change: replacing a vector takes a new slot and marks the old one dead, so that a
neighbour graph over slots stays true. Compaction is a new table of the live rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from kgrag.errors import UnknownName
from kgrag.ports import Vectors

__all__ = ["SlotTable", "Slots", "check_space_name", "rows_for", "unit_rows"]

Slots = npt.NDArray[np.int64]

_ROWS_PER_PIECE = 8192  # rows copied at once when a table is rewritten
_ROWS_MULTIPLIED_PER_ROW_COPIED = 4  # in the same time
_COSINE_ROUNDING = 1e-5  # more than float32 rounding moves a cosine, so that true ties survive the first pass


def unit_rows(vectors: Vectors, dimension: int) -> Vectors:
    """Return float32 rows of length 1; rows already within 0.1 % of it stay as they are, zero rows stay zero.

    Raises:
        ValueError: not of shape (n, dimension), or not finite.
    """
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise ValueError(f"vectors have shape {rows.shape}; expected (n, {dimension}).")
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not np.isfinite(norms).all():
        raise ValueError("a vector holds NaN or infinity; an embedder must return finite numbers.")
    off = (np.abs(norms - 1) > 1e-3) & (norms > 0)
    if off.any():
        rows = rows.copy()
        rows[off] = rows[off] / norms[off, None]
    return rows


def rows_for(iris: Sequence[str], vectors: Vectors, dimension: int) -> Vectors:
    """Return the vectors of keys as ``unit_rows`` does.

    Raises:
        ValueError: another shape, another number of keys, or a number that is not finite.
    """
    rows = unit_rows(vectors, dimension)
    if len(rows) != len(iris):
        raise ValueError(f"{len(rows)} vectors for {len(iris)} keys; expected one each.")
    return rows


def check_space_name(name: str) -> None:
    """Raise UnknownName unless a vector space may be called so."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,63}", name):
        raise UnknownName(f"{name!r} is no name of a vector space. Use a-z, 0-9, '-' and '_', a letter first.")


class SlotTable:
    """Rows of shape (n, dimension), float32: saved blocks (perhaps mapped from files) and a tail that grows."""

    def __init__(
        self, dimension: int, *, blocks: Sequence[Vectors] = (), keys: Sequence[str] = (), dead: Collection[int] = ()
    ) -> None:
        self.dimension = dimension
        self._blocks = list(blocks)
        self._keys = list(keys)
        self.saved = sum(len(block) for block in self._blocks)
        if self.saved != len(self._keys):
            raise ValueError(f"{self.saved} rows and {len(self._keys)} keys")
        self._tail: Vectors = np.empty((0, dimension), np.float32)
        self._alive = np.ones(max(16, len(self._keys)), dtype=bool)
        self._alive[list(dead)] = False
        self._slots = {key: slot for slot, key in enumerate(self._keys) if self._alive[slot]}

    def __len__(self) -> int:
        """Count the slots, dead ones too."""
        return len(self._keys)

    def __contains__(self, iri: object) -> bool:
        """Return whether an IRI has a live slot."""
        return iri in self._slots

    @property
    def live(self) -> int:
        """Count the live slots."""
        return len(self._slots)

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Which slots are live, shape (len,)."""
        return self._alive[: len(self)]

    def dead(self) -> list[int]:
        """Return the slots that were replaced or deleted, ascending."""
        return [int(slot) for slot in np.flatnonzero(~self.alive)]

    def keys(self) -> list[str]:
        """Return the IRIs of the live slots, in slot order."""
        return list(self._slots)

    def keys_from(self, start: int, *, live_only: bool = False) -> list[str]:
        """Return the IRIs of the slots from ``start`` on, those of dead ones too unless ``live_only``."""
        return [key for slot, key in enumerate(self._keys[start:], start) if not live_only or self._alive[slot]]

    def slots_of(self, iris: Collection[str]) -> Slots:
        """Return the live slots of those IRIs that are known, ascending and each once."""
        found = {self._slots[iri] for iri in iris if iri in self._slots}
        return np.fromiter(sorted(found), dtype=np.int64, count=len(found))

    def rows(self, slots: Slots) -> Vectors:
        """Copy rows, shape (len(slots), dimension)."""
        out = np.empty((len(slots), self.dimension), np.float32)
        for start, block in self._placed():
            within = (slots >= start) & (slots < start + len(block))
            if within.any():
                out[within] = block[slots[within] - start]
        return out

    def rows_of(self, iris: Sequence[str]) -> Vectors:
        """Copy the rows of known IRIs, in their order. Raises KeyError."""
        return self.rows(np.array([self._slots[iri] for iri in iris], dtype=np.int64))

    def chunks(self, start: int, *, live_only: bool = False) -> Iterator[Vectors]:
        """Yield the rows from slot ``start`` on in contiguous pieces, dead ones too unless ``live_only``."""
        for first, block in self._placed():
            for at in range(max(0, start - first), len(block), _ROWS_PER_PIECE):
                piece = block[at : at + _ROWS_PER_PIECE]
                yield piece[self._alive[first + at : first + at + len(piece)]] if live_only else piece

    def put(self, iris: Sequence[str], rows: Vectors) -> None:
        """Add or replace unit rows; a row equal to the stored one changes nothing."""
        last = {iri: at for at, iri in enumerate(iris)}
        known = [iri for iri in last if iri in self._slots]
        stored = dict(zip(known, self.rows_of(known), strict=True))
        new = {iri: at for iri, at in last.items() if iri not in stored or not np.array_equal(stored[iri], rows[at])}
        for iri in new:
            self.drop(iri)
        start = len(self)
        self._grow(start + len(new))
        self._tail[start - self.saved : start - self.saved + len(new)] = rows[list(new.values())]
        self._keys.extend(new)
        self._alive[start : len(self)] = True
        self._slots.update(zip(new, range(start, len(self)), strict=True))

    def drop(self, iri: str) -> None:
        """Mark the slot of an IRI dead; an unknown one is ignored."""
        slot = self._slots.pop(iri, None)
        if slot is not None:
            self._alive[slot] = False

    def settle(self, kept: int, block: Vectors) -> None:
        """Replace the blocks and tail with the slots from ``kept`` on by ``block``, which contains the same slots."""
        whole: list[Vectors] = []
        while sum(map(len, whole)) < kept:
            whole.append(self._blocks[len(whole)])
        self._blocks = [*whole, block]
        self._tail = np.empty((0, self.dimension), np.float32)
        self.saved = len(self)

    def best(self, vector: Vectors, k: int, slots: Slots | None = None) -> list[tuple[str, float]]:
        """Rank live slots exactly, all or ascending ones, by cosine with a unit vector of shape (d,); ties by IRI."""
        near = self._leading(vector, k, slots)
        exact = np.multiply(self.rows(near), vector, dtype=np.float64).sum(axis=1)
        cosines = np.clip(exact, -1.0, 1.0).tolist()
        ranked = sorted((-cosine, self._keys[slot]) for slot, cosine in zip(near, cosines, strict=True))
        return [(key, -negative + 0.0) for negative, key in ranked[:k]]

    def _leading(self, vector: Vectors, k: int, slots: Slots | None) -> Slots:
        """Return the slots of the k best float32 cosines and of all that rounding might put among them."""
        chosen = np.flatnonzero(self.alive) if slots is None else slots
        scores = self._scores(vector, chosen)
        if len(chosen) <= k:
            return chosen
        bar = np.partition(scores, len(scores) - k)[len(scores) - k] - _COSINE_ROUNDING
        leading: Slots = chosen[scores >= bar]
        return leading

    def _scores(self, vector: Vectors, slots: Slots) -> Vectors:
        """Return the float32 cosines of ascending slots.

        Rows that lie close together, such as all those that no graph has yet, are multiplied where they lie: to copy
        one takes about four times as long as to multiply it.
        """
        scores = [np.empty(0, np.float32)]
        for start, block in self._placed():
            first, end = np.searchsorted(slots, (start, start + len(block)))
            if first == end:
                continue
            inside = slots[first:end] - start
            cost = np.arange(len(inside)) * _ROWS_MULTIPLIED_PER_ROW_COPIED + (inside[-1] - inside)
            dense = int(np.argmin(cost))  # rows before it are copied, all from it to the last one are multiplied
            scores += [
                block[inside[:dense]] @ vector,
                (block[inside[dense] : inside[-1] + 1] @ vector)[inside[dense:] - inside[dense]],
            ]
        return np.concatenate(scores)

    def _placed(self) -> Iterator[tuple[int, Vectors]]:
        start = 0
        for block in self._blocks:
            yield start, block
            start += len(block)
        if start < len(self):
            yield start, self._tail[: len(self) - start]

    def _grow(self, slots: int) -> None:
        wanted = slots - self.saved
        if wanted > len(self._tail):
            tail = np.empty((max(wanted, 2 * len(self._tail)), self.dimension), np.float32)
            tail[: len(self) - self.saved] = self._tail[: len(self) - self.saved]
            self._tail = tail
        if slots > len(self._alive):
            self._alive = np.concatenate([self._alive, np.zeros(max(slots, len(self._alive)), dtype=bool)])
