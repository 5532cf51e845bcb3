"""A chunk and the chunks that are linked to it, as a web page without scripts: a drawing above a table.

Template read: ``neighbourhood.html.j2``, which escapes all that it prints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kgrag.drawing.picture_templates import one_line, render

__all__ = ["LinkedChunk", "neighbourhood_page"]

_WIDTH_PX = 900
_MIN_HEIGHT_PX = 240
_ROW_HEIGHT_PX = 84
_BOX_WIDTH_PX, _BOX_HEIGHT_PX = 190, 44
_MARGIN_PX = 10


@dataclass(frozen=True, slots=True)
class LinkedChunk:
    """A chunk that is linked to the one in the middle, and the edge between the two.

    ``link`` words what the chunk is to the middle ("cites it"); ``weight`` is 0 to 2; ``outgoing`` edges leave the
    middle; ``colour`` is a CSS colour.
    """

    iri: str
    title: str
    text: str
    link: str
    weight: float
    outgoing: bool
    colour: str
    dashed: bool = False


def neighbourhood_page(chunk: str, title: str, text: str, linked: Sequence[LinkedChunk]) -> str:
    """Return the page of a chunk.

    Args:
        chunk: IRI of the chunk in the middle.
        title: of its document.
        text: its words.
        linked: the chunks around it; they are placed left and right in turn, from the top down.
    """
    height = max(_MIN_HEIGHT_PX, _ROW_HEIGHT_PX * math.ceil(len(linked) / 2) + 60)
    return render(
        "neighbourhood.html.j2",
        title=title,
        chunk=chunk,
        text=one_line(text, 700),
        width=_WIDTH_PX,
        height=height,
        box={"width": _BOX_WIDTH_PX, "height": _BOX_HEIGHT_PX},
        centre={"x": (_WIDTH_PX - _BOX_WIDTH_PX) / 2, "y": (height - _BOX_HEIGHT_PX) / 2, "label": one_line(title, 26)},
        linked=[_placed(neighbour, number, len(linked), height) for number, neighbour in enumerate(linked)],
    )


def _placed(neighbour: LinkedChunk, number: int, count: int, height: int) -> dict[str, object]:
    """Return what the template prints of a neighbour: its box, its edge (from 1 to 2) and its words."""
    right, row = number % 2 == 1, number // 2
    x = _WIDTH_PX - _BOX_WIDTH_PX - _MARGIN_PX if right else _MARGIN_PX
    y = (row + 0.5) * (height / math.ceil(count / 2)) - _BOX_HEIGHT_PX / 2
    x1, y1 = _WIDTH_PX / 2 + (_BOX_WIDTH_PX / 2 if right else -_BOX_WIDTH_PX / 2), height / 2
    x2, y2 = x if right else x + _BOX_WIDTH_PX, y + _BOX_HEIGHT_PX / 2
    lengths = {"x": x, "y": y, "x1": x1, "y1": y1, "x2": x2, "y2": y2, "xm": (x1 + x2) / 2, "ym": (y1 + y2) / 2 - 3}
    return {name: round(pixels, 1) for name, pixels in lengths.items()} | {
        "edge": neighbour,
        "stroke": round(1 + min(neighbour.weight, 2.0), 2),
        "weight": f"{neighbour.weight:.2f}",
        "label": one_line(neighbour.title or neighbour.iri, 30),
        "words": one_line(neighbour.text, 36),
        "text": one_line(neighbour.text, 280),
    }
