"""The chat command: a conversation, on a terminal or from standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kgrag.answering.json_forms import answer_json
from kgrag.answering.reply_words import in_language_of
from kgrag.cli.options import (
    PART_DONE,
    BudgetOption,
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
from kgrag.cli.printing import answer_text, note, print_json
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import BudgetSpent, InputError, KgragError, ReplyUnusable

if TYPE_CHECKING:
    from kgrag.answering.conversation import FullQuestion
    from kgrag.answering.kept_conversations import KeptConversation
    from kgrag.knowledge_base.conversation_calls import Conversation
    from kgrag.model import Answer, AnswerSentence

__all__ = ["register"]

_LEAVING = ("exit", "quit")


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(chat)


def chat(
    session: Annotated[
        str,
        typer.Option("--session", help="Name of a conversation to continue or begin; it is kept.", show_default=False),
    ] = "",
    kb: KbOption = None,
    method: MethodOption = DEFAULT_METHOD,
    k: TopOption = 5,
    where: WhereOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the evidence, and what was dropped.")] = False,
    max_completions: MaxCompletionsOption = None,
    max_tokens: MaxTokensOption = None,
    money: BudgetOption = None,
    list_: Annotated[bool, typer.Option("--list", help="List the conversations that are kept, and stop.")] = False,
    format_: Annotated[
        JsonFormat, typer.Option("--format", help="text, or one JSON document an answer, each on a line.")
    ] = JsonFormat.TEXT,
) -> None:
    """Answer questions that may follow up on those before, one a line, until the input ends or `exit`."""
    with open_kb(kb, access="write" if session and not list_ else "either") as opened:
        if list_:
            _list(opened.conversations(), format_)
            return
        budget = budget_of(opened, max_completions, max_tokens, money)
        talk = opened.conversation(session, budget=budget)
        if talk.answers:
            last = talk.answers[-1]
            note(f"continuing “{talk.name}” after {last.turn} turns; the last question: {last.question}")
        answered, problems = 0, list[KgragError]()
        for question in _questions():
            said = _Said(format_)
            try:
                answer = talk.ask(
                    question,
                    on_question=partial(said.question, question),
                    on_sentence=said.sentence,
                    method=method,
                    k=k,
                    where=where or None,
                )
            except KgragError as error:
                problems.append(error)
                typer.echo(f"{type(error).__name__}: {error}", err=True)
            else:
                answered += not (answer.unknown and answer.failure)
                problems += [ReplyUnusable(answer.failure)] if answer.failure else []
                said.rest(answer, explain=explain)
        _end(talk, answered, problems)


def _questions() -> Iterator[str]:
    """Yield the questions: each line of standard input; on a terminal behind a prompt."""
    if sys.stdin.isatty():
        import readline  # noqa: F401 - gives ``input`` a history and keys to move
    while True:
        try:
            line = input("› ") if sys.stdin.isatty() else sys.stdin.readline()
        except (EOFError, KeyboardInterrupt):
            typer.echo()
            return
        if not line and not sys.stdin.isatty():
            return
        question = line.strip()
        if question.casefold() in _LEAVING:
            return
        if question:
            if not sys.stdin.isatty():
                typer.echo(f"› {question}", err=True)
            yield question


class _Said:
    """Prints an answer while it is written: the full question, each sentence, then what the sentences cite."""

    def __init__(self, format_: JsonFormat) -> None:
        self._is_text = format_ is JsonFormat.TEXT
        self._sentences = 0
        self._noted = ""

    def question(self, message: str, full: FullQuestion) -> None:
        """Print the full question where it differs, and why it could not be made."""
        if self._is_text and full.text != message:
            typer.echo(f"{in_language_of(full.text, 'asked as:')} {full.text}")
        self._note(full.unresolved)

    def sentence(self, sentence: AnswerSentence) -> None:
        """Print a sentence that is complete."""
        if self._is_text:
            typer.echo(sentence.marked if self._sentences == 0 else f" {sentence.marked}", nl=False)
            sys.stdout.flush()
        self._sentences += 1

    def rest(self, answer: Answer, *, explain: bool) -> None:
        """Print what is known with the whole answer."""
        if not self._is_text:
            typer.echo(json.dumps(answer_json(answer, explain=explain), ensure_ascii=False))
            return
        if self._sentences:
            typer.echo("\n")
        self._note(answer.unresolved)
        typer.echo(f"{answer_text(answer, explain=explain, is_said=self._sentences > 0)}\n")

    def _note(self, unresolved: str) -> None:
        """Print why a follow-up may not have been made full, once: some is known with its answer only."""
        if self._is_text and unresolved and unresolved != self._noted:
            typer.echo(f"note: {unresolved}")
            self._noted = unresolved


def _end(talk: Conversation, answered: int, problems: Sequence[KgragError]) -> None:
    """End with what the questions came to: 4 where some were not answered or not paid, 2 where none could be."""
    if talk.name and answered:
        note(f"kept as “{talk.name}”; `kgrag chat --session '{talk.name}'` continues it")
    if problems and not answered and not any(isinstance(error, BudgetSpent) for error in problems):
        raise InputError(f"none of {len(problems)} questions could be answered.")
    if problems:
        raise typer.Exit(PART_DONE)


def _list(kept: list[KeptConversation], format_: JsonFormat) -> None:
    if format_ is JsonFormat.JSON:
        print_json([asdict(one) for one in kept])
        return
    for one in kept:
        typer.echo(f"{one.name:30} {one.turns:4} turns  {one.latest[:16].replace('T', ' ')}  {one.first}")
    if not kept:
        note("no conversation is kept. `kgrag chat --session NAME` keeps one.")
