"""Means with bootstrap intervals, so that a table shows what its differences are worth.

Percentile bootstrap over questions (Efron 1979), seeded: the same values give the same interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Estimate", "bootstrap", "paired_difference", "percentile"]

_SAMPLES = 2000
_SEED = 20240607
_MAX_VALUES_IN_MEMORY = 4_000_000  # of all samples at once, 32 MB


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over ``n`` questions and its 95 % interval ``low`` to ``high``."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0: a difference then does not depend on which questions were asked."""
        return self.low > 0 or self.high < 0


def bootstrap(values: Sequence[float], *, draws: int = _SAMPLES, level: float = 0.95, seed: int = _SEED) -> Estimate:
    """Estimate a mean by drawing the questions anew, with replacement.

    Args:
        values: one per question, shape (n,).
        draws: how many samples of n are drawn, at least 1.
        level: how much of the draws the interval contains, 0 to 1.
        seed: start of the generator.

    Raises:
        ValueError: there are no values.

    >>> bootstrap([1.0, 1.0])
    Estimate(mean=1.0, low=1.0, high=1.0, n=2)
    """
    data = np.asarray(values, dtype=np.float64)
    if not len(data):
        raise ValueError("no values, so there is no mean. Leave the metric out.")
    random = np.random.default_rng(seed)
    block = max(1, _MAX_VALUES_IN_MEMORY // len(data))
    means: list[npt.NDArray[np.float64]] = []
    for start in range(0, draws, block):
        chosen = random.integers(len(data), size=(min(block, draws - start), len(data)))
        means.append(data[chosen].mean(axis=1))
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(data.mean()), float(low), float(high), len(data))


def paired_difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Estimate | None:
    """Estimate the mean of ours minus theirs over the questions that both have a value for; None without one.

    >>> paired_difference({"q1": 1.0, "q2": 0.5}, {"q1": 0.0, "q2": -0.5}).clear
    True
    """
    shared = sorted(ours.keys() & theirs.keys())
    return bootstrap([ours[name] - theirs[name] for name in shared]) if shared else None


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which ``share`` (0 to 1) of the values lie, interpolated; 0.0 for none.

    >>> percentile([1.0, 2.0, 3.0], 0.5)
    2.0
    """
    return float(np.quantile(np.asarray(values, dtype=np.float64), share)) if len(values) else 0.0
