"""The command line: parse, open the knowledge base, print.

Exit codes: 0 done; 1 what was asked about does not hold; 2 wrong usage or bad input; 3 a service could not be reached;
4 a part was done, and the output says what is pending.
"""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from kgrag.cli.options import PART_DONE, Commands, remember
from kgrag.cli.printing import for_kb, set_loudness
from kgrag.errors import BudgetSpent, KgragError, NothingToCheck, ServiceError, ShapeViolation

__all__ = ["app", "main"]

_PARTS = {
    "content_commands": "init load ingest sync documents forget import",
    "sources_command": "sources",
    "build_command": "build",
    "ask_commands": "ask retrieve query update queries",
    "saved_command": "saved",
    "index_command": "index",
    "chat_command": "chat",
    "shard_commands": "shards",
    "check_command": "check",
    "profile_command": "profile",
    "audit_command": "audit",
    "validate_command": "validate",
    "pipeline_command": "pipeline",
    "reason_command": "reason",
    "why_command": "why",
    "plan_command": "plan",
    "maintenance_commands": "stats status doctor export backup vacuum receipts demo",
    "serve_command": "serve",
    "jobs_command": "jobs",
    "mcp_command": "mcp",
    "eval_command": "eval",
    "train_command": "train draw",
    "tree_command": "tree",
    "proposals_command": "proposals",
    "plugins_command": "plugins",
}
"""Module -> the commands that it registers, in the order of the help text."""
_LOUDNESS = frozenset({"-q", "--quiet", "-v", "--verbose"})


app: typer.Typer
"""The command line with every command; made when it is first asked for, since loading them all takes a second."""


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module 'kgrag.cli' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()["app"] = _with(_PARTS)
    return globals()["app"]


def _with(parts: Iterable[str]) -> typer.Typer:
    """Return the command line with the commands of some modules."""
    commands = typer.Typer(
        name="kgrag",
        cls=Commands,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Retrieval-augmented generation on one triple store: documents, ontologies and facts as named graphs.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    commands.callback()(remember)
    for part in parts:
        importlib.import_module(f"kgrag.cli.{part}").register(commands)
    return commands


def _needed(words: Sequence[str]) -> list[str]:
    """Return the modules of the command that these words call; all where that is not plain.

    >>> _needed(["-q", "validate", "data.ttl"])
    ['validate_command']
    """
    first = next((word for word in words if word not in _LOUDNESS), "")
    return [part for part, commands in _PARTS.items() if first in commands.split()] or list(_PARTS)


def main() -> None:
    """Run the command line and exit with its code."""
    set_loudness(logging.NOTSET)
    try:
        _with(_needed(sys.argv[1:]))()
    except MemoryError:
        typer.echo(
            "MemoryError: this process may take no more memory. Allow more (`ulimit -v`), or do less at once.", err=True
        )
        sys.exit(2)
    except KgragError as error:
        message = for_kb(_as_typed(str(error), sys.argv[1:]), sys.argv[1:])
        typer.echo(f"{type(error).__name__}: {message}", err=True)
        sys.exit(_exit_code(error))


def _as_typed(message: str, words: Sequence[str]) -> str:
    """Return a message with options named as they were typed, not as Python names them.

    >>> _as_typed("passages has no option 'mapped'; chunk_tokens is 2", ["--mapped", "x", "--chunk-tokens=2"])
    'passages has no option --mapped; --chunk-tokens is 2'
    """
    for flag in (word.partition("=")[0] for word in words if word.startswith("--")):
        name = re.escape(flag.removeprefix("--").replace("-", "_"))
        bare = rf"|\b{name}\b" if "_" in name else ""  # one word alone may be part of a sentence
        message = re.sub(f"['`]{name}['`]{bare}", flag, message) if name else message
    return message


def _exit_code(error: KgragError) -> int:
    if isinstance(error, ServiceError | NothingToCheck):
        return 3
    if isinstance(error, BudgetSpent):
        return PART_DONE
    return 1 if isinstance(error, ShapeViolation) else 2
