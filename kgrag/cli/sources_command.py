"""The sources command: what documents come from, other names for that, and folders that are elsewhere now."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb
from kgrag.cli.printing import note, print_json
from kgrag.cli.remote_commands import ServerOption, read_through, through
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.client import Client

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(sources)


def sources(
    kb: KbOption = None,
    move: Annotated[str, typer.Option("--move", help="Name of a source whose folder is elsewhere now.")] = "",
    to: Annotated[Path | None, typer.Option("--to", help="With --move: the folder.", show_default=False)] = None,
    rename: Annotated[str, typer.Option("--rename", help="Name of a source that gets another one.")] = "",
    as_: Annotated[str, typer.Option("--as", help="With --rename: the other name.", show_default=False)] = "",
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or JSON.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """List what documents come from (folders, files, feeds): name, kind, root, documents, last change by a sync."""
    if bool(move) != (to is not None):
        raise InputError("--move NAME and --to FOLDER go together.")
    if bool(rename) != bool(as_):
        raise InputError("--rename NAME and --as NAME go together.")
    if move or rename:
        _change(kb, server, (move, to or Path()), (rename, as_))
    found = read_through(server, lambda: _listed(kb), lambda client: client.sources().model_dump())
    if format_ is JsonFormat.JSON:
        print_json(found)
        return
    for one in found["sources"]:
        typer.echo(f"{one['name']}  {one['kind']}  {one['root']}")
        synced = f"synced {one['synced']}" if one["synced"] else "never synced"
        typer.echo(f"    {one['documents']} documents, {synced}")
    if without := found["documents_without_source"]:
        note(f"{without} documents are of no source: they were added by a URL, or mapped, or have no place")
    note(f"{len(found['sources'])} sources")


def _listed(kb: Path | None) -> dict[str, Any]:
    from kgrag.knowledge_base import document_sources

    with open_kb(kb, access="either") as opened:
        listed, without = document_sources.counted(opened.store)
    return {"sources": [asdict(one) for one in listed], "documents_without_source": without}


def _change(kb: Path | None, server: str | None, move: tuple[str, Path], rename: tuple[str, str]) -> None:
    def moved(count: int) -> None:
        note(f"moved '{move[0]}' with {count} documents; nothing was read. `kgrag sync {move[0]}` reads its files")

    def here() -> None:
        with open_kb(kb) as opened:
            if move[0]:
                moved(opened.move_source(*move))
            if rename[0]:
                opened.rename_source(*rename)

    def there(client: Client) -> None:
        if move[0]:
            if not move[1].is_dir():
                raise InputError(f"{move[1]} is no folder. Move '{move[0]}' to where its files are now.")
            moved(client.change_source(move[0], root=os.path.realpath(move[1])).documents)
        if rename[0]:
            client.change_source(rename[0], new_name=rename[1])

    through(server, here, there)
