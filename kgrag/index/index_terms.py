"""The terms that a text is indexed by: lower-case words, English stop words left out, English Snowball stems.

A version (``4.1.3``), a name with dots (``gc.auto``) and a long option (``--dry-run``) is a term besides its parts,
behind them: the digits alone are in most texts, and a question may have the name in words.

Deviations:
    A word of one letter is no term, but a single digit is: facts speak of "5 cm" and "zone 3".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from kgrag.late_patterns import late_regex

__all__ = ["tokens_of"]

_WORD = late_regex(r"--[a-z][\w-]*\w|\w+(?:\.\w+)+|\w\w+|\d")
_PART = late_regex(r"\w\w+|\d")
_STOP_WORDS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of"}
    | {"on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will"}
    | {"with"}
)
"""The English stop words of Lucene."""


def tokens_of(text: str) -> list[str]:
    """Return the index terms of a text, in order, repeated as they occur.

    >>> tokens_of("The varieties are sown 5 cm deep.")
    ['varieti', 'sown', '5', 'cm', 'deep']
    >>> tokens_of("gc.auto of 4.1.3")
    ['gc', 'auto', 'gc.auto', '4', '1', '3', '4.1.3']
    """
    words = [word for word in _words(text.lower()) if word not in _STOP_WORDS]
    return list(_stemmer().stemWords(words))


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if "." in word or word.startswith("--"):
            yield from _PART.findall(word)
        yield word


@cache
def _stemmer() -> Any:
    """Return the stemmer, imported at first use since most commands do not need it."""
    from Stemmer import Stemmer

    return Stemmer("english")
