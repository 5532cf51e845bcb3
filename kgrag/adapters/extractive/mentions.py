"""Where a sentence names something, gives a date or gives a number: the ends that a triple can have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import regex

from kgrag.adapters.extractive.propositions import names_at

__all__ = ["Kind", "Mention", "mentions", "without_dates"]

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
    for kind, spans in _spans(sentence):
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


def _spans(sentence: str) -> list[tuple[Kind, list[tuple[int, int]]]]:
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
