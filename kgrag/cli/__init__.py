"""The command line: parse, open the knowledge base, print.

Exit codes: 0 done; 1 the thing asked about does not hold; 2 wrong usage or bad input; 3 a service could not be reached;
4 a part was done, and the output says what is pending.
"""

from __future__ import annotations

import sys

import typer

from kgrag.cli import (
    ask_commands,
    audit_command,
    build_command,
    check_command,
    content_commands,
    eval_command,
    maintenance_commands,
    plugins_command,
    proposals_command,
    reason_command,
    serve_command,
    train_command,
    tree_command,
)
from kgrag.cli.options import remember
from kgrag.errors import BudgetSpent, KgragError, ServiceError, ShapeViolation

__all__ = ["app", "main"]

app = typer.Typer(
    name="kgrag",
    help="Retrieval-augmented generation on one triple store: documents, ontologies and facts as named graphs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.callback()(remember)
for part in (
    content_commands,
    build_command,
    ask_commands,
    check_command,
    audit_command,
    reason_command,
    maintenance_commands,
    serve_command,
    eval_command,
    train_command,
    tree_command,
    proposals_command,
    plugins_command,
):
    part.register(app)


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        app()
    except KgragError as error:
        typer.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(_exit_code(error))


def _exit_code(error: KgragError) -> int:
    if isinstance(error, ServiceError):
        return 3
    if isinstance(error, BudgetSpent):
        return build_command.PART_DONE
    return 1 if isinstance(error, ShapeViolation) else 2
