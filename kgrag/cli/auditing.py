"""The command ``audit``: how good is an ontology, or a knowledge base?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import KbOption, open_kb
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.audit import Audit

__all__ = ["register"]


class ReportFormat(StrEnum):
    """How an audit is printed."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """From which severity on a finding makes the command fail."""

    VIOLATION = "Violation"
    WARNING = "Warning"
    INFO = "Info"
    NEVER = "never"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(audit)


def audit(
    target: Annotated[
        list[str] | None,
        typer.Argument(help="RDF files, or IRIs of graphs of the knowledge base; default: all its ontologies."),
    ] = None,
    kb: KbOption = None,
    profile: Annotated[str, typer.Option("--profile", help="Profile, or a TOML file of your own.")] = "default",
    format_: Annotated[ReportFormat, typer.Option("--format", help="Form of the report.")] = ReportFormat.TEXT,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Exit code 1 from this severity on.")] = FailOn.VIOLATION,
    limit: Annotated[int | None, typer.Option("--limit", help="Findings shown per check.", min=0)] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="The ontology's own namespace.")] = None,
) -> None:
    """Say how good an ontology is; exit code 1 when something is found at or above --fail-on."""
    from kgrag.audit import AuditOptions, reports

    found = _audited(target or [], kb, AuditOptions(profile=profile, namespace=namespace, limit=limit))
    forms: dict[ReportFormat, Any] = {ReportFormat.TEXT: reports.as_text, ReportFormat.JSON: reports.as_json}
    typer.echo(forms[format_](found))
    if found.at_or_above(fail_on.value):
        raise typer.Exit(1)
    if found.undecided_though_asked:
        raise typer.Exit(3)


def _audited(targets: list[str], kb: Path | None, options: Any) -> Audit:
    from kgrag.knowledge_base.audits import audit_files, audit_graphs

    files = [Path(each) for each in targets if not _is_iri(each)]
    if files and len(files) < len(targets):
        raise InputError("the targets name files and graphs. Audit files, or graphs of a knowledge base.")
    if files:
        return audit_files(files, options)
    with open_kb(kb, access="read") as opened:
        return audit_graphs(opened.store, targets, options)


def _is_iri(name: str) -> bool:
    import re

    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", name) is not None and not Path(name).exists()
