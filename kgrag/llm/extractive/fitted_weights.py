"""The fitted weights of the reader without a model, as ``benchmarks/reader_values.py`` writes them.

``fitted_weights.json`` has a weight for each named feature, so that a feature that is added, dropped or moved in the
code is noticed here and not weighed with another's weight.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

__all__ = ["FILE", "fitted"]

FILE = Path(__file__).with_name("fitted_weights.json")


@cache
def _all() -> dict[str, dict[str, float]]:
    read: dict[str, dict[str, float]] = json.loads(FILE.read_text(encoding="utf-8"))
    return read


@cache
def fitted(name: str, features: tuple[str, ...]) -> tuple[float, ...]:
    """Return the weights of features, in their order.

    Args:
        name: of what is weighed: "linked", "sentence", "span", "spans", "verdict yes" and so on.
        features: their names.

    Raises:
        KeyError: a feature was not there when the weights were fitted.
    """
    weights = _all()[name]
    return tuple(weights[feature] for feature in features)
