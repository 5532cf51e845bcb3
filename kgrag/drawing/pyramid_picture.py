"""The layers of a pyramid as SVG, the highest at the top, with what each contains.

The picture is part of a page, whose style sheet has the colours. Template read: ``pyramid.svg.j2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kgrag.drawing.picture_templates import render

__all__ = ["PyramidLayer", "pyramid_svg"]

_WIDTH_PX, _LAYER_PX, _TIP_PX, _GAP_PX = 720, 84, 300, 6


@dataclass(frozen=True, slots=True)
class PyramidLayer:
    """A layer: its name, what it contains in words, its page, and whether it is the one that answered."""

    name: str
    content: str
    href: str = ""
    answered: bool = False


def pyramid_svg(layers: Sequence[PyramidLayer]) -> str:
    """Return the picture of layers, the first at the top, as an ``svg`` element.

    >>> pyramid_svg([PyramidLayer("ontology", "12 triples"), PyramidLayer("text", "3 chunks")]).count("<polygon")
    2
    """
    count = max(len(layers), 1)
    step = (_WIDTH_PX - _TIP_PX) / (2 * count)
    drawn = []
    for number, layer in enumerate(layers):
        top, bottom = number * (_LAYER_PX + _GAP_PX), number * (_LAYER_PX + _GAP_PX) + _LAYER_PX
        above, below = step * (count - number), step * (count - number - 1)
        corners = [(above, top), (_WIDTH_PX - above, top), (_WIDTH_PX - below, bottom), (below, bottom)]
        points = " ".join(f"{x:.0f},{y:.0f}" for x, y in corners)
        drawn.append({"layer": layer, "points": points, "y": top + _LAYER_PX / 2})
    height = count * (_LAYER_PX + _GAP_PX)
    return render("pyramid.svg.j2", layers=drawn, width=_WIDTH_PX, height=height)
