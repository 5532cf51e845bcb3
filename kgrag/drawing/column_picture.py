"""What a thing is linked to, as SVG: what leads to it on the left, the thing, and what it leads to on the right.

A property that links many others is one group with a count, so that ten thousand neighbours take as much room as ten.
The picture is part of a page: it has links and tooltips but no colours, which come from the page's style sheet.
Template read: ``columns.svg.j2``, which escapes what it prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgrag.drawing.picture_templates import one_line, render
from kgrag.late_patterns import late_re

__all__ = ["ColumnBox", "ColumnGroup", "ColumnsView", "columns_svg"]

_WIDTH_PX, _BOX_WIDTH_PX, _BOX_HEIGHT_PX = 960, 280, 30
_HEADING_PX, _ROW_PX, _GROUP_GAP_PX, _MARGIN_PX = 24, 36, 16, 12
_MAX_LETTERS, _MAX_CENTRE_LETTERS, _MAX_HEADING_LETTERS = 36, 30, 40  # the one in the middle is bold
_MAX_MIDDLE_PX = 320
"""In a tall picture the thing stands near the top, where it is seen."""
_NOT_XML = late_re("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ColumnBox:
    """A thing or a value: ``href`` is the address of its picture, "" for none; ``tooltip`` its whole text."""

    label: str
    href: str = ""
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Those that one property links: some as boxes, ``more`` are not shown and are at ``more_href``.

    ``weight`` is that of the link, 0 to 2: how thick its line is.
    """

    heading: str
    boxes: tuple[ColumnBox, ...]
    more: int = 0
    more_href: str = ""
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class ColumnsView:
    """The thing in the middle, and the groups on its left and right."""

    title: str
    centre: ColumnBox
    left: tuple[ColumnGroup, ...] = ()
    right: tuple[ColumnGroup, ...] = ()


def columns_svg(view: ColumnsView) -> str:
    """Return the picture as an ``svg`` element.

    >>> leaf = ColumnGroup("is part of", (ColumnBox("A document", "/d"),), 3, "/more")
    >>> drawn = columns_svg(ColumnsView("Around", ColumnBox("A <chunk>"), right=(leaf,)))
    >>> drawn.count("<rect"), "3 more" in drawn, "A &lt;chunk&gt;" in drawn
    (2, True, True)
    """
    heights = [_height(groups) for groups in (view.left, view.right)]
    height = max(*heights, _BOX_HEIGHT_PX + 20) + 2 * _MARGIN_PX
    middle = min(height / 2, _MAX_MIDDLE_PX)
    places = [_MARGIN_PX, (_WIDTH_PX - _BOX_WIDTH_PX) / 2, _WIDTH_PX - _BOX_WIDTH_PX - _MARGIN_PX]
    centre_x = places[1 + bool(view.left) - bool(view.right)]  # beside the only column there is, else between them
    sides = [
        *_placed(view.left, x=_MARGIN_PX, top=_top(heights[0], middle), towards=(centre_x, middle), right=False),
        *_placed(
            view.right,
            x=_WIDTH_PX - _BOX_WIDTH_PX - _MARGIN_PX,
            top=_top(heights[1], middle),
            towards=(centre_x + _BOX_WIDTH_PX, middle),
            right=True,
        ),
    ]
    size = {"width": _WIDTH_PX, "height": round(height), "box_width": _BOX_WIDTH_PX, "box_height": _BOX_HEIGHT_PX}
    centre = {"x": centre_x, "y": middle - _BOX_HEIGHT_PX / 2 - 5, **_words(view.centre, _MAX_CENTRE_LETTERS)}
    drawn = render("columns.svg.j2", title=view.title, size=size, centre=centre, groups=sides)
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn)


def _top(height: float, middle: float) -> float:
    """Return where a column begins: around the middle, but not above the picture."""
    return max(middle - height / 2, _MARGIN_PX)


def _height(groups: Sequence[ColumnGroup]) -> int:
    rows = sum(_HEADING_PX + _ROW_PX * (len(group.boxes) + bool(group.more)) for group in groups)
    return rows + _GROUP_GAP_PX * max(len(groups) - 1, 0)


def _placed(
    groups: Sequence[ColumnGroup], *, x: float, top: float, towards: tuple[float, float], right: bool
) -> Iterator[dict[str, object]]:
    """Yield what the template prints of each group: its heading, its boxes and the lines to the middle."""
    y = top
    for group in groups:
        boxes, lines = [], []
        heading = {"x": x, "y": y + _HEADING_PX - 8, "text": one_line(group.heading, _MAX_HEADING_LETTERS)}
        y += _HEADING_PX
        for box in group.boxes:
            boxes.append({"x": x, "y": y, **_words(box)})
            lines.append(_curve(x if right else x + _BOX_WIDTH_PX, y + _BOX_HEIGHT_PX / 2, towards))
            y += _ROW_PX
        more = None
        if group.more:
            more = {"x": x + 12, "y": y + 20, "text": f"{group.more:,} more", "href": group.more_href}
            y += _ROW_PX
        y += _GROUP_GAP_PX
        width = round(1.2 + min(group.weight, 2.0), 2)
        yield {"heading": heading, "boxes": boxes, "lines": lines, "more": more, "width": width}


def _words(box: ColumnBox, letters: int = _MAX_LETTERS) -> dict[str, str]:
    return {"label": one_line(box.label, letters), "href": box.href, "tooltip": box.tooltip or box.label}


def _curve(x: float, y: float, towards: tuple[float, float]) -> str:
    bend = (x + towards[0]) / 2
    return f"M{x:.0f} {y:.0f}C{bend:.0f} {y:.0f} {bend:.0f} {towards[1]:.0f} {towards[0]:.0f} {towards[1]:.0f}"
