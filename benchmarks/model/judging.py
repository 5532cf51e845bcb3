"""Writes what a judge is shown about answers and facts, reads the verdicts, and counts them.

A judge sees neither the method nor what others judged: items are named by digests, and sorted by them. Three kinds:

* ``answer``: question, right answer, answer. Verdict ``right``, ``partly``, ``wrong`` or ``unknown``.
* ``carries``: question, a sentence of an answer, the text of each citation with title and heading as a reader sees it.
  Verdict ``yes``, ``partly`` or ``no``, and the numbers (from 0) of ``useless`` citations.
* ``facts``: a text, and the facts that a model took from it. Verdict: the numbers (from 0) of ``false`` facts, those
  of ``unclear`` ones (no name for what they are about), and what is ``missing``, in a few words each.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["UNKNOWN", "answer_items", "facts_items", "read_verdicts", "table", "tally"]

UNKNOWN = "(no answer: the evidence found does not carry one)"

Line = Mapping[str, Any]


def answer_items(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Return one item per answer, and one per sentence of it."""
    items = [item for line in lines if "build" not in line for item in _items(line)]
    return sorted(items, key=lambda item: str(item["id"]))


def _items(line: Line) -> Iterator[dict[str, Any]]:
    gold = line["gold"] or "(the documents do not say; the right reply is that there is no answer)"
    if not line["unknown"]:
        answer = " ".join(_shown(line))
        yield {"id": _name(line), "kind": "answer", "question": line["question"], "gold": gold, "answer": answer}
    for number, sentence in enumerate(line["sentences"]):
        yield {
            "id": _name(line, number),
            "kind": "carries",
            "question": line["question"],
            "sentence": sentence["text"],
            "citations": [f"[{one['place']}] {one['quote']}" for one in sentence["citations"]],
        }


def facts_items(facts: Mapping[str, Sequence[tuple[str, Sequence[str]]]]) -> list[dict[str, Any]]:
    """Return one item per text: facts has, by method, pairs of a text and the facts that were taken from it."""
    items = [
        {"id": _digest("facts", method, text), "kind": "facts", "text": text, "facts": list(taken)}
        for method, pairs in facts.items()
        for text, taken in pairs
    ]
    return sorted(items, key=lambda item: str(item["id"]))


def _shown(line: Line) -> Iterator[str]:
    """Yield what a person reads of an answer: its sentences, and what part of the question it leaves open."""
    yield from (sentence["text"] for sentence in line["sentences"])
    if left_open := line.get("not_stated"):
        yield f"Not in the evidence: {left_open}"


def _name(line: Line, sentence: int | None = None) -> str:
    """Return the name of an item, by what is judged: the same answer in another run has the same name."""
    if sentence is None:
        return _digest("answer", line["id"], *_shown(line))
    cited = [one["quote"] for one in line["sentences"][sentence]["citations"]]
    return _digest("carries", line["id"], line["sentences"][sentence]["text"], *cited)


def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def read_verdicts(*files: Path) -> dict[str, Line]:
    """Return id -> verdict of files of JSON Lines, the last of equals."""
    rows = (json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines() if line)
    return {row["id"]: row for row in rows}


def tally(lines: Iterable[Line], verdicts: Mapping[str, Line]) -> dict[str, Counter[str]]:
    """Count the verdicts by method.

    Of a question without an answer, *unknown* is right and an answer wrong, whatever a judge says of it. ``kept`` are
    right answers of ``replied`` right replies: an answer that a check refused counts as a reply alone.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        if "build" in line:
            continue
        count = counts[line["method"]]
        count["questions"] += 1
        count["output"] += line["paid"]["output_tokens"]
        count["input"] += line["paid"]["input_tokens"]
        count[_verdict(line, verdicts)] += 1
        count["refused"] += bool(line["unknown"] and line["unsupported"])
        for number in range(len(line["sentences"])):
            judged = verdicts.get(_name(line, number))
            if judged is not None:
                count["sentences"] += 1
                count[f"carries {judged['carries']}"] += 1
                count["citations"] += len(line["sentences"][number]["citations"])
                count["useless"] += len(judged.get("useless") or [])
    return dict(counts)


def _verdict(line: Line, verdicts: Mapping[str, Line]) -> str:
    if not line["gold"]:
        return "right" if line["unknown"] else "wrong"
    if line["unknown"]:
        return "unknown"
    judged = verdicts.get(_name(line))
    return str(judged["verdict"]) if judged else "not judged"


def table(counts: Mapping[str, Counter[str]]) -> str:
    """Return the counts as a table of Markdown, a line per method and one for all.

    >>> table({"og_rag": Counter(questions=2, right=1, unknown=1, sentences=4, **{"carries yes": 3})}).splitlines()[-1]
    '| og_rag | 2 | 1 | 0 | 0 | 1 | 0 | 3 of 4 (0.75) | 0 of 0 | 0 / 0 |'
    """
    names = ["questions", "right", "partly", "wrong", "unknown", "not judged"]
    lines = [f"| method | {' | '.join(names)} | carried | useless citations | tokens in / out |", "|---" * 10 + "|"]
    rows = dict(counts)
    if len(rows) > 1:
        rows["all"] = sum(counts.values(), Counter())
    for method, count in rows.items():
        share = f" ({count['carries yes'] / count['sentences']:.2f})" if count["sentences"] else ""
        lines.append(
            f"| {method} | {' | '.join(str(count[name]) for name in names)} "
            f"| {count['carries yes']} of {count['sentences']}{share} | {count['useless']} of {count['citations']} "
            f"| {count['input']:,} / {count['output']:,} |"
        )
    return "\n".join(lines)
