"""A summary that copies: the sentences nearest to the middle of a cluster, none twice; fulfils ``sire_rag/summary``.

Each sentence is a vector of its terms, weighed by how rare they are among the sentences. The one nearest to the mean of
all is taken, then the one that is nearest to what of the mean is not yet said (maximal marginal relevance).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from kgrag.adapters.extractive.wording import terms
from kgrag.stages.sentences import split

__all__ = ["reply"]

_WORDS = 120
_MOST = 400
_SAME = 0.6

_Vector = Mapping[str, float]


def reply(variables: Mapping[str, Any]) -> str:
    """Give at most 120 words of the texts, in their order; the first sentence in any case.

    Args:
        variables: ``texts``, a list.

    >>> reply({"texts": ["Barley is a cereal.", "Barley is a cereal.", "Oats are a cereal too."]})
    'Barley is a cereal. Oats are a cereal too.'
    """
    said = [" ".join(text[start:end].split()) for text in map(str, variables["texts"]) for start, end in split(text)]
    sentences = list(dict.fromkeys(said))
    vectors = _weighed([Counter(terms(sentence)) for sentence in sentences])
    chosen = _chosen(sentences, vectors)
    return " ".join(sentences[number] for number in sorted(chosen))


def _weighed(counts: Sequence[Counter[str]]) -> list[_Vector]:
    """Give unit vectors of terms."""
    frequency = Counter(term for count in counts for term in count)
    vectors: list[_Vector] = []
    for count in counts:
        raw = {term: times * math.log(1 + len(counts) / frequency[term]) for term, times in count.items()}
        length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        vectors.append({term: value / length for term, value in raw.items()})
    return vectors


def _chosen(sentences: Sequence[str], vectors: Sequence[_Vector]) -> list[int]:
    middle: dict[str, float] = defaultdict(float)
    for vector in vectors:
        for term, value in vector.items():
            middle[term] += value
    ranked = sorted(range(len(vectors)), key=lambda number: (-_product(vectors[number], middle), number))
    chosen: list[int] = []
    left = _WORDS
    for number in ranked[:_MOST]:
        length = len(sentences[number].split())
        if chosen and (length > left or any(_product(vectors[number], vectors[other]) > _SAME for other in chosen)):
            continue
        chosen.append(number)
        left -= length
        if left <= 0:
            break
    return chosen


def _product(first: _Vector, second: _Vector) -> float:
    return sum(value * second.get(term, 0.0) for term, value in first.items())
