"""The command ``why``: what does a conclusion, or a finding, rest on?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import KbOption, is_iri, open_kb
from kgrag.cli.printing import print_json
from kgrag.cli.query_results import read_sparql
from kgrag.cli.remote_commands import ServerOption
from kgrag.cli.validate_command import Inference
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.knowledge_base.explanation_runs import Premises
    from kgrag.reasoning.grounds import Grounds
    from kgrag.reasoning.proofs import Proof

__all__ = ["register"]


class ProofFormat(StrEnum):
    """How a proof is printed."""

    TEXT = "text"
    JSON = "json"
    TURTLE = "turtle"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(why)


def why(
    triple: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SUBJECT PREDICATE OBJECT]", help="What follows: three terms in Turtle; prefixes as in queries."
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--from", help="RDF file, or graph of --kb; may be repeated; default: ontologies and data."),
    ] = None,
    kb: KbOption = None,
    finding: Annotated[
        str, typer.Option("--finding", help="Instead: a finding of `kgrag audit`, by its fingerprint.")
    ] = "",
    query: Annotated[
        str, typer.Option("--query", help="Instead: a SPARQL query, or its file, that `kgrag check` finds fault with.")
    ] = "",
    profile: Annotated[
        str,
        typer.Option("--profile", help="rdfs or owl-rl [the first that suffices]; with --finding, that of the audit."),
    ] = "",
    format_: Annotated[ProofFormat, typer.Option("--format", help="text, json, or turtle.")] = ProofFormat.TEXT,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that it may take.", min=0.1)] = 60.0,
    server: ServerOption = None,
) -> None:
    """Print what a triple follows from, or a finding rests on: as little as suffices; exit code 3 without a verdict."""
    from kgrag.errors import NotDecided

    if sum(map(bool, (triple, finding, query))) != 1:
        raise InputError("name one thing to explain: three terms, --finding FINGERPRINT, or --query QUERY.")
    if server is not None:
        asked = {"triple": triple or [], "finding": finding, "query": read_sparql(query) if query else ""}
        _print_there(server, {**asked, "graphs": given or [], "profile": profile, "seconds": timeout}, format_)
        return
    try:
        found = _explained(triple or [], _premises(given or [], kb), (finding, query, profile), timeout)
    except NotDecided as reason:
        typer.echo(f"not decided: {reason}")
        raise typer.Exit(3) from None
    _print(found, format_)


def _premises(given: list[str], kb: Path | None) -> Premises:
    from kgrag.knowledge_base import explanation_runs

    targets: list[str | Path] = [each if is_iri(each) else Path(each) for each in given]
    if targets and kb is None and all(isinstance(each, Path) for each in targets):
        return explanation_runs.premises(None, targets)
    with open_kb(kb, access="read") as opened:
        return explanation_runs.premises(opened.store, targets)


def _explained(
    triple: list[str], given: Premises, asked: tuple[str, str, str], seconds: float
) -> Proof | list[Grounds]:
    from kgrag.audit import AuditOptions
    from kgrag.knowledge_base import explanation_runs

    finding, query, profile = asked
    if finding:
        options = AuditOptions(profile=profile or "default", seconds=seconds)
        return [explanation_runs.why_found(given, finding, options)]
    if query:
        return explanation_runs.why_refused(given, read_sparql(query), seconds=seconds)
    if len(triple) != 3:
        raise InputError(f"a triple has three terms, and these are {len(triple)}. Quote each of them.")
    known = {each.value for each in Inference}
    if profile and profile not in known:
        raise InputError(f"there is no profile '{profile}' to reason by. Name one of {', '.join(sorted(known))}.")
    asked_triple = explanation_runs.read_triple(triple, given.prefixes)
    return explanation_runs.why(given, asked_triple, profile=profile or None, seconds=seconds)


def _print(found: Proof | list[Grounds], form: ProofFormat) -> None:
    from kgrag.knowledge_base import explanation_runs

    if form is ProofFormat.JSON:
        print_json(explanation_runs.as_json(found))
    elif form is ProofFormat.TEXT:
        typer.echo(explanation_runs.as_text(found))
    else:
        typer.echo(explanation_runs.as_turtle(found), nl=False)


def _print_there(server: str, asked: dict[str, Any], form: ProofFormat) -> None:
    from kgrag.client import Client

    media = "text/turtle" if form is ProofFormat.TURTLE else "text/plain"
    with Client(server) as client:
        if form is ProofFormat.JSON:
            print_json(client.why(**asked).root)
        else:
            typer.echo(client.written("/why", media, json=asked), nl=form is ProofFormat.TEXT)
