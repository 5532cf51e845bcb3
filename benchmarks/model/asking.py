"""Builds methods over documents, asks questions of each, and keeps what was planned, paid, built and answered.

A method has a knowledge base of its own below the folder of the run, so that several can be built at a time and none
finds what another wrote. Files written, per method: ``METHOD.kb`` and ``METHOD.jsonl``, a line for the build and a line
per question. A run that was broken off goes on where it stopped, since paid completions are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgrag import KnowledgeBase
from kgrag.model import Answer, Usage
from kgrag.settings import Settings

__all__ = ["BUILT", "METHODS", "Question", "asked", "questions_in", "run", "take_in"]

METHODS = ("og_rag", "obqc", "poly_rag", "cg_rag", "sire_rag")
BUILT = (*METHODS, "passages", "auto")
"""Methods that can be asked; of these ``passages`` needs no build."""
_TITLE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its right answer, "" where the documents have none, and the methods it is for (() = all)."""

    id: str
    text: str
    gold: str
    methods: tuple[str, ...] = ()

    def is_for(self, method: str) -> bool:
        """Return whether a method is asked."""
        return not self.methods or method in self.methods


def questions_in(path: Path) -> list[Question]:
    """Return the questions of a file of JSON Lines: ``id``, ``question``, ``gold`` (null = no answer), ``methods``."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [Question(row["id"], row["question"], row.get("gold") or "", tuple(row.get("methods", ()))) for row in rows]


def run(
    into: Path,
    method: str,
    *,
    sources: Sequence[Path],
    questions: Iterable[Question],
    settings: Settings,
    **parts: Any,
) -> Path:
    """Build a method over documents and RDF, ask it, and return the file of what came out.

    Args:
        into: folder of the run.
        method: a method of ``BUILT``.
        sources: text documents, and Turtle files, which are loaded.
        questions: those for other methods are left out.
        settings: has the language model.
        parts: model or embedder in place of those of the settings.
    """
    into.mkdir(parents=True, exist_ok=True)
    file = into / f"{method}.jsonl"
    with (
        KnowledgeBase(into / f"{method}.kb", settings=settings, **parts) as kb,
        file.open("w", encoding="utf-8") as out,
    ):
        for line in _lines(kb, method, sources, [one for one in questions if one.is_for(method)], settings.concurrency):
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()
    return file


def asked(file: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def take_in(kb: KnowledgeBase, sources: Sequence[Path]) -> None:
    """Load Turtle files, and ingest others."""
    for path in sources:
        if path.suffix == ".ttl":
            kb.load(path)
        else:
            kb.ingest(path)


def _lines(
    kb: KnowledgeBase, method: str, sources: Sequence[Path], questions: Sequence[Question], at_once: int
) -> Iterator[Mapping[str, Any]]:
    take_in(kb, sources)
    if method not in ("passages", "auto"):
        yield _built(kb, method)
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        yield from pool.map(lambda question: _answered(kb, method, question), questions)


def _built(kb: KnowledgeBase, method: str) -> Mapping[str, Any]:
    """Build, and return what was planned beside what was paid, and what is pending."""
    planned = dict(kb.build(method, dry_run=True).counts)
    report = kb.build(method)
    return {
        "build": method,
        "planned": planned,
        "paid": _usage(report.usage),
        "counts": dict(report.counts),
        "pending": list(report.pending),
    }


def _answered(kb: KnowledgeBase, method: str, question: Question) -> Mapping[str, Any]:
    planned = kb.forecast(question.text, method=method)
    answer = kb.ask(question.text, method=method)
    return {
        "id": question.id,
        "method": method,
        "question": question.text,
        "gold": question.gold,
        "planned": planned.counts(),
        "paid": _usage(answer.usage),
        **_said(answer),
    }


def _said(answer: Answer) -> Mapping[str, Any]:
    return {
        "answer": answer.text,
        "unknown": answer.unknown,
        "not_stated": answer.not_stated,
        "sentences": [
            {
                "text": text,
                "citations": [
                    {"place": str(one.place or "")[:_TITLE_CHARACTERS], "quote": one.quote, "derived": one.derived}
                    for one in answer.citations
                    if one.sentence == number
                ],
            }
            for number, text in enumerate(answer.sentences)
        ],
        "unsupported": [{"text": one.sentence, "missing": list(one.missing)} for one in answer.unsupported],
        "dropped": dict(answer.dropped),
        "explain": list(answer.explain),
        "evidence": [{"kind": hit.kind, "text": hit.text} for hit in answer.hits],
    }


def _usage(usage: Usage) -> Mapping[str, int]:
    return {
        "completions": usage.completions,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }
