"""Sentences that can be understood by themselves, and the names, dates and numbers in them.

Fulfils ``sire_rag/rewrite`` and ``sire_rag/facts``. A sentence that begins with a pronoun gets the title of its
document in place of the pronoun; one that names nothing of the title gets the title in front. Names are spans of
capitalised words, and the title itself. Scripts without case have no such spans: there the title is the only name.

``mentions`` finds the ends that a triple can have, for the prompts of ``poly_rag``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import regex

from kgrag.late_patterns import late_regex
from kgrag.text.sentences import STOP_WORDS, split, word_set

__all__ = ["MentionSpan", "facts", "mentions", "rewrite"]

Kind = Literal["name", "date", "number", "quote"]

_PRONOUN = late_regex(r"(?:he|she|it|they|his|her|its|their)\b", flags=regex.IGNORECASE)
_POSSESSIVE_PRONOUNS = frozenset({"his", "her", "its", "their"})
_IN_BRACKETS = late_regex(r"\s*\([^()]*\)\s*$")
_WORD = r"(?:\p{Lu}\.(?=\s\p{Lu})|\p{Lu}[\p{L}\p{M}\p{N}'’.-]*[\p{L}\p{M}\p{N}]|\p{Lu})"
_LINK = r"(?:of|the|de|la|le|van|von|der|den|du|da|di|del|al|bin|ibn|y|and|for|in|on|at|to|a)"
_NAME = late_regex(rf"{_WORD}(?:(?:\s+{_LINK}){{0,2}}\s+(?:{_WORD}|\p{{N}}+\b))*")
_POSSESSIVE = late_regex(r"['’]s?$")


_NO_NAMES = word_set(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday american australian british canadian chinese danish dutch english french german
    indian irish italian japanese russian scottish spanish swedish although despite however list since"""
)
_MIN_NAME_CHARACTERS = 3

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = late_regex(
    rf"{_DAY}(?:\s+of)?\s+{_MONTH},?\s+\d{{4}}|{_MONTH}\s+{_DAY},?\s*\d{{4}}|{_MONTH},?\s+\d{{4}}"
    r"|\d{4}-\d\d-\d\d|(?<![\p{L}\d.,-])(?:1[0-9]|20)\d\d(?![\p{L}\d-]|[.,]\d)"
)
_NUMBER = late_regex(r"(?<![\p{L}\d.,])[-+−]?\d[\d.,]*(?<=\d)(?:/\d+)?(?:\.0)?(?![\d])")
_QUOTE = late_regex(r"[\"“]([^\"“”]{2,80})[\"”]")
_DESIGNATION = late_regex(r"(?:\(\s*\d+\s*\)|\d[\p{L}\d.-]*)\s+$")
_AWARD_FOR = late_regex(
    r"(?<=\b(?:Award|Awards|Prize|Medal))\s+for\s+(?:the\s+)?\p{Lu}[\p{L}-]*(?:\s+(?:in\s+(?:an?\s+)?)?\p{Lu}[\p{L}-]*)*"
)
_CALLED = late_regex(r"\b(?:of|asteroid|for|called|as|the|planet)\s+$")
_OPENER = late_regex(r"\p{Lu}\p{Ll}+(?:ed|ing)|Born|Part|Construction|One|Both|Leaders?|Members?|Some|Many|Also")
_LEADING_LINKS = late_regex(r"\s*(?:(?:of|the|and|in)\s+)*")
_TRAILING_NUMBER = late_regex(
    r"(?<=\d)(?:-[\p{L}\d]+)+|\s+(?:\p{Lu}?\d[\p{L}\d/-]*|\(\p{Lu}[\p{L}\d-]*\d\))(?=[\s,.;]|$)"
)


@dataclass(frozen=True, slots=True)
class MentionSpan:
    """A stretch of a sentence that can be an end of a triple."""

    start: int
    end: int
    text: str
    kind: Kind


def rewrite(variables: Mapping[str, Any]) -> str:
    """Return the paragraph, one sentence per line, with the title wherever a sentence needs it.

    Args:
        variables: ``title`` and ``text``; the text before the paragraph is not read.

    >>> rewrite({"title": "Ann Lee (singer)", "text": "She was born in Bath. Ann Lee sings."}).splitlines()
    ['Ann Lee was born in Bath.', 'Ann Lee sings.']
    """
    title = " ".join(str(variables["title"]).split())
    name = _IN_BRACKETS.sub("", title)
    lines = []
    for sentence in _sentences(str(variables["text"])):
        if not name or _contains(sentence, name):
            lines.append(sentence)
        elif pronoun := _PRONOUN.match(sentence):
            ending = "'s" if pronoun[0].lower() in _POSSESSIVE_PRONOUNS else ""
            lines.append(f"{name}{ending}{sentence[pronoun.end() :]}")
        else:
            lines.append(f"{title}: {sentence}")
    return "\n".join(lines)


