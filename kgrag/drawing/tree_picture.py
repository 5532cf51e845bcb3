"""A tree for people: as an outline, as JSON, as SVG, as a page. Pure functions over values.

Templates read: ``tree.svg.j2``, ``tree.html.j2``, which escape what they print.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kgrag.drawing.picture_templates import one_line, render
from kgrag.late_patterns import late_re

__all__ = ["TreeNodeView", "TreeView", "outline", "page", "plain", "read_plain", "svg"]

_ROW_HEIGHT_PX, _INDENT_PX, _MARGIN_PX = 26, 26, 14
_MAX_LETTERS_PER_ROW, _LETTERS_PER_INDENT = 118, 3
_NOT_XML = late_re("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLOURS = {"aggregate": "#2a6f6b", "passage": "#30507a", "summary": "#8a5a00"}


@dataclass(frozen=True, slots=True)
class TreeNodeView:
    """A node as it is shown: ``score`` is its cosine to a question, None without one.

    ``children`` are those that are shown, ``hidden`` is the number of the others.
    """

    iri: str
    kind: str
    level: int
    text: str
    score: float | None = None
    children: tuple[TreeNodeView, ...] = field(default=())
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class TreeView:
    """Part of a tree: a title, the nodes at the top that are shown, and the number of the others."""

    title: str
    roots: tuple[TreeNodeView, ...]
    hidden: int = 0


def outline(view: TreeView, *, letters: int = 100) -> str:
    """Return a tree as indented lines; ``letters`` is the longest text of a node.

    >>> leaf = TreeNodeView("urn:b", "passage", 0, "Barley is a cereal.")
    >>> print(outline(TreeView("similarity tree", (TreeNodeView("urn:a", "summary", 1, "Cereals.", 0.5, (leaf,), 2),))))
    similarity tree
    summary 0.500  Cereals.
      passage  Barley is a cereal.
      … 2 more
    """
    lines = [view.title]
    for depth, node, hidden in _lines(view.roots, view.hidden):
        text = f"… {hidden} more" if node is None else f"{_label(node)}  {one_line(node.text, letters)}"
        lines.append("  " * depth + text)
    return "\n".join(lines)


def plain(view: TreeView) -> dict[str, object]:
    """Return a tree as one JSON object."""
    return {"title": view.title, "hidden": view.hidden, "nodes": [_plain_node(node) for node in view.roots]}


def _plain_node(node: TreeNodeView) -> dict[str, object]:
    own = {"iri": node.iri, "kind": node.kind, "level": node.level, "text": node.text, "score": node.score}
    return own | {"hidden": node.hidden, "children": [_plain_node(child) for child in node.children]}


def read_plain(found: Mapping[str, Any]) -> TreeView:
    """Return the tree of a JSON object that ``plain`` made.

    >>> leaf = TreeNodeView("urn:b", "passage", 0, "Barley.")
    >>> view = TreeView("similarity tree", (TreeNodeView("urn:a", "summary", 1, "Cereals.", 0.5, (leaf,)),))
    >>> read_plain(plain(view)) == view
    True
    """
    return TreeView(found["title"], tuple(map(_read_node, found["nodes"])), found["hidden"])


def _read_node(found: Mapping[str, Any]) -> TreeNodeView:
    return TreeNodeView(**{**found, "children": tuple(map(_read_node, found["children"]))})


def svg(view: TreeView) -> str:
    """Return a tree as an SVG document: one line per node, indented by depth, with its whole text as a tooltip."""
    rows = [_row(number, *line) for number, line in enumerate(_lines(view.roots, view.hidden), 1)]
    height = _ROW_HEIGHT_PX * (len(rows) + 1) + 12
    drawn = render("tree.svg.j2", title=view.title, rows=rows, links=list(_elbows(rows)), height=height)
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn)


def page(view: TreeView) -> str:
    """Return a tree as an HTML page, in which nodes fold."""
    return render("tree.html.j2", view=view, colours=_COLOURS)


def _lines(
    nodes: Sequence[TreeNodeView], hidden: int, depth: int = 0
) -> Iterator[tuple[int, TreeNodeView | None, int]]:
    """Yield (depth, node, 0) for each node from top to bottom, and (depth, None, n) where n nodes are not shown."""
    for node in nodes:
        yield depth, node, 0
        yield from _lines(node.children, node.hidden, depth + 1)
    if hidden:
        yield depth, None, hidden


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the SVG: where it begins (pixels), a coloured label, a text, and the whole text as a tooltip."""

    depth: int
    x: int
    y: int
    label: str
    text: str
    colour: str
    whole: str = ""


def _row(number: int, depth: int, node: TreeNodeView | None, hidden: int) -> _Row:
    x, y = _MARGIN_PX + depth * _INDENT_PX, _ROW_HEIGHT_PX * (number + 1) - 4
    if node is None:
        return _Row(depth, x, y, "", f"… {hidden} more", "#666")
    text = one_line(node.text, _MAX_LETTERS_PER_ROW - _LETTERS_PER_INDENT * depth)
    return _Row(depth, x, y, _label(node), text, _COLOURS.get(node.kind, "#333"), node.text)


def _elbows(rows: Sequence[_Row]) -> Iterator[dict[str, int]]:
    """Yield the line that links each row to the last row above it that is one level higher."""
    last: dict[int, _Row] = {}
    for row in rows:
        last[row.depth] = row
        if row.depth:
            parent = last[row.depth - 1]
            yield {"x": parent.x + 4, "top": parent.y + 4, "y": row.y - 5, "end": row.x - 4}


def _label(node: TreeNodeView) -> str:
    return node.kind if node.score is None else f"{node.kind} {node.score:.3f}"
