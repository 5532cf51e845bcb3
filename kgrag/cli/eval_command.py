"""The eval command: metrics with intervals for one or several methods over a question set."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from kgrag.cli.options import JsonFormat, KbOption, WhereOption, named_kb, open_kb
from kgrag.cli.printing import note, print_json, progress_bar
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.evaluation import Experiment
    from kgrag.knowledge_base import KnowledgeBase

__all__ = ["register", "split_specs"]


class _WithDefault(typer.core.TyperGroup):
    """A group of commands whose first one needs no name: ``eval DATASET`` is ``eval questions DATASET``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command's name in front, unless another one is named."""
        if not args or args[0] not in self.commands:
            args = ["questions", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(cls=_WithDefault, help="Measure methods on a question set, or text to SPARQL (eval obqc).")
    group.command("questions")(evaluate)
    group.command("obqc")(evaluate_obqc)
    app.add_typer(group, name="eval")


def evaluate(
    dataset: Annotated[
        Path | None,
        typer.Argument(
            help="Folder with questions and what they are asked of; a knowledge base is made for it.",
            show_default=False,
        ),
    ] = None,
    kb: KbOption = None,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", help="Questions (JSON Lines) asked of the knowledge base as it is."),
    ] = None,
    feedback: Annotated[
        bool, typer.Option("--feedback", help="The questions that readers gave feedback on, from the knowledge base.")
    ] = False,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", "-m", help="Method, with hyper-parameters where wanted; may be repeated."),
    ] = None,
    compare: Annotated[
        str, typer.Option("--compare", help="Several methods: passages:signal=bm25,og_rag:nodes=5,edges=2.")
    ] = "",
    baseline: Annotated[
        str, typer.Option("--baseline", help="What the others are compared with; default: the last one.")
    ] = "",
    k: Annotated[int, typer.Option("-k", "--k", help="How many hits count.", min=1)] = 5,
    answers: Annotated[bool, typer.Option("--answers", help="Answer the questions and score the answers too.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Score contexts and answers by the language model too, as RAGAS does.")
    ] = False,
    where: WhereOption = None,
    rows: Annotated[Path | None, typer.Option("--rows", help="Write one JSON line a question and method.")] = None,
    target: Annotated[
        str, typer.Option("--target", help="recall@5=0.66: exit code 1 when the first method is below.")
    ] = "",
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
) -> None:
    """Measure methods on the same questions: means with 95 % intervals, paired differences, latency, tokens."""
    from kgrag.answering import cited_answers
    from kgrag.evaluation import model_judge, read_dataset, run
    from kgrag.evaluation.feedback_questions import feedback_dataset

    source = dataset or questions
    if sum((dataset is not None, questions is not None, feedback)) != 1:
        raise InputError("pass either a DATASET folder, --questions FILE.jsonl or --feedback.")
    wanted = [*(method or []), *split_specs(compare)]
    specs = list(dict.fromkeys([*wanted, *([baseline] if baseline else [])])) or [DEFAULT_METHOD]
    read = None if source is None else read_dataset(source)
    with _bench(kb, temporary=dataset is not None) as opened, progress_bar() as progress:
        read = read or feedback_dataset(opened.store)

        def answer(question: str, hits: Any, name: str) -> Any:
            return cited_answers.answer(question, hits, model=opened.model, store=opened.store, method=name)

        if judge:
            model_judge.check_judge(opened.model, read.scored)
        answerer = answer if answers else None
        outcome = run(opened, read, specs, k=k, answerer=answerer, where=where or None, progress=progress)
        if judge:
            outcome = model_judge.with_judgements(outcome, model=opened.model, embedder=opened.embedder)
    _report(outcome, baseline or specs[-1], rows, format_)
    if target:
        _hold(outcome, specs[0], target)


def evaluate_obqc(
    dataset: Annotated[Path, typer.Argument(help="Folder with ontology, data, and questions with expected rows.")],
    kb: KbOption = None,
    queries: Annotated[
        Path | None,
        typer.Option("--queries", help="Ready-made queries (JSON Lines: id, sparql, system); no model is asked."),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Hyper-parameters, as in obqc:prompt=paper,profile=paper.")
    ] = "obqc:rows=100000,seconds=60",
    rows: Annotated[Path | None, typer.Option("--rows", help="Write one JSON line a question.")] = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
) -> None:
    """Measure text to SPARQL behind the check: accuracy at once and repaired, unknown, errors, and the check itself."""
    from kgrag.evaluation.sparql_accuracy import measure, read_benchmark, read_queries

    benchmark = read_benchmark(dataset)
    ready = None if queries is None else read_queries(queries)
    with _bench(kb, temporary=True) as opened, progress_bar() as progress:
        opened.load(benchmark.ontology, *benchmark.data)
        opened.build("obqc", progress=progress)
        asker: Any = opened.method(method)
        report = measure(asker, benchmark, ready, progress=progress)
    if rows is not None:
        report.save_rows(rows)
    if format_ is JsonFormat.JSON:
        print_json(report.json())
    else:
        typer.echo(report.text())


def split_specs(text: str) -> list[str]:
    """Split a comma-separated list of methods whose hyper-parameters are separated by commas too.

    >>> split_specs("passages:signal=bm25,og_rag:nodes=5,edges=2,passages")
    ['passages:signal=bm25', 'og_rag:nodes=5,edges=2', 'passages']
    """
    return [spec for spec in re.split(r",(?!\s*\w+=)", text) if spec]


@contextmanager
def _bench(kb: Path | None, *, temporary: bool) -> Iterator[KnowledgeBase]:
    if named_kb(kb) is not None or not temporary:
        with open_kb(kb) as opened:
            yield opened
        return
    with tempfile.TemporaryDirectory(prefix="kgrag-eval-") as folder, open_kb(Path(folder) / "eval.kb") as opened:
        note("a temporary knowledge base is used; name one with --kb to keep what is built and embedded")
        yield opened


def _report(outcome: Experiment, baseline: str, rows: Path | None, format_: JsonFormat) -> None:
    if rows is not None:
        outcome.save_rows(rows)
    if format_ is JsonFormat.JSON:
        print_json(outcome.json(baseline=baseline))
        return
    import sys

    from rich.console import Console

    Console(width=None if sys.stdout.isatty() else 200).print(outcome.table(baseline=baseline))


def _hold(outcome: Experiment, method: str, target: str) -> None:
    metric, _, text = target.partition("=")
    try:
        wanted = float(text)
    except ValueError:
        raise InputError(f"--target {target!r}: expected METRIC=NUMBER, as in recall@5=0.66.") from None
    reached = outcome.mean(method, metric)
    if reached < wanted:
        note(f"{method}: {metric} is {reached:.4f}, below the target {wanted}.")
        raise typer.Exit(1)
