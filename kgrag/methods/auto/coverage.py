"""Coverage: evidence that has the words of the question which better evidence lacks comes earlier.

Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998) over the question's terms in place of the similarity of
texts: what counts for an entry is the share of the question that it adds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["covering"]

FloatArray = npt.NDArray[np.float64]

_KEPT = 0.3  # of the weight of a term that an earlier entry has


def covering(
    scores: FloatArray, weights: FloatArray, has: npt.NDArray[np.bool_], *, take: int, gain: float
) -> list[tuple[int, float]]:
    """Return at most ``take`` entries with what they were worth when they were chosen, one by one, the best first.

    Args:
        scores: of the entries, in descending order, shape (n,).
        weights: of the question's terms, at least 0, shape (t,).
        has: which entry has which term, shape (n, t).
        take: how many are wanted.
        gain: what covering the whole question is worth, where the best score is worth 1 more than the worst.

    >>> has = np.array([[True, False], [True, False], [False, True]])
    >>> [place for place, _ in covering(np.array([1.0, 0.9, 0.8]), np.ones(2), has, take=3, gain=2)]
    [0, 2, 1]
    """
    width = scores[0] - scores[-1] if len(scores) else 0.0
    scaled = (scores - scores[-1]) / width if width > 0 else np.zeros(len(scores))
    left = weights / (weights.sum() or 1.0)
    chosen: list[tuple[int, float]] = []
    waiting = np.ones(len(scores), np.bool_)
    while len(chosen) < min(take, len(scores)):
        worth = np.where(waiting, scaled + gain * (has @ left), -np.inf)
        best = int(np.argmax(worth))
        chosen.append((best, float(worth[best])))
        waiting[best] = False
        left = np.where(has[best], _KEPT * left, left)
    return chosen
