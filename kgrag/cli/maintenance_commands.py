"""Commands that look after a knowledge base: stats, status, doctor, export, backup, vacuum, receipts, demo."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import PART_DONE, JsonFormat, KbOption, named_kb, open_kb
from kgrag.cli.printing import note, print_json, progress_bar
from kgrag.cli.remote_commands import ServerOption, erasure_of, read_through, through

if TYPE_CHECKING:
    from kgrag.client import Client
    from kgrag.knowledge_base.erasure import Erasure

__all__ = ["print_erasure", "register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (stats, status, doctor, export, backup, vacuum, receipts, demo):
        app.command()(command)


def stats(
    method: Annotated[str | None, typer.Argument(help="A method's own figures.", show_default=False)] = None,
    kb: KbOption = None,
    cost: Annotated[
        bool, typer.Option("--cost", help="What the language model cost, by day, method and model.")
    ] = False,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """Count what is there."""

    def here() -> Any:
        with open_kb(kb, access="read") as opened:
            return opened.priced_costs(method) if cost else opened.stats(method)

    def there(client: Client) -> Any:
        reply = client.costs(method=method) if cost else client.stats(method=method)
        return reply.model_dump(exclude_none=True)

    figures = read_through(server, here, there)
    if cost:
        _print_costs(figures, format_)
        return
    if format_ is JsonFormat.JSON:
        print_json(figures)
        return
    for name, value in _flat(figures):
        typer.echo(f"{name:32} {value:>14,}" if isinstance(value, int) else f"{name:32} {value:>14}")


def _print_costs(rows: list[dict[str, Any]], format_: JsonFormat) -> None:
    if format_ is JsonFormat.JSON:
        print_json(rows)
        return
    for row in rows:
        figures = "".join(f"{row[name]:>14,}" for name in ("completions", "input_tokens", "output_tokens"))
        typer.echo(f"{row['day']}  {row['method'] or '-':12} {row['model']:24}{figures}{row.get('price', '-'):>14}")
    if not rows:
        note("no language model was paid")


def status(
    kb: KbOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """List what builds and workers left to do, each part with the reason; exit code 4 when there is any.

    Broken files that were accepted (`kgrag sync --accept`) are listed behind it.
    What triage left out of a build of a share is listed too, and is nothing left to do.
    """
    from kgrag.knowledge_base.build_marks import INTAKE
    from kgrag.text.readers import accepted_files

    def here() -> Any:
        with open_kb(kb, access="read") as opened:
            roots = [Path(source.root) for source in opened.sources() if source.kind == "folder"]
            accepted = [line for root in roots for line in accepted_files.listed(root)]
            return {**opened.status(), "accepted": accepted}

    found = read_through(server, here, lambda client: client.status().model_dump())
    is_left = bool(found["unfinished"] or found["pending"])
    if format_ is JsonFormat.JSON:
        print_json(found)
    else:
        for method, since in found["unfinished"].items():
            typer.echo(f"{method}: the build that began at {since} did not come to its end")
        for method, lines in found["pending"].items():
            again = "`kgrag ingest`" if method == INTAKE else f"`kgrag build {method}`"
            typer.echo(f"{method}: {len(lines)} parts are pending; {again} tries them again")
            for line in lines:
                typer.echo(f"  {line}")
        for method, line in found["left_out"].items():
            typer.echo(f"{method}: {line}")
        if not is_left:
            typer.echo("nothing is pending")
        notes = [f"accepted as broken: {line}" for line in found.get("accepted", ())]
        notes += [f"stale: {graph} was inferred from what changed since" for graph in found.get("stale", ())]
        typer.echo("\n".join(notes), nl=bool(notes))
    if is_left:
        raise typer.Exit(PART_DONE)


def _flat(figures: Any, prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in figures.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return rows


def doctor(
    kb: KbOption = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    store: Annotated[
        str | None, typer.Option("--store", help="Ask this SPARQL server what it does, and store its profile.")
    ] = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
) -> None:
    """Check store, catalogue, shapes and vectors against each other; exit code 1 when something does not hold."""
    if store is not None:
        _print_profile(store, kb, format_)
        return
    with open_kb(kb, access="write" if repair else "either") as opened:
        findings = opened.doctor(repair=repair)
    open_ones = [finding for finding in findings if finding.fault and not finding.mended]
    if format_ is JsonFormat.JSON:
        rows = [{"check": f.check, "message": f.message, "fault": f.fault, "mended": f.mended} for f in findings]
        print_json({"healthy": not open_ones, "findings": rows})
    else:
        for finding in findings:
            word = "mended" if finding.mended else "fault" if finding.fault else "note"
            typer.echo(f"{word:7}{finding.check}: {finding.message}")
        typer.echo("healthy" if not open_ones else f"{len(open_ones)} faults")
    if open_ones:
        raise typer.Exit(1)


def _print_profile(store: str, kb: Path | None, format_: JsonFormat) -> None:
    """Print what a SPARQL server does, and store it in the folder of the knowledge base."""
    from kgrag.knowledge_base.services import server_profile
    from kgrag.settings import read_settings

    configured = read_settings(kb=named_kb(kb), store=store)
    profile = server_profile(configured)
    path = profile.save(configured.kb)
    if format_ is JsonFormat.JSON:
        print_json(profile.to_json())
    else:
        typer.echo(f"{profile.address} ({profile.software})")
        for feature in profile.features:
            typer.echo(f"{'yes' if feature.found else 'no':4}{feature.name}: {feature.seen}")
        typer.echo(profile.traits.in_words())
        typer.echo(f"written to {path}")
    if profile.missing:
        raise typer.Exit(1)


def export(
    file: Annotated[Path, typer.Argument(help="File to write, or with --crate a new folder.")],
    kb: KbOption = None,
    graph: Annotated[
        list[str] | None,
        typer.Option("--graph", help="IRI of a graph, for other files than .nq; default: all that state facts."),
    ] = None,
    crate: Annotated[bool, typer.Option("--crate", help="Write an RO-Crate, with sources and provenance.")] = False,
    license_: Annotated[
        str, typer.Option("--license", help="With --crate: address of the licence.", show_default=False)
    ] = "",
    mirror: Annotated[
        str,
        typer.Option(
            "--mirror",
            help="Write nothing: compare the count of quads of the export FILE with that of a SPARQL server that "
            "loaded it, at the address for queries.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Write all as N-Quads (.nq, .nq.gz) with a manifest; or graphs as .owl .ttl .nt .jsonld .trig .graphml."""
    from kgrag.knowledge_base.export_calls import graph_forms

    if mirror:
        _compare_mirror(file, mirror)
        return
    with open_kb(kb, access="read") as opened:
        if crate:
            typer.echo(f"{opened.export_crate(file, license_url=license_):,} quads in the crate {file}")
        elif graph or file.suffix.lower() in graph_forms():
            typer.echo(f"{opened.export_graphs(file, *(graph or ())):,} triples to {file}")
            return
        else:
            typer.echo(f"{opened.export(file):,} quads to {file}")
    _say_what_is_left_out()


