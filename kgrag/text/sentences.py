"""Sentences with exact offsets; words, stems and names in the normal form in which texts are compared.

Rules, no model: a sentence ends at a Unicode sentence terminal that is no abbreviation, initial, decimal or ellipsis in
the middle, and at a line break that separates list items, table rows, ``key: value`` lines, headings or paragraphs. A
line break inside wrapped prose ends nothing. Of the libraries, pysbd is no longer maintained, and sentencex needs the
language as a parameter and joins ``key: value`` lines.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.text.abbreviations import belongs_to_word
from kgrag.vocab import words_of

__all__ = [
    "NUMBER_WORDS",
    "STOP_WORDS",
    "attribute_words",
    "content_words",
    "entity_key",
    "split",
    "stem",
    "word_set",
    "words",
]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set: a list of many words is easier to read as one text."""
    return frozenset(text.split())


STOP_WORDS = word_set(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing during each else for from further give had has have having he her here
    hers him his how i if in into is it its itself just many may me might more most much must my no nor not of off
    on once only or other our out over own please same shall she should so some such tell than that the their them
    then there these they this those through to too under until up us very was we were what when where which while
    who whom whose why will with would you your"""
)
NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
"""Numbers that are often spelt out; each at the place that it counts."""
_CLOSERS = r"(?:[\p{Pe}\p{Pf}\p{M}\"'»«]|[ \u00a0\u202f]»)*"
_END = late_regex(
    rf"(?<![.!?…])(?P<ascii>[.!?…]++){_CLOSERS}+(?=\s|$)|(?P<strong>(?:(?![.!?…])\p{{STerm}}|[｡︒])+){_CLOSERS}"
)
_BEFORE = late_regex(r"(?:\p{L}\.)*[\p{L}\p{M}\p{N}]+$")
_NEXT = late_regex(r"\s*[\p{Ps}\p{Pi}\"'«¿¡]*([\p{L}\p{M}\p{N}]*)(.?)", flags=regex.DOTALL)
_MARK = late_regex(r"[ \t]*(?:[-*•‣◦▪·–—+]|\(?(?:\p{N}{1,3}|[A-Za-z])[.)])[ \t]+")
_ROW = late_regex(r"[ \t]*(?:\||[#>]|[^\t\n]*\t|[^\n|]*\|)")
_PAIR = late_regex(
    r"[ \t]*(?:\p{Lu}\p{L}{0,9}\.[ \t]?(?=\p{N}))?[\p{L}\p{N}](?:[^\n:.!?;]|\.(?=\s?[-:\p{Ll}])){0,80}:(?:[ \t]|$)"
)
_MIN_WRAPPED_CHARACTERS = 40  # a line of prose this long goes on in the next one, whatever that begins with
_MAX_LABEL_LINE_CHARACTERS = 60  # a ``key: value`` line this short never goes on in the next one
_MAX_CHARACTERS_BEFORE = 24  # looked at for an abbreviation
_CHARACTERS_BEHIND = 8  # as many as the rest of a date has

_WORD = late_regex(
    r"[\p{Han}\p{Hiragana}]|(?:(?![\p{Han}\p{Hiragana}])[\p{L}\p{M}\p{N}])+(?:(?<=\p{N})[-.,/:](?=\p{N})[\p{L}\p{M}\p{N}]+)*"
)
_POSSESSIVE = late_regex(r"(?<=\p{L})['’ʼ](?:s\b|(?!\p{L}))", flags=regex.IGNORECASE)
_DASHES = late_regex(r"(?<=\p{N})\p{Pd}(?=\p{N})")


def split(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text as (start, end) character offsets, in order and without overlap.

    ``text[start:end]`` has no whitespace around it, and every non-whitespace character lies in exactly one sentence.

    >>> text = "Dr. Rao sowed 3.5 kg. Yield: 2 t/ha"
    >>> [text[start:end] for start, end in split(text)]
    ['Dr. Rao sowed 3.5 kg.', 'Yield: 2 t/ha']
    """
    spans = []
    for block_start, block_end in _blocks(text):
        marks = _END.finditer(text, block_start, block_end)
        cuts = [mark.end() for mark in marks if mark["strong"] or _ends(text, block_start, mark)]
        for start, end in pairwise([block_start, *cuts, block_end]):
            piece = text[start:end]
            left = start + len(piece) - len(piece.lstrip())
            right = start + len(piece.rstrip())
            if left < right:
                spans.append((left, right))
    return spans


def words(text: str) -> list[str]:
    """Return the words of a text as they are compared: NFKC, lower case, codes such as ``20-69`` whole, no possessives.

    >>> words("God's Gift: JS 20–69, 55 kg/ha")
    ['god', 'gift', 'js', '20-69', '55', 'kg', 'ha']
    """
    plain = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", text).casefold())
    return [match[0] for match in _WORD.finditer(_DASHES.sub("-", plain))]


def content_words(text: str) -> list[str]:
    """Return the stemmed words of a text without stop words, in order, repeats included.

    >>> content_words("Which seeding rates are recommended for JS 20-69?")
    ['seed', 'rate', 'recommend', 'js', '20-69']
    """
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def stem(word: str) -> str:
    """Return the English Snowball stem of one lower-case word."""
    stemmed: str = _stemmer().stemWord(word)
    return stemmed


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield stretches of text that no sentence crosses: paragraphs, list items, rows, ``key: value`` lines."""
    start = position = 0
    for line, following in pairwise([*text.splitlines(keepends=True), ""]):
        position += len(line)
        if not _joined(line, following):
            yield start, position
            start = position


def _joined(line: str, following: str) -> bool:
    """Return whether a line goes on in the next one."""
    if not line.strip() or not following.strip() or _ROW.match(line):
        return False
    if any(pattern.match(following) for pattern in (_MARK, _ROW, _PAIR)):
        return False
    first = following.lstrip()[0]
    if _PAIR.match(line) and not _MARK.match(line):
        return len(line) > _MAX_LABEL_LINE_CHARACTERS and first.islower()
    return first.islower() or len(line.rstrip()) >= _MIN_WRAPPED_CHARACTERS


def _ends(text: str, start: int, match: regex.Match[str]) -> bool:
    """Return whether ASCII punctuation ends a sentence, by the words before and after it."""
    after = _NEXT.match(text, match.end())
    word = after[1] if after else ""
    if word[:1].islower() or (after and not word and after[2] in ",;:"):
        return False
    if match["ascii"] != ".":
        return True
    first = max(start, match.start() - _MAX_CHARACTERS_BEFORE)
    before = _BEFORE.search(text, first, match.start())
    if before is None:
        return True
    rest = text[after.end(1) : after.end(1) + _CHARACTERS_BEHIND] if after else ""
    at_start = not text[start : before.start()].strip()
    return not belongs_to_word(text[first : match.start()], before[0], (word, rest), at_start=at_start)


def entity_key(name: str) -> str:
    """Return a name in normal form: NFKC, case folded, single spaces; letters of every script stay.

    Two layers that name one entity thereby name it by one IRI. Of options ("-r") and of a letter alone the case stays:
    "-R" is another option.

    >>> entity_key("  Ｔōkyō   Tower") == entity_key("tōkyō tower")
    True
    >>> entity_key("-R ID"), entity_key("-r id")
    ('-R id', '-r id')
    """
    written = unicodedata.normalize("NFKC", name).split()
    folded = (word if word.startswith("-") or written == [word[:1]] else word.casefold() for word in written)
    return " ".join(unicodedata.normalize("NFKC", " ".join(folded)).split())


def attribute_words(text: str) -> frozenset[str]:
    """Return the stems of the words that name an attribute, identifiers spelt out, words of asking left out.

    >>> attribute_words("What are the birth places of") == attribute_words("birthPlace")
    True
    """
    return frozenset(content_words(words_of(text)))
