r"""Citation markers: how a chunk names the works that it cites, and which document of the collection each one means.

An author-year marker, "(Brill, 1995a)" or "Och and Ney (2003)", is read as its first surname and its year, so that ways
of writing compare equal in questions and chunks. A numbered one, "[3, 5-7]", means entries of the same document's
reference list, so it says nothing in a question. Nothing is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kgrag.index.index_terms import tokens_of
from kgrag.late_patterns import late_re

__all__ = ["CitedWorks", "Marker", "author_years", "byline", "markers_of", "without_markers"]

_SURNAME = r"[^\W\d_a-z][^\W\d_]*(?:[-'’][^\W\d_]+)*"
_YEAR = r"(?P<year>(?:18|19|20)\d\d)(?P<letter>[a-h](?![^\W_]))?(?!\d)"
_OTHERS = rf"(?:\s+et\s+al\b\.?|(?:\s*,\s*{_SURNAME}){{0,8}},?\s+(?:and|&|und|et)\s+{_SURNAME})"
_AUTHOR_YEAR = late_re(rf"(?<![\w'’-])(?P<surname>{_SURNAME}){_OTHERS}?\s*,?\s*[(\[]?\s*{_YEAR}")
_NUMBERED = late_re(r"\[(?P<numbers>\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)\]")
_ENTRY_NUMBER = late_re(r"\s*(?:\[(\d{1,3})\]|\((\d{1,3})\)|(\d{1,3})\.)\s")
_NO_SURNAMES = (
    {"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"}
    | {"december", "spring", "summer", "autumn", "fall", "winter", "since", "during", "until", "till", "before"}
    | {"after", "from", "between", "around", "about", "circa", "section", "table", "figure", "chapter", "volume"}
    | {"page", "equation", "appendix", "proceedings", "conference", "workshop"}
)
_MIN_SURNAME_LETTERS = 2
_MAX_NUMBERS_IN_A_RANGE = 50
_FIRST_WORDS_OF_ENTRY = 5  # that the first author of a reference entry is among


@dataclass(frozen=True, slots=True)
class Marker:
    """An author-year marker as it compares, ``name`` "brill 1995", and the letter behind its year, "" for none."""

    name: str
    letter: str = ""


def markers_of(text: str) -> list[Marker]:
    """Return the author-year markers of a text, each once, in order.

    >>> [marker.name for marker in markers_of("As Och and Ney (2003) and others (Brill, 1995a; Wu et al., 1997) show.")]
    ['och 2003', 'brill 1995', 'wu 1997']
    >>> markers_of("In June 2001 Section 2000 words were counted.")
    []
    """
    markers: dict[Marker, None] = {}
    for match in _AUTHOR_YEAR.finditer(text):
        surname = match["surname"].casefold().replace("’", "'")
        if len(surname) >= _MIN_SURNAME_LETTERS and surname not in _NO_SURNAMES and tokens_of(surname):
            markers[Marker(f"{surname} {match['year']}", match["letter"] or "")] = None
    return list(markers)


def author_years(text: str) -> list[str]:
    """Return the author-year markers of a text as they compare, each once, in order."""
    return list(dict.fromkeys(marker.name for marker in markers_of(text)))


def without_markers(text: str) -> str:
    """Return a text without its author-year markers, for controls.

    >>> without_markers("As Brill (1995) shows.")
    'As  ) shows.'
    """
    return _AUTHOR_YEAR.sub(" ", text)


def numbers_of(text: str) -> list[int]:
    """Return the numbers of a text's numbered markers, each once, in order.

    >>> numbers_of("It was shown [3, 5-7] that x[1] is not [1999].")
    [3, 5, 6, 7, 1]
    """
    numbers: dict[int, None] = {}
    for match in _NUMBERED.finditer(text):
        for part in re.split(r"\s*[,;]\s*", match["numbers"]):
            first, *last = (int(end) for end in re.split(r"\s*[–-]\s*", part))
            stop = last[-1] if last else first
            if 0 <= stop - first < _MAX_NUMBERS_IN_A_RANGE:
                numbers |= dict.fromkeys(range(first, stop + 1))
    return list(numbers)


def byline(author: str, year: str) -> str:
    """Return the marker of a work with an author and a year or date; "" where either is missing.

    >>> byline("Eric Brill", "1995-06-01"), byline("Brill, Eric", "1995"), byline("Brill", "")
    ('brill 1995', 'brill 1995', '')
    """
    surname = author.partition(",")[0] if "," in author else author.rpartition(" ")[2]
    found = re.search(_YEAR, year)
    return f"{surname.strip().casefold()} {found['year']}" if surname.strip() and found else ""


@dataclass(frozen=True, slots=True)
class CitedWorks:
    """What a document cites, to look its markers up in.

    ``entries`` are its citations as printed, each with the document of the collection (IRI) that it names, "" for none;
    ``bylines`` are the markers by which each of these documents would be cited, from its own metadata.
    """

    entries: Sequence[tuple[str, str]] = ()
    bylines: Collection[tuple[str, str]] = field(default=())

    def meant(self, marker: Marker) -> str:
        """Return the document that a marker means; "" where none of the collection is meant, or several may be.

        An entry means it that begins with the surname and has the year, and the letter where one of them has it.

        >>> works = CitedWorks([("[1] Brill, E. 1995. Rules. Proc. of Tags.", "urn:a"), ("Och, F. 2003. Models.", "")])
        >>> works.meant(Marker("brill 1995")), works.meant(Marker("och 2003"))
        ('urn:a', '')
        """
        surname, _, year = marker.name.rpartition(" ")
        named = [(text, document) for text, document in self.entries if _is_by(text, surname) and year in text]
        lettered = [pair for pair in named if marker.letter and f"{year}{marker.letter}" in pair[0]]
        meant = {document for _, document in lettered or named}
        meant = meant or {document for name, document in self.bylines if name == marker.name}
        return meant.pop() if len(meant) == 1 else ""

    def numbered(self, text: str) -> list[str]:
        """Return the documents that the numbered markers of a text mean, each once, in order."""
        by_number: dict[int, str] = {}
        for entry, document in self.entries:
            if match := _ENTRY_NUMBER.match(entry):
                by_number.setdefault(int(next(filter(None, match.groups()))), document)
        return list(dict.fromkeys(filter(None, (by_number.get(number, "") for number in numbers_of(text)))))


def _is_by(entry: str, surname: str) -> bool:
    beginning = entry[: 40 * _FIRST_WORDS_OF_ENTRY].casefold().replace("’", "'")
    words: Iterator[re.Match[str]] = re.finditer(r"[^\W\d_]+(?:[-'][^\W\d_]+)*", beginning)
    return surname in _first(words, _FIRST_WORDS_OF_ENTRY)


def _first(words: Iterable[re.Match[str]], count: int) -> list[str]:
    return [word[0] for word, _ in zip(words, range(count), strict=False)]
