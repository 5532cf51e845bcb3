"""The sentences after the best one that carry its answer on: of documentation, the rest of what is said about a term.

"Specifies the port." is followed by "The default is 5432."; an answer of the first alone lacks what was asked. They are
added only where the best sentence has no value of the kind that is asked for, so that short answers stay short.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgrag.llm.extractive.evidence_sentences import ProseSentence
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.sentence_ranking import RankedSentence

__all__ = ["sentences_after"]

_MAX_AFTER = 2
_OF_A_VALUE = frozenset({"boolean", "choice", "date", "number", "person", "place", "version"})


def sentences_after(question: str, best: ProseSentence, rows: Sequence[RankedSentence]) -> list[RankedSentence]:
    """Return at most two sentences that follow the best one without a gap and explain the same term.

    Args:
        question: as it was asked; of one that asks for a value the best sentence is the whole answer.
        best: the best sentence; one without a term, as prose of an encyclopedia has none, is answer enough.
        rows: all sentences with their scores.

    Returns:
        Them in reading order; [] where the next sentence is about another term, or the question asks for a value.
    """
    if not best.label or asked_for(question).kind in _OF_A_VALUE:
        return []
    places = {row.sentence.place: row for row in rows if row.sentence.number == best.number}
    after: list[RankedSentence] = []
    for place in range(best.place + 1, best.place + 1 + _MAX_AFTER):
        row = places.get(place)
        if row is None or row.sentence.label != best.label:
            break
        after.append(row)
    return after
