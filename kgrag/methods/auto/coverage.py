"""Coverage: evidence that has the words of the question which better evidence lacks comes earlier.

Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998) over the question's terms in place of the similarity of
texts: what counts for an entry is the share of the question that it adds. Names count most. Where a question is about
two things, evidence about the second is what the first lacks; an entry that adds only the word for what is asked of a
thing ("genre", "city") is mostly about another thing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgrag import languages
from kgrag.index.bm25 import LexicalIndex
from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.text.sentences import STOP_WORDS

__all__ = ["Terms", "covering", "terms_to_cover"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_WORD = late_regex(r"\w+")
_OF_NAME = late_regex(r"[\p{Lu}\p{N}]")
_OF_OTHERS = 0.1  # of the weight of a word in a name

_KEPT = 0.3  # of the weight of a term that an earlier entry has


def covering(
    scores: FloatArray, weights: FloatArray, has: BoolArray, *, take: int, gain: float
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


class Terms(NamedTuple):
    """What covering each term of a question is worth, and which of n texts has it.

    ``weights`` are at least 0, shape (t,); ``has`` has shape (n, t). A term of a name takes two places, which add up;
    ``are_names`` marks the second, shape (t,).
    """

    weights: FloatArray
    has: BoolArray
    are_names: BoolArray

    def named(self) -> FloatArray:
        """Return which share of the question each text covers by words of names, 0 to 1, shape (n,).

        A question without a name is covered by none, and one with a name nearly wholly by a text that has it.
        """
        weights = np.where(self.are_names, self.weights, 0.0)
        return self.has.astype(np.float64) @ (weights / (self.weights.sum() or 1.0))


def terms_to_cover(question: str, index: LexicalIndex, iris: Sequence[str]) -> Terms:
    """Return what covering each term of a question is worth, and which of some texts has it.

    A word that has a capital or a digit counts as one of a name, whole; any other a tenth. Words that ask ("which",
    "did") and other stop words count nothing.

    >>> index = LexicalIndex.build(["urn:a", "urn:b"], ["Auron's creator", "the genre"])
    >>> terms = terms_to_cover("What is the genre of Auron?", index, ["urn:a", "urn:b"])
    >>> (terms.has @ terms.weights).round(2).tolist(), terms.named().round(2).tolist()
    ([1.1, 0.11], [0.82, 0.0])
    """
    language = language_of(question)
    left_out = STOP_WORDS if language == ENGLISH else languages.STOP_WORDS[language]
    words = [word for word in _WORD.findall(question) if word.casefold() not in left_out]
    names = [word for word in words if _OF_NAME.search(word)]
    (every, has), (named, has_named) = (index.terms_in(" ".join(chosen), iris) for chosen in (words, names))
    weights = np.concatenate([_OF_OTHERS * every, (1 - _OF_OTHERS) * named])
    return Terms(weights, np.concatenate([has, has_named], axis=1), np.arange(len(weights)) >= len(every))
