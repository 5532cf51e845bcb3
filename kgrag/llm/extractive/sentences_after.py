"""The sentences after the best one that carry its answer on: of documentation, the rest of what is said about a term.

"Specifies the port." is followed by "The default is 5432."; an answer of the first alone lacks what was asked. They are
added only where no value is asked for, so that short answers stay short; and to yes or no where the best sentence lacks
words of the question: "Cut the file after copying it." is followed by what may be lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from kgrag.llm.extractive.evidence_sentences import ProseSentence
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.sentence_ranking import RankedSentence
from kgrag.text.sentences import word_set, words

__all__ = ["sentences_after"]

_MAX_AFTER = 2
_OF_A_VALUE = frozenset({"choice", "date", "number", "person", "place", "version"})
_STATES = word_set("on off true false enabled disabled")
"""Words that few texts are about, so that they are no terms, and that a question may yet be about."""


def sentences_after(question: str, best: ProseSentence, rows: Sequence[RankedSentence]) -> list[RankedSentence]:
    """Return at most two sentences that follow the best one without a gap and explain the same term.

    Args:
        question: as it was asked; of one that asks for a value the best sentence is the whole answer.
        best: the best sentence; one without a term, as prose of an encyclopedia has none, is answer enough.
        rows: all sentences with their scores.

    Returns:
        Them in reading order; [] where the next sentence is about another term, or the question asks for a value.
    """
    kind = asked_for(question).kind
    if not best.label or kind in _OF_A_VALUE or (kind == "boolean" and _has_all(question, best)):
        return []
    places = {row.sentence.place: row for row in rows if row.sentence.number == best.number}
    after: list[RankedSentence] = []
    for place in range(best.place + 1, best.place + 1 + _MAX_AFTER):
        row = places.get(place)
        if row is None or row.sentence.label != best.label:
            break
        after.append(row)
    return after


def _has_all(question: str, best: ProseSentence) -> bool:
    """Return whether a sentence, with what it is about, has the words of a question."""
    states = set(words(question)) & _STATES
    return set(terms(question)) <= best.all_terms and states <= set(words(best.text))
