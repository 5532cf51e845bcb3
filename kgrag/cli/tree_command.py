"""The tree command: a summary tree for people, as an outline, as JSON, as a picture, as a page."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import KbOption, open_kb
from kgrag.cli.printing import print_json
from kgrag.cli.remote_commands import ServerOption, read_through

if TYPE_CHECKING:
    from kgrag.client import Client
    from kgrag.drawing.tree_picture import TreeView

__all__ = ["register"]


class TreeFormat(StrEnum):
    """How a tree is printed."""

    TEXT = "text"
    JSON = "json"
    SVG = "svg"
    HTML = "html"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(tree)


def tree(
    question: Annotated[str, typer.Argument(help="Walk towards this question; default: in the order of IRIs.")] = "",
    kb: KbOption = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Whose tree; sire_rag:tree=relatedness is the other one.")
    ] = "sire_rag",
    node: Annotated[str, typer.Option("--node", help="IRI to begin at; default: the top.", show_default=False)] = "",
    width: Annotated[int, typer.Option("--width", help="How many nodes are shown below each.", min=1)] = 3,
    format_: Annotated[TreeFormat, typer.Option("--format", help="text, json, svg, html.")] = TreeFormat.TEXT,
    out: Annotated[Path | None, typer.Option("--to", help="File to write instead of printing.")] = None,
    server: ServerOption = None,
) -> None:
    """Walk down a summary tree, level by level, or draw it."""
    from kgrag.drawing import tree_picture

    def here() -> TreeView:
        from kgrag.capabilities import Traverses, capable

        with open_kb(kb, access="read") as opened:
            return capable(opened.method(method), Traverses, method).traverse(question, node=node, width=width)

    def there(client: Client) -> TreeView:
        reply = client.tree(question=question, method=method, node=node, width=width)
        return tree_picture.read_plain(reply.model_dump())

    view = read_through(server, here, there)
    if format_ is TreeFormat.JSON and out is None:
        print_json(tree_picture.plain(view))
        return
    text = _written(view, format_)
    if out is None:
        typer.echo(text)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"{out}: {view.title}")


def _written(view: Any, format_: TreeFormat) -> str:
    import json

    from kgrag.drawing import tree_picture

    if format_ is TreeFormat.JSON:
        return json.dumps(tree_picture.plain(view), ensure_ascii=False, indent=2)
    return {
        TreeFormat.TEXT: tree_picture.outline,
        TreeFormat.SVG: tree_picture.svg,
        TreeFormat.HTML: tree_picture.page,
    }[format_](view)
