"""Metrics as pure functions over rankings, sets and strings; every one is a share from 0 to 1.

Rankings are sequences of distinct identifiers, best first. Own code, not a library: the kept ones (ranx, ir-measures)
bring numba, a C build or a data frame for what is a few lines each.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import product
from typing import NamedTuple

__all__ = [
    "SetScores",
    "all_found",
    "contains_answer",
    "exact_match",
    "execution_accuracy",
    "hit",
    "ndcg",
    "normalised",
    "recall",
    "reciprocal_rank",
    "set_scores",
    "token_f1",
]


class SetScores(NamedTuple):
    """Precision, recall and their harmonic mean, each 0 to 1."""

    precision: float
    recall: float
    f1: float


def hit(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return 1.0 when one of the first k is relevant, else 0.0."""
    return float(any(item in relevant for item in ranking[:k]))


def recall(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return the share of the relevant that is among the first k.

    >>> recall(["a", "b", "c"], {"b", "x"}, 2)
    0.5

    Raises:
        ValueError: nothing is relevant, so that the share means nothing.
    """
    return len(set(ranking[:k]) & set(relevant)) / _count(relevant)


def all_found(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return 1.0 when every relevant one is among the first k, else 0.0."""
    return float(set(relevant) <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[Hashable], relevant: Collection[Hashable]) -> float:
    """Return 1 / rank of the first relevant one, rank counting from 1; 0.0 without one. Its mean is MRR."""
    return next((1.0 / rank for rank, item in enumerate(ranking, start=1) if item in relevant), 0.0)


def ndcg(ranking: Sequence[Hashable], relevant: Collection[Hashable], k: int) -> float:
    """Return the discounted gain of the first k over that of the best ranking, relevance being yes or no.

    Raises:
        ValueError: nothing is relevant.
    """
    gain = sum(_discount(rank) for rank, item in enumerate(ranking[:k]) if item in relevant)
    return gain / sum(_discount(rank) for rank in range(min(k, _count(relevant))))


def _discount(rank: int) -> float:
    return 1.0 / math.log2(rank + 2)


def _count(relevant: Collection[Hashable]) -> int:
    if not relevant:
        raise ValueError("nothing is relevant, so there is no share of it. Leave the question out of this metric.")
    return len(set(relevant))


def normalised(text: str) -> str:
    """Return an answer as SQuAD compares it: lower case, no punctuation, no articles, single spaces.

    >>> normalised("The  Flying-Fox!")
    'flyingfox'
    """
    bare = "".join(character for character in text.lower() if character not in _PUNCTUATION)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


_PUNCTUATION = frozenset(string.punctuation)


def exact_match(answer: str, expected: Iterable[str]) -> float:
    """Return 1.0 when the answer equals one of the expected ones after normalisation, else 0.0."""
    return float(normalised(answer) in {normalised(right) for right in expected})


def token_f1(answer: str, expected: Iterable[str]) -> float:
    """Return the best F1 of shared words (as a multiset, after normalisation) over the expected answers.

    >>> round(token_f1("the city of Stanley", ["Stanley"]), 2)
    0.5
    """
    words, best = normalised(answer).split(), 0.0
    for right in expected:
        right_words = normalised(right).split()
        if not words or not right_words:
            f1 = float(words == right_words)
        else:
            f1 = 2 * (Counter(words) & Counter(right_words)).total() / (len(words) + len(right_words))
        best = max(best, f1)
    return best


def contains_answer(context: str, expected: Iterable[str]) -> float:
    """Return 1.0 when the context contains one of the expected answers as whole words after normalisation."""
    words = f" {normalised(context)} "
    return float(any(wanted and f" {wanted} " in words for wanted in map(normalised, expected)))


def set_scores(found: Collection[Hashable], expected: Collection[Hashable]) -> SetScores:
    """Compare two sets; two empty sets agree, an empty one and another share nothing.

    >>> set_scores({"a", "b"}, {"b"})
    SetScores(precision=0.5, recall=1.0, f1=0.6666666666666666)
    """
    if not found and not expected:
        return SetScores(1.0, 1.0, 1.0)
    shared = len(set(found) & set(expected))
    precision = shared / len(set(found)) if found else 0.0
    share = shared / len(set(expected)) if expected else 0.0
    return SetScores(precision, share, 2 * precision * share / (precision + share) if shared else 0.0)


def execution_accuracy(rows: Sequence[Sequence[object]], expected: Sequence[Sequence[object]]) -> float:
    """Return 1.0 when two query results are the same multiset of rows; order and column names don't count, else 0.0.

    Columns may come in another order, but the same one in every row. Numbers are equal when they agree to nine digits.

    >>> execution_accuracy([("a", 1), ("b", 2)], [("2.0", "b"), ("1", "a")])
    1.0
    """
    ours, theirs = [tuple(map(_cell, row)) for row in rows], [tuple(map(_cell, row)) for row in expected]
    if len(ours) != len(theirs) or {len(row) for row in ours} != {len(row) for row in theirs}:
        return 0.0
    if not ours or len({len(row) for row in ours}) > 1:
        return float(Counter(ours) == Counter(theirs))
    wanted = Counter(theirs)
    orders = _column_orders(ours, theirs)
    return float(any(Counter(tuple(row[column] for column in order) for row in ours) == wanted for order in orders))


def _column_orders(ours: list[tuple[str, ...]], theirs: list[tuple[str, ...]]) -> Iterable[tuple[int, ...]]:
    """Yield, for each of their columns, which of ours may be the same one: the two contain the same values."""
    values_by_column = [Counter(column) for column in zip(*ours, strict=True)]
    places = [
        [number for number, values in enumerate(values_by_column) if values == Counter(column)]
        for column in zip(*theirs, strict=True)
    ]
    return (order for order in product(*places) if len(set(order)) == len(order))


def _cell(value: object) -> str:
    text = "" if value is None else str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return f"{number:.9g}" if math.isfinite(number) else text
