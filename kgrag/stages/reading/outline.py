"""Headings into sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgrag.model import Section

__all__ = ["Heading", "collapsed", "sections"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: where its line starts in the document's text, its level from 1, and its words."""

    start: int
    level: int
    words: str


def sections(headings: Sequence[Heading], length: int) -> tuple[Section, ...]:
    """Give one section a heading, up to the next one, named by the path of headings above it.

    >>> [section.heading for section in sections([Heading(0, 1, "Crops"), Heading(9, 2, "Soybean")], 20)]
    ['Crops', 'Crops > Soybean']
    """
    found = []
    above: list[Heading] = []
    ends = [heading.start for heading in headings[1:]] + [length]
    for heading, end in zip(headings, ends, strict=False):
        above = [upper for upper in above if upper.level < heading.level] + [heading]
        path = " > ".join(upper.words for upper in above if upper.words)
        found.append(Section(heading.start, end, path))
    return tuple(found)


def collapsed(text: str) -> str:
    """Put a text on one line."""
    return " ".join(text.split())
