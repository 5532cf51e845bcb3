"""The values that facts have for what a question asks for, each as the fact has it: whole, since a record ends it.

"Central Zone – seeding rate: 23 quintals per hectare" answers with all that stands behind the attribute, also where
that is a list or a sentence. What yes, no or a choice is said of is no value of a fact, and of a longer text a number
or date is cut out like from any sentence (``kgrag.answering.short_answers``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import Candidate
from kgrag.llm.extractive.question_types import asked_for

__all__ = ["fact_confidence", "fact_values"]

_MAX_VALUES = 3
_MAX_WORDS_OF_MEASURE = 6
_NO_VALUES = frozenset({"boolean", "choice", "version"})
_CUT_OUT = frozenset({"number", "date"})
_CONFIDENCE = (-1.46, 2.06, -1.83)
"""A constant, the weight of the share of the question that the facts of an answer cover, and that of several values: a
logistic regression on the first short answers to 97 development questions about soybean, of which .56 are the expected
words where all facts have one value, and .15 where they have several."""
_ISO_DATE = late_regex(r"\d{4}-\d\d-\d\d")


def fact_values(question: str, chosen: Sequence[Candidate]) -> list[dict[str, str | int]]:
    """Return the values asked for of the facts of an answer, with the places of their sentences; [] for none.

    Args:
        question: as it was asked.
        chosen: the sentences of the answer, in order.
    """
    kind = asked_for(question).kind
    if kind in _NO_VALUES:
        return []
    values: dict[str, int] = {}
    rows = [(place, *pair) for place, candidate in enumerate(chosen) for pair in candidate.values]
    for place, key, value in rows:
        if key == rows[0][1] and (kind not in _CUT_OUT or len(value.split()) <= _MAX_WORDS_OF_MEASURE):
            values.setdefault(value, place)
    return [_row(value, place) for value, place in list(values.items())[:_MAX_VALUES]]


def fact_confidence(covered: float, values: Collection[object]) -> float:
    """Return the probability that the first value is the expected one, 0 to 1: low where facts differ.

    Args:
        covered: share of the question that the facts of the answer cover, by weight.
        values: those of ``fact_values``.
    """
    constant, of_covered, of_several = _CONFIDENCE
    return round(1 / (1 + math.exp(-(constant + of_covered * covered + of_several * (len(values) > 1)))), 3)


def _row(value: str, place: int) -> dict[str, str | int]:
    is_date = _ISO_DATE.fullmatch(value) is not None
    return {"kind": "date" if is_date else "text", "text": value, "value": value if is_date else "", "sentence": place}
