"""The saved command: queries that people saved for each other in the knowledge base."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kgrag.cli.options import Format, KbOption, open_kb
from kgrag.cli.printing import note, print_json
from kgrag.cli.query_results import read_sparql, write_results
from kgrag.errors import InputError
from kgrag.querying.saved_queries import QueryParameter, SavedQuery
from kgrag.sparql.query_parameters import KINDS

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(saved)


def saved(
    name: Annotated[str | None, typer.Argument(help="Show this one.", show_default=False)] = None,
    kb: KbOption = None,
    run: Annotated[bool, typer.Option("--run", help="Run it and print the result.")] = False,
    value: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE of a parameter; may be repeated.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Save the query in this file by NAME.", show_default=False)
    ] = None,
    title: Annotated[str, typer.Option("--title", help="With --save: a line for a person.")] = "",
    topic: Annotated[str, typer.Option("--topic", help="With --save: what it is about, in a word or two.")] = "",
    method: Annotated[str, typer.Option("--method", help="With --save: the method whose graphs it reads.")] = "",
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", help="With --save: NAME:KIND[=DEFAULT] of a variable; IRI, text, number, date, boolean."
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove it.")] = False,
    format_: Annotated[
        Format, typer.Option("--format", help="How results are printed; json also lists.")
    ] = Format.TABLE,
) -> None:
    """List the saved queries, show or run one with values for its parameters, save or remove one."""
    if name is None and (run or remove or save):
        raise InputError("--run, --save and --remove need the name of a query. Give it.")
    with open_kb(kb, access="write" if save or remove else "read") as opened:
        if name is None:
            listed = opened.saved_queries()
            if format_ is Format.JSON:
                print_json([asdict(each) for each in listed])
                return
            for each in listed:
                takes = ", ".join(f"{one.name}: {one.kind}" for one in each.parameters)
                typer.echo(f"{each.name:32} {each.topic:16} {each.title}{f' ({takes})' if takes else ''}".rstrip())
            note(f"{len(listed)} saved queries; `kgrag saved NAME` shows one")
        elif save is not None:
            declared = tuple(_parameter(each) for each in parameter or ())
            query = SavedQuery(name, read_sparql(str(save)), title, topic=topic, method=method, parameters=declared)
            made = opened.save_query(query)
            note(f"saved {made.iri}")
        elif remove:
            opened.remove_query(name)
            note(f"removed {name}")
        else:
            values = dict(_pair(each) for each in value or ())
            if not run and not values:
                typer.echo(opened.saved_query(name).sparql)
                return
            text = opened.saved_text(name, **values)
            if run:
                write_results(opened.raw_query(text), format_)
            else:
                typer.echo(text)


def _parameter(given: str) -> QueryParameter:
    declared, _, default = given.partition("=")
    name, _, kind = declared.partition(":")
    known = next((each for each in KINDS if each.lower() == (kind or "text").lower()), None)
    if known is None:
        raise InputError(f"--parameter {given!r}: there is no kind {kind!r}. Use one of {', '.join(KINDS)}.")
    return QueryParameter(name, known, default=default)


def _pair(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not equals:
        raise InputError(f"--set {given!r}: write NAME=VALUE.")
    return name, value
