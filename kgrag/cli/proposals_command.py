"""The proposals command: what a completion proposes for the ontology, and what a person decides about it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb
from kgrag.cli.printing import print_json

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(proposals)


def proposals(
    kb: KbOption = None,
    method: Annotated[str, typer.Option("--method", "-m", help="A method that proposes.")] = "poly_rag",
    accept: Annotated[
        list[str] | None, typer.Option("--accept", help="Name or IRI of a proposal; may be repeated.")
    ] = None,
    reject: Annotated[
        list[str] | None, typer.Option("--reject", help="Name or IRI of a proposal; may be repeated.")
    ] = None,
    reopen: Annotated[list[str] | None, typer.Option("--reopen", help="Take a decision back; may be repeated.")] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Propose anew and draw both layers into this PNG.")
    ] = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
) -> None:
    """List what `kgrag build poly_rag --complete` proposed, accept or reject it; nothing changes an ontology before."""
    from kgrag.capabilities import Proposes, capable

    decisions: tuple[tuple[Literal["accepted", "rejected", "open"], list[str] | None], ...] = (
        ("accepted", accept),
        ("rejected", reject),
        ("open", reopen),
    )
    writes = picture is not None or any(named for _, named in decisions)
    with open_kb(kb, access="write" if writes else "read") as opened:
        proposing = capable(opened.method(method), Proposes, method)
        for decision, named in decisions:
            for name in named or ():
                proposing.decide(name, decision)
        if picture is not None:
            picture.write_bytes(proposing.proposals_picture())
        listed, wordings = proposing.proposals(), proposing.wordings()
    if format_ is JsonFormat.JSON:
        names = ("iri", "label", "subject", "predicate", "object", "weight", "decision", "layer")
        fields = [{name: getattr(proposal, name) for name in names} for proposal in listed]
        print_json(
            [{**each, "evidence": list(proposal.evidence)} for each, proposal in zip(fields, listed, strict=True)]
        )
        return
    if not listed:
        typer.echo("Nothing is proposed. `kgrag build poly_rag --complete` looks for what the ontology lacks.")
    for proposal in listed:
        count = len(proposal.evidence)
        evidence = f"{count} statement{'' if count == 1 else 's'}"
        if not count:
            evidence = "no evidence left: its documents were forgotten"
        typer.echo(f"{proposal.decision:8} {proposal.weight:.2f}  {proposal.label}  ({evidence})  {proposal.iri}")
        if wording := wordings.get(proposal.iri):
            typer.echo(f"              as in: {wording}")
