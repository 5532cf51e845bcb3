"""What a text says of the group that a question asks the price for: "Trainees attend all courses free of charge".

The price of a table or sentence is that of everybody; what holds for one group is said beside it. Where a group of the
question is in no part of an answer, and a sentence of the same document frees it or grants it a discount, that sentence
is the answer, and the price of all no short answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_facts import is_fact
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_languages import language_to_answer_in
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import split

__all__ = ["exception_among", "with_exception"]


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


_GROUP = MappingProxyType(
    {
        ENGLISH: _caseless(
            r"\bfor\s+(?:an?\s+|the\s+|all\s+)?(?P<group>(?:[\p{L}-]+\s)?[\p{L}-]+)\s*\?*\s*$"
            r"|\b(?:do|does|must|should|will|can|may|have|has)\s+(?:an?\s+|the\s+)?(?P<group>(?:[\p{L}-]+\s){0,2}?[\p{L}-]+)\s+"
            r"(?:to\s+)?(?:pay|owe|get|receive|be\s+charged)\b|\bcosts?\s+(?:an?\s+|the\s+)?(?P<group>[\p{L}-]+)\s*\?*\s*$"
        ),
        "de": _caseless(
            r"\bfür\s+(?:die\s+|den\s+|einen?\s+|alle\s+)?(?P<group>(?-i:\p{Lu})[\p{L}-]+)\s*\?*\s*$"
            r"|\b(?:zahl(?:t|en)|entricht\p{L}+|müssen|muss)\s+(?:die\s+|der\s+|eine?\s+)?(?P<group>(?-i:\p{Lu})[\p{L}-]+)"
        ),
        "fr": _caseless(
            r"\bpour\s+(?:les\s+|l[ae]\s+|une?\s+|l['’])?(?P<group>[\p{L}-]+)\s*\?*\s*$"
            r"|\bpai?ent?\s+(?:les\s+|l[ae]\s+|une?\s+|l['’])(?P<group>[\p{L}-]+)"
            r"|\b(?:les|une?|l[ae])\s+(?P<group>[\p{L}-]+)\s+(?:pai?ent?|payent|doivent|doit)(?:-(?:ils?|elles?))?\b"
        ),
    }
)
_ASKS_PRICE = _caseless(
    r"\bhow\s+(?:much|high)\b|\b(?:price|fee|cost|charge|rate|subscription|rent)s?\b|\bpays?\b|\bwie\s+(?:viel|hoch|teuer)\b"
    r"|\bkoste\p{L}*\b|\bzahl(?:t|en)\b|\bentricht\p{L}+\b|\b\p{L}*(?:gebühr|preis|beitrag|miete)\p{L}*\b|\bcombien\b|\bprix\b"
    r"|\btarif\b|\bpai?ent?\b|\bcoût\p{L}*\b|\b(?:taxe|cotisation|loyer)\b"
)
_FREES = _caseless(
    r"\bfree\b|\bat\s+no\s+(?:charge|cost)\b|\bwithout\s+charge\b|\bpays?\s+(?:no|nothing|half|less)\b|\bexempt(?:ed)?\b|\bwaived\b"
    r"|\bdiscount\b|\breduc(?:ed|tion)\b|%\s*(?:off|less)\b|\bhalf\s+price\b|\b(?:kostenlos|kostenfrei|gebührenfrei|gratis|umsonst"
    r"|ermäßigt\p{L}*|Ermäßigung|Rabatt|Nachlass|befreit)\b|\b(?:zahl(?:t|en)|entricht(?:et|en))\s+(?:keine?n?|nichts)\b"
    r"|\bgratuit\p{L}*\b|\bne\s+pai?ent?\s+(?:pas|rien)\b|\bexonéré\p{L}*\b|\b(?:réduction|rabais|remise|réduit)\b"
)
_EXCEPT = _caseless(r"\b(?:except|but\s+not|außer|ausgenommen|bis\s+auf|sauf|hormis|excepté)\b(?P<behind>[^.;]*)")
_SUM = _caseless(
    r"(?:[£$€]|\b(?:EUR|GBP|USD|CHF))\s?\p{N}|\p{N}\s?(?:[£$€]|(?:EUR|GBP|USD|CHF|euros?|pounds?|francs?|Franken)\b)"
)


def exception_among(question: str, sentences: Sequence[str], language: str) -> tuple[int, bool] | None:
    """Return which sentence frees the group whose price is asked, and whether it has a sum; None for none.

    >>> exception_among("What do trainees pay?", ["It is 9 EUR.", "Trainees pay no fee."], "en")
    (1, False)
    """
    group = _group(question, language)
    found = [at for at, text in enumerate(sentences) if group and _frees(question, group, text, language)]
    return (found[0], _SUM.search(sentences[found[0]]) is not None) if found else None


def with_exception(question: str, reply: Mapping[str, Any], texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return a reply behind what its document says of the group that the question names and the reply does not.

    Args:
        question: as it was asked.
        reply: as ``answering/answer`` has it.
        texts: the evidence.
    """
    if reply.get("unknown") or not reply.get("sentences"):
        return dict(reply)
    language = language_to_answer_in(question, [text.text for text in texts])
    group = _group(question, language)
    quotes = [quote for row in reply["sentences"] for quote in row["citations"]]
    said = set(
        terms(" ".join((*(row["text"] for row in reply["sentences"]), *(one["quote"] for one in quotes))), language)
    )
    if not group or group <= said:
        return dict(reply)
    cited = {int(quote["evidence"]) for quote in quotes}
    titles = {text.title for text in texts if text.number in cited}
    for text in (text for text in texts if text.title in titles and not is_fact(text)):
        for start, end in split(text.text):
            sentence = text.text[start:end]
            if " |" not in sentence and _frees(question, group, sentence, language):
                row = {"text": " ".join(sentence.split()), "citations": [{"evidence": text.number, "quote": sentence}]}
                kept = {name: value for name, value in reply.items() if name != "values"}
                return kept | {"sentences": [row, *reply["sentences"]]}
    return dict(reply)


def _group(question: str, language: str) -> set[str]:
    """Return the terms of the group for which a question asks a price; none for another question."""
    plain = " ".join(question.split())
    found = _GROUP[language].search(plain) if language in _GROUP and _ASKS_PRICE.search(plain) else None
    return set(terms(found["group"], language)) if found else set()


def _frees(question: str, group: set[str], sentence: str, language: str) -> bool:
    """Return whether a sentence frees a group, or grants it a discount, and does not except what the question names."""
    if not _FREES.search(sentence) or not group <= set(terms(sentence, language)):
        return False
    excepted = _EXCEPT.search(sentence)
    return excepted is None or _names(excepted["behind"], language).isdisjoint(_names(question, language))


def _names(text: str, language: str) -> set[str]:
    """Return the words of a text that name something, codes such as "T-03" as one."""
    words = regex.findall(r"[\p{L}\p{N}]+(?:[-.][\p{L}\p{N}]+)*", text)
    return {word.casefold() if "-" in word else "".join(terms(word, language)) for word in words} - {""}
