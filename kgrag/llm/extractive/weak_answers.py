"""Sentences that are probable answers by their words and meaning, and are rarely right all the same.

They have a part of what a long question says, or a value that others of their kind show to be another one's.
"""

from __future__ import annotations

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import ProseSentence
from kgrag.llm.extractive.question_words import WeighedQuestion, terms
from kgrag.llm.extractive.sentence_ranking import RankedSentence, names_code, stated_confidence

__all__ = ["is_a_part", "is_rarely_right"]

_LEAST_STATED = 0.2
"""Confidence from which a sentence is given as an answer: of 46 below it, of 299 questions of hotpot and musique, 14
had the answer somewhere, and none a short answer."""
_MAX_TERMS_OF_ONE_STEP = 8
_MIN_SHARE_OF_LONG = 0.7
"""Share of a question of more terms than that, by weight, that the best sentence has; of hotpot_train100 15 in place of
27 of 58 were then given without the answer, of 135 others none was lost. The same of a question that describes what it
is about: of musique_train100 11 in place of 26 were then given without the answer, of
137 about documentation none was lost."""
_DESCRIBES = late_regex(
    r"^(?!how\b|(?:is|are|was|were|do|does|did|can|could|has|have|may|must|should|will)\b).*"
    r"\b(?:the|an?)\s+(?:[\p{L}-]+\s+){1,4}?(?:(?:in|at|on|for|by|of|from|to)\s+which|where|whose|that|which|who)\s",
    flags=regex.IGNORECASE,
)


def is_rarely_right(asked: str, best: RankedSentence, given: float) -> bool:
    """Return whether few of such sentences are answers, and this one lacks words of the question and has no code."""
    if stated_confidence(asked, best.sentence, given) >= _LEAST_STATED or names_code(asked, best):
        return False
    before = best.sentence.before.own if best.sentence.before else frozenset[str]()
    return not frozenset(terms(asked)) <= best.sentence.own | best.sentence.about | before


def is_a_part(asked: str, question: WeighedQuestion, best: ProseSentence) -> bool:
    """Return whether a question mostly goes over several passages, and has much that a sentence lacks.

    So do long ones, and those that describe what they are about ("the county in which Lee was born").
    """
    of_steps = len(question.weights) > _MAX_TERMS_OF_ONE_STEP or _DESCRIBES.search(asked) is not None
    return of_steps and question.coverage(best.all_terms) < _MIN_SHARE_OF_LONG
