"""Commands that fill a knowledge base: init, load, ingest, sync, documents, forget, import."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.answering.json_forms import metadata_json
from kgrag.cli.maintenance_commands import print_erasure
from kgrag.cli.options import JsonFormat, KbOption, WhereOption, open_kb
from kgrag.cli.printing import note, print_json, progress_bar
from kgrag.cli.remote_commands import Remote, ServerOption, load_through, through

if TYPE_CHECKING:
    from kgrag.text.ingestion import IngestReport

__all__ = ["register"]

_MAX_LINES_SHOWN = 20

ChunkerOption = Annotated[str, typer.Option("--chunker", help="Name of a registered chunker.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (init, load, ingest, sync, documents, forget):
        app.command()(command)
    app.command("import")(import_)


def init(
    kb: KbOption = None,
    base_iri: Annotated[
        str | None, typer.Option("--base-iri", help="Base of every minted IRI; cannot be changed later.")
    ] = None,
) -> None:
    """Create an empty knowledge base (other commands create it when absent)."""
    with open_kb(kb, base_iri=base_iri) as opened:
        typer.echo(f"{opened.path}: base IRI {opened.store.names.base}, revision {opened.store.revision}")


def load(
    files: Annotated[list[Path], typer.Argument(help="Ontologies or any RDF.")],
    kb: KbOption = None,
    graph: Annotated[str | None, typer.Option("--graph", help="IRI of the graph; default: the ontology's own.")] = None,
    rdf_format: Annotated[
        str | None,
        typer.Option("--rdf-format", help="turtle, rdfxml, ntriples, nquads, trig, jsonld, n3; default: by suffix."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Refuse ontologies with violations by this audit profile.")
    ] = None,
    server: ServerOption = None,
) -> None:
    """Load ontologies and any RDF into graphs of their own; loading again replaces them."""

    def load_here() -> None:
        with open_kb(kb) as opened:
            publication = opened.load(*files, graph=graph, rdf_format=rdf_format, profile=profile)
            for iri in publication.published:
                typer.echo(f"loaded {iri}")
            for iri in publication.unchanged:
                typer.echo(f"unchanged {iri}")

    def load_there(remote: Remote) -> None:
        from kgrag.knowledge_base import audit_runs

        if profile is not None:  # the server does not know this option: the ontologies are audited before they are sent
            audit_runs.gate_files(files, profile, rdf_format=rdf_format)
        load_through(remote, files, graph=graph, rdf_format=rdf_format)

    through(server, load_here, load_there)


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Files or folders: txt, md, html, pdf, docx, csv, json, jsonl (.gz too).")
    ],
    kb: KbOption = None,
    chunk_tokens: Annotated[
        int, typer.Option("--chunk-tokens", help="Largest chunk, in words and marks.", min=8)
    ] = 180,
    chunker: ChunkerOption = "pauses",
    embed: Annotated[bool, typer.Option("--embed/--no-embed", help="Embed the chunks now, or at first use.")] = True,
) -> None:
    """Read documents, cut them into chunks with exact offsets, publish and embed them."""
    with open_kb(kb) as opened, progress_bar() as progress:
        report = opened.ingest(*paths, chunk_tokens=chunk_tokens, chunker=chunker, progress=progress, embed=embed)
    typer.echo(
        f"{report.documents} documents, {report.chunks} chunks; {report.unchanged} unchanged, "
        f"{report.duplicates} duplicates, {report.superseded} replaced, {report.replaced} chunked again, "
        f"{len(report.skipped)} skipped, "
        f"{len(report.broken)} broken"
    )
    _some(report.skipped, "skipped")
    _some(report.broken, "broken")
    _some([f"{v.focus}: {v.message}" for v in report.violations], "in quarantine")
    if report.broken or report.violations:
        raise typer.Exit(_code_of(report))


def sync(
    folder: Annotated[Path, typer.Argument(help="Folder whose documents are to be those of the knowledge base.")],
    kb: KbOption = None,
    chunk_tokens: Annotated[
        int, typer.Option("--chunk-tokens", help="Largest chunk, in words and marks.", min=8)
    ] = 180,
    chunker: ChunkerOption = "pauses",
) -> None:
    """Bring the knowledge base in step with a folder: add what is new, change what changed, forget what is gone."""
    with open_kb(kb) as opened, progress_bar() as progress:
        done = opened.sync(folder, chunk_tokens=chunk_tokens, chunker=chunker, progress=progress)
    report = done.ingested
    typer.echo(
        f"{report.documents} documents added, {report.unchanged} unchanged, {len(done.forgotten)} forgotten, "
        f"{done.misplaced} only moved, {len(report.broken)} broken"
    )
    _some(report.broken, "broken")
    _some([one.title or one.document for one in done.forgotten], "forgotten")
    _some(
        (f"{path} (recorded without its folder; if the file is gone: kgrag forget)" for path in done.undecided), "left"
    )
    if report.broken or any(one.remains for one in done.forgotten):
        raise typer.Exit(_code_of(report) if report.broken else 1)


def documents(
    kb: KbOption = None,
    where: WhereOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or JSON.")] = JsonFormat.TEXT,
) -> None:
    """List documents: title, id, places, metadata."""
    with open_kb(kb, access="either") as opened:
        listed = opened.documents(where or None)
    if format_ is JsonFormat.JSON:
        print_json([asdict(one) | {"metadata": metadata_json(one.metadata)} for one in listed])
        return
    for one in listed:
        typer.echo(f"{one.title or one.id or one.iri}  ({one.chunks} chunks)")
        for name, value in (("id", one.id), ("url", one.url), *(("in", place) for place in one.locations)):
            if value:
                typer.echo(f"    {name}: {value}")
        for name, value in sorted(one.metadata.items()):
            typer.echo(f"    {name}: {', '.join(map(str, value)) if isinstance(value, tuple) else value}")
    note(f"{len(listed)} documents")


def forget(
    document: Annotated[str, typer.Argument(help="IRI, location, id or title of a document.")],
    kb: KbOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="All documents of this id or title, where several have it.")
    ] = False,
    erase: Annotated[
        bool, typer.Option("--erase", help="Delete its words from every file, and prove it by a search.")
    ] = False,
) -> None:
    """Delete a document and what was derived from it alone; exit code 1 if a query still finds any of it."""
    if erase:
        with open_kb(kb) as opened:
            print_erasure(opened.erase(document, every=every))
        return
    with open_kb(kb) as opened:
        done = opened.forget(document, every=every)
    for one in done:
        typer.echo(
            f"forgot {one.title or one.document}: {len(one.dropped)} graphs dropped, {len(one.trimmed)} trimmed, "
            f"{len(one.remains)} traces found"
        )
        if one.waiting:
            note(f"{len(one.waiting)} nodes of trees lost their words: run `kgrag build sire_rag`")
    if any(one.remains for one in done):
        raise typer.Exit(1)


def import_(
    source: Annotated[Path, typer.Argument(help="What `kgrag export` wrote.")],
    kb: KbOption = None,
) -> None:
    """Read an export into a knowledge base that is still empty."""
    with open_kb(kb) as opened:
        quads = opened.import_(source)
        typer.echo(f"{quads:,} quads into {opened.path}")


def _code_of(report: IngestReport) -> int:
    """Return the exit code where files were broken: 4 when others are in the knowledge base, 2 when none is."""
    return 4 if report.documents + report.unchanged + report.duplicates else 2


def _some(lines: Any, label: str) -> None:
    lines = list(lines)
    for line in lines[:_MAX_LINES_SHOWN]:
        note(f"{label}: {line}")
    if len(lines) > _MAX_LINES_SHOWN:
        note(f"{label}: {len(lines) - _MAX_LINES_SHOWN} more")
