"""The index command: which texts of the loaded RDF can be searched for, as users declare it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb
from kgrag.cli.printing import note, print_json
from kgrag.cli.query_results import read_sparql

__all__ = ["register"]

_NameArgument = Annotated[str, typer.Argument(help="Name of the index, which searches name as their space.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(help="Declare which texts of the loaded RDF can be searched for (kgv:near, kgv:matches).")
    group.command("add")(add)
    group.command("list")(list_)
    group.command("remove")(remove)
    app.add_typer(group, name="index")


def add(
    name: _NameArgument,
    query: Annotated[Path, typer.Option("--query", help="File with a SELECT of ?iri and ?text.", show_default=False)],
    kb: KbOption = None,
    title: Annotated[str, typer.Option("--title", help="A line for a person.")] = "",
) -> None:
    """Declare an index by the query of what can be searched for, in the place of that of the same name."""
    with open_kb(kb, access="write") as opened:
        state = opened.add_index(name, read_sparql(str(query)), title)
    how = "follows what changes" if state.follows else "is read as a whole when the store changes"
    note(f"index '{name}' has {state.texts} texts, and {how}")


def list_(
    kb: KbOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or JSON.")] = JsonFormat.TEXT,
) -> None:
    """List the indexes that were declared; what is wrong with them is found by doctor."""
    with open_kb(kb) as opened:
        states = opened.indexes()
    if format_ is JsonFormat.JSON:
        print_json([asdict(state) for state in states])
        return
    for state in states:
        how = "follows" if state.follows else "as a whole"
        typer.echo(f"{state.index.name:24} {how:10} {state.index.created:24} {state.index.title}".rstrip())
    note(f"{len(states)} indexes")


def remove(name: _NameArgument, kb: KbOption = None) -> None:
    """Remove an index that was declared."""
    with open_kb(kb, access="write") as opened:
        opened.remove_index(name)
    note(f"removed {name}")
