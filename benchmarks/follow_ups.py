"""Measures how follow-up questions are made full: right, wrong, or asked as typed with the reason.

``follow_ups.jsonl`` has 61 messages with the turns before them. The first 46 were written before the rules; every
second one of those was held back while the rules were written ("held"). A follow-up is right when its full question has
the expected words and none of the words that it must replace; a question that can be understood alone is right when it
is left as it is. One that was not resolved, and says so, is neither right nor wrong.

``python -m benchmarks.follow_ups [--half held] [--rows] [--model]``; ``--model`` asks the language model of the
settings instead of the rules.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import regex

from kgrag import KnowledgeBase
from kgrag.answering.conversation import FullQuestion, Turn, full_question, likeness
from kgrag.llm.extractive import ExtractiveModel

__all__ = ["main", "outcome", "questions", "turns_of"]

_QUESTIONS = Path(__file__).with_name("follow_ups.jsonl")


def questions(half: str = "") -> list[dict[str, Any]]:
    """Return the messages of a half ("develop", "held"), or all."""
    rows = [json.loads(line) for line in _QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if half in {"", row["half"]}]


def turns_of(row: Mapping[str, Any]) -> list[Turn]:
    """Return the conversation of a row, its message last."""
    before = [
        turn for one in row["history"] for turn in (Turn("user", one["question"]), Turn("assistant", one["answer"]))
    ]
    return [*before, Turn("user", row["says"])]


def outcome(row: Mapping[str, Any], full: FullQuestion) -> str:
    """Return "right", "wrong" or "unresolved"."""
    if full.unresolved:
        return "unresolved"
    if row.get("alone"):
        return "right" if full.text == row["says"] else "wrong"
    text = full.text.casefold()
    has = all(words.casefold() in text for words in row["has"])
    lacks = not any(regex.search(rf"\b{regex.escape(words.casefold())}\b", text) for words in row["lacks"])
    return "right" if has and lacks else "wrong"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the outcomes of each half."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.follow_ups", description=__doc__)
    parser.add_argument("--half", choices=("", "develop", "held"), default="", help="only this half")
    parser.add_argument("--rows", action="store_true", help="print each full question")
    parser.add_argument("--model", action="store_true", help="ask the language model of the settings")
    options = parser.parse_args(arguments)
    with KnowledgeBase() as kb:
        alike = likeness(kb.embedder)
        model = kb.model if options.model else ExtractiveModel(lambda: kb.embedder)
        counts: dict[tuple[str, str], Counter[str]] = {}
        for row in questions(options.half):
            full = full_question(turns_of(row), model, alike)
            found = outcome(row, full)
            kind = "full question" if row.get("alone") else "follow-up"
            counts.setdefault((row["half"], kind), Counter())[found] += 1
            if options.rows:
                print(f"{row['id']} {row['half']:7} {found:10} {row['says']}  ->  {full.text}  {full.unresolved}")
    for (half, kind), counted in sorted(counts.items()):
        print(f"{half:8} {kind:14} {', '.join(f'{name} {count}' for name, count in sorted(counted.items()))}")


if __name__ == "__main__":
    main()
