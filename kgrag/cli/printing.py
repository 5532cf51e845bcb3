"""Values to text: JSON documents to stdout, diagnostics and progress to stderr."""

from __future__ import annotations

import json
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from itertools import pairwise
from operator import mul
from typing import Any

import typer

from kgrag.late_patterns import late_re
from kgrag.model import Answer, Hit, Place

__all__ = ["answer_text", "counts_line", "for_kb", "note", "print_json", "progress_bar", "set_loudness", "with_price"]

_ADVISED = late_re(r"((?<=[`(])|(?<=Next: )|(?<=&& ))kgrag (?=[a-z])(?!(?:demo|import|init)\b)(?![^`]*--kb)")
"""The beginning of a command that a message advises; what is before a command that makes another base is left."""

_SECONDS_BETWEEN_LINES = 5.0
_MAX_OFF = 0.1
"""Share by which an estimate may be off and still be shown as one number."""


def print_json(value: Any) -> None:
    """Print one JSON document."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def set_loudness(level: int) -> None:
    """Set what reaches standard error.

    Args:
        level: ``logging.INFO``: also what is opened, and requests to services; ``logging.ERROR``: no progress, notes or
            warnings; ``logging.NOTSET``: progress, notes and warnings.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    for name in ("kgrag", "httpx"):  # httpx has a line for each request, without key or content
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers[:] = [handler] if level == logging.INFO else []


def note(text: str) -> None:
    """Print to standard error what is not the result."""
    if not _quiet():
        typer.echo(for_kb(text, sys.argv[1:]), err=True)


def for_kb(message: str, words: Sequence[str]) -> str:
    """Return a message whose commands are for the knowledge base that the words of the command line name.

    >>> for_kb("no graph yet. Run `kgrag build cg_rag` first.", ["ask", "--kb", "my kb", "Why?"])
    "no graph yet. Run `kgrag --kb 'my kb' build cg_rag` first."
    """
    after = [value for word, value in pairwise((*words, "")) if word == "--kb"]
    joined = [word.removeprefix("--kb=") for word in words if word.startswith("--kb=")]
    named = shlex.quote((after or joined)[-1]) if after or joined else ""
    return _ADVISED.sub(lambda _: f"kgrag --kb {named} ", message) if named else message


def _quiet() -> bool:
    return logging.getLogger("kgrag").getEffectiveLevel() > logging.WARNING


def with_price(counts: Mapping[str, Any], price: tuple[float, float] | None, *, digits: int) -> dict[str, Any]:
    """Return counts of a plan with its price, and with the least and most that it may be where the plan has them.

    Args:
        counts: of a plan; others get a price of 0.
        price: of a million input and output tokens; None adds nothing.
        digits: behind the point; more where less than two would count.
    """
    from kgrag.llm.costs import rounded_money

    priced = dict(counts)
    for end in ("", "_least", "_most") if price is not None else ():
        if not end or f"output_tokens{end}" in counts:
            asked = counts.get(f"input_tokens{end}", counts.get("input_tokens", 0))
            tokens = asked, counts.get(f"output_tokens{end}", 0)
            priced[f"price{end}"] = rounded_money(sum(map(mul, tokens, price or ())) / 1e6, digits)
    return priced


def counts_line(counts: Mapping[str, Any]) -> str:
    """Return counts on one line; behind one whose least and most are more than a tenth off stand these.

    >>> counts_line({"requests": 2, "tokens": 1000, "tokens_least": 950, "tokens_most": 1050})
    'requests 2, tokens 1,000'
    >>> counts_line({"tokens": 1000, "tokens_least": 600, "tokens_most": 1400})
    'tokens 1,000 (600 to 1,400)'
    >>> counts_line({"tokens": 90, "price": 0.000014})
    'tokens 90, price 0.000014'
    """
    shown = []
    for name, count in counts.items():
        least, most = counts.get(f"{name}_least", count), counts.get(f"{name}_most", count)
        if most - least > 2 * _MAX_OFF * count:
            shown.append(f"{name} {_figure(count)} ({_figure(least)} to {_figure(most)})")
        elif not name.endswith(("_least", "_most")):
            shown.append(f"{name} {_figure(count)}")
    return ", ".join(shown)


