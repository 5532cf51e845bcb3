"""The command ``profile``: what do the facts have?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgrag.cli.options import KbOption, open_kb
from kgrag.cli.printing import print_json
from kgrag.cli.remote_commands import ServerOption, read_through, through
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.client import Client

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
    server: ServerOption = None,
) -> None:
    """Show what the facts have: classes with counts, properties as they are used, samples, empty classes."""
    if keep:
        through(server, lambda: _print(kb, graph, format_, keep=True), lambda client: _kept(client, graph, format_))
    else:
        read_through(server, lambda: _print(kb, graph, format_), lambda client: _print_remote(client, graph, format_))


def _print(kb: Path | None, graph: str | None, format_: ProfileFormat, *, keep: bool = False) -> None:
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


def _kept(client: Client, graph: str | None, format_: ProfileFormat) -> None:
    if graph is not None:
        raise InputError("the profile of one graph is not kept, only that of all facts. Leave --graph or --keep out.")
    client.keep_profile()
    _print_remote(client, None, format_)


def _print_remote(client: Client, graph: str | None, format_: ProfileFormat) -> None:
    if format_ is ProfileFormat.JSON:
        print_json(client.profile(graph=graph).model_dump())
    else:
        media = "text/turtle" if format_ is ProfileFormat.TURTLE else "text/plain"
        typer.echo(client.written("/profile", media, graph=graph), nl=format_ is ProfileFormat.TEXT)
