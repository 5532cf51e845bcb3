"""The plugins command: what is registered, by which package, and whether it can be used."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import JsonFormat
from kgrag.cli.printing import note, print_json
from kgrag.cli.remote_commands import ServerOption, read_through

if TYPE_CHECKING:
    from kgrag.client import Client

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(plugins)


def plugins(
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """List methods, readers, embedders and all else that can be added by a package; exit code 1 if one is broken."""
    from kgrag.plugins import examined

    def there(client: Client) -> list[dict[str, Any]]:
        return [each.model_dump() for each in client.plugins().root]

    found = read_through(server, lambda: [asdict(each) for each in examined()], there)
    if format_ is JsonFormat.JSON:
        print_json(found)
    else:
        for each in found:
            group, origin = each["group"].removeprefix("kgrag."), f"{each['distribution']} {each['version']}"
            typer.echo(f"{group:<10} {each['name']:<20} {origin:<20} {'broken' if each['problem'] else 'ready'}")
        for each in found:
            if each["problem"]:
                note(f"{each['name']} ({each['group']}): {each['problem']}")
    if any(each["problem"] for each in found):
        raise typer.Exit(1)
