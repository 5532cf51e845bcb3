"""What tells one thing from another of its kind: the letter of "building B", the town of "the Millbrook yard".

A letter is no term, and a town is in the title of its document: "Burglary is insured for building A only" has every
term of "Is burglary insured for building B?", and "Bicycles may be left in the Oldcastle yard" those of a question for
another yard. A text that names a thing of the same kind by another mark, and the one that is asked for nowhere, is
about the other one.
"""

from __future__ import annotations

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms

__all__ = ["asked_marks", "in_asked_marks", "other_designation", "says_only"]

_MONTH = (
    r"January|February|March|April|May|June|July|August|September|October|November|December|Januar|Jänner|Februar|März|Mai"
    r"|Juni|Juli|Oktober|Dezember|Q|EUR|CHF|GBP|USD"
)
_MARKED = late_regex(
    rf"\b(?!(?:{_MONTH})\b)(?P<noun>\p{{L}}[\p{{L}}-]{{2,}})\s+(?P<mark>\p{{Lu}}(?![\p{{L}}\p{{N}}'’&])"
    r"|(?-i:[IVX]{1,4})(?![\p{L}\p{N}])|\p{N}{1,2}\p{L}?(?![\p{L}\p{N}]|[.,:/-]\p{N}|\s*[%€£$°]|\s+\p{L}{1,4}\b(?<!\s(?:for|für|ist|is)))"
    r"(?=\s*(?:[.,;:?!)]|$|\s(?:\p{Ll}|[(–-]))))"
)
_NAME = r"(?:\p{Lu}[\p{L}'’-]+(?:\s+(?:\p{Lu}[\p{L}'’-]+))*)"
_AT = late_regex(rf"\b(?:in|at|à)\s+(?!(?:the|der|dem|den|la|le)\b)(?:\p{{N}}+\s+)?(?P<name>{_NAME}(?:,\s+{_NAME})?)")
_OF_NAME = late_regex(r"(?<=\b(?:the|our|in|at|of)\s)(?P<name>\p{Lu}[\p{L}'’-]+)\s+(?P<noun>\p{Ll}[\p{L}-]{2,})\b")
_NO_PLACES = late_regex(
    rf"(?:{_MONTH}|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|English|German|French|Easter|Christmas|General|Annual)\b"
)


_ONLY = late_regex(
    r"\b(?:only|solely|exclusively|nur|ausschließlich|lediglich|seulement|uniquement|exclusivement|réservée?s?)\b",
    flags=regex.IGNORECASE,
)


def says_only(text: str) -> bool:
    """Return whether a text says something of one thing only, and so answers for the others of its kind as well."""
    return _ONLY.search(text) is not None


def other_designation(question: str, text: str, context: str = "", language: str = ENGLISH) -> str:
    """Return the mark or place by which a question tells a thing, where a text has another of that kind in its stead.

    Args:
        question: as it was asked.
        text: what may answer it.
        context: the term, row or headings that it stands below.
        language: of all of them.

    >>> other_designation("Is burglary insured for building B?", "Burglary is insured for building A only.")
    'building B'
    >>> other_designation("May bicycles be left in the Millbrook yard?", "They may be left in the Oldcastle yard.")
    'Millbrook yard'
    """
    said = f"{context} {text}"
    for found in _marked(question, language):
        held = [one for one in _marked(said, language) if _kind(one, language) == _kind(found, language)]
        if held and all(one["mark"] != found["mark"] for one in held) and not _has_mark(found["mark"], said):
            return str(found[0])
    return _other_place(question, text) if language == ENGLISH else ""


def asked_marks(question: str, language: str = ENGLISH) -> list[str]:
    """Return the marks with which a question names its things: the "B" of "building B"."""
    return [found["mark"] for found in _marked(question, language)]


def in_asked_marks(question: str, text: str, language: str = ENGLISH) -> str:
    """Return a text in which the things of other marks than a question's have the marks that it asks for.

    >>> in_asked_marks("Is building B insured?", "Only building A is insured.")
    'Only building B is insured.'
    """
    for found in _marked(question, language):
        pattern = regex.compile(rf"(?i:{found['noun']})\s+(?:\p{{Lu}}|\p{{N}}+\p{{L}}?)(?!\p{{L}})")
        text = pattern.sub(lambda _, whole=found[0]: whole, text)
    return text


def _marked(text: str, language: str) -> list[regex.Match[str]]:
    return [found for found in _MARKED.finditer(text) if terms(found["noun"], language)]


def _kind(found: regex.Match[str], language: str) -> tuple[list[str], bool]:
    return terms(found["noun"], language), found["mark"][0].isdecimal()


def _has_mark(mark: str, text: str) -> bool:
    """Return whether a text joins a mark to that of another thing: "buildings A and B", "A, B"."""
    return (
        regex.search(rf"(?:,|\band|\bor|\bund|\boder|\bet|\bou|[-–]|\bto|\bbis|\bà)\s*{mark}(?![\p{{L}}\p{{N}}])", text)
        is not None
    )


def _other_place(question: str, text: str) -> str:
    """Return the place of a question, where a text has another one behind the same word or before the same noun."""
    for pattern in (_OF_NAME, _AT):
        for found in pattern.finditer(question):
            name = found["name"]
            if _NO_PLACES.match(name) or _names_any(name, text):
                continue
            if pattern is _OF_NAME:
                held = [one for one in pattern.finditer(text) if terms(one["noun"]) == terms(found["noun"])]
            else:
                held = list(pattern.finditer(text))
            if any(not _NO_PLACES.match(one["name"]) for one in held):
                return str(found[0] if pattern is _OF_NAME else name)
    return ""


def _names_any(name: str, text: str) -> bool:
    return bool(set(terms(name)) & set(terms(text)))
