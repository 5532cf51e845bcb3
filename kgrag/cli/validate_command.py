"""The command ``validate``: do data conform to shapes?"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.audit_command import FailOn, print_report
from kgrag.cli.options import KbOption, is_iri, open_kb
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.audit import Audit, AuditFinding

__all__ = ["register"]


class Inference(StrEnum):
    """By which rules what follows is worked out."""

    RDFS = "rdfs"
    OWL_RL = "owl-rl"


class _Lines:
    """Results as lines of JSON, each written as soon as it is found, and none of them kept; at the end the counts."""

    def __init__(self, output: Path | None, limit: int | None) -> None:
        self._stream = sys.stdout
        if output is not None:
            try:
                self._stream = output.open("w", encoding="utf-8")
            except OSError as error:
                raise InputError(f"{output}: {error.strerror or error}. Name a file that can be written.") from None
        self._limit = limit
        self._written: Counter[str] = Counter()

    def write(self, finding: AuditFinding) -> None:
        if self._limit is not None and self._written[finding.check] >= self._limit:
            return
        self._written[finding.check] += 1
        self._line({key: value for key, value in finding.to_json().items() if key not in ("anchors", "fingerprint")})

    def end(self, found: Audit) -> None:
        summary = found.to_json()
        keys = ("target", "conforms", "counts", "engine", "not_decided", "without_nodes")
        self._line({key: summary[key] for key in keys if key in summary})
        if self._stream is not sys.stdout:
            self._stream.close()

    def _line(self, document: Mapping[str, Any]) -> None:
        print(json.dumps(document, ensure_ascii=False), file=self._stream, flush=True)


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
        str, typer.Option("--format", help="text, json, jsonl, shacl, sarif, junit, html, markdown, or a plug-in's.")
    ] = "text",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report to a file.", show_default=False)
    ] = None,
    conformance_disallows: Annotated[
        list[str] | None,
        typer.Option(
            "--conformance-disallows",
            help="A severity that breaks conformance: Violation, Warning, Info, Debug, Trace, or an IRI; default: all "
            "but Debug and Trace.",
        ),
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="Exit code 1 from this severity on; default: from what breaks conformance on."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Results shown per shape; counts stay exact.", min=0)
    ] = None,
) -> None:
    """Report where data depart from SHACL shapes; exit code 1 if they do not conform, 3 when a shape is not decided."""
    from kgrag.audit import ValidationOptions
    from kgrag.knowledge_base import validation_runs

    rules = inference.value if inference else ""
    lines = _Lines(output, limit) if format_ == "jsonl" else None
    disallows = tuple(conformance_disallows or ())
    options = ValidationOptions(
        shape, tuple(focus or ()), 0 if lines else limit, rules, tuple(catalog or ()), disallows
    )
    each = lines.write if lines else None
    names, sources = data or [], shapes or []
    files = [Path(name) for name in names if not is_iri(name)]
    graphs = [*(name for name in names if is_iri(name)), *(graph or ())]
    if files and not graphs and kb is None and not any(is_iri(source) for source in sources):
        found = validation_runs.validate(None, files, shapes=sources, options=options, each=each)
    else:
        with open_kb(kb, access="read") as opened:
            found = validation_runs.validate(
                opened.store, files, graphs=graphs, shapes=sources, options=options, each=each
            )
    if lines:
        lines.end(found)
    else:
        print_report(found, format_, output)
    if found.departs if fail_on is None else found.at_or_above(fail_on.value):
        raise typer.Exit(1)
    if found.undecided_though_asked:
        raise typer.Exit(3)
