"""The command ``reason``: what follows, and does it contradict itself?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from kgrag.cli.options import JsonFormat, KbOption, open_kb, target_files
from kgrag.cli.printing import note, print_json
from kgrag.errors import InputError

if TYPE_CHECKING:
    import pyoxigraph as ox

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
) -> None:
    """Write what follows from ontologies and data; exit code 1 for contradictions, 3 when there is no verdict.

    What follows from graphs goes to a graph of its own, and from files to standard output, as N-Triples.
    """
    from kgrag.errors import NotDecided

    named = tuple(targets or ())
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
        _drop(named, kb, by)
    else:
        try:
            _infer(named, kb, by, format_)
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


def _infer(targets: Sequence[str], kb: Path | None, by: _By, form: JsonFormat) -> None:
    from kgrag.knowledge_base import reasoning_runs

    options: dict[str, Any] = {"profile": by.profile.value, "rules": by.rules, "seconds": by.seconds}
    if files := target_files(targets, "Reason over"):
        found = reasoning_runs.infer_files(files, **options)
        _print_inferences(found, form)
        _contradicted(found, form)
        return
    with open_kb(kb) as opened:
        done = reasoning_runs.infer(opened.store, targets, **options)
        left = [graph for graph in reasoning_runs.stale(opened.store) if graph != done.graph]
    if form is JsonFormat.JSON:
        result = _as_json(done.found) if done.found else {"unchanged": True}
        print_json({"graph": done.graph, "sources": list(done.sources), "stale": left, **result})
    elif done.found is None:
        typer.echo(f"{done.graph}: unchanged, no source was changed since")
    else:
        where = f" in {done.graph}" if done.graph else ""
        typer.echo(f"{len(done.found.triples)} triples follow by {by.name} from {len(done.sources)} graphs{where}")
    for graph in left:
        note(f"stale: {graph} is older than what it follows from; reason over its sources again, or --drop it")
    if done.found is not None:
        _contradicted(done.found, form)


def _drop(targets: Sequence[str], kb: Path | None, by: _By) -> None:
    from kgrag.knowledge_base import reasoning_runs

    if target_files(targets, "Reason over"):
        raise InputError("--drop takes graphs of a knowledge base, and what follows from files is kept nowhere.")
    with open_kb(kb) as opened:
        count = reasoning_runs.drop(opened.store, targets, profile=by.profile.value, rules=by.rules)
    typer.echo(f"{count} inference graph{'' if count == 1 else 's'} dropped")


def _as_json(found: Inferences) -> dict[str, Any]:
    return {
        "triples": len(found.triples),
        "rounds": found.rounds,
        "contradictions": [asdict(each) for each in found.contradictions],
    }


def _print_inferences(found: Inferences, form: JsonFormat) -> None:
    if form is JsonFormat.JSON:
        print_json({**_as_json(found), "follows": [f"{triple} ." for triple in found.triples]})
        return
    for triple in found.triples:
        typer.echo(f"{triple} .")
    note(f"{len(found.triples)} triples follow")


def _contradicted(found: Inferences, form: JsonFormat) -> None:
    if not found.contradictions:
        return
    if form is JsonFormat.TEXT:
        for each in found.contradictions:
            parts = [part for part in (each.focus, each.value, each.other) if part]
            note(f"contradiction ({each.rule}): {' '.join(parts)}")
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
