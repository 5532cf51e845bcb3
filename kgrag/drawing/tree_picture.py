"""A tree for people: as an outline, as SVG, as a page. Pure functions over values; templates escape what they print.

Templates read: ``tree.svg.j2``, ``tree.html.j2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

__all__ = ["Shown", "View", "outline", "page", "plain", "svg"]

_ROW, _WIDTH, _INDENT, _LETTERS = 26, 980, 26, 118
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLOURS = {"aggregate": "#2a6f6b", "passage": "#30507a", "summary": "#8a5a00"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A node as it is shown: ``score`` is its cosine to a question, None without one; ``hidden`` children are not."""

    iri: str
    kind: str
    level: int
    text: str
    score: float | None = None
    children: tuple[Shown, ...] = field(default=())
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """Part of a tree: a title, the nodes at the top that are shown, and how many others there are."""

    title: str
    roots: tuple[Shown, ...]
    hidden: int = 0


def outline(view: View, *, letters: int = 100) -> str:
    """Give a tree as indented lines.

    >>> leaf = Shown("urn:b", "passage", 0, "Barley is a cereal.")
    >>> print(outline(View("similarity tree", (Shown("urn:a", "summary", 1, "Cereals.", 0.5, (leaf,), 2),))))
    similarity tree
    summary 0.500  Cereals.
      passage  Barley is a cereal.
      … 2 more
    """
    lines = [view.title]
    for depth, node, more in _lines(view):
        lines.append(
            "  " * depth + (f"… {more} more" if node is None else f"{_label(node)}  {_short(node.text, letters)}")
        )
    return "\n".join(lines)


def plain(view: View) -> dict[str, Any]:
    """Give a tree as one JSON object."""
    return {"title": view.title, "hidden": view.hidden, "nodes": [_plain(node) for node in view.roots]}


def _plain(node: Shown) -> dict[str, Any]:
    said = {"iri": node.iri, "kind": node.kind, "level": node.level, "text": node.text, "score": node.score}
    return said | {"hidden": node.hidden, "children": [_plain(child) for child in node.children]}


def svg(view: View) -> str:
    """Give a tree as an SVG document: a line a node, indented by depth, with its whole text as a tooltip."""
    rows = [_row(number, *line) for number, line in enumerate(_lines(view), 1)]
    height = _ROW * (len(rows) + 1) + 12
    drawn = _template("tree.svg.j2").render(title=view.title, rows=rows, links=list(_links(rows)), height=height)
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", drawn)


def page(view: View) -> str:
    """Give a tree as an HTML page of its own, in which nodes fold."""
    return _template("tree.html.j2").render(view=view, colours=_COLOURS)


_Line = tuple[int, Shown | None, int]


def _lines(view: View) -> Iterator[_Line]:
    """Yield (depth, node, 0) for each node from top to bottom, and (depth, None, n) where n are not shown."""
    for node in view.roots:
        yield from _below(node, 0)
    if view.hidden:
        yield 0, None, view.hidden


def _below(node: Shown, depth: int) -> Iterator[_Line]:
    yield depth, node, 0
    for child in node.children:
        yield from _below(child, depth + 1)
    if node.hidden:
        yield depth + 1, None, node.hidden


def _row(number: int, depth: int, node: Shown | None, more: int) -> dict[str, Any]:
    x, y = 14 + depth * _INDENT, _ROW * (number + 1) - 4
    room = _LETTERS - 3 * depth
    if node is None:
        return {"x": x, "y": y, "depth": depth, "label": "", "text": f"… {more} more", "colour": "#666", "whole": ""}
    said = {"x": x, "y": y, "depth": depth, "label": _label(node), "text": _short(node.text, room), "whole": node.text}
    return said | {"colour": _COLOURS.get(node.kind, "#333")}


def _links(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield an elbow from each row to the one above it that it stands below."""
    last: dict[int, dict[str, Any]] = {}
    for row in rows:
        last[row["depth"]] = row
        if row["depth"]:
            above = last[row["depth"] - 1]
            yield {"x": above["x"] + 4, "top": above["y"] + 4, "y": row["y"] - 5, "end": row["x"] - 4}


def _label(node: Shown) -> str:
    return node.kind if node.score is None else f"{node.kind} {node.score:.3f}"


def _short(text: str, letters: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= letters else line[: letters - 1].rstrip() + "…"


@cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(Path(__file__).with_name(name).read_text(encoding="utf-8"))
