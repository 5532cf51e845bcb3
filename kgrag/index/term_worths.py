"""What the terms of a question are worth in texts: BM25's saturation, and the sum that a text has to reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Scores", "WeightedTerm", "kept_from", "saturated"]

_SCORE_ROUNDING = 1e-5  # more than the order of a sum changes it

Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A term of a question in one segment: its number there, and its weight, as often as the question has it."""

    number: int
    weight: np.float32


def saturated(weight: np.float32, counts: npt.NDArray[Any], norms: Scores) -> Scores:
    """Return what a term is worth where it comes so often, in texts with these norms; shape of ``counts``."""
    frequencies = counts.astype(np.float32)
    return weight * frequencies / (frequencies + norms)


def kept_from(sums: Scores, k: int) -> float:
    """Return a little less than the k-th largest of at least k sums."""
    return float(np.partition(sums, -k)[-k]) * (1 - _SCORE_ROUNDING)