def _compare_mirror(file: Path, address: str) -> None:
    """Print how many quads an export and its mirror have; exit code 1 where they differ."""
    from kgrag.store.sparql_connection import ServerAddress, SparqlConnection
    from kgrag.store.transfer import compare_mirror

    with closing(SparqlConnection(ServerAddress.of(f"{address} {address}"))) as connection:
        exported, held = compare_mirror(file, connection)
    typer.echo(f"{exported:,} quads in {file}, {held:,} at {address}: {'as many' if held == exported else 'DIFFERENT'}")
    if held != exported:
        raise typer.Exit(1)


def backup(
    folder: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
    kb: KbOption = None,
) -> None:
    """Write a copy that opens as a knowledge base, with trained weights and paid completions, and read all of it."""
    with open_kb(kb, access="either") as opened:
        opened.backup(folder)
        typer.echo(f"{folder}: open it with --kb {folder}")
    _say_what_is_left_out()


def _say_what_is_left_out() -> None:
    from kgrag.store.kept_files import LEFT_OUT

    note(f"left out: {LEFT_OUT}; the first use makes them again")


def vacuum(kb: KbOption = None, server: ServerOption = None) -> None:
    """Write every file anew without what is in no triple any more: words of documents that were forgotten."""

    def here() -> None:
        with open_kb(kb) as opened:
            print_erasure(opened.vacuum())

    def there(client: Client) -> None:
        with progress_bar() as progress:
            done = client.end_of_job(client.vacuum().id, progress)
        print_erasure(erasure_of(done))

    through(server, here, there)


def receipts(
    kb: KbOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """List what erasures stated, and check their signatures; exit code 1 when one does not hold or lacks."""

    def here() -> list[dict[str, Any]]:
        with open_kb(kb, access="read") as opened:
            return [asdict(each) for each in opened.receipts()]

    def there(client: Client) -> list[dict[str, Any]]:
        return [each.model_dump() for each in client.receipts().root]

    found = read_through(server, here, there)
    if format_ is JsonFormat.JSON:
        print_json(found)
    else:
        for each in found:
            unsound = "the signature does not hold" if each["key"] else "unsigned"
            state = f"signed with {each['key']}" if each["holds"] else unsound
            counts = f"{len(each['documents'])} documents  {each['counts']}"
            typer.echo(f"{each['ended']}  {counts}  {state}  <{each['iri']}>")
        if not found:
            note("nothing was erased")
    if not all(each["holds"] for each in found):
        raise typer.Exit(1)


def print_erasure(done: Erasure) -> None:
    """Print what an erasure did; exit code 1 when its search found something."""
    typer.echo(
        f"erased {len(done.documents)} documents: {done.dropped} graphs dropped, {done.completions} completions "
        f"deleted; {done.sought} runs of words and names sought in {done.files} files and every triple, found in "
        f"{len(done.found)} places"
    )
    for place in done.found:
        note(f"found in: {place}")
    for backup in done.backups:
        note(f"not touched: the backup {backup}")
    note("not touched: exports, other backups, copies elsewhere, and blocks of the disk that are free and not reused")
    if done.found:
        raise typer.Exit(1)


def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Keep the knowledge base in this folder.", show_default=False)
    ] = None,
) -> None:
    """Build a small knowledge base from packaged texts and mapped data, and ask it, without key or network."""
    from kgrag.cli.demo_command import run

    run(keep)
    note("Next: kgrag ingest YOUR_FOLDER && kgrag ask 'YOUR QUESTION'  (kgrag --help lists every command)")
