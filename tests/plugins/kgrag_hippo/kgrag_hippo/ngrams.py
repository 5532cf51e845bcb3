"""An embedder without weights: a text is the bag of its character n-grams, hashed into 512 dimensions."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from kgrag.ports import Vectors

__all__ = ["NgramEmbedder", "make"]

_DIMENSION = 512
_LENGTHS = (3, 4, 5)


class NgramEmbedder:
    """Texts that share character n-grams are near; misspelt names still find each other."""

    dimension = _DIMENSION
    identity = f"ngrams-{_DIMENSION}"

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """Return a float32 array of shape (len(texts), 512) with unit rows."""
        rows = np.zeros((len(texts), _DIMENSION), np.float32)
        for row, text in zip(rows, texts, strict=True):
            padded = f" {' '.join(text.casefold().split())} "
            for length in _LENGTHS:
                for start in range(max(len(padded) - length + 1, 1)):
                    number = zlib.crc32(padded[start : start + length].encode("utf-8", "surrogatepass"))
                    row[number % _DIMENSION] += 1 if number & 0x10000 else -1
            row[0] += not row.any()
            row /= np.linalg.norm(row)
        return rows


def make(settings: Any) -> NgramEmbedder:
    """Return the embedder, which needs no setting."""
    return NgramEmbedder()
