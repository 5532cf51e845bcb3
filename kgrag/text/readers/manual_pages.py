"""Headings of manual pages as ``man`` prints them: sections at the left margin, entries whose text is indented deeper.

What stands below ``anon_upload_enable`` is said of that option, and nothing else in such a text says so but how far
lines are indented. Other plain texts have no headings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgrag.late_patterns import late_regex
from kgrag.text.readers.sources import Heading, collapsed

__all__ = ["headings"]

_MIN_SECTIONS = 3
_MAX_SHARE_AT_MARGIN = 0.2
"""Of the lines of a manual page, those at the left margin: its sections, and the first and last line."""
_MAX_CHARACTERS = 90
_MAX_LEVEL = 3
_MAX_DEEPER = 16
"""Columns that the text of an entry is indented deeper, at most; what is further right is the last line of the page."""
_SECTION = late_regex(r"\p{Lu}[^a-z]*|(?:\p{Lu}\p{L}+|\d+(?:\.\d+)*\.?)(?: [\p{L}\p{N}/&,()'’-]+){0,7}")
_ENDS_A_STATEMENT = late_regex(r"[.,;:!?]['\"”’»)]*$")
_BEGINS_NO_ENTRY = late_regex(r"[•·*+o–—](?:\s|$)|-\s|\(?\p{N}{1,3}[.)]|\p{Ll}\)")
_GAP = late_regex(r"\s{2,}")
"""Between a name and the text that begins in its line."""
_IS_A_NAME = late_regex(r"-{1,2}\p{L}|[^\s]*[\p{N}_=<\[/.-][^\s]*(?:\s|$)|[\p{Ll}\p{Lu}\p{N}]+$")


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    indent: int
    text: str
    is_below_blank: bool

    @property
    def name(self) -> str:
        """The line up to the text that begins in it."""
        return str(_GAP.split(self.text, maxsplit=1)[0])


def headings(text: str) -> list[Heading]:
    r"""Return the sections of a manual page and the entries in them; [] for any other text.

    >>> page = "NAME\n  sow - sows\n\nOPTIONS\n  -d DEPTH\n    How deep.\n\n  -q\n    Quietly.\n\nFILES\n  ~/.sow\n"
    >>> [heading.words for heading in headings(page)]
    ['NAME', 'OPTIONS', '-d DEPTH', '-q', 'FILES']
    """
    lines = list(_lines(text))
    first = [at for at, (line, below) in enumerate(pairwise(lines)) if _is_section(line, below)]
    at_margin = sum(not line.indent for line in lines)
    if len(first) < _MIN_SECTIONS or at_margin > max(_MAX_SHARE_AT_MARGIN * len(lines), len(first) + 2):
        return []
    found = []
    for begin, end in pairwise([*first, len(lines)]):
        found.append(Heading(lines[begin].start, 1, collapsed(lines[begin].text)))
        found += _entries(lines[begin + 1 : end], 2)
    return found


def _lines(text: str) -> Iterator[_Line]:
    start, is_below_blank = 0, True
    for line in text.split("\n"):
        told = line.strip()
        if told:
            indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
            yield _Line(start + len(line) - len(line.lstrip()), indent, told, is_below_blank)
        start, is_below_blank = start + len(line) + 1, not told


def _is_section(line: _Line, below: _Line) -> bool:
    fits = not line.indent and len(line.text) <= _MAX_CHARACTERS and not _ENDS_A_STATEMENT.search(line.text)
    return fits and line.is_below_blank and below.indent > 1 and _SECTION.fullmatch(line.text) is not None


def _entries(lines: Sequence[_Line], level: int) -> Iterator[Heading]:
    """Yield the lines that name an entry, and those within one: the text below is indented deeper."""
    least = min((line.indent for line in lines if line.indent), default=0)
    named = [at for at in range(len(lines) - 1) if lines[at].indent == least and _is_entry(lines, at)]
    for begin, end in pairwise([*named, len(lines)]):
        yield Heading(lines[begin].start, level, lines[begin].name)
        if level < _MAX_LEVEL:
            yield from _entries(lines[begin + 1 : end], level + 1)


def _is_entry(lines: Sequence[_Line], at: int) -> bool:
    line, below = lines[at], lines[at + 1]
    if (
        not 0 < below.indent - line.indent <= _MAX_DEEPER
        or len(line.name) > _MAX_CHARACTERS
        or (at and not line.is_below_blank)
    ):
        return False
    if _ENDS_A_STATEMENT.search(line.name) or _BEGINS_NO_ENTRY.match(line.text):
        return False
    return not below.is_below_blank or _IS_A_NAME.match(line.text) is not None
