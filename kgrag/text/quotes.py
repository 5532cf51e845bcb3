"""Finds the exact offsets of a quote in a stored text.

A model that quotes changes line breaks, straightens curly quotes, swaps dashes and drops case. Both sides are therefore
folded, character by character, to a comparable form; the offsets found there lead back to the text as it is stored.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import regex

from kgrag.late_patterns import late_regex

__all__ = ["locate", "places"]

_MAPPED = str.maketrans(
    dict.fromkeys("“”„‟«»″〝〞〟＂", '"') | dict.fromkeys("‘’‚‛′`´ʼ＇", "'") | dict.fromkeys("‐‑‒–—―−﹘﹣－", "-")
)
_QUOTABLE = late_regex(r"[^\s\p{P}\p{C}]")
_WORD = late_regex(r"[\p{L}\p{M}\p{N}]{2}")
_NUMBER = late_regex(r"\p{N}(?:\p{N}|[.,]\p{N})|(?<=\p{N})[.,]\p{N}")
_UNSPACED = r"\p{Han}\p{Hangul}\p{Hiragana}\p{Katakana}\p{Khmer}\p{Lao}\p{Myanmar}\p{Thai}\p{Tibetan}"
_SPACED_WORD = late_regex(
    rf"(?:(?![{_UNSPACED}])[\p{{L}}\p{{M}}\p{{N}}]){{2}}"
    # an identifier is one word (wal_level), emphasis between underscores is not part of one
    r"|(?<=[\p{L}\p{N}])_[\p{L}\p{N}]|[\p{L}\p{N}]_(?=[\p{L}\p{N}])"
)
_MAX_PLACES = 100
_PUNCTUATION_AROUND = " \t\n\"'“”‘’«».,;:…"

_Folded = tuple[str, tuple[int, ...], tuple[int, ...]]
"""The comparable form, and for each of its characters where its origin starts and ends in the text."""


def locate(quote: str, text: str) -> tuple[int, int] | None:
    r"""Return start and end of a quote in a text, or None.

    As it is; else with runs of whitespace, typographic quotes and dashes, case, compatibility forms and invisible
    characters made equal; else so and without punctuation around it. The first place that cuts no word counts, else the
    first place.

    Returns:
        Offsets of characters: ``text[start:end]`` is the wording of the text.

    >>> text = "Harvest when the\n'green' pods turn brown."
    >>> locate("“the ‘GREEN’ pods”", text)
    (13, 29)
    >>> text[13:29]
    "the\n'green' pods"
    """
    matches = next(filter(None, _readings(quote, text)), [])
    whole = (place for place in matches if not _cuts(_WORD, text, *place))
    return next(whole, matches[0] if matches else None)


def places(quote: str, text: str) -> list[tuple[int, int]]:
    """Return the places of a quote in a text, read as ``locate`` reads it, that begin and end inside no word.

    In scripts that write words without spaces, or join endings to them, only numbers have such an inside.

    >>> places("S", "SOYBEAN takes 50 kg of s."), places("5 kg", "55 kg"), places("大豆", "夏大豆は")
    ([(23, 24)], [], [(1, 3)])
    >>> places("cost_delay", "vacuum_cost_delay and cost_delay"), places("delay", "a _delay_")
    ([(22, 32)], [(3, 8)])
    """
    for matches in _readings(quote, text):
        whole = [
            place for place in matches if not any(_cuts(pattern, text, *place) for pattern in (_SPACED_WORD, _NUMBER))
        ]
        if whole:
            return whole
    return []


def _cuts(pattern: regex.Pattern[str], text: str, start: int, end: int) -> bool:
    """Return whether a span begins or ends between two characters that the pattern joins."""
    return any(bool(pattern.match(text, at - 1)) for at in (start, end) if 0 < at < len(text))


def _readings(quote: str, text: str) -> Iterator[list[tuple[int, int]]]:
    """Yield the places of a quote as it is, folded, and folded without punctuation around it."""
    quote = quote.strip()
    if _QUOTABLE.search(quote):
        yield [(at, at + len(quote)) for at in _places(quote, text)]
        yield _folded_places(quote, text)
        yield _folded_places(quote.strip(_PUNCTUATION_AROUND), text)


def _places(wanted: str, text: str) -> list[int]:
    starts: list[int] = []
    at = text.find(wanted)
    while at >= 0 and len(starts) < _MAX_PLACES:
        starts.append(at)
        at = text.find(wanted, at + 1)
    return starts


def _folded_places(quote: str, text: str) -> list[tuple[int, int]]:
    wanted = _fold(quote)[0].strip(" ")
    if not wanted:
        return []
    form, starts, ends = _fold(text)
    matches = []
    for first in _places(wanted, form):
        last = first + len(wanted) - 1
        # A match takes every character of the text whole: "1" is none in "½", which folds to "1⁄2".
        opens = first == 0 or starts[first - 1] != starts[first]
        closes = last + 1 == len(starts) or starts[last + 1] != starts[last]
        if opens and closes:
            matches.append((starts[first], ends[last]))
    return matches


@lru_cache(maxsize=128)
def _fold(text: str) -> _Folded:
    """Return a text folded, each character on its own, so that a part of a text folds to a part of its form."""
    form: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for at, character in enumerate(text):
        if character.isspace():
            if form and form[-1] == " ":
                ends[-1] = at + 1
                continue
            pieces = " "
        else:
            pieces = _folded_character(character)
        for piece in pieces:
            form.append(piece)
            starts.append(at)
            ends.append(at + 1)
    return "".join(form), tuple(starts), tuple(ends)


@lru_cache(maxsize=8192)
def _folded_character(character: str) -> str:
    if unicodedata.category(character) == "Cf":
        return ""
    decomposed = unicodedata.normalize("NFKD", character.translate(_MAPPED))
    return unicodedata.normalize("NFKD", decomposed.casefold()).translate(_MAPPED).replace(" ", "")
