"""The command ``validate``: do data conform to shapes?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgrag.cli.audit_command import FailOn, print_report
from kgrag.cli.options import KbOption, is_iri, open_kb

__all__ = ["register"]


class Inference(StrEnum):
    """By which rules what follows is worked out."""

    RDFS = "rdfs"
    OWL_RL = "owl-rl"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(validate)


def validate(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATA]...", help="RDF files, or IRIs of graphs of --kb; default: its data and ontologies."
        ),
    ] = None,
    shapes: Annotated[
        list[str] | None,
        typer.Option(
            "--shapes", "-s", help="File of SHACL shapes, or graph of --kb; default: sh:shapesGraph of the data."
        ),
    ] = None,
    kb: KbOption = None,
    graph: Annotated[list[str] | None, typer.Option("--graph", help="A graph of --kb to validate as well.")] = None,
    shape: Annotated[str, typer.Option("--shape", help="Run this shape only, by its IRI.")] = "",
    focus: Annotated[
        list[str] | None, typer.Option("--focus", help="Report this node only; with --shape, whatever its targets.")
    ] = None,
    inference: Annotated[
        Inference | None, typer.Option("--inference", help="Validate what follows from the data by these rules, too.")
    ] = None,
    catalog: Annotated[
        list[Path] | None,
        typer.Option(
            "--catalog", help="XML catalogue of what shapes import; a catalog-v001.xml next to them counts by itself."
        ),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", help="text, json, shacl, sarif, junit, html, markdown, or a plug-in's.")
    ] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to a file.", show_default=False)
    ] = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Exit code 1 from this severity on.")] = FailOn.INFO,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Results shown per shape; counts stay exact.", min=0)
    ] = None,
) -> None:
    """Report where data depart from SHACL shapes; exit code 1 from --fail-on, 3 when a shape is not decided."""
    from kgrag.audit import ValidationOptions
    from kgrag.knowledge_base import validation_runs

    rules = inference.value if inference else ""
    options = ValidationOptions(shape, tuple(focus or ()), limit, rules, tuple(catalog or ()))
    names, sources = data or [], shapes or []
    files = [Path(name) for name in names if not is_iri(name)]
    graphs = [*(name for name in names if is_iri(name)), *(graph or ())]
    if files and not graphs and kb is None and not any(is_iri(source) for source in sources):
        found = validation_runs.validate(None, files, shapes=sources, options=options)
    else:
        with open_kb(kb, access="read") as opened:
            found = validation_runs.validate(opened.store, files, graphs=graphs, shapes=sources, options=options)
    print_report(found, format_, output)
    if found.at_or_above(fail_on.value):
        raise typer.Exit(1)
    if found.undecided_though_asked:
        raise typer.Exit(3)
