"""Values to text: JSON documents to stdout, diagnostics and progress to stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import typer

from kgrag.model import Answer, Hit

__all__ = ["answer_json", "answer_text", "hit_json", "note", "print_json", "progress_bar", "retrieval_json"]

_PLAIN_EVERY = 5.0


def print_json(value: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def note(text: str) -> None:
    """Tell the user something that is not the result."""
    typer.echo(text, err=True)


def hit_json(hit: Hit) -> dict[str, Any]:
    """Give a hit as CLI.md fixes it."""
    return {
        "iri": hit.iri,
        "kind": hit.kind,
        "text": hit.text,
        "score": hit.score,
        "attributes": dict(hit.attributes),
        "sources": [asdict(span) for span in hit.sources],
    }


def retrieval_json(
    question: str, hits: list[Hit], *, method: str, k: int, latency: Mapping[str, float], identifier: Any = None
) -> dict[str, Any]:
    """Give one retrieval as CLI.md fixes it."""
    head = {} if identifier is None else {"id": identifier}
    return {
        **head,
        "question": question,
        "method": method,
        "k": k,
        "hits": [hit_json(hit) for hit in hits],
        "latency_ms": dict(latency),
    }


def answer_json(answer: Answer, *, explain: bool = False) -> dict[str, Any]:
    """Give an answer as CLI.md fixes it."""
    document: dict[str, Any] = {
        "question": answer.question,
        "text": answer.text,
        "method": answer.method,
        "unknown": answer.unknown,
        "citations": [
            {"quote": c.quote, "document": c.document, "chunk": c.chunk, "start": c.start, "end": c.end}
            for c in answer.citations
        ],
        "hits": [hit_json(hit) for hit in answer.hits],
        "usage": asdict(answer.usage),
    }
    if answer.sparql:
        document["sparql"] = answer.sparql
    if explain:
        document["explain"] = {"dropped": dict(answer.dropped), "notes": list(answer.explain)}
    return document


def answer_text(answer: Answer, titles: Mapping[str, str], *, explain: bool = False) -> str:
    """Give an answer for a person: text, then each citation with its document and characters."""
    lines = [answer.text, ""]
    for number, citation in enumerate(answer.citations, start=1):
        title = titles.get(citation.document) or citation.document
        quote = " ".join(citation.quote.split())
        lines.append(f'  [{number}] "{quote}"')
        lines.append(f"      {title}, characters {citation.start}-{citation.end}")
    if explain:
        lines += ["", f"method {answer.method}; dropped {dict(answer.dropped)}"]
        lines += [f"  note: {text}" for text in answer.explain]
        lines += [f"  {hit.score:.3f}  {hit.kind}  {' '.join(hit.text.split())[:160]}" for hit in answer.hits]
    return "\n".join(lines).rstrip()


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Give a callback (stage, done, total): a bar with rate and time left on a terminal, else a line now and then."""
    if not sys.stderr.isatty():
        yield _plain_lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, Any] = {}
        started: dict[str, float] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total or None, rate="")
                started[stage] = time.monotonic()
            seconds = time.monotonic() - started[stage]
            rate = f"{done / seconds:,.0f}/s" if seconds > 0.5 else ""
            bars.update(tasks[stage], completed=done, total=total or None, rate=rate)

        yield show


def _plain_lines() -> Callable[[str, int, int], None]:
    last: dict[str, float] = {}

    def show(stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - last.get(stage, float("-inf")) >= _PLAIN_EVERY:
            last[stage] = now
            note(f"{stage}: {done:,}" + (f" of {total:,}" if total else ""))

    return show
