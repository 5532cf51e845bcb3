"""Text with marked spans, which may overlap, cut into pieces that a template can write.

>>> [(piece.text, piece.marks) for piece in pieces("sown in March", [Mark("1", 0, 4), Mark("2", 2, 7)])]
[('so', ('1',)), ('wn', ('1', '2')), (' in', ('2',)), (' March', ())]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Mark", "Piece", "pieces"]


@dataclass(frozen=True)
class Mark:
    """Characters ``start`` to ``end`` of a text, called ``name``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Piece:
    """A stretch of text, the marks that lie on it, and those of them that begin or end with it."""

    text: str
    marks: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()


def pieces(text: str, marks: Sequence[Mark]) -> list[Piece]:
    """Cut a text where marks begin and end; what lies outside the text is left out."""
    inside = [Mark(mark.name, max(mark.start, 0), min(mark.end, len(text))) for mark in marks]
    inside = [mark for mark in inside if mark.start < mark.end]
    cuts = sorted({0, len(text), *(mark.start for mark in inside), *(mark.end for mark in inside)})
    return [_piece(text, start, end, inside) for start, end in pairwise(cuts)]


def _piece(text: str, start: int, end: int, marks: Sequence[Mark]) -> Piece:
    on = [mark for mark in marks if mark.start <= start and end <= mark.end]
    return Piece(
        text[start:end],
        tuple(mark.name for mark in on),
        tuple(mark.name for mark in on if mark.start == start),
        tuple(mark.name for mark in on if mark.end == end),
    )
