"""The command ``profile``: what do the facts have?"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kgrag.cli.options import KbOption, open_kb
from kgrag.cli.printing import print_json

__all__ = ["register"]


class ProfileFormat(StrEnum):
    """How the profile is printed."""

    TEXT = "text"
    JSON = "json"
    TURTLE = "turtle"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(profile)


def profile(
    kb: KbOption = None,
    graph: Annotated[
        str | None, typer.Option("--graph", help="IRI of one graph, instead of all facts.", show_default=False)
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep it as a graph of the knowledge base, which then follows changes.")
    ] = False,
    format_: Annotated[
        ProfileFormat, typer.Option("--format", help="text, one JSON document, or Turtle in the terms of VoID.")
    ] = ProfileFormat.TEXT,
) -> None:
    """Show what the facts have: classes with counts, properties as they are used, samples, empty classes."""
    with open_kb(kb, access="write" if keep else "read") as opened:
        found = opened.profile(graph=graph, keep=keep)
        names = opened.store.names
    if format_ is ProfileFormat.JSON:
        print_json(found.to_json())
    elif format_ is ProfileFormat.TURTLE:
        from kgrag.querying.data_profile import as_turtle

        typer.echo(as_turtle(found, names), nl=False)
    else:
        typer.echo(found.as_text())
