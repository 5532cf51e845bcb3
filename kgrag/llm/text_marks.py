"""Which texts share words: runs of words, and numbers that stand for them where the words must not be kept.

>>> sorted(runs("Ann Lee met Singer 3 in Bath.", 6))
['ann lee met singer 3 in', 'lee met singer 3 in bath']
>>> marks_of(["Ann Lee met Singer 3."]) & marks_of(["(Ann Lee met Singer 5)"]) == marks_of(["ann lee met singer"])
True
"""

from __future__ import annotations

import base64
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kgrag.late_patterns import late_re

__all__ = ["WORDS", "WORDS_PER_MARK", "marks_of", "packed", "runs", "strings", "unpacked"]

WORDS = late_re(r"\w+")
WORDS_PER_MARK = 4
"""Two texts with as many words in a row in common have a mark in common."""


def runs(text: str, length: int) -> set[str]:
    """Return every run of so many words, in lower case; a shorter text is one run, one without words none."""
    words = WORDS.findall(text.casefold())
    firsts = range(max(len(words) - length, 0) + 1) if words else ()
    return {" ".join(words[first : first + length]) for first in firsts}


def marks_of(texts: Iterable[str]) -> set[int]:
    """Return a number of 32 bits for each run of ``WORDS_PER_MARK`` words."""
    return {zlib.crc32(run.encode("utf-8", "replace")) for text in texts for run in runs(text, WORDS_PER_MARK)}


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a value of mappings and sequences."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, Iterable):
        for part in value:
            yield from strings(part)


def packed(marks: Iterable[int]) -> str:
    """Return marks as text, for a file."""
    return base64.b64encode(array("I", sorted(marks)).tobytes()).decode("ascii")


def unpacked(text: str) -> set[int]:
    """Read what ``packed`` wrote."""
    return set(array("I", base64.b64decode(text)))
