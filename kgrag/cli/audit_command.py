"""The command ``audit``: how good is an ontology, or a knowledge base?"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import KbOption, open_kb, target_files
from kgrag.cli.printing import note, print_json
from kgrag.errors import InputError

if TYPE_CHECKING:
    import pyoxigraph as ox

    from kgrag.audit import Audit, AuditOptions

__all__ = ["FailOn", "print_report", "register"]


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
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TARGET]...", help="RDF files, or IRIs of graphs of --kb; default: its ontologies."),
    ] = None,
    kb: KbOption = None,
    profile: Annotated[
        str,
        typer.Option("--profile", help="default, publish, fair, light, obo, skos, owl-dl, kg, or a TOML file."),
    ] = "default",
    format_: Annotated[
        str, typer.Option("--format", help="text, json, html, sarif, junit, markdown, shacl, dqv, or a plug-in's.")
    ] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to a file.", show_default=False)
    ] = None,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="Exit code 1 from this severity on.")] = FailOn.VIOLATION,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Findings shown per check; counts stay exact.", min=0)
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "--base-iri", help="What IRIs of its own terms begin with; default: worked out."),
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
    all_: Annotated[
        bool, typer.Option("--all", help="List findings one by one that else read as one, such as missing domains.")
    ] = False,
    catalog: Annotated[
        list[Path] | None,
        typer.Option("--catalog", help="XML catalogue of imports; a catalog-v001.xml next to a file counts by itself."),
    ] = None,
    diff: Annotated[
        Path | None,
        typer.Option("--diff", help="Against an audit in JSON: findings new and gone. Against RDF: axioms."),
    ] = None,
    breaking: Annotated[
        bool, typer.Option("--breaking", help="With --diff OLD: what breaks for those who use OLD; exit code 1.")
    ] = False,
    reasoner: Annotated[bool, typer.Option("--reasoner", help="Ask a reasoner what the checks cannot decide.")] = False,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Time that the reasoner, or a competency question, may take.", min=0.1)
    ] = 60.0,
    competency: Annotated[
        Path | None, typer.Option("--competency", help="File or folder of competency questions (*.rq) to ask as well.")
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Show what the safe mends would change, and write nothing.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", help="With --fix: write it, to the graph or to a new file (NAME.mended.ttl).")
    ] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="With --apply: write over the file itself.")] = False,
    metrics: Annotated[bool, typer.Option("--metrics", help="Add the metrics of OntoMetrics and OQuaRE.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the audit in --kb as a graph with provenance.")] = False,
    list_checks: Annotated[bool, typer.Option("--list-checks", help="List the checks of the profile.")] = False,
    explain: Annotated[
        str | None, typer.Option("--explain", help="Print what a check looks for, why, and how to mend it.")
    ] = None,
) -> None:
    """Report how good an ontology is; exit code 1 from --fail-on, 3 when something asked for got no verdict."""
    from kgrag.audit import AuditOptions
    from kgrag.audit.comparison import compare_audits
    from kgrag.audit.suppressions import baseline_text

    if list_checks or explain:
        _describe(profile, explain)
        return
    wants_metrics = metrics or format_ in ("html", "dqv")
    options = AuditOptions(profile, namespace, limit, suppress, baseline, reasoner, seconds, wants_metrics)
    # a graph of an audit keeps every finding with its focus, and what two audits differ in are single findings
    each = all_ or keep or diff is not None or format_ == "json"
    options = replace(options, competency=competency, ungathered=each, catalogues=tuple(catalog or ()))
    task = _AuditTask(tuple(targets or ()), kb, options)
    if fix:
        _mend(task, apply=apply, in_place=in_place)
        return
    if apply or in_place:
        raise InputError("--apply and --in-place belong to --fix. Add it.")
    if breaking and (diff is None or diff.suffix.lower() == ".json"):
        raise InputError("--breaking belongs to --diff with the old ontology. Add --diff OLD.ttl.")
    if diff is not None and diff.suffix.lower() != ".json":
        (_review_versions if breaking else _compare_versions)(task, diff, format_, output)
        return
    found = task.audit(keep=keep)
    if write_baseline is not None:
        _write(write_baseline, baseline_text(found))
        note(f"{write_baseline}: {len(found.fingerprints)} findings")
    if diff is not None:
        _show(compare_audits(found, diff), format_, output)
    else:
        print_report(found, format_, output)
    if found.at_or_above(fail_on.value):
        raise typer.Exit(1)
    if found.undecided_though_asked:
        raise typer.Exit(3)


@dataclass(frozen=True, slots=True)
class _AuditTask:
    """What is to be audited, and how."""

    targets: tuple[str, ...]
    kb: Path | None
    options: AuditOptions

    @property
    def files(self) -> list[Path]:
        """The targets when they are files, none when they are graphs. Raises InputError where they are mixed."""
        return target_files(self.targets, "Audit")

    def audit(self, *, keep: bool) -> Audit:
        """Audit files in memory, else graphs of the knowledge base."""
        from kgrag.knowledge_base import audit_runs

        files, began = self.files, audit_runs.now()
        if files and not keep:
            return audit_runs.audit_files(files, self.options)
        with open_kb(self.kb, access="write" if keep else "read") as opened:
            found = (
                audit_runs.audit_files(files, self.options)
                if files
                else audit_runs.audit_graphs(opened.store, self.targets, self.options)
            )
            if keep:
                note(f"kept as {audit_runs.keep(opened.store, found, began=began)}")
        return found

    def only_target(self) -> str:
        """Return the single target that mending and comparing take.

        Raises:
            InputError: there is none, or more.
        """
        if len(self.targets) != 1:
            raise InputError(f"{len(self.targets)} targets were named, and one was expected: a file, or a graph's IRI.")
        return self.targets[0]


def print_report(found: Audit, form: str, output: Path | None) -> None:
    """Print a report in a form, or write it to a file.

    Raises:
        InputError: the file cannot be written.
    """
    from kgrag.audit.reports import written

    text = written(found, form)
    if output is None:
        typer.echo(text.removesuffix("\n"))
    else:
        _write(output, text)
        note(f"{output}: {found.counts['Violation']} violations, {found.counts['Warning']} warnings")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}. Name a file that can be written.") from None


def _describe(profile: str, explain: str | None) -> None:
    from kgrag.audit import check_named, load_profile
    from kgrag.audit.profiles import catalogue_of
    from kgrag.audit.reports import as_explanation

    chosen = load_profile(profile)
    if explain:
        typer.echo(as_explanation(check_named(explain)))
        return
    for check in catalogue_of(chosen).checks:
        typer.echo(f"{check.identifier:<8} {chosen.severity(check):<10} {check.label}")


def _mend(task: _AuditTask, *, apply: bool, in_place: bool) -> None:
    from kgrag.knowledge_base import audit_runs

    name, options = task.only_target(), replace(task.options, limit=None)
    if task.files:
        path = Path(name)
        target = path if in_place else path.with_name(f"{path.stem}.mended{path.suffix}")
        if apply and not in_place and target.exists():
            raise InputError(f"{target} exists already. Remove it, or write over the input with --in-place.")
        mend = audit_runs.mend_file(path, options, target=target if apply else None)
        written = str(target)
    else:
        with open_kb(task.kb, access="write" if apply else "read") as opened:
            mend = audit_runs.mend_graph(opened.store, name, options)
            if apply and mend.changes:
                audit_runs.apply_to_graph(opened.store, name, mend)
        written = name
    typer.echo(mend.diff(name) or f"{name}: nothing to mend.", nl=not mend.changes)
    for check, update in mend.run:
        note(f"{check}: queries/{update}")
    if apply and mend.changes:
        note(f"written to {written}")


def _versions(task: _AuditTask, old: Path) -> tuple[list[ox.Triple], list[ox.Triple]]:
    """Return the triples of an old version, and of the only target."""
    from kgrag.knowledge_base import audit_runs

    name = task.only_target()
    before = audit_runs.triples_of(old)
    if task.files:
        return before, audit_runs.triples_of(Path(name))
    with open_kb(task.kb, access="read") as opened:
        return before, opened.graph(name)


def _compare_versions(task: _AuditTask, old: Path, form: str, output: Path | None) -> None:
    from kgrag.audit.comparison import compare_versions

    difference = compare_versions(*_versions(task, old))
    _show(difference, form, output)
    if difference.changes:
        raise typer.Exit(1)


def _review_versions(task: _AuditTask, old: Path, form: str, output: Path | None) -> None:
    from kgrag.knowledge_base import audit_runs

    names = (str(old), task.only_target())
    review = audit_runs.review_versions(*_versions(task, old), names=names, options=task.options)
    _show(review, form, output)
    if review.breaking:
        raise typer.Exit(1)
    if review.undecided:
        raise typer.Exit(3)


def _show(difference: Any, form: str, output: Path | None = None) -> None:
    """Print a difference in a form, or write it to a file."""
    forms: dict[str, Any] = {"text": difference.text, "markdown": getattr(difference, "markdown", None)}
    if output is None and form == "json":
        print_json(difference.to_json())
        return
    if form == "json":
        text = json.dumps(difference.to_json(), ensure_ascii=False, indent=2)
    elif (made := forms.get(form)) is not None:
        text = made()
    else:
        raise InputError(f"a difference is printed as text or json (with --breaking as markdown too), not as {form}.")
    if output is None:
        typer.echo(text.removesuffix("\n"))
    else:
        _write(output, text)
