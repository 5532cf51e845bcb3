"""The sources command: what documents come from, and folders that are elsewhere now."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb
from kgrag.cli.printing import note, print_json
from kgrag.errors import InputError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(sources)


def sources(
    kb: KbOption = None,
    move: Annotated[str, typer.Option("--move", help="Name of a source whose folder is elsewhere now.")] = "",
    to: Annotated[Path | None, typer.Option("--to", help="With --move: the folder.", show_default=False)] = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or JSON.")] = JsonFormat.TEXT,
) -> None:
    """List what documents come from (folders, files, feeds): name, kind, root, documents, last change by a sync."""
    from kgrag.knowledge_base import document_sources

    if bool(move) != (to is not None):
        raise InputError("--move NAME and --to FOLDER go together.")
    with open_kb(kb, access="write" if move else "either") as opened:
        if to is not None:
            count = opened.move_source(move, to)
            note(f"moved '{move}' with {count} documents; nothing was read. `kgrag sync {move}` reads its files")
        listed, without = document_sources.counted(opened.store)
    if format_ is JsonFormat.JSON:
        print_json({"sources": [asdict(one) for one in listed], "documents_without_source": without})
        return
    for one in listed:
        typer.echo(f"{one.name}  {one.kind}  {one.root}")
        typer.echo(f"    {one.documents} documents, {f'synced {one.synced}' if one.synced else 'never synced'}")
    if without:
        note(f"{without} documents are of no source: they were added by a URL, or mapped, or have no place")
    note(f"{len(listed)} sources")
