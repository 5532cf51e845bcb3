"""Before, during or after what something holds: what is so during probation is no answer for after it.

"After that it is eight weeks" is said of what stands after the time that the sentence before it is about.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms

__all__ = ["other_time", "states_time"]

_RELATIONS = MappingProxyType(
    {
        ENGLISH: (
            ("after", r"after|following|once|upon"),
            ("during", r"during|while\s+on|throughout|in"),
            ("before", r"before|prior\s+to|until"),
        ),
        "de": (("after", r"nach|seit"), ("during", r"während|in"), ("before", r"vor|bis\s+zu[rm]?")),
        "fr": (
            ("after", r"après|au-delà\s+d(?:e|u)"),
            ("during", r"pendant|durant|au\s+cours\s+de|en"),
            ("before", r"avant|jusqu['’]à"),
        ),
    }
)
_ARTICLE = r"(?:\s+(?:the|an?|its|their|your|my|d(?:er|ie|as|em|en|es)|ein(?:e[rmn]?|es)?|la|le|les|une?)\b|\s+l['’])?"
_PHRASES = MappingProxyType(
    {
        code: late_regex(
            "|".join(
                rf"(?<![\p{{L}}-])(?:{words}){_ARTICLE}\s*(?P<{name}>[\p{{L}}-]+(?:\s+[\p{{L}}-]+)?)"
                for name, words in relations
            ),
            flags=regex.IGNORECASE,
        )
        for code, relations in _RELATIONS.items()
    }
)
_THEREAFTER = late_regex(
    r"\s*(?:after\s+(?:that|this|it)|thereafter|afterwards|danach|anschließend|nach\s+dieser|ensuite|après\s+(?:cela|quoi)"
    r"|par\s+la\s+suite|au-delà)\b",
    flags=regex.IGNORECASE,
)
_FIRM = ("after", "before")
"""A question has to have one of these, or "during": "in" is of a place as well."""


def other_time(question: str, sentence: str, before: str = "", language: str = ENGLISH) -> str:
    """Return the time that a question asks about, where a sentence is of another side of the same time.

    Args:
        question: as it was asked.
        sentence: what may answer it.
        before: the sentence before it, to which "after that" refers.
        language: of all of them.

    >>> other_time("What is the notice period after probation?", "During probation the notice period is two weeks.")
    'after probation'
    >>> other_time("What is it after probation?", "After that it is eight weeks.", "During probation it is two weeks.")
    ''
    """
    if language not in _PHRASES:
        return ""
    said = _stated(sentence, before, language)
    for relation, wanted, phrase in _relations(question, language):
        own = {name for name, about in said if about & wanted}
        is_firm = relation in _FIRM or own & set(_FIRM)
        if own and relation not in own and is_firm:
            return phrase
    return ""


def states_time(question: str, sentence: str, before: str = "", language: str = ENGLISH) -> bool:
    """Return whether a sentence and the one before it have all of a question, with the side of a time it asks about.

    >>> states_time("What is it after probation?", "After that it is eight weeks.", "During probation it is two weeks.")
    True
    """
    if language not in _PHRASES or not set(terms(question, language)) <= set(terms(f"{before} {sentence}", language)):
        return False
    said = _stated(sentence, before, language)
    return any(
        relation in _FIRM and any(name == relation and about & wanted for name, about in said)
        for relation, wanted, _ in _relations(question, language)
    )


def _stated(sentence: str, before: str, language: str) -> list[tuple[str, set[str]]]:
    """Return the relations of a sentence to times, those of "after that" by the sentence before it."""
    said = [(name, about) for name, about, _ in _relations(sentence, language)]
    if _THEREAFTER.match(sentence):
        said += [("after", about) for _, about, _ in _relations(before, language)]
    return said


def _relations(text: str, language: str) -> Iterator[tuple[str, set[str], str]]:
    """Yield the relations of a text to a time: the name of each, the terms of the time, and the words."""
    for found in _PHRASES[language].finditer(text):
        name = next(name for name, words in found.groupdict().items() if words)
        if wanted := set(terms(found[name], language)):
            yield name, wanted, found[0]
