"""Options that many commands share, and how they become a knowledge base."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from kgrag.cli.printing import note, set_loudness

if TYPE_CHECKING:
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.llm.budget import Budget
    from kgrag.settings import Settings

__all__ = [
    "PART_DONE",
    "Access",
    "AnswerBudgetOption",
    "AnswerCompletionsOption",
    "AnswerTokensOption",
    "BudgetOption",
    "Commands",
    "DryRunOption",
    "Format",
    "JsonFormat",
    "KbOption",
    "MaxCompletionsOption",
    "MaxTokensOption",
    "MethodOption",
    "ShardsOption",
    "TopOption",
    "WhereOption",
    "budget_of",
    "is_iri",
    "loudness_options",
    "named_kb",
    "open_kb",
    "price_per_million",
    "remember",
    "target_files",
]

_LOG = logging.getLogger(__name__)

PART_DONE = 4
"""Exit code of a build that did a part of its work; the output says what is pending."""

Access = Literal["write", "read", "either"]

KbOption = Annotated[
    Path | None,
    typer.Option("--kb", help="Folder of the knowledge base [KGRAG_KB, else ./kgrag.kb].", show_default=False),
]
MethodOption = Annotated[
    str, typer.Option("--method", "-m", help="Method, with hyper-parameters where wanted: og_rag:nodes=5,edges=2.")
]
TopOption = Annotated[int, typer.Option("-k", "--k", help="How many hits at most.", min=1)]


def _setting(level: int) -> Callable[[bool], None]:
    """Return the callback of an option that sets what reaches standard error."""

    def set_if_wanted(wanted: bool) -> None:
        if wanted:
            set_loudness(level)

    return set_if_wanted


_Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        callback=_setting(logging.INFO),
        expose_value=False,
        help="Log what is opened and asked on stderr.",
    ),
]
_Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", callback=_setting(logging.ERROR), expose_value=False, help="No progress, notes or warnings."
    ),
]


class Commands(TyperGroup):
    """The commands; each takes ``-v`` and ``-q``, which may also come before it."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for command in self.commands.values():
            command.params += loudness_options()


@cache
def loudness_options() -> tuple[Any, ...]:
    """Return ``-v`` and ``-q`` as parameters of a command; every command has the same two."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def _any(verbose: _Verbose = False, quiet: _Quiet = False) -> None:
        """Take the two options."""

    return tuple(typer.main.get_command(app).params)


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


_KB_BEFORE_COMMAND: ContextVar[Path | None] = ContextVar("kb", default=None)


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
    """Read ``--kb``, ``-v`` and ``-q`` where they come before the command."""
    _KB_BEFORE_COMMAND.set(kb)


def named_kb(kb: Path | None) -> Path | None:
    """Return the folder of ``--kb``, after the command or before it; None without that option."""
    return kb or _KB_BEFORE_COMMAND.get()


DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print what it would cost, and write nothing.")]
MaxCompletionsOption = Annotated[
    int | None, typer.Option("--max-completions", help="Ask the model at most so often.", min=0)
]
MaxTokensOption = Annotated[
    int | None, typer.Option("--max-tokens", help="Stop when the model has used so many tokens.", min=0)
]
BudgetOption = Annotated[
    float | None, typer.Option("--budget", help="Stop when this much was spent, by the prices in kgrag.toml.", min=0)
]
ShardsOption = Annotated[
    str | None,
    typer.Option(
        "--shards", help="With --runner: a folder that all workers share, or s3://BUCKET/PREFIX.", show_default=False
    ),
]
AnswerCompletionsOption = Annotated[
    int | None, typer.Option("--max-completions", help="Completions that one answer may ask of the model.", min=0)
]
AnswerTokensOption = Annotated[
    int | None, typer.Option("--max-tokens", help="Tokens that one answer may cost, whoever asks.", min=0)
]
AnswerBudgetOption = Annotated[
    float | None, typer.Option("--budget", help="What one answer may cost, by the prices in kgrag.toml.", min=0)
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        help="Only documents that meet this: tenant=a, 'year>=2020', 'id in A,B', 'location^=/docs/', or a SPARQL "
        "pattern over ?document; may be repeated.",
        show_default=False,
    ),
]


def open_kb(kb: Path | None, *, access: Access = "write", **settings: Any) -> KnowledgeBase:
    """Open the knowledge base that the options, else the settings, name.

    Args:
        kb: the value of ``--kb`` after the command.
        access: "write"; "read" while another process may write; "either" writes (vectors and indices that
            are out of date are saved anew) unless another process does or nobody may, and then reads what was there at
            the start.
        settings: values that win over environment and file.
    """
    from kgrag.errors import InputError, NotWritable, StoreLocked
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.settings import is_address, read_settings

    configured = read_settings(kb=named_kb(kb), **settings)
    _LOG.info("knowledge base %s, model %s, embedder %s", configured.kb, configured.model, configured.embedder)
    if (
        access != "write"
        and not is_address(configured.store)
        and not (configured.kb.is_dir() and any(configured.kb.iterdir()))
    ):
        raise InputError(
            f"there is no knowledge base at {configured.kb}. Fill one first: kgrag ingest PATH --kb {configured.kb}"
        )
    try:
        return KnowledgeBase(configured.kb, settings=configured, read_only=access == "read")
    except (StoreLocked, NotWritable) as error:
        if access != "either":
            raise
        note(f"reading only: {str(error).partition('. ')[0]}")  # the way out is for those who want to write
        return KnowledgeBase(configured.kb, settings=configured, read_only=True)


def budget_of(
    priced: KnowledgeBase | Settings, completions: int | None, tokens: int | None, money: float | None
) -> Budget | None:
    """Return the budget that the options set; None without any."""
    from kgrag.llm.budget import Budget
    from kgrag.llm.costs import price_of, read_prices
    from kgrag.settings import Settings

    if (completions, tokens, money) == (None, None, None):
        return None
    settings = priced if isinstance(priced, Settings) else priced.settings
    return Budget(completions, tokens, money, price_of(read_prices(settings.prices), settings.model))


def price_per_million(opened: KnowledgeBase) -> tuple[float, float] | None:
    """Return the price of a million input and output tokens as the settings have it; None where they do not."""
    price = opened.price()
    return None if price is None else (price.input, price.output)


def is_iri(name: str) -> bool:
    """Return whether an argument is the IRI of a graph and not the name of a file."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", name) is not None and not Path(name).exists()


def target_files(targets: Sequence[str], action: str) -> list[Path]:
    """Return the targets when they are files, and nothing when they are graphs.

    Raises:
        InputError: some are files, and some are graphs; the message names the ``action``.
    """
    from kgrag.errors import InputError

    files = [Path(target) for target in targets if not is_iri(target)]
    if files and len(files) < len(targets):
        raise InputError(f"the targets name files and graphs. {action} files, or graphs of a knowledge base.")
    return files
