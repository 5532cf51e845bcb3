"""The saved command: queries that people saved for each other in the knowledge base."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import Format, KbOption, open_kb
from kgrag.cli.printing import note, print_json
from kgrag.cli.query_results import read_sparql, write_results
from kgrag.cli.remote_commands import ServerOption, query_through, read_through, through
from kgrag.errors import InputError
from kgrag.querying.saved_queries import QueryParameter, SavedQuery
from kgrag.sparql.query_parameters import KINDS

if TYPE_CHECKING:
    from kgrag.client import Client

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
    server: ServerOption = None,
) -> None:
    """List the saved queries, show or run one with values for its parameters, save or remove one."""
    if name is None:
        if run or remove or save:
            raise InputError("--run, --save and --remove need the name of a query. Give it.")
        _list(read_through(server, lambda: _listed(kb), _listed_there), format_)
    elif save is not None:
        declared = tuple(_parameter(each) for each in parameter or ())
        query = SavedQuery(name, read_sparql(str(save)), title, topic=topic, method=method, parameters=declared)
        through(server, lambda: _save(kb, query), lambda client: _save_there(client, query))
    elif remove:
        through(server, lambda: _remove(kb, name), lambda client: _remove_there(client, name))
    else:
        values = dict(_pair(each) for each in value or ())
        bound = run or bool(values)
        text = read_through(
            server,
            lambda: _text(kb, name, values, bound=bound),
            lambda client: _text_there(client, name, values, bound=bound),
        )
        if not run:
            typer.echo(text)
        elif server is not None:
            query_through(server, text, format_)
        else:
            with open_kb(kb, access="read") as opened:
                write_results(opened.raw_query(text), format_)


def _listed(kb: Path | None) -> list[dict[str, Any]]:
    with open_kb(kb, access="read") as opened:
        return [asdict(each) for each in opened.saved_queries()]


def _listed_there(client: Client) -> list[dict[str, Any]]:
    return [each.model_dump() for each in client.saved_queries().root]


def _list(listed: list[dict[str, Any]], format_: Format) -> None:
    if format_ is Format.JSON:
        print_json(listed)
        return
    for each in listed:
        takes = ", ".join(f"{one['name']}: {one['kind']}" for one in each["parameters"])
        typer.echo(f"{each['name']:32} {each['topic']:16} {each['title']}{f' ({takes})' if takes else ''}".rstrip())
    note(f"{len(listed)} saved queries; `kgrag saved NAME` shows one")


def _save(kb: Path | None, query: SavedQuery) -> None:
    with open_kb(kb) as opened:
        note(f"saved {opened.save_query(query).iri}")


def _save_there(client: Client, query: SavedQuery) -> None:
    from kgrag.http_api.write_schemas import QueryParameter as SentParameter

    sent = [SentParameter(**asdict(each)) for each in query.parameters]
    made = client.save_query(
        query.name, query.sparql, title=query.title, topic=query.topic, method=query.method, parameters=sent
    )
    note(f"saved {made.iri}")


def _remove(kb: Path | None, name: str) -> None:
    with open_kb(kb) as opened:
        opened.remove_query(name)
    note(f"removed {name}")


def _remove_there(client: Client, name: str) -> None:
    client.remove_query(name)
    note(f"removed {name}")


def _text(kb: Path | None, name: str, values: dict[str, str], *, bound: bool) -> str:
    with open_kb(kb, access="read") as opened:
        return opened.saved_text(name, **values) if bound else opened.saved_query(name).sparql


def _text_there(client: Client, name: str, values: dict[str, str], *, bound: bool) -> str:
    if bound:
        return client.saved_text(name, values=values).sparql
    return client.saved_query(name).sparql


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
