"""Options that many commands share, and how they become a knowledge base."""

from __future__ import annotations

import logging
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from kgrag.cli.printing import note, set_loudness

if TYPE_CHECKING:
    from kgrag.knowledge_base import KnowledgeBase

__all__ = [
    "Access",
    "Commands",
    "Format",
    "JsonFormat",
    "KbOption",
    "MethodOption",
    "TopOption",
    "loudness_options",
    "named_kb",
    "open_kb",
    "remember",
]

_LOG = logging.getLogger(__name__)

Access = Literal["write", "read", "either"]

KbOption = Annotated[
    Path | None,
    typer.Option("--kb", help="Folder of the knowledge base [KGRAG_KB, else ./kgrag.kb].", show_default=False),
]
MethodOption = Annotated[
    str, typer.Option("--method", "-m", help="Method, with hyper-parameters where wanted: og_rag:nodes=5,edges=2.")
]
TopOption = Annotated[int, typer.Option("-k", "--k", help="How many hits at most.", min=1)]


def _be_verbose(wanted: bool) -> None:
    if wanted:
        set_loudness(logging.INFO)


def _be_quiet(wanted: bool) -> None:
    if wanted:
        set_loudness(logging.ERROR)


_Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", callback=_be_verbose, expose_value=False, help="Log what is opened and asked on stderr."
    ),
]
_Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", callback=_be_quiet, expose_value=False, help="No progress, notes or warnings."),
]


class Commands(TyperGroup):
    """The commands; each takes ``-v`` and ``-q``, which may also come before it."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.commands.values():
            command.params += loudness_options()


def loudness_options() -> list[Any]:
    """Return ``-v`` and ``-q`` as parameters of a command."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def _any(verbose: _Verbose = False, quiet: _Quiet = False) -> None:
        """Take the two options."""

    return typer.main.get_command(app).params


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
    verbose: _Verbose = False,  # noqa: ARG001 - its callback sets the level
    quiet: _Quiet = False,  # noqa: ARG001
) -> None:
    """Take ``--kb``, ``-v`` and ``-q`` also in front of the command."""
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
    _LOG.info("knowledge base %s, model %s, embedder %s", configured.kb, configured.model, configured.embedder)
    if access != "write" and not configured.kb.is_dir():
        raise InputError(
            f"there is no knowledge base at {configured.kb}. Fill one first: kgrag ingest PATH --kb {configured.kb}"
        )
    try:
        return KnowledgeBase(configured.kb, settings=configured, read_only=access == "read")
    except StoreLocked as error:
        if access != "either":
            raise
        note(f"reading only: {error}")
        return KnowledgeBase(configured.kb, settings=configured, read_only=True)
