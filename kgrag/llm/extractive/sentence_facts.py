"""Sentences that can be understood by themselves, and the names in them: fulfils ``sire_rag/rewrite`` and ``/facts``.

A sentence that begins with a pronoun gets the title of its document in place of the pronoun; one that names nothing of
the title gets the title in front. Names are spans of capitalised words, and the title itself. Scripts without case
have no such spans: there the title is the only name.

Where a sentence names something, gives a date or gives a number: the ends that a triple can have.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import regex

from kgrag.text.sentences import STOP_WORDS, split

__all__ = [
    "Kind",
    "Mention",
    "facts",
    "mentions",
    "names_at",
    "rewrite",
    "without_dates",
]

_PRONOUN = regex.compile(r"(?:he|she|it|they|his|her|its|their)\b", flags=regex.IGNORECASE)
_OWNS = frozenset({"his", "her", "its", "their"})
_IN_BRACKETS = regex.compile(r"\s*\([^()]*\)\s*$")
_WORD = r"(?:\p{Lu}\.(?=\s\p{Lu})|\p{Lu}[\p{L}\p{M}\p{N}'’.-]*[\p{L}\p{M}\p{N}]|\p{Lu})"
_LINK = r"(?:of|the|de|la|le|van|von|der|den|du|da|di|del|al|bin|ibn|y|and|for|in|on|at|to|a)"
_NAME = regex.compile(rf"{_WORD}(?:(?:\s+{_LINK}){{0,2}}\s+(?:{_WORD}|\p{{N}}+\b))*")
_POSSESSIVE = regex.compile(r"['’]s?$")


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_NAMES = _listed(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday american australian british canadian chinese danish dutch english french german "
    "indian irish italian japanese russian scottish spanish swedish although despite however list since"
)
_LEAST = 3


def rewrite(variables: Mapping[str, Any]) -> str:
    """Give the paragraph, a sentence a line, with the title wherever a sentence needs it.

    Args:
        variables: ``title`` and ``text``; what stands before the paragraph is not looked at.

    >>> rewrite({"title": "Ann Lee (singer)", "text": "She was born in Bath. Ann Lee sings."}).splitlines()
    ['Ann Lee was born in Bath.', 'Ann Lee sings.']
    """
    title = " ".join(str(variables["title"]).split())
    return "\n".join(_resolved(sentence, title) for sentence in _sentences(str(variables["text"])))


def facts(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give every sentence as a fact, with the names in it.

    Args:
        variables: ``title`` and ``text`` (a rewritten paragraph).

    >>> facts({"title": "Bath", "text": "Bath was visited by Jane Austen of Steventon."})["facts"][0]["entities"]
    ['Bath', 'Jane Austen of Steventon', 'Jane Austen', 'Steventon']
    """
    title = " ".join(str(variables["title"]).split())
    found = [{"fact": said, "entities": list(_names(said, title))} for said in _sentences(str(variables["text"]))]
    return {"facts": found}


def names_at(sentence: str) -> list[tuple[int, int]]:
    """Give where the names of a sentence stand, as (start, end); what "and" or "in" joins are two names.

    >>> [("In 1963 Ann Lee met Bo."[start:end]) for start, end in names_at("In 1963 Ann Lee met Bo.")]
    ['Ann Lee', 'Bo']
    """
    found = []
    for match in _NAME.finditer(sentence):
        start = match.start()
        for part in regex.split(r"(\s+(?:and|or|in|on|at|to|for|a)\s+)", match[0]):
            name = _begun(part) if start == 0 else part
            whole = _POSSESSIVE.sub("", name)
            if whole.strip() and not all(word in STOP_WORDS for word in _plain(whole).split()):
                found.append((start + len(part) - len(name), start + len(part) - len(name) + len(whole)))
            start += len(part)
    return found


def _sentences(text: str) -> Iterator[str]:
    for start, end in split(text):
        yield " ".join(text[start:end].split())


def _resolved(sentence: str, title: str) -> str:
    name = _IN_BRACKETS.sub("", title)
    if not name or _holds(sentence, name):
        return sentence
    if pronoun := _PRONOUN.match(sentence):
        owner = "'s" if pronoun[0].lower() in _OWNS else ""
        return f"{name}{owner}{sentence[pronoun.end() :]}"
    return f"{title}: {sentence}"


def _holds(text: str, name: str) -> bool:
    return f" {_plain(name)} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(regex.findall(r"[\p{L}\p{M}\p{N}]+", unicodedata.normalize("NFKC", text).casefold()))


def _names(sentence: str, title: str) -> Iterator[str]:
    """Yield the title if the sentence speaks of it, then every other name once, in order."""
    seen: set[str] = set()
    about = _IN_BRACKETS.sub("", title)
    if about and _holds(sentence, about):
        seen |= {_plain(title), _plain(about)}
        yield title
    for name in _spans(sentence):
        key = _plain(name)
        if key not in seen and _telling(name):
            seen.add(key)
            yield name


