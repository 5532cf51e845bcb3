"""Terms of definition lists as headings: what stands below ``<dt>setuid = USER</dt>`` is said of that option alone.

A list whose explanations are short (a glossary, what is known of a page) has no headings, and what stands in it belongs
to the heading above it; so does what follows a list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kgrag.text.readers.sources import Heading, collapsed

__all__ = ["DefinedTerms", "Term", "with_terms"]

_MIN_CHARACTERS = 240
"""Of the entries of a list with headings, in the mean."""
_MAX_TERM_CHARACTERS = 120
"""Of a term that a heading shows; without one, what stands below would be shown under the term before."""
_LEVEL = 10
"""Of the terms of a list that is in no other, below those of all headings."""
_NOTHING = -1


@dataclass(frozen=True, slots=True)
class Term:
    """Where what is said of a term begins, or goes on behind an inner list; all by characters of the page.

    ``named`` is where the term stands, -1 for the heading above the list; ``of`` is the list that begins the term or
    ended before; ``depth`` counts from 1 for a list in no other.
    """

    start: int
    named: int
    of: int
    depth: int


@dataclass(slots=True)
class DefinedTerms:
    """The terms of a page, filled while it is read."""

    found: list[Term] = field(default_factory=list)
    _open: list[tuple[int, int]] = field(default_factory=list)  # of each list its number and where its last term begins
    _lists: int = 0
    _begins: bool = False
    _ended: int = 0  # the list that ended since words were written

    def open(self) -> None:
        """Note that a list begins."""
        self._lists += 1
        self._open.append((self._lists, _NOTHING))

    def close(self) -> None:
        """Note that a list ends."""
        self._begins = False
        if self._open:
            self._ended = self._open.pop()[0]

    def begin(self) -> None:
        """Note that the next words are a term."""
        self._begins = bool(self._open)

    def write(self, at: int) -> None:
        """Note where words are written."""
        if self._begins:
            number = self._open[-1][0]
            self._open[-1] = number, at
            self.found.append(Term(at, at, number, len(self._open)))
        elif self._ended:
            named = self._open[-1][1] if self._open else _NOTHING
            self.found.append(Term(at, named, self._ended, len(self._open)))
        self._begins, self._ended = False, 0

    def cut(self, length: int) -> None:
        """Forget what is behind so many characters, which was navigation."""
        while self.found and self.found[-1].start >= length:
            self.found.pop()


def with_terms(headings: Sequence[Heading], terms: Sequence[Term], text: str) -> list[Heading]:
    """Return headings with those of the terms among them, in order; ``text`` is the whole page."""
    starts = sorted({*(heading.start for heading in headings), *(term.start for term in terms), len(text)})
    lengths: dict[int, list[int]] = {}
    for term in terms:
        if term.named == term.start:
            lengths.setdefault(term.of, []).append(starts[bisect_right(starts, term.start)] - term.start)
    told = {number for number, each in lengths.items() if sum(each) >= _MIN_CHARACTERS * len(each)}
    shown = [term for term in terms if term.of in told]
    known = {heading.start for heading in headings}
    added = [each for each in _headings(shown, headings, text) if each.start not in known]
    return sorted([*headings, *added], key=lambda heading: heading.start)


def _headings(terms: Sequence[Term], headings: Sequence[Heading], text: str) -> Iterator[Heading]:
    starts = [heading.start for heading in headings]
    for term in terms:
        above = bisect_right(starts, term.start) - 1
        if term.named == _NOTHING:
            yield Heading(term.start, *((headings[above].level, headings[above].words) if above >= 0 else (1, "")))
        else:
            words = collapsed(text[term.named :].split("\n", maxsplit=1)[0])
            shown = words if len(words) <= _MAX_TERM_CHARACTERS else f"{words[:_MAX_TERM_CHARACTERS]}…"
            yield Heading(term.start, _LEVEL + term.depth, shown)
