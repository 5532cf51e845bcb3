"""Whether evidence is about the opposite of what a question names: the new hall where the old one is asked about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import regex

from kgrag.late_patterns import late_regex

__all__ = ["is_opposite"]

_PAIRS: Final = (
    ("old|former|previous", "new"),
    ("upper", "lower"),
    ("inner|indoor", "outer|outdoor"),
    ("north(?:ern)?", "south(?:ern)?"),
    ("east(?:ern)?", "west(?:ern)?"),
    ("left", "right"),
    ("large|big", "small"),
    ("last|latest", "next|coming|upcoming"),
    ("letzte[nrms]?", "nächste[nrms]?|kommende[nrms]?"),
    ("derni(?:er|ère)s?", "prochaine?s?"),
    ("alte[nrms]?", "neue[nrms]?"),
    ("große[nrms]?", "kleine[nrms]?"),
    ("obere[nrms]?", "untere[nrms]?"),
    ("nördliche[nrms]?", "südliche[nrms]?"),
    ("ancien(?:ne)?s?", "nouve(?:au|lle|l)s?"),
    ("grande?s?", "petite?s?"),
)
_THE: Final = r"\b(?:the|its|our|d(?:er|ie|as|em|en|es)|im|am|vom|zum|zur|le|la|les|l['’]|du|des|au)\s*"
_SIDES: Final = tuple(
    (
        late_regex(rf"{_THE}(?:{one})\b", flags=regex.I),
        late_regex(rf"\b(?:{one})\b", flags=regex.I),
        late_regex(rf"\b(?:{other})\b", flags=regex.I),
    )
    for pair in _PAIRS
    for one, other in (pair, pair[::-1])
)


def is_opposite(question: str, texts: Iterable[str]) -> bool:
    """Return whether texts have only the opposite of a word by which a question tells one thing from another.

    >>> is_opposite("Who designed the old hall?", ["The new hall"]), is_opposite("How old is the hall?", ["A new hall"])
    (True, False)
    """
    said = " ".join(texts)
    return any(asks.search(question) and other.search(said) and not same.search(said) for asks, same, other in _SIDES)
