"""Which sentences are probable enough to be answers, and which are rarely right all the same.

These have a part of what a long question says, or a value that others of their kind show to be another one's. A
sentence of documentation that words and meaning both put first, far ahead, is an answer even where it has few words of
the question ("turn off every feature": "Disables all features"); one beside which another is much nearer in meaning
needs more.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText, ProseSentence
from kgrag.llm.extractive.question_words import WeighedQuestion, terms
from kgrag.llm.extractive.sentence_ranking import RankedSentence, names_code, stated_confidence, veto_of

__all__ = ["MIN_PROBABILITY", "is_a_part", "is_rarely_right", "probability_needed", "subject_lacking", "why_vetoed"]

MIN_PROBABILITY = 0.35
"""Probability from which a sentence of prose is an answer: with weights that were fitted on one of the two development
sets about documentation and judged on the other, 11 of 137 questions were then answered wrongly, and 77 of the 111 with
an answer rightly. In German and French, 25 answers of 34 from it on are right (78 questions)."""
_MIN_OF_FIRST = 0.12
"""The same of a sentence that explains a term and is first by score and by meaning: of 158 questions about
documentation 7 more were then answered, all rightly; these
are the questions that the limits were chosen on."""
_MIN_OF_FARTHER = 0.5
"""The same where another is much nearer in meaning: 2 of 158 questions were then no longer answered wrongly."""
_LEAST_COSINE, _LEAST_LEAD, _LEAST_NEARER, _MUCH_NEARER = 0.5, 0.8, -0.05, -0.1
_LEAST_STATED = 0.2
"""Confidence from which a sentence is given as an answer: of 46 below it, of 299 questions of hotpot and musique, 14
had the answer somewhere, and none a short answer."""
_MAX_TERMS_OF_ONE_STEP = 8
_MIN_SHARE_OF_LONG = 0.7
"""Share of a question of more terms than that, by weight, that the best sentence has; of hotpot_train100 15 in place of
27 of 58 were then given without the answer, of 135 others none was lost. The same of a question that describes what it
is about: of musique_train100 11 in place of 26 were then given without the answer, of
137 about documentation none was lost."""
_KIND_OF_NAME = r"(?:option|parameter|setting|directive|flag|variable|command|function|method|key|keyword)"
_NAMED = rf"(?:{_KIND_OF_NAME} )?(?P<NAME>[\w.-]+)(?: {_KIND_OF_NAME})?(?: (?:in|of|on|for) .*)?"
_OF_ONE_WORD = late_regex(
    r"\bdefault (?:value )?(?:of|for) (?:(?:the|an?) )?(?:[\w'’-]+ )?"
    rf"{_NAMED.replace('NAME', 'value_of')}$"
    rf"|^what does (?:the )?{_NAMED.replace('NAME', 'does')} (?:do|mean|specify)\b",
    flags=regex.IGNORECASE,
)
_ASKS_FOR_OPTION = late_regex(r"^(?:which|what)\s+(?:\p{L}+\s+)?(?:option|flag|switch)\b", flags=regex.IGNORECASE)
_DESCRIBES = late_regex(
    r"^(?!how\b|(?:is|are|was|were|do|does|did|can|could|has|have|may|must|should|will)\b).*"
    r"\b(?:the|an?)\s+(?:[\p{L}-]+\s+){1,4}?(?:(?:in|at|on|for|by|of|from|to)\s+which|where|whose|that|which|who)\s",
    flags=regex.IGNORECASE,
)


def subject_lacking(asked: str, best: ProseSentence) -> str:
    """Return the one word of which a question asks the default or what it does, if a sentence lacks it; "" if not.

    Of what is nowhere said everything else may be found: another option has a default, too.
    """
    found = _OF_ONE_WORD.search(" ".join(asked.split()).rstrip(" ?"))
    name = (found["value_of"] or found["does"]) if found else ""
    return name if name and not set(terms(name)) <= best.all_terms else ""


def probability_needed(asked: str, rows: Sequence[RankedSentence]) -> float:
    """Return the probability from which the first of the ranked sentences is an answer.

    Others are those of other pieces of evidence: of one several may answer. What does not look like
    the option that is asked for needs more.
    """
    best = rows[0]
    one = best.sentence
    if not one.label:
        return MIN_PROBABILITY
    others = [row for row in rows if row.sentence.number != one.number]
    nearer = best.features[-1] - max((row.features[-1] for row in others), default=0.0)
    lead = best.score - max((row.score for row in others), default=0.0)
    if not one.label.startswith("-") and _ASKS_FOR_OPTION.match(asked):
        return _MIN_OF_FARTHER
    if nearer >= _LEAST_NEARER and lead >= _LEAST_LEAD and best.features[-1] >= _LEAST_COSINE:
        return _MIN_OF_FIRST
    return _MIN_OF_FARTHER if nearer <= _MUCH_NEARER else MIN_PROBABILITY


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


def why_vetoed(asked: str, texts: Sequence[EvidenceText]) -> str:
    """Return which numbers and identifiers of a question no piece of evidence has; "" where each is somewhere."""
    words = veto_of(asked).exact
    nowhere = [word for word in words if all(word in veto_of(asked).lacking(text) for text in texts)]
    return f"The evidence does not mention {' and '.join(nowhere or words)}." if texts and words else ""
