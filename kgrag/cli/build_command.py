"""The build command: one subcommand per registered method, with the options that the method declares.

``kgrag build --help`` lists the methods, ``kgrag build METHOD --help`` the options of one.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
import typer.core

from kgrag.cli.options import (
    PART_DONE,
    BudgetOption,
    DryRunOption,
    JsonFormat,
    KbOption,
    MaxCompletionsOption,
    MaxTokensOption,
    ShardsOption,
    budget_of,
    loudness_options,
    open_kb,
    price_per_million,
)
from kgrag.cli.printing import counts_line, note, print_json, progress_bar, with_price
from kgrag.cli.remote_commands import ServerOption, build_through, through
from kgrag.errors import InputError
from kgrag.model import BuildReport

if TYPE_CHECKING:
    from kgrag.client import Client

__all__ = ["register"]

_MAX_LINES_SHOWN = 20

RunnerOption = Annotated[
    str,
    typer.Option(
        "--runner",
        help="Who computes: local, process://WORKERS, or ray://ADDRESS/WORKERS; default: this process, as it stores. "
        "A service is asked by this process all the same.",
        show_default=False,
    ),
]


def _price(given: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return a price as it was given. Raises typer.BadParameter."""
    if given is not None and not all(0 <= amount < math.inf for amount in given):
        raise typer.BadParameter("a price is 0 or more. Write --price 0.15 0.60.")
    return given


PriceOption = Annotated[
    tuple[float, float] | None,
    typer.Option(
        "--price",
        callback=_price,
        help="With --dry-run: price of a million input and output tokens.",
        show_default=False,
    ),
]


class _Methods(typer.core.TyperGroup):
    """The registered methods as commands; each is made when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the methods."""
        from kgrag import plugins

        return sorted(plugins.methods())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - click's signature
        """Return the command of a method, with hyper-parameters where wanted: ``og_rag:nodes=5``.

        Raises:
            UnknownName: there is no such method.
            PluginBroken: it cannot be used.
        """
        from kgrag import plugins

        declared = plugins.method(cmd_name.partition(":")[0])
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        needs = f"\n\nNeeds {declared.needs}." if declared.needs else ""
        about = f"Retrieves {declared.retrieves or declared.label}.{needs}".replace("`", "")
        app.command(cmd_name, help=about, short_help=declared.label)(_command(cmd_name, declared.options))
        command = typer.main.get_command(app)
        command.params += loudness_options()
        return command


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    about = """Build a method's graphs and vectors; building again goes on where it stopped and changes nothing else.

    METHOD may have hyper-parameters: og_rag:nodes=5,edges=2. Exit code 4: a part is done, and the output says what is
    pending.
    """
    group = typer.Typer(
        cls=_Methods, no_args_is_help=True, subcommand_metavar="METHOD [OPTIONS]", rich_markup_mode=None, help=about
    )
    group.callback()(lambda: None)
    app.add_typer(group, name="build")


def _command(method: str, options: type) -> Any:
    """Return the function that builds a method; its signature has the method's options, and those of every build."""
    own = list(_parameters(options))

    def build(**given: Any) -> None:
        _build(method, {name: given.pop(name) for name in (each.name for each in own)}, **given)

    common = inspect.signature(_build).parameters.values()
    every = [*own, *(each for each in common if each.name not in ("method", "options"))]
    hints = get_type_hints(_build, include_extras=True)
    every = [each.replace(annotation=hints.get(each.name, each.annotation)) for each in every]
    build.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    build.__annotations__ = {each.name: each.annotation for each in every}
    return build


def _parameters(options: type) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each option that a method declares."""
    hints = get_type_hints(options)
    for field in fields(options):
        kind, default = hints[field.name], field.default
        if isinstance(default, tuple):  # may be repeated
            kind, default = list[get_args(kind)[0]], list(default)  # type: ignore[misc]
        flag = field.metadata["flag"] or f"--{field.name.replace('_', '-')}"
        declared = typer.Option(flag, help=field.metadata["help"], show_default=bool(default))
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared]
        )


def _build(
    method: str,
    options: Mapping[str, Any],
    *,
    kb: KbOption = None,
    dry_run: DryRunOption = False,
    price: PriceOption = None,
    max_completions: MaxCompletionsOption = None,
    max_tokens: MaxTokensOption = None,
    money: BudgetOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="How the report is printed.")] = JsonFormat.TEXT,
    runner: RunnerOption = "",
    shards: ShardsOption = None,
    server: ServerOption = None,
) -> None:
    def build_here() -> None:
        with open_kb(kb) as opened, progress_bar() as progress:
            budget = budget_of(opened, max_completions, max_tokens, money)
            report = opened.build(
                method, progress=progress, dry_run=dry_run, budget=budget, runner=runner, shards=shards, **options
            )
            end(report, price or price_per_million(opened))

    def build_there(client: Client) -> None:
        if runner or shards:
            raise InputError("--runner works where the knowledge base is. Leave it out, or --server.")
        given = {name: value for name, value in options.items() if value not in (None, [])}
        sent = {"options": given, "dry_run": dry_run, "max_completions": max_completions, "max_tokens": max_tokens}
        with progress_bar() as progress:
            report, known = build_through(client, method, {**sent, "max_cost": money}, progress)
            end(report, price or known)

    def end(report: BuildReport, price: tuple[float, float] | None) -> None:
        _print(report, price if dry_run else None, format_)
        if report.pending:
            raise typer.Exit(PART_DONE)

    through(server, build_here, build_there)


def _print(report: BuildReport, price: tuple[float, float] | None, format_: JsonFormat) -> None:
    counts: dict[str, Any] = dict(report.counts)
    counts = with_price(counts, price, digits=4)
    if format_ is JsonFormat.JSON:
        document = {
            "method": report.method,
            "counts": counts,
            "usage": asdict(report.usage),
            "notes": list(report.notes),
        }
        print_json(document | {"pending": list(report.pending)})
        return
    typer.echo(f"{report.method}: {counts_line(counts)}")
    for label, lines in (("note", report.notes), ("pending", report.pending)):
        for line in lines[:_MAX_LINES_SHOWN]:
            note(f"{label}: {line}")
        if len(lines) > _MAX_LINES_SHOWN:
            note(f"{label}: {len(lines) - _MAX_LINES_SHOWN} more")
