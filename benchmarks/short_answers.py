"""Short answers without a language model: one row per question set.

    python -m benchmarks.short_answers FOLDER [--part unseen] [--questions N] [--rows] SET…

Every question is asked as ``kgrag ask`` asks it, by ``auto`` at k = 5 with the extractive model. A set is filled once
and stays in FOLDER; data is read from ``KGRAG_DATA``. Columns: exact match and token F1 of the first short answer, as
the benchmarks of these sets compute them, where a gold of "N/A" (nothing is stated) is met by *unknown*, and a question
without gold is left out; how many are answered; *wrong though given*, the share of all questions with
an answer that has the gold in none of its short answers; ECE, the calibration error of ``confidence`` in ten bins; and
what of it all the followed relations account for: how many questions they answer, and the share of these that is right.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import evidence_sets
from kgrag import KnowledgeBase, Settings
from kgrag.evaluation import Question
from kgrag.evaluation.metrics import exact_match, token_f1
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.llm.extractive.chained_answers import SHARE_RIGHT
from kgrag.model import Answer

_BINS = 10
_NOT_STATED = "N/A"


def main() -> None:
    """Print one row of the table per set."""
    parser = argparse.ArgumentParser(description="Short answers without a language model.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="+", choices=list(evidence_sets.SETS))
    parser.add_argument("--part", choices=["dev", "unseen"], default="dev")
    parser.add_argument("--questions", type=int, default=0, help="the first of each set; default: all")
    parser.add_argument("--rows", action="store_true", help="print each question that is not answered rightly")
    asked = parser.parse_args()
    print(
        "| set | questions | exact match | token F1 | answered | wrong though given | ECE | followed | right of these |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in asked.sets:
        print(_row(name, asked), flush=True)


def _row(name: str, asked: argparse.Namespace) -> str:
    dataset = evidence_sets.dataset_of(name)
    if dataset is None:
        return f"| {name} | no data |"
    embedder = CachedEmbedder(SentenceTransformerEmbedder(), asked.folder / "embeddings.sqlite")
    asked.folder.mkdir(parents=True, exist_ok=True)
    with KnowledgeBase(asked.folder / f"{name}.kb", settings=Settings(), embedder=embedder) as kb:
        evidence_sets.fill(kb, dataset)
        kb.build("auto")
        part = [
            one for at, one in enumerate(dataset.questions) if one.answers and evidence_sets.part_of(at) == asked.part
        ]
        questions = part[: asked.questions or None]
        start = time.perf_counter()
        answers = [kb.ask(question.text, k=5) for question in questions]
        milliseconds = 1000 * (time.perf_counter() - start) / max(len(questions), 1)
    if asked.rows:
        _print_wrong(questions, answers)
    return (
        f"| {name} ({asked.part}) | {len(questions)} | {_figures(questions, answers)} | <!-- {milliseconds:.0f} ms -->"
    )


def _figures(questions: Sequence[Question], answers: Sequence[Answer]) -> str:
    right = [_right(*pair) for pair in zip(questions, answers, strict=True)]
    f1 = [token_f1(_text(answer), question.answers) for question, answer in zip(questions, answers, strict=True)]
    given = [not answer.unknown for answer in answers]
    held = [
        any(exact_match(value.text, question.answers) for value in answer.values)
        for question, answer in zip(questions, answers, strict=True)
    ]
    wrong = [is_given and not has for is_given, has in zip(given, held, strict=True)]
    followed = [row for row, answer in zip(right, answers, strict=True) if _is_followed(answer)]
    columns: list[list[float]] = [right, f1, [float(one) for one in given], [float(one) for one in wrong]]
    figures = [f"{float(np.mean(column)):.3f}" for column in columns]
    share = f"{float(np.mean(followed)):.3f}" if followed else "–"
    return " | ".join([*figures, f"{_calibration_error(right, answers):.3f}", f"{len(followed)}", share])


def _text(answer: Answer) -> str:
    """Return what counts as the answer, as ``kgrag eval`` takes it."""
    return _NOT_STATED if answer.unknown else answer.values[0].text if answer.values else answer.text


def _right(question: Question, answer: Answer) -> float:
    return exact_match(_text(answer), question.answers)


def _is_followed(answer: Answer) -> bool:
    return not answer.unknown and answer.confidence in SHARE_RIGHT.values()


def _calibration_error(right: Sequence[float], answers: Sequence[Answer]) -> float:
    """Return how far stated confidence is from the share of right ones, over ten bins of the answers given."""
    pairs = [
        (answer.confidence, row)
        for row, answer in zip(right, answers, strict=True)
        if not answer.unknown and answer.confidence is not None
    ]
    bins: dict[int, list[tuple[float, float]]] = {}
    for confidence, row in pairs:
        bins.setdefault(min(int(confidence * _BINS), _BINS - 1), []).append((confidence, row))
    error = sum(abs(sum(c for c, _ in rows) - sum(r for _, r in rows)) for rows in bins.values())
    return error / len(pairs) if pairs else 0.0


def _print_wrong(questions: Sequence[Question], answers: Sequence[Answer]) -> None:
    for question, answer in zip(questions, answers, strict=True):
        if not _right(question, answer):
            said = "unknown" if answer.unknown else " / ".join(value.text for value in answer.values) or "no value"
            print(f"- {question.text} | {question.answers[:2]} | {said} | {answer.confidence}")


if __name__ == "__main__":
    main()
