"""Commands of trained and linked retrieval: train, draw."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from kgrag.cli.options import KbOption, open_kb
from kgrag.cli.printing import note, progress_bar
from kgrag.errors import InputError

__all__ = ["register"]


class Encoder(StrEnum):
    """Kinds of graph encoder."""

    TRANSFORMER = "transformer"
    GAT = "gat"
    GCN = "gcn"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (train, draw):
        app.command()(command)


def train(
    method: Annotated[str, typer.Argument(help="A method that can be trained: cg_rag.")],
    questions: Annotated[
        Path, typer.Option("--questions", help="JSON Lines of question and the identifiers that answer it (cited).")
    ],
    kb: KbOption = None,
    held_out: Annotated[
        list[Path] | None,
        typer.Option("--held-out", help="Questions that it will be measured on; learning from one is an error."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the split, the order and the first weights.")] = 0,
    epochs: Annotated[int, typer.Option("--epochs", help="At most; it stops when it gets no better.", min=1)] = 12,
    hidden: Annotated[int, typer.Option("--hidden", help="Width of a layer; the paper has 1024.", min=4)] = 128,
    encoder: Annotated[Encoder, typer.Option("--encoder", help="Kind of graph encoder.")] = Encoder.TRANSFORMER,
) -> None:
    """Train a method on labelled questions, and keep the result with the knowledge base when it ranks better."""
    options: dict[str, Any] = {"seed": seed, "epochs": epochs, "hidden": hidden, "kind": encoder.value}
    with open_kb(kb) as opened, progress_bar() as progress:
        report = opened.train(method, questions, held_out=held_out or (), progress=progress, **options)
    typer.echo(f"{report.method}: " + ", ".join(f"{name} {count:,}" for name, count in report.counts.items()))
    for line in report.notes:
        note(line)


def draw(
    subject: Annotated[str, typer.Argument(help="IRI of a chunk, or a question, whose best chunk is drawn.")],
    target: Annotated[Path, typer.Option("--to", help="The web page to write.")],
    kb: KbOption = None,
    method: Annotated[str, typer.Option("--method", "-m", help="A method that draws its hits.")] = "cg_rag",
) -> None:
    """Draw what a chunk is linked to in the citation graph, with kinds and weights, as one web page."""
    from kgrag.capabilities import Draws, capable

    with open_kb(kb, access="either") as opened:
        drawing = capable(opened.method(method), Draws, method)
        chunk = subject
        if not subject.startswith(opened.store.names.base):
            chunk = opened.retrieve(subject, method=method, k=1)[0].iri
        page = drawing.picture(chunk)
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{target} can't be written: {error.strerror}. Name a file in a folder that is there."
        ) from error
    typer.echo(f"{target}: {chunk}")