def _spans(sentence: str) -> Iterator[str]:
    for match in _NAME.finditer(sentence):
        begins = match.start() == 0 or sentence[: match.start()].endswith(": ")
        name = _begun(match[0]) if begins else match[0]
        whole = _POSSESSIVE.sub("", name)
        yield whole
        parts = [part for part in regex.split(rf"\s+{_LINK}(?:\s+{_LINK})?\s+", whole) if part]
        if len(parts) > 1:
            yield from (part for place, part in enumerate(parts) if place or " " in part)


def _begun(name: str) -> str:
    """Leave out the first words of a sentence where they are no part of a name: "In 1963 John" is John."""
    first, _, rest = name.partition(" ")
    while first and (first.isdigit() or first.casefold() in STOP_WORDS | _NO_NAMES):
        first, _, rest = rest.partition(" ")
    return f"{first} {rest}".rstrip()


def _telling(name: str) -> bool:
    words = _plain(name).split()
    if len("".join(words)) < _LEAST:
        return False
    return not all(word in STOP_WORDS or word in _NO_NAMES or word.isdigit() for word in words)


Kind = Literal["name", "date", "number", "quote"]

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = regex.compile(
    rf"{_DAY}(?:\s+of)?\s+{_MONTH},?\s+\d{{4}}|{_MONTH}\s+{_DAY},?\s*\d{{4}}|{_MONTH},?\s+\d{{4}}"
    r"|\d{4}-\d\d-\d\d|(?<![\p{L}\d.,-])(?:1[0-9]|20)\d\d(?![\p{L}\d-]|[.,]\d)"
)
_NUMBER = regex.compile(r"(?<![\p{L}\d.,])[-+−]?\d[\d.,]*(?<=\d)(?:/\d+)?(?:\.0)?(?![\d])")
_QUOTE = regex.compile(r"[\"“]([^\"“”]{2,80})[\"”]")
_DESIGNATION = regex.compile(r"(?:\(\s*\d+\s*\)|\d[\p{L}\d.-]*)\s+$")
_FOR = regex.compile(
    r"(?<=\b(?:Award|Awards|Prize|Medal))\s+for\s+(?:the\s+)?\p{Lu}[\p{L}-]*(?:\s+(?:in\s+(?:an?\s+)?)?\p{Lu}[\p{L}-]*)*"
)
_CALLED = regex.compile(r"\b(?:of|asteroid|for|called|as|the|planet)\s+$")
_OPENER = regex.compile(r"\p{Lu}\p{Ll}+(?:ed|ing)|Born|Part|Construction|One|Both|Leaders?|Members?|Some|Many|Also")
_LINKS = regex.compile(r"\s*(?:(?:of|the|and|in)\s+)*")
_TAIL = regex.compile(r"(?<=\d)(?:-[\p{L}\d]+)+|\s+(?:\p{Lu}?\d[\p{L}\d/-]*|\(\p{Lu}[\p{L}\d-]*\d\))(?=[\s,.;]|$)")


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of a sentence that can be an end of a triple."""

    start: int
    end: int
    text: str
    kind: Kind


def mentions(sentence: str) -> list[Mention]:
    """Give names, dates and numbers in order, without overlap; a number before or after a name may belong to it.

    >>> [(one.text, one.kind) for one in mentions("1097 Vicia was found by Ann Lee on July 4, 1928.")]
    [('1097 Vicia', 'name'), ('Ann Lee', 'name'), ('July 4, 1928', 'date')]
    """
    taken: list[Mention] = []
    for kind, spans in _mentions_spans(sentence):
        for start, end in spans:
            if all(end <= one.start or start >= one.end for one in taken):
                taken.append(Mention(start, end, sentence[start:end].strip(), kind))
    return sorted(taken, key=lambda one: one.start)


def without_dates(text: str) -> str:
    """Give a text without the dates in it.

    >>> without_dates("born 27 August 1965 in")
    'born  in'
    """
    return str(_DATE.sub("", text))


def _mentions_spans(sentence: str) -> list[tuple[Kind, list[tuple[int, int]]]]:
    dates = [match.span() for match in _DATE.finditer(sentence)]
    long_dates = [span for span in dates if span[1] - span[0] > 4]
    names = [_whole(sentence, span) for span in names_at(sentence) if not _begins(sentence, span)]
    return [
        ("quote", [match.span(1) for match in _QUOTE.finditer(sentence)]),
        ("date", long_dates),
        ("name", names),
        ("date", dates),
        ("number", [match.span() for match in _NUMBER.finditer(sentence)]),
    ]


def _begins(sentence: str, span: tuple[int, int]) -> bool:
    """Say whether a capitalised word only begins a sentence: "Born in Bath, …", "Construction of …"."""
    return span[0] == 0 and bool(_OPENER.fullmatch(sentence[span[0] : span[1]]))


def _whole(sentence: str, span: tuple[int, int]) -> tuple[int, int]:
    """Take the number that a name begins with at the start of a sentence, or ends with ("Apollo 12", "(V-2)")."""
    start, end = span
    if link := _LINKS.match(sentence, start, end):
        start = link.end()
    before = _DESIGNATION.search(sentence, 0, start)
    if before and (not sentence[: before.start()].strip() or _CALLED.search(sentence, 0, before.start())):
        start = before.start()
    if after := _TAIL.match(sentence, end) or _FOR.match(sentence, end):
        end = after.end()
    return start, end
