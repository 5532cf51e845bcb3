"""What a text is about, by the name that it opens with: an article, a record and a section begin with their subject.

A passage that mentions a name of the question is often about another thing, and has more of the other words that the
question has. One that opens with the name, and with no longer one, is what the question means by it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import regex

from kgrag.late_patterns import late_regex
from kgrag.text.sentences import STOP_WORDS

__all__ = ["opening_name"]

_WORD = late_regex(r"\w+")
_OF_NAME = late_regex(r"[\p{Lu}\p{N}]")
_ARTICLES = {"the", "a", "an"}
_GOES_ON = late_regex(r"['’]s\b|[\s\-–—/&'’]*[\p{Lu}\p{N}]")  # as in "Aladdin - The Return", "Walsh's Greatest Hits"
_LONGEST = 12  # words of an opening that are compared
_WHOLE_NAME = 4  # words: a longer name says no more surely what is meant


def opening_name(question: str, text: str) -> float:
    """Return how long a name of the question a text opens with: 1 for four words or more, 0 for none.

    A name has a capital or a digit in the question, and ends where the text goes on without one. Words that say little
    count nothing, and an article before the name is passed over.

    >>> opening_name("Are Aladdin and Song of the South by one company?", "Song of the South is a film of 1946.")
    0.5
    >>> opening_name("Are Aladdin and Song of the South by one company?", "Aladdin - Jaanbaaz Ek Jalwe is a series.")
    0.0
    """
    asked = _WORD.findall(question)
    found = list(itertools.islice(_WORD.finditer(text), _LONGEST + 1))
    has_article = bool(found) and found[0][0].casefold() in _ARTICLES
    return max(_opening(asked, text, found[skipped:]) for skipped in range(1 + has_article))


def _opening(asked: Sequence[str], text: str, found: Sequence[regex.Match[str]]) -> float:
    opening = [word[0].casefold() for word in found]
    names = (_in_common(asked[start : start + len(opening)], opening) for start in range(len(asked)))
    name = max(names, key=len, default=[])
    telling = [word for word in name if word.casefold() not in STOP_WORDS]
    if not any(_OF_NAME.match(word) for word in telling) or name[-1].casefold() in STOP_WORDS:
        return 0.0
    return 0.0 if _GOES_ON.match(text, found[len(name) - 1].end()) else min(len(telling), _WHOLE_NAME) / _WHOLE_NAME


def _in_common(words: Sequence[str], opening: Sequence[str]) -> list[str]:
    """Return the first words as far as they are those of an opening, which is folded."""
    pairs = zip(words, opening, strict=False)
    return [word for word, _ in itertools.takewhile(lambda pair: pair[0].casefold() == pair[1], pairs)]
