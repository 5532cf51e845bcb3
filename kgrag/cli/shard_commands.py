"""The commands ``shards``: several knowledge bases asked as one, compared, and made of one."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.answering.json_forms import answer_json, hit_json
from kgrag.cli.options import JsonFormat, MethodOption, TopOption, WhereOption
from kgrag.cli.printing import answer_text, note, print_json, progress_bar
from kgrag.declarations import DEFAULT_METHOD

if TYPE_CHECKING:
    from kgrag.knowledge_base.sharded_bases import Shards

__all__ = ["ExitCode", "register"]

FoldersArgument = Annotated[list[Path], typer.Argument(help="Folders of knowledge bases.", metavar="FOLDER...")]
FormatOption = Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")]


class ExitCode(IntEnum):
    """Exit codes of shards."""

    DIFFERENT = 1
    PARTIAL = 5


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    about = "Ask several knowledge bases as one, compare them, or divide one. Exit code 5: a shard does not answer."
    group = typer.Typer(no_args_is_help=True, help=about, rich_markup_mode=None)
    for command in (ask, retrieve, check, split):
        group.command()(command)
    app.add_typer(group, name="shards")


def ask(
    question: Annotated[str, typer.Argument(help="A question in words.")],
    folders: FoldersArgument,
    method: MethodOption = DEFAULT_METHOD,
    k: TopOption = 5,
    where: WhereOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the evidence, and what was dropped.")] = False,
    format_: FormatOption = JsonFormat.TEXT,
) -> None:
    """Answer from all shards, as one knowledge base of all their documents would (auto, passages)."""
    with _opened(folders) as shards:
        answer = shards.ask(question, method=method, k=k, where=where or None)
        places = shards.places_of(citation.chunk for citation in answer.citations)
        if format_ is JsonFormat.JSON:
            cited = {"shards": [places.get(citation.chunk) for citation in answer.citations]}
            print_json(answer_json(answer, explain=explain) | cited | {"lost": shards.lost})
        else:
            typer.echo(answer_text(answer, explain=explain))
            for number, citation in enumerate(answer.citations, 1):
                typer.echo(f"[{number}] is in {places.get(citation.chunk, 'no shard')}")
        _end(shards)


def retrieve(
    question: Annotated[str, typer.Argument(help="A question in words.")],
    folders: FoldersArgument,
    method: MethodOption = DEFAULT_METHOD,
    k: TopOption = 5,
    where: WhereOption = None,
    format_: FormatOption = JsonFormat.TEXT,
) -> None:
    """Retrieve the evidence of all shards, best first, each with its shard."""
    with _opened(folders) as shards:
        hits = shards.retrieve(question, method=method, k=k, where=where or None)
        if format_ is JsonFormat.JSON:
            document: dict[str, Any] = {"question": question, "method": method, "k": k}
            print_json(document | {"hits": [hit_json(hit) for hit in hits], "lost": shards.lost})
        else:
            for hit in hits:
                text = " ".join(hit.text.split())
                typer.echo(f"{hit.score:.4f}  {hit.iri}  in {hit.attributes['shard']}\n        {text}")
        _end(shards)


def check(folders: FoldersArgument, format_: FormatOption = JsonFormat.TEXT) -> None:
    """Compare ontologies, models and builds of shards; exit code 1 where they differ."""
    with _opened(folders) as shards:
        differences, counts = shards.differences(), shards.stats()
        if format_ is JsonFormat.JSON:
            print_json({"shards": counts, "lost": shards.lost, **differences})
        else:
            for place, found in counts.items():
                typer.echo(f"{place}: {found['documents']:,} documents, {found['chunks']:,} chunks")
            for line in (*differences["differing"], *differences["not_asked"]):
                typer.echo(line)
            if not differences["differing"]:
                typer.echo("alike, as far as they answer" if shards.lost else "alike")
        _end(shards)
        if differences["differing"]:
            raise typer.Exit(ExitCode.DIFFERENT)


def split(
    folder: Annotated[Path, typer.Argument(help="The knowledge base to divide; it stays as it is.")],
    into: Annotated[int, typer.Option("--into", help="How many shards.", min=2)],
    target: Annotated[Path, typer.Option("--to", help="A new folder for the shards.")],
) -> None:
    """Divide a knowledge base by the hash of each document, with its ontologies in every shard."""
    from kgrag.knowledge_base.shard_splitting import split_base

    with progress_bar() as progress:
        for place, count in split_base(folder, into, target, progress=progress).items():
            typer.echo(f"{place}: {count:,} documents")


def _opened(folders: list[Path]) -> Shards:
    from kgrag.knowledge_base.sharded_bases import Shards

    return Shards(folders, partial=True)


def _end(shards: Shards) -> None:
    """Write which shards do not answer, and end with an exit code of its own then."""
    for line in shards.missing():
        note(line)
    if shards.lost:
        raise typer.Exit(ExitCode.PARTIAL)
