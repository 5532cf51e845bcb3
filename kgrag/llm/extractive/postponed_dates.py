"""Dates that were put off: "The cleaning is delayed. The new date is 11 September." is when something is cleaned.

The date that was planned first is in another passage, with more words of the question, and holds no longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_facts import is_fact
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_languages import language_to_answer_in
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import split

__all__ = ["read_postponed"]

_ASKS: Final = late_regex(
    r"(?:by\s+|until\s+|since\s+)?when\b|(?:on|by)\s+(?:what|which)\s+da(?:te|y)\b|(?:bis\s+|ab\s+)?wann\b|quand\b"
    r"|à\s+quelle\s+date\b",
    flags=regex.IGNORECASE,
)
_FIRST: Final = late_regex(
    r"\b(?:originally|first\s+planned|initially|ursprünglich|zunächst|initialement|à\s+l['’]origine)\b",
    flags=regex.IGNORECASE,
)
_NEW: Final = late_regex(
    r"\b(?:(?:new|revised)\s+(?:date|deadline)\s+is|neuer?\s+(?:Termin|Frist)\s+ist|Termin\s+ist\s+(?:nun|jetzt)"
    r"|nouvelle\s+(?:date|échéance)\s+est)\b[^.;]*\p{N}",
    flags=regex.IGNORECASE,
)
_MIN_SHARE, _MIN_TERMS = 0.65, 2


def read_postponed(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply with the new date of what a question asks the date of; {} where no one sentence has it.

    Args:
        question: as it was asked.
        texts: the evidence.
    """
    plain = " ".join(question.split())
    if not _ASKS.match(plain) or _FIRST.search(plain):
        return {}
    language = language_to_answer_in(plain, [text.text for text in texts])
    wanted = set(terms(plain, language))
    found = {quotes: text.number for text in texts if not is_fact(text) for quotes in _put_off(text, wanted, language)}
    if len(found) != 1:
        return {}
    quotes, number = next(iter(found.items()))
    sentences = [
        {"text": " ".join(quote.split()), "citations": [{"evidence": number, "quote": quote}]} for quote in quotes
    ]
    return {"unknown": False, "sentences": sentences}


def _put_off(text: EvidenceText, wanted: set[str], language: str) -> Iterator[tuple[str, ...]]:
    """Yield each sentence with a new date behind one that has most of what is wanted."""
    before = ""
    for start, end in split(text.text):
        sentence = text.text[start:end]
        shared = wanted & set(terms(f"{before} {sentence}", language))
        if before and _NEW.search(sentence) and len(shared) >= max(_MIN_TERMS, _MIN_SHARE * len(wanted)):
            yield before, sentence
        before = sentence
