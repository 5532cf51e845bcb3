"""Commands that fill a knowledge base: init, load, ingest, sync, documents, forget, import."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.answering.json_forms import metadata_json
from kgrag.cli.maintenance_commands import print_erasure
from kgrag.cli.options import JsonFormat, KbOption, ShardsOption, WhereOption, open_kb
from kgrag.cli.printing import note, print_json, progress_bar
from kgrag.cli.remote_commands import (
    ServerOption,
    documents_through,
    erase_through,
    forget_through,
    graph_iri,
    listed_through,
    load_through,
    names_of,
    read_through,
    source_folder_through,
    through,
)
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.client import Client
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.model import Document, GraphDraft
    from kgrag.vocab import Names

    _Drafts = Callable[[Names], list[GraphDraft]]

__all__ = ["register"]

_MAX_LINES_SHOWN = 20
_ACCEPTED = "broken, and accepted"
_COMES_BACK = "the file is still there, and comes back with the next ingest or sync of its folder"
_ANSWER_WENT = "a kept answer went with what it cites"
_SAME_TEXT = "another document has the same text, and stays"
_MOVED_SOURCE = "{1}, the folder of the source '{0}' (if it is elsewhere now: kgrag sources --move {0} --to FOLDER)"
_COUNTS = ("documents", "chunks", "unchanged", "duplicates", "superseded", "replaced", "notes")

ChunkerOption = Annotated[str, typer.Option("--chunker", help="Name of a registered chunker.")]
WholePagesOption = Annotated[bool, typer.Option("--whole-pages", help="Keep the navigation of HTML pages.")]


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
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILES]...", help="Ontologies or any RDF.", show_default=False)
    ] = None,
    kb: KbOption = None,
    graph: Annotated[str | None, typer.Option("--graph", help="IRI of the graph; default: the ontology's own.")] = None,
    rdf_format: Annotated[
        str | None,
        typer.Option("--rdf-format", help="turtle, rdfxml, ntriples, nquads, trig, jsonld, n3; default: by suffix."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Refuse ontologies with violations by this audit profile.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            help="Of dumps (nt, nq, also gz, bz2, xz): part=value,value with subject, predicate, object, language.",
            show_default=False,
        ),
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="R2RML or RML: load what it makes of a database, CSV or JSON.")
    ] = None,
    database: Annotated[
        str,
        typer.Option(
            "--database", envvar="KGRAG_DATABASE", help="With --mapping: address, such as sqlite:///staff.db."
        ),
    ] = "",
    mapper: Annotated[
        str,
        typer.Option("--mapper", envvar="KGRAG_MAPPER", help="With --mapping: Python that has morph-kgc installed."),
    ] = "",
    linkml: Annotated[
        Path | None, typer.Option("--linkml", help="LinkML schema: load it as an ontology and SHACL shapes.")
    ] = None,
    linkml_python: Annotated[
        str,
        typer.Option("--linkml-python", envvar="KGRAG_LINKML", help="With --linkml: Python that has linkml installed."),
    ] = "",
    server: ServerOption = None,
) -> None:
    """Load ontologies and any RDF into graphs of their own; loading again replaces them."""
    paths = files or []
    if sum((bool(paths), mapping is not None, linkml is not None)) != 1:
        raise InputError("there is nothing to load, or too much. Name files, or one --mapping, or one --linkml.")
    if not paths and (profile or rdf_format or only):
        raise InputError("--profile, --rdf-format, --only are for files. Leave them out with --mapping and --linkml.")
    if only:
        _refuse_with_only(profile, rdf_format, server)
        _load_dumps(kb, paths, graph, only)
        return
    made = None  # drafts by names, of what another program makes
    if mapping is not None:
        made = partial(_mapped, mapping, graph, database, mapper)
    elif linkml is not None:
        made = partial(_generated, linkml, linkml_python)
    options = {"graph": graph, "rdf_format": rdf_format, "profile": profile}
    through(
        server, partial(_load_here, kb, paths, made, options), lambda there: _load_there(there, paths, made, options)
    )


def _load_here(kb: Path | None, paths: Sequence[Path], made: _Drafts | None, options: Mapping[str, Any]) -> None:
    with open_kb(kb) as opened:
        store = opened.store
        publication = opened.load(*paths, **options) if made is None else store.publish(made(store.names))
        for iri in publication.published:
            typer.echo(f"loaded {iri}")
        for iri in publication.unchanged:
            typer.echo(f"unchanged {iri}")
        for iri in publication.removed:
            typer.echo(f"removed {iri}, which is in its file no more")


def _load_there(client: Client, paths: Sequence[Path], made: _Drafts | None, options: Mapping[str, Any]) -> None:
    from kgrag.knowledge_base import audit_runs
    from kgrag.store.rdf_files import read_all

    form, profile, names = options["rdf_format"], options["profile"], names_of(client)
    if profile is not None:  # the server does not know this option: the ontologies are audited before they are sent
        audit_runs.gate_files(paths, profile, rdf_format=form)
    if made is not None:
        load_through(client, made(names))
        return
    load_through(client, read_all(paths, rdf_format=form, graph=graph_iri(options["graph"]), names=names))


def _refuse_with_only(*others: object) -> None:
    if any(others):
        raise InputError("--only streams a dump into a folder. Leave --profile, --rdf-format, --server out.")


def _mapped(mapping: Path, graph: str | None, database: str, mapper: str, names: Names) -> list[GraphDraft]:
    from kgrag.knowledge_base import mapping_runs

    target = graph_iri(graph)
    return mapping_runs.mapped_drafts(mapping, graph=target, names=names, database=database, mapper=mapper)


def _generated(schema: Path, python: str, names: Names) -> list[GraphDraft]:
    from kgrag.knowledge_base import mapping_runs

    return mapping_runs.linkml_drafts(schema, names=names, generator=python)


def _load_dumps(kb: Path | None, paths: Sequence[Path], graph: str | None, only: Sequence[str]) -> None:
    with open_kb(kb) as opened, progress_bar() as progress:
        for path in paths:
            done = opened.load_dump(path, graph=graph, only=only, progress=progress)
            typer.echo(f"loaded {done.graph}: {done.kept:,} of {done.lines:,} lines")
            if done.broken:
                note(f"{path}: {done.broken:,} lines are no triples, and were left out")


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders; `kgrag plugins` lists the formats.")],
    kb: KbOption = None,
    chunk_tokens: Annotated[
        int, typer.Option("--chunk-tokens", help="Largest chunk, in words and marks.", min=8)
    ] = 180,
    chunker: ChunkerOption = "pauses",
    embed: Annotated[bool, typer.Option("--embed/--no-embed", help="Embed the chunks now, or at first use.")] = True,
    whole_pages: WholePagesOption = False,
    runner: Annotated[
        str,
        typer.Option(
            "--runner",
            help="Who reads, cuts, validates and embeds: local, process://WORKERS, or ray://ADDRESS/WORKERS; default: "
            "this process, as it stores.",
            show_default=False,
        ),
    ] = "",
    shards: ShardsOption = None,
    server: ServerOption = None,
) -> None:
    """Read documents, cut them into chunks with exact offsets, publish and embed them."""
    chunking: dict[str, Any] = {"chunk_tokens": chunk_tokens, "chunker": chunker}
    if shards and not runner:
        raise InputError("--shards is the folder of workers, and there are none. Name a --runner, or leave it out.")

    def ingest_here() -> None:
        with open_kb(kb) as opened, progress_bar() as progress:
            report = opened.ingest(
                *paths,
                chunk_tokens=chunk_tokens,
                chunker=chunker,
                progress=progress,
                embed=embed,
                whole_pages=whole_pages,
                runner=runner,
                shards=shards,
            )
        counts = {name: getattr(report, name) for name in _COUNTS}
        violations = [f"{v.focus}: {v.message}" for v in report.violations]
        _some(report.answers, _ANSWER_WENT)
        _end_ingest(counts, report.skipped, report.broken, violations)

    def ingest_there(client: Client) -> None:
        if runner:
            raise InputError("--runner works where the knowledge base is. Leave it out, or --server.")
        skipped, broken, source = _reading(paths, whole_pages)
        options = {**chunking, "replaces": "files", "embed": embed}
        with progress_bar() as progress:
            done = documents_through(client, source, broken.keys(), options, progress)
        _end_ingest(done, skipped, list(broken.values()), done["violations"])

    through(server, ingest_here, ingest_there)


def _reading(paths: Sequence[Path], whole_pages: bool) -> tuple[list[str], dict[Path, str], Iterator[Document]]:
    """Return the files that are left out and those that are broken, filled on the way, and the documents."""
    from kgrag.text.readers import read_paths

    skipped: list[str] = []
    broken: dict[Path, str] = {}
    return skipped, broken, read_paths(paths, skipped=skipped, broken=broken, whole_pages=whole_pages)


def _end_ingest(
    counts: Mapping[str, Any], skipped: Sequence[str], broken: Sequence[str], violations: Sequence[str]
) -> None:
    typer.echo(
        f"{counts['documents']} documents, {counts['chunks']} chunks; {counts['unchanged']} unchanged, "
        f"{counts['duplicates']} duplicates, {counts['superseded']} replaced, {counts['replaced']} chunked again, "
        f"{len(skipped)} skipped, "
        f"{len(broken)} broken"
    )
    _some(counts.get("notes", ()), "note")  # an earlier server sends none
    _some(skipped, "skipped")
    _some(broken, "broken", failed=True)
    _some(violations, "in quarantine", failed=True)
    if broken or violations:
        raise typer.Exit(_code_of(counts))


def sync(
    folder: Annotated[
        Path, typer.Argument(help="Folder whose documents are to be those of the knowledge base, or name of a source.")
    ],
    kb: KbOption = None,
    name: Annotated[str, typer.Option("--name", help="What the source is to be called; see `kgrag sources`.")] = "",
    chunk_tokens: Annotated[
        int, typer.Option("--chunk-tokens", help="Largest chunk, in words and marks.", min=8)
    ] = 180,
    chunker: ChunkerOption = "pauses",
    whole_pages: WholePagesOption = False,
    accept: Annotated[
        list[Path] | None,
        typer.Option("--accept", help="Broken file of the folder that is accepted until it changes; may be repeated."),
    ] = None,
    server: ServerOption = None,
) -> None:
    """Bring the knowledge base in step with a folder: add what is new, change what changed, forget what is gone."""

    def sync_here() -> None:
        with open_kb(kb) as opened, progress_bar() as progress:
            done = opened.sync(
                folder,
                name=name,
                chunk_tokens=chunk_tokens,
                chunker=chunker,
                progress=progress,
                whole_pages=whole_pages,
                accept=accept or (),
            )
        forgotten = [
            {**asdict(one), "name": one.title or one.document, "remains": len(one.remains)} for one in done.forgotten
        ]
        violations = [f"{v.focus}: {v.message}" for v in done.ingested.violations]
        counts = {name: getattr(done.ingested, name) for name in _COUNTS} | {"violations": violations}
        _some(done.ingested.accepted, _ACCEPTED)
        told = ("misplaced", "undecided", "moved", "same", "absent", "continued")
        counts |= {name: getattr(done, name) for name in told}
        _end_sync(counts, forgotten, done.ingested.skipped, done.ingested.broken)

    def sync_there(client: Client) -> None:
        from kgrag.text.readers import accepted_files

        read = folder if folder.exists() else source_folder_through(client, folder)
        if accept:
            accepted_files.accept(read, accept)
        skipped, broken, source = _reading([read], whole_pages)
        options: dict[str, Any] = {"chunk_tokens": chunk_tokens, "chunker": chunker, "source": name}
        options |= {"replaces": "folder", "folder": os.path.realpath(read)}
        with progress_bar() as progress:
            done = documents_through(client, source, broken.keys(), options, progress)
        forgotten = [{**one, "name": one["title"] or one["document"]} for one in done["forgotten"]]
        others, accepted = accepted_files.separated(read, broken)
        _some(accepted, _ACCEPTED)
        _end_sync(done, forgotten, skipped, others)

    through(server, sync_here, sync_there)


def _end_sync(
    counts: Mapping[str, Any],
    forgotten: Sequence[Mapping[str, Any]],
    skipped: Sequence[str],
    broken: Sequence[str],
) -> None:
    moved, same = counts.get("moved", ()), counts.get("same", ())  # an earlier server sends none
    continued = counts.get("continued", {})
    gone = [one for one in forgotten if one["document"] not in continued]  # what was changed or renamed is told as that
    changed = [one["name"] for one in forgotten if continued.get(one["document"]) == "changed"]
    typer.echo(
        f"{max(counts['documents'] - len(continued), 0)} documents added, {len(changed)} changed, "
        f"{counts['unchanged']} unchanged, {len(gone)} forgotten, "
        f"{len(moved)} moved or renamed, {counts['misplaced']} lost one of several paths, {len(same)} with the text of "
        f"another file, {len(skipped)} skipped, {len(broken)} broken"
    )
    _some([f"{before} -> {after}" for before, after in moved], "moved or renamed")
    _some([f"{file} (as {first})" for file, first in same], "the same text")
    _some(counts.get("notes", ()), "note")  # an earlier server sends none
    _some(skipped, "skipped")
    _some(broken, "broken", failed=True)
    _some(counts["violations"], "in quarantine", failed=True)
    _some(changed, "changed")
    _some([one["name"] for one in gone], "forgotten")
    _some([question for one in forgotten for question in one["answers"]], _ANSWER_WENT)
    left = (f"{path} (recorded without its folder; if the file is gone: kgrag forget)" for path in counts["undecided"])
    _some(left, "left")
    _some([_MOVED_SOURCE.format(name, root) for name, root in counts.get("absent", ())], "not there")
    if broken or counts["violations"] or any(one["remains"] for one in forgotten):
        raise typer.Exit(_code_of(counts) if broken or counts["violations"] else 1)


def documents(
    kb: KbOption = None,
    where: WhereOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or JSON.")] = JsonFormat.TEXT,
    server: ServerOption = None,
) -> None:
    """List documents: title, id, places, metadata."""

    def here() -> list[dict[str, Any]]:
        with open_kb(kb, access="either") as opened:
            found = opened.documents(where or None)
        return [asdict(one) | {"metadata": metadata_json(one.metadata)} for one in found]

    listed = read_through(server, here, lambda client: listed_through(client, where or ()))
    if format_ is JsonFormat.JSON:
        print_json(listed)
        return
    for one in listed:
        typer.echo(f"{one['title'] or one['id'] or one['iri']}  ({one['chunks']} chunks)")
        for name, value in (("id", one["id"]), ("url", one["url"]), *(("in", place) for place in one["locations"])):
            if value:
                typer.echo(f"    {name}: {value}")
        for name, value in sorted(one["metadata"].items()):
            typer.echo(f"    {name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    note(f"{len(listed)} documents")


def forget(
    names: Annotated[
        list[str], typer.Argument(metavar="DOCUMENT...", help="IRI, location, id or title of each document.")
    ],
    kb: KbOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="All documents of this id or title, where several have it.")
    ] = False,
    erase: Annotated[
        bool, typer.Option("--erase", help="Delete its words from every file, and prove it by a search.")
    ] = False,
    server: ServerOption = None,
) -> None:
    """Delete documents and what was derived from them alone; exit code 1 if a query still finds any of it."""
    if erase:

        def erase_here() -> None:
            with open_kb(kb) as opened:
                stays = _staying(opened, names, every=every)
                done = opened.erase(*names, every=every)
                _name_staying(*stays)
                print_erasure(done)

        def erase_there(client: Client) -> None:
            for name in names:
                print_erasure(erase_through(client, name, every=every))

        through(server, erase_here, erase_there)
        return

    def forget_here() -> None:
        with open_kb(kb) as opened:
            stays = _staying(opened, names, every=every)
            done = opened.forget(*names, every=every)
        _name_staying(*stays)
        counted = ("dropped", "trimmed", "waiting", "remains")
        _end_forget(
            [
                {"name": one.title or one.document, "answers": one.answers}
                | {name: len(getattr(one, name)) for name in counted}
                for one in done
            ]
        )

    def forget_there(client: Client) -> None:
        done = [one for name in names for one in forget_through(client, name, every=every)]
        _end_forget([{**one, "name": one["title"] or one["document"]} for one in done])

    through(server, forget_here, forget_there)


def _staying(opened: KnowledgeBase, names: Sequence[str], *, every: bool) -> tuple[list[str], list[str]]:
    """Return the files of the documents that are about to be forgotten, and the other documents with their text."""
    from kgrag.knowledge_base.forgetting import files_of, with_same_text  # loads what other commands do not need

    files = [file for name in names for file in files_of(opened.store, name, every=every)]
    return files, [other for name in names for other in with_same_text(opened.store, name, every=every)]


def _name_staying(files: Sequence[str], others: Sequence[str]) -> None:
    _some(files, _COMES_BACK)
    _some(others, _SAME_TEXT)


def _end_forget(done: Sequence[Mapping[str, Any]]) -> None:
    for one in done:
        typer.echo(
            f"forgot {one['name']}: {one['dropped']} graphs dropped, {one['trimmed']} trimmed, "
            f"{one['remains']} traces found"
        )
        if one["waiting"]:
            note(f"{one['waiting']} nodes of trees lost their words: run `kgrag build sire_rag`")
        _some(one["answers"], _ANSWER_WENT)
    if any(one["remains"] for one in done):
        raise typer.Exit(1)


def import_(
    source: Annotated[Path, typer.Argument(help="What `kgrag export` wrote.")],
    kb: KbOption = None,
) -> None:
    """Read an export into a knowledge base that is still empty."""
    with open_kb(kb) as opened:
        quads = opened.import_(source)
        typer.echo(f"{quads:,} quads into {opened.path}")


def _code_of(counts: Mapping[str, Any]) -> int:
    """Return the exit code where files were broken: 4 when others are in the knowledge base, 2 when none is."""
    return 4 if counts["documents"] + counts["unchanged"] + counts["duplicates"] else 2


def _some(lines: Any, label: str, *, failed: bool = False) -> None:
    """Print lines to standard error, the first few of many; what failed also where notes are not wanted."""
    lines = list(lines)
    shown = [f"{label}: {line}" for line in lines[:_MAX_LINES_SHOWN]]
    if len(lines) > _MAX_LINES_SHOWN:
        shown.append(f"{label}: {len(lines) - _MAX_LINES_SHOWN} more")
    for line in shown:
        if failed:
            typer.echo(line, err=True)
        else:
            note(line)
