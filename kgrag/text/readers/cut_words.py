"""Words that a hyphen cuts in two at a line's end, put together again, so that they are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kgrag.late_patterns import late_regex

__all__ = ["CUT", "whole_words"]

CUT = "\ufffe"
"""Stands in a text for a hyphen at a line's end with the line's end; no character."""
_CUT_WORD = late_regex(rf"(?<=(\p{{L}}*)){CUT}(?=(\p{{L}}*))")
_WORD = late_regex(rf"(?<![{CUT}\w-])\p{{L}}+(?:-\p{{L}}+)*(?![{CUT}\w-])")


def whole_words(texts: Iterable[str]) -> list[str]:
    r"""Return the texts of a document with what stands for ``CUT`` in them: nothing, or a hyphen.

    A hyphen is a part of the word where the document has it so elsewhere, and does not have it as one word; otherwise
    where both its parts are words of the document, or the second one begins with no small letter.

    >>> whole_words(["The distribution's dis\ufffetribution at run\ufffetime: each run takes time in US\ufffeASCII."])
    ["The distribution's distribution at run-time: each run takes time in US-ASCII."]
    """
    given = list(texts)
    if not any(CUT in text for text in given):
        return given
    words: Counter[str] = Counter()
    for text in given:
        words.update(found[0].casefold() for found in _WORD.finditer(text))

    def mended(found: Any) -> str:
        first, second = found[1], found[2]
        joined, hyphenated = (f"{first}{mark}{second}".casefold() for mark in ("", "-"))
        if not first or not second or not second[0].islower():
            keeps = True
        elif words[joined] or words[hyphenated]:
            keeps = words[hyphenated] > words[joined]
        else:
            keeps = bool(words[first.casefold()] and words[second.casefold()])
        return "-" if keeps else ""

    return [_CUT_WORD.sub(mended, text) for text in given]
