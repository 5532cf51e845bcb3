"""Blocks of code in a text, each with the sentence that introduces it.

A block is what the source marks as one (``pre`` of HTML), what stands between two fences of Markdown, or indented lines
below a line that ends in a colon, blank lines between them included. Other indented text is none: whole manuals are
indented. Lines are looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgrag.late_patterns import late_re
from kgrag.text import sentences

__all__ = ["code_blocks"]

_FENCE = late_re(r" {0,3}(`{3,}|~{3,})")
_INDENTED = late_re(r"(?: {4}|\t) *\S")
_MAX_INTRODUCTION_CHARACTERS = 1000
"""A longer paragraph is looked at from its end only."""


def code_blocks(text: str, marked: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    r"""Return start and end of each block in order, with the sentence before it where that ends in a colon.

    >>> text = "Read this. To stop it, run:\n\n    $ tool stop\n\n    $ tool wait\n\nIt ends."
    >>> [text[start:end] for start, end in code_blocks(text)]
    ['To stop it, run:\n\n    $ tool stop\n\n    $ tool wait']
    >>> code_blocks("    All of a manual\n    is indented.\n\n    Like this.")
    []

    Args:
        text: of a document.
        marked: start and end of blocks that its source marks, in order.
    """
    found = _written(text)
    return _together([*found, *(_introduced(text, start, end) for start, end in marked)]) if marked else found


def _together(blocks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return blocks in order, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(blocks):
        if found and start < found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _introduced(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a block with the sentence before it, where that ends in a colon."""
    first = max(0, start - _MAX_INTRODUCTION_CHARACTERS)
    before = text[first:start].rstrip()
    return _introduction(text, (first + before.rfind("\n\n") + 1, first + len(before)), start), end


def _written(text: str) -> list[tuple[int, int]]:
    """Return the blocks that the text itself shows."""
    found: list[tuple[int, int]] = []
    paragraph: tuple[int, int] | None = None  # the last lines that are no code
    start, fence, joined = -1, "", False
    for first, last in _lines(text):
        line = text[first:last]
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence):
                found.append((start, last))
                start, fence, paragraph = -1, "", None
            continue
        if opened:
            fence, start = opened[1], _introduction(text, paragraph, first)
        elif _INDENTED.match(line):
            begun = start if start >= 0 else _introduction(text, paragraph, -1)
            if begun >= 0:
                found[len(found) - (start >= 0) :] = [(begun, last)]
                start = begun
            joined = False
        elif line.strip():
            start = -1
            paragraph = (paragraph[0] if joined and paragraph else first, last)
            joined = True
        else:
            joined = False
    return found


def _lines(text: str) -> Iterator[tuple[int, int]]:
    first = 0
    while first < len(text):
        last = text.find("\n", first)
        last = len(text) if last < 0 else last
        yield first, last
        first = last + 1


def _introduction(text: str, paragraph: tuple[int, int] | None, otherwise: int) -> int:
    """Return where the last sentence of a paragraph begins if it ends in a colon; another place if it does not."""
    if paragraph is None or not text[slice(*paragraph)].rstrip().endswith(":"):
        return otherwise
    begin = max(paragraph[0], paragraph[1] - _MAX_INTRODUCTION_CHARACTERS)
    return begin + [start for start, _ in sentences.split(text[begin : paragraph[1]])][-1]
