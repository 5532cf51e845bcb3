"""The proposals command: what a completion proposes for the ontology, and what a person decides about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb
from kgrag.cli.printing import print_json
from kgrag.cli.remote_commands import ServerOption, read_through, through
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.client import Client

__all__ = ["register"]

_DECISIONS: Mapping[str, Literal["accepted", "rejected", "open"]] = {
    "accept": "accepted",
    "reject": "rejected",
    "reopen": "open",
}
_FIELDS = ("iri", "label", "subject", "predicate", "object", "weight", "decision", "layer")


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
        Path | None, typer.Option("--picture", help="Propose anew and draw both layers into this SVG.")
    ] = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """List what `kgrag build poly_rag --complete` proposed, accept or reject it; nothing changes an ontology before."""
    decided = {"accept": accept or [], "reject": reject or [], "reopen": reopen or []}

    def here() -> list[dict[str, Any]]:
        return _decided(kb, method, decided, picture)

    def there(client: Client) -> list[dict[str, Any]]:
        if picture is not None:
            raise InputError("--picture proposes anew and draws that where the knowledge base is. Leave --server out.")
        reply = client.decide(method=method, **decided) if any(decided.values()) else client.proposals(method=method)
        return [each.model_dump() for each in reply.root]

    if picture is not None or any(decided.values()):
        found: list[list[dict[str, Any]]] = []
        through(server, lambda: found.append(here()), lambda client: found.append(there(client)))
        listed = found[0]
    else:
        listed = read_through(server, here, there)
    if format_ is JsonFormat.JSON:
        print_json([{name: value for name, value in each.items() if name != "wording"} for each in listed])
        return
    if not listed:
        typer.echo("Nothing is proposed. `kgrag build poly_rag --complete` looks for what the ontology lacks.")
    for proposal in listed:
        count = len(proposal["evidence"])
        evidence = f"{count} statement{'' if count == 1 else 's'}"
        if not count:
            evidence = "no evidence left: its documents were forgotten"
        decision, weight, label, iri = (proposal[name] for name in ("decision", "weight", "label", "iri"))
        typer.echo(f"{decision:8} {weight:.2f}  {label}  ({evidence})  {iri}")
        if proposal["wording"]:
            typer.echo(f"              as in: {proposal['wording']}")


def _decided(
    kb: Path | None, method: str, decided: Mapping[str, Sequence[str]], picture: Path | None
) -> list[dict[str, Any]]:
    """Return the proposals, after decisions about some, and after they were drawn where a picture is wanted."""
    from kgrag.capabilities import Proposes, capable

    with open_kb(kb, access="write" if picture is not None or any(decided.values()) else "read") as opened:
        proposing = capable(opened.method(method), Proposes, method)
        for verb, names in decided.items():
            for name in names:
                proposing.decide(name, _DECISIONS[verb])
        if picture is not None:
            picture.write_text(proposing.proposals_picture(), encoding="utf-8")
        wordings = proposing.wordings()
        return [
            {
                **{name: getattr(each, name) for name in _FIELDS},
                "evidence": list(each.evidence),
                "wording": wordings.get(each.iri, ""),
            }
            for each in proposing.proposals()
        ]
