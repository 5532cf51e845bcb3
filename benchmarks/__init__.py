"""Benchmarks: ``<name>.toml`` says what to run and what should come out; ``python -m benchmarks`` runs and judges.

A file::

    title = "what is measured"
    data = "folder inside KGRAG_DATA"                       # {data} is this folder in the format that kgrag eval reads
    commands = [["eval", "{data}", "--format", "json"]]     # arguments of kgrag; the last one's JSON is read

    [[scores]]
    label = "recall@5, BM25"
    path = ["methods", "passages:signal=bm25", "metrics", "recall@5", "mean"]
    expected = 0.655          # what this code gives
    tolerance = 0.01          # ok within it, near within three times it, else off
    published = 0.667         # optional, with
    source = "where, which table"
    note = "why the two differ"

``KGRAG_DATA`` defaults to ``../shared/data`` beside the checkout; a benchmark whose data is absent is skipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Benchmark", "Outcome", "Score", "data_folder", "markdown", "measure", "names", "read"]

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Score:
    """One figure of a benchmark: where it stands in the JSON, what is expected, and what was published."""

    label: str
    path: tuple[str, ...]
    expected: float
    tolerance: float
    published: float | None = None
    source: str = ""
    note: str = ""

    def verdict(self, measured: float) -> str:
        """Return "ok" within the tolerance, "near" within three times it, else "off".

        >>> Score("x", (), 0.5, 0.01).verdict(0.52)
        'near'
        """
        away = abs(measured - self.expected)
        slack = self.tolerance + 1e-9
        return "ok" if away <= slack else "near" if away <= 3 * slack else "off"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What to run, on which data, and the figures that should come out."""

    name: str
    title: str
    data: str
    commands: tuple[tuple[str, ...], ...]
    scores: tuple[Score, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A score and what was measured; None when it was not run, or the run failed."""

    benchmark: Benchmark
    score: Score
    measured: float | None = None
    failed: bool = False

    @property
    def verdict(self) -> str:
        """Return "ok", "near", "off", "failed" or "not run"."""
        if self.measured is None:
            return "failed" if self.failed else "not run"
        return self.score.verdict(self.measured)


def names() -> list[str]:
    """Return the name of every benchmark, sorted."""
    return sorted(path.stem for path in _HERE.glob("*.toml"))


def read(name: str) -> Benchmark:
    """Read a benchmark.

    Raises:
        KeyError: there is none of that name, or its file lacks a field.
    """
    if name not in names():
        raise KeyError(f"no benchmark '{name}'. There are: {', '.join(names())}.")
    content = tomllib.loads((_HERE / f"{name}.toml").read_text(encoding="utf-8"))
    return Benchmark(
        name=name,
        title=content["title"],
        data=content["data"],
        commands=tuple(map(tuple, content["commands"])),
        scores=tuple(Score(**{**score, "path": tuple(score["path"])}) for score in content["scores"]),
    )


def data_folder() -> Path:
    """Return the folder that holds the evaluation data; it may be absent."""
    return Path(os.environ.get("KGRAG_DATA") or _HERE.parent.parent / "shared" / "data")


def measure(benchmark: Benchmark, data: Path) -> list[Outcome]:
    """Run a benchmark in a knowledge base of its own and read its figures.

    Raises:
        RuntimeError: a command failed, or its JSON lacks a figure; the message has its last words.
    """
    from benchmarks.dataset_layouts import general_folder  # here, so that python -m benchmarks.dataset_layouts runs

    source = general_folder(data / benchmark.data)
    with tempfile.TemporaryDirectory(prefix="kgrag-benchmark-") as folder:
        environment = {**os.environ, "KGRAG_KB": str(Path(folder) / "benchmark.kb")}
        printed = ""
        for command in benchmark.commands:
            printed = _run([part.replace("{data}", str(source)) for part in command], environment)
    found = json.loads(printed)
    return [Outcome(benchmark, score, _figure(found, score)) for score in benchmark.scores]


def _run(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", "kgrag", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"'kgrag {' '.join(arguments)}' ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def _figure(found: Any, score: Score) -> float:
    for name in score.path:
        if not isinstance(found, dict) or name not in found:
            held = ", ".join(found) if isinstance(found, dict) else repr(found)
            raise RuntimeError(f"the output has no {'/'.join(score.path)}: at '{name}' there is only {held}.")
        found = found[name]
    return float(found)


def markdown(outcomes: Iterable[Outcome]) -> str:
    """Return the table of the README: one line a figure.

    >>> print(markdown([]).splitlines()[0])
    | benchmark | figure | measured | expected | published | |
    """
    lines = ["| benchmark | figure | measured | expected | published | |", "|---|---|---|---|---|---|"]
    lines += [_line(outcome) for outcome in outcomes]
    return "\n".join(lines)


def _line(outcome: Outcome) -> str:
    score = outcome.score
    published = "" if score.published is None else f"{score.published:g} ({score.source})"
    if score.note:
        published = f"{published}: {score.note}" if published else score.note
    cells = [
        f"`{outcome.benchmark.name}`",
        score.label,
        "" if outcome.measured is None else f"{outcome.measured:.4g}",
        f"{score.expected:g} ± {score.tolerance:g}",
        published,
        outcome.verdict,
    ]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
