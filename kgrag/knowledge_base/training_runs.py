"""Training of any method that can be trained: files become labelled questions, options its recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kgrag.answering.labelled_questions import Labelled
from kgrag.capabilities import Trains, capable
from kgrag.errors import InvalidSettings
from kgrag.evaluation.datasets import read_questions
from kgrag.model import BuildReport
from kgrag.ports import Method
from kgrag.resources import closest

__all__ = ["train"]


def train(
    method: Method, spec: str, questions: str | Path, held_out: Sequence[str | Path], options: Mapping[str, Any]
) -> BuildReport:
    """Train a method. Arguments and errors as of ``KnowledgeBase.train``; ``spec`` is its name, for messages."""
    trained = capable(method, Trains, spec)
    values = dict(options)
    progress = values.pop("progress", None)
    recipe = type(trained.recipe())
    known = {field.name for field in fields(recipe)}
    if unknown := values.keys() - known:
        raise InvalidSettings(
            f"method '{spec}' has no training option {min(unknown)!r}. {closest(min(unknown), known)}"
        )
    return trained.train(
        _labelled(Path(questions)),
        held_out=[each for path in held_out for each in _labelled(Path(path))],
        recipe=recipe(**values),
        progress=progress,
    )


def _labelled(path: Path) -> list[Labelled]:
    """Read questions; one that names no document can't be learned from, but still must not be."""
    return [Labelled(question.text, question.relevant, question.excluded) for question in read_questions(path)]
