"""The command ``reason``: what follows, and does it contradict itself?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb, target_files
from kgrag.cli.printing import note, print_json
from kgrag.cli.remote_commands import ServerOption, through
from kgrag.errors import InputError

if TYPE_CHECKING:
    import pyoxigraph as ox

    from kgrag.client import Client
    from kgrag.reasoning.hermit import Classification
    from kgrag.reasoning.inference import Inferences

__all__ = ["register"]

_SECONDS = 60.0
_SECONDS_OF_RULES = 600.0


class ReasoningProfile(StrEnum):
    """By which rules is reasoned."""

    RDFS = "rdfs"
    OWL_RL = "owl-rl"
    OWL_DL = "owl-dl"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(reason)


def reason(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TARGET]...", help="RDF files, or IRIs of graphs of --kb; default: ontologies, data."),
    ] = None,
    kb: KbOption = None,
    profile: Annotated[
        ReasoningProfile,
        typer.Option("--profile", help="rdfs, owl-rl: write what follows; owl-dl: ask HermiT (needs Java)."),
    ] = ReasoningProfile.RDFS,
    rules: Annotated[
        list[Path] | None, typer.Option("--rules", help="File of SHACL shapes with rules, in place of --profile.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="With owl-dl: print the axioms behind it, a smallest set for each class.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout",
            help="Seconds that reasoning may take, and each explanation again; default: 60 for owl-dl, 600 for rules.",
            min=0.1,
        ),
    ] = None,
    drop: Annotated[
        bool, typer.Option("--drop", help="Drop what was inferred: from TARGETs, else all, and write nothing.")
    ] = False,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """Write what follows from ontologies and data; exit code 1 for contradictions, 3 when there is no verdict.

    What follows from graphs goes to a graph of its own, and from files to standard output, as N-Triples.
    """
    from kgrag.errors import NotDecided

    named = tuple(targets or ())
    if server is not None and (rules or explain or profile is ReasoningProfile.OWL_DL):
        raise InputError("a server reasons by rdfs and owl-rl over its graphs. Leave --rules, --explain, owl-dl out.")
    by = _By(profile, tuple(rules or ()), timeout or _SECONDS_OF_RULES)
    if rules and (profile is not ReasoningProfile.RDFS or explain):
        raise InputError("--rules stands in place of --profile. Leave one of them out.")
    if profile is ReasoningProfile.OWL_DL:
        if drop:
            raise InputError("--drop belongs to rdfs and owl-rl: owl-dl writes nothing.")
        _decide(_triples(named, kb), explain=explain, seconds=timeout or _SECONDS, form=format_)
    elif explain:
        raise InputError("--explain belongs to --profile owl-dl. Add it.")
    elif drop:
        _drop(named, kb, by, server)
    else:
        try:
            _infer(named, kb, by, format_, server)
        except NotDecided as reason:
            _undecided(by.name, reason, format_)


@dataclass(frozen=True, slots=True)
class _By:
    """The rules that are asked for: a profile, or files with rules; and the seconds that they may take."""

    profile: ReasoningProfile
    rules: tuple[Path, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What the rules are called."""
        return " ".join(str(path) for path in self.rules) or self.profile.value


def _triples(targets: Sequence[str], kb: Path | None) -> list[ox.Triple]:
    from kgrag.knowledge_base import audit_runs, reasoning_runs

    if files := target_files(targets, "Reason over"):
        return [triple for path in files for triple in audit_runs.triples_of(path)]
    with open_kb(kb, access="read") as opened:
        return reasoning_runs.triples_of(opened.store, reasoning_runs.sources(opened.store, targets))


# --- rules --------------------------------------------------------------------------------------------------------


def _infer(targets: Sequence[str], kb: Path | None, by: _By, form: JsonFormat, server: str | None) -> None:
    from kgrag.knowledge_base import reasoning_runs

    options: dict[str, Any] = {"profile": by.profile.value, "rules": by.rules, "seconds": by.seconds}
    if files := target_files(targets, "Reason over"):
        found = reasoning_runs.infer_files(files, **options)
        _print_inferences(found, form)
        _contradicted(reasoning_runs.as_json(found)["contradictions"], form)
        return

    def here() -> None:
        with open_kb(kb) as opened:
            done = reasoning_runs.infer(opened.store, targets, **options)
            _print_done(reasoning_runs.materialised_json(opened.store, done), by, form)

    def there(client: Client) -> None:
        job = client.reason(graphs=list(targets), profile=_sent(by), seconds=min(by.seconds, _SECONDS_OF_RULES))
        _print_done(client.end_of_job(job.id), by, form)

    if by.rules:
        here()
    else:
        through(server, here, there)


