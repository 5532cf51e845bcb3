"""Whether a sentence is about a smaller group than the whole one that a question asks about.

"All new laboratory staff" has both words of "all staff": what holds of new staff may not hold of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms

__all__ = ["is_narrowed"]

_ALL = MappingProxyType(
    {
        ENGLISH: r"\b(?:all(?:\s+of)?|every|each|any|the\s+entire|the\s+whole)",
        "de": r"\b(?:alle[nrsm]?|jede[rnms]?|sämtliche[nrm]?)",
        "fr": r"\b(?:tous|toutes?|tout|chaque)",
    }
)
_DETERMINER = r"(?:\s+(?:the|our|its|their|die|der|den|das|dem|unsere[nr]?|ihre[nr]?|les|la|le|nos|ses|leurs))?"
_WORDS = r"(?P<words>(?:\s+(?!(?:and|or|und|oder|et|ou)\b)[\p{L}-]+){1,4})"
_WHOLE = MappingProxyType(
    {code: late_regex(rf"{words}{_DETERMINER}{_WORDS}", flags=regex.IGNORECASE) for code, words in _ALL.items()}
)
_SAYS_LITTLE = MappingProxyType(
    {
        ENGLISH: frozenset(terms("other individual single current")),
        "de": frozenset(terms("anderen einzelnen übrigen", "de")),
        "fr": frozenset(terms("autres", "fr")),
    }
)
_FRENCH_ADJECTIVE = late_regex(
    r"\p{L}+(?:[eé]e?s|[ai]ls|elles|aux|ants?|antes|ents|entes|ifs|ives|eurs|euses|iques|iens|iennes|aires)"
)


def is_narrowed(question: str, sentence: str, language: str) -> bool:
    """Return whether a question asks about all of a group, and a sentence speaks of some of it only.

    >>> is_narrowed("Is it compulsory for all staff?", "It is compulsory for all new laboratory staff.", "en")
    True
    >>> is_narrowed("Is it compulsory for all new staff?", "It is compulsory for all new staff.", "en")
    False
    """
    known = set(terms(question, language)) | _SAYS_LITTLE[language]
    return any(
        _is_limited(head, sentence, known, language)
        for found in _WHOLE[language].finditer(question)
        for head in _heads(found["words"], language)
    )


def _heads(words: str, language: str) -> Iterator[str]:
    """Yield the terms of a group, which ends at the first word that names nothing: "stage crew" of "stage crew in"."""
    for word in words.split():
        found = terms(word, language)
        if not found:
            return
        yield found[0]


def _is_limited(head: str, sentence: str, known: set[str], language: str) -> bool:
    """Return whether each time that a sentence has a noun, a word that the question lacks stands with it."""
    words = regex.findall(r"[\p{L}\p{N}-]+|[^\s\p{L}\p{N}]", sentence)
    places = [at for at, word in enumerate(words) if head in terms(word, language)]
    return bool(places) and all(_has_beside(words, at, known, language) for at in places)


def _has_beside(words: list[str], at: int, known: set[str], language: str) -> bool:
    before = words[at - 1] if at else ""
    behind = words[at + 1] if at + 1 < len(words) else ""
    if _modifies(before, known, language, behind=False):
        return True
    return language == "fr" and _modifies(behind, known, language, behind=True)


def _modifies(word: str, known: set[str], language: str, *, behind: bool) -> bool:
    """Return whether a word beside a noun says which of a group are meant, and the question has it not."""
    said = set(terms(word, language))
    if not said or said & known or not word[:1].isalpha():
        return False
    if language == "de":
        return regex.fullmatch(r"\p{Ll}+(?:en|e|er|es|em)", word) is not None
    return not behind or _FRENCH_ADJECTIVE.fullmatch(word) is not None