def _figure(count: float) -> str:
    """Return a number as people write it, a small one without an exponent."""
    return f"{Decimal(repr(count)):f}" if 0 < count < 1e-4 else f"{count:,}"


def answer_text(answer: Answer, *, explain: bool = False, is_said: bool = False) -> str:
    """Return an answer as lines for a person: short answer, text, then each citation with where it can be opened.

    Without an answer the reason and the nearest passages follow, with the best sentence of each between » and «. The
    text is left out where it was printed while it was written (``is_said``); the short answer and the confidence, known
    with the whole, are not. The words around them are in the language of the question, where that is German or French.
    """
    from kgrag.answering.reply_words import in_language_of

    short = ", ".join(value.shown for value in answer.values)
    said = partial(in_language_of, answer.question)
    sure = "" if answer.confidence is None or answer.unknown else _sure(answer.confidence, said)
    lines = [*([f"{short} {sure}".rstrip(), ""] if short else []), *([] if is_said else [answer.text, ""])]
    lines += [sure, ""] if sure and not short else []
    lines += _reason_lines(answer, said)
    lines += [f"{said('Not in the evidence:')} {answer.not_stated}", ""] if answer.not_stated else []
    lines += [f"note: {answer.failure}", ""] if answer.failure else []
    if answer.nearest:
        lines += [f"{said('Nearest passages')}:", *_nearest_lines(answer)]
    characters, unsupported = said("characters"), said("not supported by what it cites, left out:")
    for number, citation in enumerate(answer.citations, start=1):
        place = citation.place or Place()
        where = [str(place) or citation.document, f"{characters} {citation.start}-{citation.end}", place.address]
        quote = " ".join((citation.derived or citation.quote).split())
        model_words = said("words of a model, which no sentence carries; written from")
        written = f"{model_words} " if citation.derived else ""
        lines.append(f'  [{number}] "{quote}"')
        lines.append(f"      {written}{', '.join(filter(None, where))}")
    for one in answer.unsupported:
        lines += ["", f"  {unsupported} {one.sentence}", f"      {', '.join(one.missing)}"]
    if explain:
        lines += ["", f"method {answer.method}; dropped {dict(answer.dropped)}"]
        lines += [f"  note: {text}" for text in answer.explain]
        for hit in answer.hits:
            lines.append(f"  {hit.score:.3f}  {hit.kind}{_found_by(hit)}  {' '.join(hit.text.split())[:160]}")
    return "\n".join(lines).rstrip()


def _sure(confidence: float, said: Callable[[str], str]) -> str:
    from kgrag.answering.reply_words import LOW_CONFIDENCE

    words = said("low confidence" if confidence < LOW_CONFIDENCE else "confidence")
    return f"({words} {confidence:.2f})"


def _reason_lines(answer: Answer, said: Callable[[str], str]) -> list[str]:
    """Return why there is no answer on one line; none where nothing was noted, or the text says it."""
    noted = [note for note in answer.explain if note not in (answer.unresolved, answer.text)]
    return [f"{said('Reason:')} {noted[-1]}", ""] if answer.unknown and noted else []


def _found_by(hit: Hit) -> str:
    """Return what found a hit, each with the rank that it had there; "" where the method's own ranking is all."""
    ranks = hit.attributes.get("found_by")
    return f" ({', '.join(f'{name} {rank}' for name, rank in ranks.items())})" if isinstance(ranks, dict) else ""


def _nearest_lines(answer: Answer) -> Iterator[str]:
    passages = {span.chunk: hit.text for hit in answer.hits for span in hit.sources}
    for citation in answer.nearest:
        place = citation.place or Place()
        passage, quote = (" ".join(text.split()) for text in (passages.get(citation.chunk, ""), citation.quote))
        marked = passage.replace(quote, f"»{quote}«", 1) if quote in passage else f"»{quote}«"
        yield f"  {marked}"
        yield f"      {', '.join(filter(None, (str(place) or citation.document, place.address)))}"


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a callback (stage, done, total) that draws a bar with rate and time left on a terminal, or prints lines."""
    if _quiet():
        yield lambda _stage, _done, _total: None
        return
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
        if done == total or now - last.get(stage, float("-inf")) >= _SECONDS_BETWEEN_LINES:
            last[stage] = now
            note(f"{stage}: {done:,} {f'of {total:,}' if total else 'so far'}")

    return show