def facts(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return every sentence of numbered paragraphs as a fact, with the title where it needs it, and the names in it.

    Args:
        variables: ``title`` and ``paragraphs``, or the ``text`` of a single one; the text before them is not read.

    >>> one = {"number": 1, "text": "It was visited by Jane Austen of Steventon."}
    >>> facts({"title": "Bath", "paragraphs": [one]})["facts"][0]["entities"]
    ['Bath', 'Jane Austen of Steventon', 'Jane Austen', 'Steventon']
    """
    title = " ".join(str(variables["title"]).split())
    found = []
    for paragraph in variables.get("paragraphs") or [{"number": 1, "text": variables["text"]}]:
        text = rewrite({"title": variables["title"], "text": paragraph["text"]})
        for sentence in _sentences(text):
            names = list(_names(sentence, title))
            found.append({"paragraph": paragraph["number"], "fact": sentence, "entities": names})
    return {"facts": found}


def _sentences(text: str) -> Iterator[str]:
    for start, end in split(text):
        yield " ".join(text[start:end].split())


def _contains(text: str, name: str) -> bool:
    return f" {_plain(name)} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(regex.findall(r"[\p{L}\p{M}\p{N}]+", unicodedata.normalize("NFKC", text).casefold()))


def _names(sentence: str, title: str) -> Iterator[str]:
    """Yield the title if the sentence names it, then every other name once, in order."""
    seen: set[str] = set()
    about = _IN_BRACKETS.sub("", title)
    if about and _contains(sentence, about):
        seen |= {_plain(title), _plain(about)}
        yield title
    for name in _capitalised(sentence):
        key = _plain(name)
        words = key.split()
        is_general = all(word in STOP_WORDS or word in _NO_NAMES or word.isdigit() for word in words)
        if key not in seen and not is_general and len("".join(words)) >= _MIN_NAME_CHARACTERS:
            seen.add(key)
            yield name


def _capitalised(sentence: str) -> Iterator[str]:
    """Yield spans of capitalised words, each followed by the names within it ("University of Oxford": "Oxford")."""
    for match in _NAME.finditer(sentence):
        begins = match.start() == 0 or sentence[: match.start()].endswith(": ")
        whole = _POSSESSIVE.sub("", _without_opening(match[0]) if begins else match[0])
        yield whole
        parts = [part for part in regex.split(rf"\s+{_LINK}(?:\s+{_LINK})?\s+", whole) if part]
        if len(parts) > 1:
            yield from (part for place, part in enumerate(parts) if place or " " in part)


def _without_opening(name: str) -> str:
    """Return a name without first words of the sentence that are no part of it: "In 1963 John" is John."""
    first, _, rest = name.partition(" ")
    while first and (first.isdigit() or first.casefold() in STOP_WORDS | _NO_NAMES):
        first, _, rest = rest.partition(" ")
    return f"{first} {rest}".rstrip()


def mentions(sentence: str) -> list[MentionSpan]:
    """Return names, dates and numbers in order, without overlap; a number before or after a name may belong to it.

    >>> [(span.text, span.kind) for span in mentions("1097 Vicia was found by Ann Lee on July 4, 1928.")]
    [('1097 Vicia', 'name'), ('Ann Lee', 'name'), ('July 4, 1928', 'date')]
    """
    dates = [match.span() for match in _DATE.finditer(sentence)]
    # "Born in Bath", "Construction of …": a capitalised word may only begin the sentence.
    spans = [span for span in _name_spans(sentence) if span[0] > 0 or not _OPENER.fullmatch(sentence[slice(*span)])]
    # The first to take a stretch keeps it: a year may belong to a name ("Apollo 1969"), a whole date does not.
    ranked: list[tuple[Kind, list[tuple[int, int]]]] = [
        ("quote", [match.span(1) for match in _QUOTE.finditer(sentence)]),
        ("date", [(start, end) for start, end in dates if end - start > len("1928")]),
        ("name", [_with_number(sentence, span) for span in spans]),
        ("date", dates),
        ("number", [match.span() for match in _NUMBER.finditer(sentence)]),
    ]
    found: list[MentionSpan] = []
    for kind, places in ranked:
        for start, end in places:
            if all(end <= mention.start or start >= mention.end for mention in found):
                found.append(MentionSpan(start, end, sentence[start:end].strip(), kind))
    return sorted(found, key=lambda mention: mention.start)


def _name_spans(sentence: str) -> list[tuple[int, int]]:
    """Return start and end of the names of a sentence; what "and" or "in" joins are two names.

    >>> [("In 1963 Ann Lee met Bo."[start:end]) for start, end in _name_spans("In 1963 Ann Lee met Bo.")]
    ['Ann Lee', 'Bo']
    """
    spans = []
    for match in _NAME.finditer(sentence):
        start = match.start()
        for part in regex.split(r"(\s+(?:and|or|in|on|at|to|for|a)\s+)", match[0]):
            name = _without_opening(part) if start == 0 else part
            whole = _POSSESSIVE.sub("", name)
            begin = start + len(part) - len(name)
            if whole.strip() and not all(word in STOP_WORDS for word in _plain(whole).split()):
                spans.append((begin, begin + len(whole)))
            start += len(part)
    return spans


def _with_number(sentence: str, span: tuple[int, int]) -> tuple[int, int]:
    """Return a name with the number that it begins with at the start of a sentence, or ends with ("Apollo 12")."""
    start, end = span
    if link := _LEADING_LINKS.match(sentence, start, end):
        start = link.end()
    before = _DESIGNATION.search(sentence, 0, start)
    if before and (not sentence[: before.start()].strip() or _CALLED.search(sentence, 0, before.start())):
        start = before.start()
    if after := _TRAILING_NUMBER.match(sentence, end) or _AWARD_FOR.match(sentence, end):
        end = after.end()
    return start, end
