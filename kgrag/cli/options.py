"""Options that many commands share, and how they become a knowledge base."""

from __future__ import annotations

from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from kgrag.knowledge_base import KnowledgeBase

__all__ = ["Access", "Format", "JsonFormat", "KbOption", "MethodOption", "TopOption", "named_kb", "open_kb", "remember"]

Access = Literal["write", "read", "either"]

KbOption = Annotated[
    Path | None,
    typer.Option("--kb", help="Folder of the knowledge base [KGRAG_KB, else ./kgrag.kb].", show_default=False),
]
MethodOption = Annotated[
    str, typer.Option("--method", "-m", help="Method, with hyper-parameters where wanted: og_rag:nodes=5,edges=2.")
]
TopOption = Annotated[int, typer.Option("-k", "--k", help="How many hits at most.", min=1)]


class JsonFormat(StrEnum):
    """How a command prints its result."""

    TEXT = "text"
    JSON = "json"


class Format(StrEnum):
    """How query results are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    XML = "xml"
    TURTLE = "turtle"
    NTRIPLES = "ntriples"


_IN_FRONT: ContextVar[Path | None] = ContextVar("kb", default=None)


def _print_version(wanted: bool) -> None:
    from kgrag.resources import version

    if wanted:
        typer.echo(f"kgrag {version()}")
        raise typer.Exit


def remember(
    kb: KbOption = None,
    version: Annotated[  # noqa: ARG001 - its callback prints it
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take ``--kb`` also in front of the command."""
    _IN_FRONT.set(kb)


def named_kb(kb: Path | None) -> Path | None:
    """Give the folder that ``--kb`` named, behind the command or in front of it; None when it named none."""
    return kb or _IN_FRONT.get()


def open_kb(kb: Path | None, *, access: Access = "write", **settings: Any) -> KnowledgeBase:
    """Open the knowledge base that the options, else the settings, name.

    Args:
        kb: what ``--kb`` said behind the command.
        access: "write"; "read" beside whoever writes; "either" writes (a sidecar that is behind is brought up to date
            and kept) unless another process does, and then reads what was there when it was opened.
        settings: values that win over environment and file.
    """
    from kgrag.errors import InputError, StoreLocked
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.settings import read_settings

    configured = read_settings(kb=named_kb(kb), **settings)
    if access != "write" and not configured.kb.is_dir():
        raise InputError(
            f"there is no knowledge base at {configured.kb}. Fill one first: kgrag ingest PATH --kb {configured.kb}"
        )
    try:
        return KnowledgeBase(configured.kb, settings=configured, read_only=access == "read")
    except StoreLocked as error:
        if access != "either":
            raise
        typer.echo(f"reading only: {error}", err=True)
        return KnowledgeBase(configured.kb, settings=configured, read_only=True)
