"""The jobs command: what a server is at, and how it is cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb
from kgrag.cli.printing import note, print_json
from kgrag.cli.remote_commands import ServerOption, through

if TYPE_CHECKING:
    from kgrag.client import Client

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(jobs)


def jobs(
    kb: KbOption = None,
    cancel: Annotated[str, typer.Option("--cancel", help="Id of a job to end; what is done by then is kept.")] = "",
    queries: Annotated[bool, typer.Option("--queries", help="The queries under way instead.")] = False,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or JSON.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """List what the server that holds the knowledge base is at (uploads, builds, erasures; queries), or cancel it."""

    def none_here() -> None:
        with open_kb(kb):  # raises where a server holds it
            note("no server holds this knowledge base, so there are no jobs")

    def there(client: Client) -> None:
        if queries:
            if cancel:
                client.cancel_query(cancel)
            for query in client.running_queries().root:
                text = " ".join(query.text.split())[:200]
                typer.echo(f"{query.id}  {query.state:8} {query.seconds:8.1f} s  {query.client}  {text}")
            return
        if cancel:
            note(f"{cancel}: {client.cancel_job(cancel).state}")
        listed = client.jobs().root
        if format_ is JsonFormat.JSON:
            print_json([each.model_dump() for each in listed])
            return
        for each in listed:
            done, total, stage = (each.progress[name] for name in ("done", "total", "stage"))
            at = f", {stage} {done:,} of {total:,}" if each.state == "running" and total else ""
            typer.echo(f"{each.id}  {each.kind:9} {each.state:9} {each.seconds:8.1f} s{at}  {each.about}")
        note(f"{len(listed)} jobs")

    through(server, none_here, there)