def _sent(by: _By) -> Literal["rdfs", "owl-rl"]:
    return "owl-rl" if by.profile is ReasoningProfile.OWL_RL else "rdfs"


def _print_done(done: Mapping[str, Any], by: _By, form: JsonFormat) -> None:
    if form is JsonFormat.JSON:
        print_json(done)
    elif "unchanged" in done:
        typer.echo(f"{done['graph']}: unchanged, no source was changed since")
    else:
        where = f" in {done['graph']}" if done["graph"] else ""
        typer.echo(f"{done['triples']} triples follow by {by.name} from {len(done['sources'])} graphs{where}")
    for graph in done["stale"]:
        note(f"stale: {graph} is older than what it follows from; reason over its sources again, or --drop it")
    _contradicted(done.get("contradictions", []), form)


def _drop(targets: Sequence[str], kb: Path | None, by: _By, server: str | None) -> None:
    from kgrag.knowledge_base import reasoning_runs

    if target_files(targets, "Reason over"):
        raise InputError("--drop takes graphs of a knowledge base, and what follows from files is kept nowhere.")

    def dropped(count: int) -> None:
        typer.echo(f"{count} inference graph{'' if count == 1 else 's'} dropped")

    def here() -> None:
        with open_kb(kb) as opened:
            dropped(reasoning_runs.drop(opened.store, targets, profile=by.profile.value, rules=by.rules))

    def there(client: Client) -> None:
        job = client.reason(graphs=list(targets), profile=_sent(by), drop=True)
        dropped(client.end_of_job(job.id)["dropped"])

    if by.rules:
        here()
    else:
        through(server, here, there)


def _print_inferences(found: Inferences, form: JsonFormat) -> None:
    from kgrag.knowledge_base import reasoning_runs

    if form is JsonFormat.JSON:
        print_json({**reasoning_runs.as_json(found), "follows": [f"{triple} ." for triple in found.triples]})
        return
    for triple in found.triples:
        typer.echo(f"{triple} .")
    note(f"{len(found.triples)} triples follow")


def _contradicted(found: Sequence[Mapping[str, str]], form: JsonFormat) -> None:
    if not found:
        return
    if form is JsonFormat.TEXT:
        for each in found:
            parts = [each[name] for name in ("focus", "value", "other") if each[name]]
            note(f"contradiction ({each['rule']}): {' '.join(parts)}")
    raise typer.Exit(1)


# --- a reasoner ---------------------------------------------------------------------------------------------------


def _decide(triples: Sequence[ox.Triple], *, explain: bool, seconds: float, form: JsonFormat) -> None:
    from kgrag.errors import NotDecided
    from kgrag.reasoning.hermit import classify
    from kgrag.vocab import OWL

    try:
        found = classify(triples, seconds=seconds)
    except NotDecided as reason:
        _undecided(ReasoningProfile.OWL_DL.value, reason, form)
    wanted = (found.unsatisfiable if found.consistent else (OWL.Thing.value,)) if explain else ()
    reasons = {name: _explained(triples, name, seconds) for name in wanted}
    if form is JsonFormat.JSON:
        print_json({"profile": "owl-dl", **asdict(found), "explanations": reasons})
    else:
        typer.echo("\n".join(_classification_lines(found, reasons)))
    if not found.consistent or found.unsatisfiable:
        raise typer.Exit(1)


def _undecided(name: str, reason: Exception, form: JsonFormat) -> NoReturn:
    """Print why there is no verdict, and end with exit code 3."""
    if form is JsonFormat.JSON:
        print_json({"profile": name, "not_decided": str(reason)})
    else:
        typer.echo(f"not decided: {reason}")
    raise typer.Exit(3) from None


def _explained(triples: Sequence[ox.Triple], wanted: str, seconds: float) -> list[str]:
    from kgrag.errors import NotDecided
    from kgrag.reasoning.axioms import words
    from kgrag.reasoning.explanations import explain

    try:
        return [words(axiom) for axiom in explain(triples, wanted=wanted, seconds=seconds)]
    except NotDecided as reason:
        return [f"not decided: {reason}"]


def _classification_lines(found: Classification, reasons: dict[str, list[str]]) -> list[str]:
    lines = ["consistent" if found.consistent else "inconsistent: it has no model, and everything follows from it"]
    lines += [f"    {line}" for line in reasons.get("http://www.w3.org/2002/07/owl#Thing", ())]
    for name in found.unsatisfiable:
        lines.append(f"unsatisfiable  {name}")
        lines += [f"    {line}" for line in reasons.get(name, ())]
    lines += [f"equivalent     {' '.join(group)}" for group in found.equivalents]
    lines += [f"subclass       {lower} {upper}" for lower, upper in found.subclasses]
    if found.note:
        lines.append(f"note: {found.note}")
    return lines
