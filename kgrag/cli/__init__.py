"""The command line: parse, open the knowledge base, print.

Exit codes: 0 done; 1 what was asked about does not hold; 2 wrong usage or bad input; 3 a service could not be reached;
4 a part was done, and the output says what is pending.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Sequence
from copy import copy

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

from kgrag.cli import (
    ask_commands,
    audit_command,
    build_command,
    chat_command,
    check_command,
    content_commands,
    eval_command,
    index_command,
    jobs_command,
    maintenance_commands,
    mcp_command,
    pipeline_command,
    plugins_command,
    profile_command,
    proposals_command,
    reason_command,
    saved_command,
    serve_command,
    sources_command,
    train_command,
    tree_command,
    validate_command,
    why_command,
)
from kgrag.cli.options import Commands, remember
from kgrag.cli.printing import set_loudness
from kgrag.errors import BudgetSpent, KgragError, ServiceError, ShapeViolation

__all__ = ["app", "main"]

_BEFORE_COMMAND = {"--kb": 2, "-v": 1, "--verbose": 1, "-q": 1, "--quiet": 1}
"""Options that may come before a command, and how many words each takes."""

app = typer.Typer(
    name="kgrag",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Retrieval-augmented generation on one triple store: documents, ontologies and facts as named graphs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(remember)
for part in (
    content_commands,
    sources_command,
    build_command,
    ask_commands,
    saved_command,
    index_command,
    chat_command,
    check_command,
    profile_command,
    audit_command,
    validate_command,
    pipeline_command,
    reason_command,
    why_command,
    maintenance_commands,
    serve_command,
    jobs_command,
    mcp_command,
    eval_command,
    train_command,
    tree_command,
    proposals_command,
    plugins_command,
):
    part.register(app)


def main() -> None:
    """Run the command line and exit with its code."""
    set_loudness(logging.NOTSET)
    try:
        _asked_for(sys.argv[1:])()
    except MemoryError:
        typer.echo(
            "MemoryError: this process may take no more memory. Allow more (`ulimit -v`), or do less at once.", err=True
        )
        sys.exit(2)
    except KgragError as error:
        typer.echo(f"{type(error).__name__}: {_as_typed(str(error), sys.argv[1:])}", err=True)
        sys.exit(_exit_code(error))


def _asked_for(words: Sequence[str]) -> typer.Typer:
    """Return the application with the one command that the words name; all of it where they do not begin with one.

    To read the signatures of all the commands takes longer than most of them run.
    """
    rest = list(words)
    while rest and rest[0] in _BEFORE_COMMAND:
        del rest[: _BEFORE_COMMAND[rest[0]]]
    one = copy(app)
    one.registered_commands = [each for each in app.registered_commands if rest[:1] == [_name(each)]]
    one.registered_groups = [each for each in app.registered_groups if rest[:1] == [each.name]]
    return one if one.registered_commands or one.registered_groups else app


def _name(command: CommandInfo) -> str:
    return command.name or get_command_name(command.callback.__name__ if command.callback else "")


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
    if isinstance(error, ServiceError):
        return 3
    if isinstance(error, BudgetSpent):
        return build_command.PART_DONE
    return 1 if isinstance(error, ShapeViolation) else 2
