"""The command ``pipeline``: audit, validate and check many files at once, with the reports that a build wants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgrag.cli.audit_command import FailOn, print_report
from kgrag.cli.printing import note
from kgrag.errors import InputError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(pipeline)


def pipeline(
    files: Annotated[list[Path], typer.Argument(help="RDF files, queries (*.rq, *.sparql), or folders of them.")],
    shapes: Annotated[
        list[Path] | None, typer.Option("--shapes", "-s", help="SHACL shapes that the RDF files are validated by.")
    ] = None,
    ontology: Annotated[
        list[Path] | None, typer.Option("--ontology", help="Ontology for the queries, besides those among the files.")
    ] = None,
    profile: Annotated[str, typer.Option("--profile", help="Profile of the audits, or a TOML file.")] = "default",
    report: Annotated[
        list[str] | None,
        typer.Option("--report", help="Report as FORM=FILE (sarif=kgrag.sarif); may be repeated.", show_default=False),
    ] = None,
    suppress: Annotated[
        Path | None, typer.Option("--suppress", help="TOML file of accepted findings, each with its reason.")
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="Count only what is new since this file was written.")
    ] = None,
    write_baseline: Annotated[
        Path | None, typer.Option("--write-baseline", help="Write such a file of what is found now.")
    ] = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Exit code 1 from this severity on.")] = FailOn.VIOLATION,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Findings shown per check and file; counts stay exact.", min=0)
    ] = None,
) -> None:
    """Audit ontologies, validate data and check queries, for hooks and pipelines; exit codes as of `kgrag audit`."""
    from kgrag.audit import AuditOptions
    from kgrag.audit.suppressions import baseline_text
    from kgrag.knowledge_base import pipeline_runs

    wanted = [_form_and_file(each) for each in report or ()]
    sorted_ = pipeline_runs.sorted_files(files, against=ontology or (), shapes=shapes or ())
    options = AuditOptions(profile, limit=limit, suppressions=suppress, baseline=baseline)
    found = pipeline_runs.run_pipeline(sorted_, options)
    if write_baseline is not None:
        write_baseline.write_text(baseline_text(found), encoding="utf-8")
        note(f"{write_baseline}: {len(found.fingerprints)} findings")
    for form, file in wanted:
        print_report(found, form, file)
    print_report(found, "text", None)
    if found.at_or_above(fail_on.value):
        raise typer.Exit(1)
    if found.undecided_though_asked:
        raise typer.Exit(3)


def _form_and_file(text: str) -> tuple[str, Path]:
    form, equals, file = text.partition("=")
    if not form or not equals or not file:
        raise InputError(f"--report {text!r} is no FORM=FILE. Use e.g. --report sarif=kgrag.sarif.")
    return form, Path(file)
