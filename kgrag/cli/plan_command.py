"""The command ``plan``: what more documents would need."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb
from kgrag.cli.printing import print_json

if TYPE_CHECKING:
    from kgrag.knowledge_base.growth_plan import GrowthPlan, PlannedAmount

__all__ = ["register"]

_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(plan)


def plan(
    documents: Annotated[
        int, typer.Option("--documents", help="How many documents there would be in all, of the same sort.", min=1)
    ],
    kb: KbOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
) -> None:
    """Show what more documents would need: quads, vectors, disk, completions, hours, price, by what is stored here."""
    with open_kb(kb, access="read") as opened:
        planned = opened.plan(documents=documents)
    if format_ is JsonFormat.JSON:
        print_json(asdict(planned))
        return
    _print(planned)


def _print(planned: GrowthPlan) -> None:
    typer.echo(f"{planned.documents:,} documents, by {planned.measured_documents:,} that are here")
    typer.echo(f"design: {planned.design}")
    typer.echo(f"sample: documents differ in size, so figures may be off by {planned.spread:.0%} nine times in ten")
    if planned.caution:
        typer.echo(f"caution: {planned.caution}")
    typer.echo(f"\n{'part':16}{'quantity':19}{'now':>14}{'planned':>16}")
    for amount in planned.amounts:
        name = "embedding" if amount.quantity == "embedding_seconds" else amount.quantity
        figures = [_shown(amount, amount.measured), _shown(amount, amount.planned)]
        note = f"  {amount.note}" if amount.note else ""
        typer.echo(f"{amount.part:16}{name:19}{figures[0]:>14}{figures[1]:>16}{note}")


def _shown(amount: PlannedAmount, figure: float | None) -> str:
    """Return a figure with its unit.

    >>> from kgrag.knowledge_base.growth_plan import PlannedAmount
    >>> size = PlannedAmount("disk", "store", 1_500_000, 3_000_000_000)
    >>> _shown(size, size.measured), _shown(size, size.planned), _shown(size, None)
    ('1.5 MB', '3.0 GB', '-')
    """
    if figure is None:
        return "-"
    if amount.part == "disk":
        size, unit = next(((size, unit) for size, unit in _UNITS if figure >= size), (1, "B"))
        return f"{figure / size:,.1f} {unit}"
    if amount.quantity == "embedding_seconds":
        return f"{figure / 3600:,.1f} h" if figure >= 3600 else f"{figure:,.1f} s"
    return f"{figure:,.2f}" if amount.quantity == "price" else f"{figure:,.0f}"
