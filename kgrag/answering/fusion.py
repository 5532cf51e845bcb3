"""Joins ranked lists of (IRI, score) into one, by rank or by normalised score. Pure functions, ties by IRI.

Reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009, with their k = 60. Score fusion: each list scaled to
0..1 by its smallest and largest score, then a weighted sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Ranking", "ranked", "reciprocal_rank", "score_fusion"]

Ranking = Sequence[tuple[str, float]]


def ranked(scores: Mapping[str, float], k: int | None = None) -> list[tuple[str, float]]:
    """Return (IRI, score) pairs best first, ties by IRI; only the first k when k is given.

    >>> ranked({"b": 1.0, "a": 1.0, "c": 2.0}, 2)
    [('c', 2.0), ('a', 1.0)]
    """
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


def reciprocal_rank(
    rankings: Iterable[Ranking], *, weights: Sequence[float] | None = None, k: int = 60
) -> list[tuple[str, float]]:
    """Join rankings by the sum of ``weight / (k + rank)``, rank counting from 1; what a list lacks adds nothing.

    Args:
        rankings: each best first; only the order is read.
        weights: one per ranking, at least 0; default 1 each.
        k: the larger, the less the first ranks count above the others; at least 0.

    Raises:
        ValueError: there are not as many weights as rankings.

    >>> [iri for iri, _ in reciprocal_rank([[("a", 9.0), ("b", 8.0)], [("b", 0.2), ("c", 0.1)]])]
    ['b', 'a', 'c']
    """
    scores: dict[str, float] = defaultdict(float)
    for ranking, weight in _weighted(rankings, weights):
        for rank, (iri, _) in enumerate(ranking, start=1):
            scores[iri] += weight / (k + rank)
    return ranked(scores)


def score_fusion(rankings: Iterable[Ranking], *, weights: Sequence[float] | None = None) -> list[tuple[str, float]]:
    """Join rankings by the weighted sum of their scores, each list scaled to 0..1; what a list lacks adds 0.

    A list whose scores are all the same counts 1 each.

    Args:
        rankings: (IRI, score) pairs, larger is better.
        weights: one per ranking, at least 0; default 1 each.

    Raises:
        ValueError: there are not as many weights as rankings.

    >>> score_fusion([[("a", 4.0), ("b", 2.0)], [("b", 0.5)]])
    [('a', 1.0), ('b', 1.0)]
    """
    scores: dict[str, float] = defaultdict(float)
    for ranking, weight in _weighted(rankings, weights):
        for iri, share in _scaled(ranking):
            scores[iri] += weight * share
    return ranked(scores)


def _weighted(rankings: Iterable[Ranking], weights: Sequence[float] | None) -> list[tuple[Ranking, float]]:
    lists = list(rankings)
    return list(zip(lists, [1.0] * len(lists) if weights is None else weights, strict=True))


def _scaled(ranking: Ranking) -> list[tuple[str, float]]:
    if not ranking:
        return []
    values = [score for _, score in ranking]
    low, width = min(values), max(values) - min(values)
    return [(iri, (score - low) / width if width > 0 else 1.0) for iri, score in ranking]
