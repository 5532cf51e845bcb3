"""What a question asks several of: the items of a list, both sides of a comparison, two questions in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.sentence_ranking import RankedSentence
from kgrag.text.sentences import NUMBER_WORDS

__all__ = ["SeveralAsked", "further_rows", "several_asked"]

_SEVERAL = rf"(?:[2-9]|{'|'.join(NUMBER_WORDS[2:])}|several|all)"
_LIST = late_regex(
    rf"\b(?:what|which)\s+(?:are|were)\b|\b(?:list|name|enumerate)\s+(?:the|all)\b|\b(?:what|which)\s+(?:the\s+)?{_SEVERAL}\b"
    rf"|\bthe\s+{_SEVERAL}\s+\p{{L}}+",
    flags=regex.IGNORECASE,
)
_SIDES = tuple(
    late_regex(pattern, flags=regex.IGNORECASE)
    for pattern in (
        r"\bdifferences?\s+between\s+(?P<one>.+?)\s+and\s+(?P<other>.+)",
        r"\b(?:do|does|did|is|are)\s+(?P<one>.+?)\s+(?:differ|different)\s+from\s+(?P<other>.+)",
        r"\b(?:do|does|did)\s+(?P<one>.+?)\s+compare\s+(?:with|to)\s+(?:that\s+\w+\s+)?(?P<other>.+)",
        r"(?P<one>.+?)\s+(?:compared\s+(?:with|to)|versus|vs\.?|rather\s+than|as\s+opposed\s+to)\s+(?P<other>.+)",
    )
)
_NEXT_QUESTION = late_regex(
    r",?\s+and\s+(?=(?:(?:in|on|at|by|for|from|to|under|with)\s+)?(?:what|which|who|whom|where|when|why|how)\b"
    r"|(?:can|does|do|did|is|are|was|were|will|must|may|should)\s)",
    flags=regex.IGNORECASE,
)
_ASKS_ANEW = late_regex(
    r"(?:(?:in|on|at|by|for|from|to|under|with)\s+)?(?:what|which|who|whom|where|when|why|how)\b",
    flags=regex.IGNORECASE,
)
_MIN_WORDS = 3
_MAX_BEHIND = 6.0
"""How far, by score, the sentence about the other side of a comparison may be behind the best one."""


@dataclass(frozen=True, slots=True)
class SeveralAsked:
    """What a question asks several of.

    Args:
        items: whether it asks for the items of a list.
        sides: of a comparison the terms that only one side has, of each side; () for no comparison.
        first: the first of two questions in it; "" where it is one, or its subject may go on ("and should …").
        second: the second one.
    """

    items: bool = False
    sides: tuple[frozenset[str], ...] = ()
    first: str = ""
    second: str = ""


def several_asked(question: str) -> SeveralAsked:
    """Return what a question asks several of.

    >>> several_asked("What are the signs of overload?").items, several_asked("What is overload?").items
    (True, False)
    >>> [sorted(side) for side in several_asked("How does fsync differ from async?").sides]
    [['fsync'], ['async']]
    >>> several_asked("What is it called, and on what date was it renamed?").second
    'on what date was it renamed?'
    """
    plain = " ".join(question.split())
    match = next((found for pattern in _SIDES if (found := pattern.search(plain))), None)
    one, other = (frozenset(terms(match[name])) if match else frozenset[str]() for name in ("one", "other"))
    sides = (one - other, other - one)
    parts = _NEXT_QUESTION.split(plain, maxsplit=1)
    asks_twice = len(parts) > 1 and all(len(part.split()) >= _MIN_WORDS for part in parts)
    return SeveralAsked(
        items=_LIST.search(plain) is not None,
        sides=sides if all(sides) else (),
        first=parts[0] if asks_twice and _ASKS_ANEW.match(parts[1]) else "",
        second=parts[1] if asks_twice else "",
    )


def further_rows(
    several: SeveralAsked,
    chosen: Sequence[RankedSentence],
    rows: Sequence[RankedSentence],
    second: Sequence[RankedSentence],
) -> list[RankedSentence]:
    """Return the sentences that an answer lacks: about a side that none is about, and for the second of two questions.

    Args:
        several: what the question asks several of.
        chosen: the sentences of the answer, best first.
        rows: all of them in their order for the whole question.
        second: all of them in their order for the second question; () where there is none.
    """
    further: list[RankedSentence] = []
    for side in several.sides:
        if chosen and not any(side & _about(row) for row in (*chosen, *further)):
            other = next((row for row in rows if side & _about(row)), None)
            if other and other.score >= chosen[0].score - _MAX_BEHIND:
                further.append(other)
    best = next((row for row in second if chosen and _is_beside(row, chosen[0])), None)
    further += [row for row in rows if best and row.sentence is best.sentence and row not in (*chosen, *further)]
    return further


def _about(row: RankedSentence) -> frozenset[str]:
    return row.sentence.own | row.sentence.about


def _is_beside(row: RankedSentence, other: RankedSentence) -> bool:
    """Return whether two sentences are next to each other, where two questions in one are mostly answered."""
    return row.sentence.number == other.sentence.number and abs(row.sentence.place - other.sentence.place) == 1
