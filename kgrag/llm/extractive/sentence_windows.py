"""The sentences around the best one that belong to its answer: of documentation, what is said about the same term.

"Specifies the port." is followed by "The default is 5432."; an answer of the first alone lacks what was asked. What a
term means is said where its explanation opens. Neighbours are added only where no value is asked for, so that short
answers stay short; and to yes or no where the best sentence lacks words of the question: "Cut the file after copying
it." is followed by what may be lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import ProseSentence
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.sentence_ranking import RankedSentence
from kgrag.text.sentences import word_set, words

__all__ = ["sentence_window"]

_MAX_SENTENCES = 3
_OF_A_VALUE = frozenset({"choice", "date", "number", "person", "place", "version"})
_STATES = word_set("on off true false enabled disabled")
"""Words that few texts are about, so that they are no terms, and that a question may yet be about."""
_ASKS_WHAT_IT_IS = late_regex(
    r"what\s+(?:is|are|was|were)\b|what\s+(?:does|do|did)\b.*\b(?:do|mean|specify|determine|return|define|set|control)\b",
    flags=regex.IGNORECASE,
)


def sentence_window(question: str, best: RankedSentence, rows: Sequence[RankedSentence]) -> list[RankedSentence]:
    """Return the best sentence and at most two others of the same term that are next to it without a gap.

    Args:
        question: as it was asked; of one that asks for a value the best sentence is the whole answer.
        best: the best sentence; one without a term, as prose of an encyclopedia has none, is answer enough.
        rows: all sentences with their scores.

    Returns:
        Them in reading order, from the best one on; from the one that opens the explanation of the term, where the
        question asks what that is and it is at most two before.
    """
    one = best.sentence
    kind = asked_for(question).kind
    if not one.label or kind in _OF_A_VALUE or (kind == "boolean" and _has_all(question, one)):
        return [best]
    beside = {row.sentence.place: row for row in rows if row.sentence.number == one.number}
    start = one.place
    if _ASKS_WHAT_IT_IS.match(question):
        opening = (at for at in range(one.place, one.place - _MAX_SENTENCES, -1) if _opens(beside.get(at), one))
        start = next(opening, one.place)
    window: list[RankedSentence] = []
    for place in range(start, start + _MAX_SENTENCES):
        row = beside.get(place)
        if row is None or row.sentence.label != one.label:
            break
        window.append(row)
    return window if best in window else [best]


def _opens(row: RankedSentence | None, best: ProseSentence) -> bool:
    return row is not None and row.sentence.opens and row.sentence.label == best.label


def _has_all(question: str, best: ProseSentence) -> bool:
    """Return whether a sentence, with what it is about, has the words of a question."""
    states = set(words(question)) & _STATES
    return set(terms(question)) <= best.all_terms and states <= set(words(best.text))
