"""Commands that ask: ask, retrieve, query, update, queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.answering.cited_answers import with_unsupported
from kgrag.answering.framed_answers import answer_jsonld
from kgrag.answering.json_forms import answer_json, retrieval_json
from kgrag.cli.options import (
    PART_DONE,
    BudgetOption,
    DryRunOption,
    Format,
    JsonFormat,
    KbOption,
    MaxCompletionsOption,
    MaxTokensOption,
    MethodOption,
    TopOption,
    WhereOption,
    budget_of,
    open_kb,
)
from kgrag.cli.printing import answer_text, counts_line, note, print_json
from kgrag.cli.query_results import read_sparql, read_text
from kgrag.cli.remote_commands import ServerOption, explained_by, query_through, read_through, through, update_through
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.client import Client
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.llm.costs import Price
    from kgrag.llm.reply_lengths import Forecast
    from kgrag.model import Hit

__all__ = ["register"]

EvidenceTokensOption = Annotated[
    int | None,
    typer.Option(
        "--evidence-tokens",
        help="In place of -k: as many hits as fit into so many words and marks, and are worth it.",
        min=1,
        show_default=False,
    ),
]
RerankOption = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        "--rerank",
        help="model, cross-encoder:NAME or folder, or a registered one; '' for none; default: KGRAG_RERANKER.",
        show_default=False,
    ),
]


class AnswerFormat(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"
    JSONLD = "jsonld"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (ask, retrieve, query, update, queries):
        app.command()(command)


def ask(
    question: Annotated[str, typer.Argument(help="A question in words.")],
    kb: KbOption = None,
    method: MethodOption = DEFAULT_METHOD,
    k: TopOption = 5,
    explain: Annotated[bool, typer.Option("--explain", help="Show the evidence, and what was dropped.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the answer in the store, as a graph of its own.")] = False,
    mark: Annotated[
        bool, typer.Option("--mark-unsupported", help="Leave in, and mark, what the cited text does not support.")
    ] = False,
    rerank: RerankOption = None,
    evidence_tokens: EvidenceTokensOption = None,
    where: WhereOption = None,
    dry_run: DryRunOption = False,
    max_completions: MaxCompletionsOption = None,
    max_tokens: MaxTokensOption = None,
    money: BudgetOption = None,
    format_: Annotated[
        AnswerFormat, typer.Option("--format", help="text, one JSON document, or JSON-LD.")
    ] = AnswerFormat.TEXT,
) -> None:
    """Answer with citations of stored chunks, or report that the evidence does not carry an answer."""
    asked: dict[str, Any] = {"method": method, "k": k, "rerank": rerank, "where": where or None}
    asked["evidence_tokens"] = evidence_tokens
    with open_kb(kb, access="write" if keep and not dry_run else "either") as opened:
        if dry_run:
            cost = opened.forecast(question, **asked)
            _print_cost(cost, opened.price(), as_json=format_ is not AnswerFormat.TEXT)
            return
        budget = budget_of(opened, max_completions, max_tokens, money)
        answer = opened.ask(question, keep=keep, budget=budget, **asked)
        answer = with_unsupported(answer) if mark else answer
        if format_ is AnswerFormat.JSON:
            print_json(answer_json(answer, explain=explain))
        elif format_ is AnswerFormat.JSONLD:
            print_json(answer_jsonld(answer, opened.store.names))
        else:
            typer.echo(answer_text(answer, explain=explain))
    if answer.failure:
        raise typer.Exit(3 if answer.unknown else PART_DONE)


def _print_cost(cost: Forecast, price: Price | None, *, as_json: bool) -> None:
    counts = cost.priced(price)
    if as_json:
        print_json({**counts, "note": cost.note})
    else:
        typer.echo("about " + counts_line(counts))
        if cost.note:
            note(f"note: {cost.note}")


def retrieve(
    question: Annotated[str | None, typer.Argument(help="A question in words.", show_default=False)] = None,
    kb: KbOption = None,
    method: MethodOption = DEFAULT_METHOD,
    k: TopOption = 5,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="JSON Lines with id and question; one JSON line each is printed.")
    ] = None,
    rerank: RerankOption = None,
    evidence_tokens: EvidenceTokensOption = None,
    where: WhereOption = None,
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
) -> None:
    """Retrieve the evidence only, best first."""
    if (question is None) == (questions is None):
        raise InputError("pass either a QUESTION or --questions FILE.jsonl.")
    with open_kb(kb, access="either") as opened:
        timed = opened.retrieve_timed
        search = partial(timed, method=method, k=k, rerank=rerank, where=where or None, evidence_tokens=evidence_tokens)
        if questions is not None:
            _retrieve_many(opened, questions, search, method, k)
            return
        hits, latency = search(str(question))
    if format_ is JsonFormat.JSON:
        print_json(retrieval_json(str(question), hits, method=method, k=k, latency=latency))
        return
    for hit in hits:
        typer.echo(f"{hit.score:.4f}  {hit.iri}\n        {' '.join(hit.text.split())}")
        for span in hit.sources:
            if span.place and (line := ", ".join(filter(None, (str(span.place), span.place.address)))):
                typer.echo(f"        in {line}")


def _retrieve_many(
    opened: KnowledgeBase,
    path: Path,
    search: Callable[[str], tuple[list[Hit], dict[str, float]]],
    method: str,
    k: int,
) -> None:
    rows = _read_questions(path)
    opened.embedder.embed([row["question"] for row in rows], "query")
    for row in rows:
        hits, latency = search(row["question"])
        document = retrieval_json(row["question"], hits, method=method, k=k, latency=latency, identifier=row.get("id"))
        typer.echo(json.dumps(document, ensure_ascii=False))


def _read_questions(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(
                f'{path}, line {number}: no JSON ({error}). Expected {{"id": …, "question": …}}.'
            ) from None
        if not isinstance(row, dict) or not isinstance(row.get("question"), str):
            raise InputError(f'{path}, line {number}: no field \'question\'. Expected {{"id": …, "question": …}}.')
        rows.append(row)
    return rows


def query(
    file: Annotated[str, typer.Argument(help="A SPARQL file, - for standard input, or the query itself.")],
    kb: KbOption = None,
    format_: Annotated[Format, typer.Option("--format", help="How results are printed.")] = Format.TABLE,
    explain: Annotated[
        bool, typer.Option("--explain", help="Count what each pattern matches by itself; the query is not run.")
    ] = False,
    server: ServerOption = None,
) -> None:
    """Run a SPARQL query; a pattern outside GRAPH matches the union of all named graphs unless FROM is given."""
    from kgrag.cli.query_results import write_explanation, write_results

    if explain:
        sparql = read_sparql(file)

        def counted_here() -> list[dict[str, Any]]:
            with open_kb(kb, access="read") as opened:
                return [each.to_json() for each in opened.explain(sparql)]

        write_explanation(read_through(server, counted_here, partial(explained_by, sparql)), format_)
        return
    if server is not None:
        query_through(server, read_sparql(file), format_)
        return
    with open_kb(kb, access="read") as opened:
        write_results(opened.raw_query(read_sparql(file)), format_)


def update(
    file: Annotated[str, typer.Argument(help="A SPARQL Update file, - for standard input, or the update itself.")],
    kb: KbOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what it would add and remove, and change nothing.")
    ] = False,
    own_graphs: Annotated[
        bool, typer.Option("--own-graphs", help="Let GRAPH ?g change graphs that kgrag makes itself, too.")
    ] = False,
    server: ServerOption = None,
) -> None:
    """Run a SPARQL Update atomically, by the server where one holds the knowledge base.

    Graphs that kgrag makes itself (documents, answers …) are changed only where the update names them by their IRIs.
    """
    sparql = read_sparql(file)
    if dry_run:

        def effect_here() -> None:
            with open_kb(kb, access="either") as opened:
                _print_effect(opened.effect(sparql).to_json())

        through(server, effect_here, lambda client: _print_effect(client.update_effect(sparql).model_dump()))
        return

    def update_here() -> None:
        with open_kb(kb) as opened:
            before = len(opened.store)
            revision = opened.update(sparql, own_graphs=own_graphs)
            typer.echo(f"revision {revision}: {before:,} quads before, {len(opened.store):,} after")

    def update_there(client: Client) -> None:
        if own_graphs:
            raise InputError(
                "--own-graphs is for a knowledge base that no server holds. Name the graphs by their IRIs."
            )
        update_through(client, sparql)

    through(server, update_here, update_there)


def _print_effect(effect: Mapping[str, Any]) -> None:
    for graph in effect["graphs"]:
        typer.echo(f"<{graph['graph']}>: {graph['added']:,} added, {graph['removed']:,} removed")
        for sign, direction in (("+", "added"), ("-", "removed")):
            for triple in graph[f"{direction}_triples"]:
                typer.echo(f"  {sign} {triple}")
            if (left := graph[direction] - len(graph[f"{direction}_triples"])) > 0:
                typer.echo(f"  {sign} {left:,} more")
    for refused in effect.get("refused", ()):
        note(f"refused by the gate: {refused['new']} new violations in <{refused['graph']}>")
    typer.echo(
        f"{effect['added']:,} triples would be added, {effect['removed']:,} removed, in {effect['changed']} graphs"
    )


def queries(
    name: Annotated[str | None, typer.Argument(help="Show this one.", show_default=False)] = None,
) -> None:
    """List the stored queries, or show one."""
    from kgrag import queries as stored

    if name is not None:
        typer.echo(stored.describe(name).text.rstrip())
        return
    for each in stored.names():
        described = stored.describe(each)
        typer.echo(f"{each:40} {'writes' if described.writes else 'reads '} {described.title}")
    note("`kgrag queries NAME` shows one.")
