"""The outcome of an experiment: one row per question and method; all other figures are computed from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgrag.errors import StorageFailed, UnknownName
from kgrag.evaluation.datasets import Question
from kgrag.evaluation.intervals import Estimate, bootstrap, paired_difference, percentile
from kgrag.model import Answer, Hit, Usage
from kgrag.resources import closest

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Experiment", "Judging", "Row"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question asked of one method: its scores by metric, the hits that counted, time (ms), cost, and answer."""

    method: str
    question: Question
    scores: Mapping[str, float]
    hits: tuple[Hit, ...] = ()
    milliseconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    answer: Answer | None = None

    def json(self) -> dict[str, Any]:
        """Return the row as it goes into the per-question file."""
        return {
            "id": self.question.id,
            "question": self.question.text,
            "method": self.method,
            "scores": dict(self.scores),
            "hits": [{"iri": hit.iri, "score": hit.score} for hit in self.hits],
            "latency_ms": self.milliseconds,
        }


@dataclass(frozen=True, slots=True)
class Judging:
    """Which model judged, what that cost, and how many of its replies could not be read."""

    model: str
    usage: Usage
    unreadable: int


@dataclass(frozen=True, slots=True)
class Experiment:
    """Rows of several methods on the same questions; ``left_out`` counts questions that can't be scored, by reason."""

    k: int
    methods: tuple[str, ...]
    rows: tuple[Row, ...]
    dataset: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    judging: Judging | None = None

    def of(self, dataset: str, left_out: Mapping[str, int]) -> Experiment:
        """Return the same experiment with the name of its dataset and what was left out of it."""
        return replace(self, dataset=dataset, left_out=left_out)

    @property
    def questions(self) -> int:
        """Count the questions that were asked."""
        return len({row.question.id for row in self.rows})

    @property
    def metrics(self) -> list[str]:
        """Return the metrics that any row has, in the order in which they are first met."""
        return list(dict.fromkeys(name for row in self.rows for name in row.scores))

    def values(self, method: str, metric: str) -> dict[str, float]:
        """Return question -> value, for the questions that the metric applies to."""
        return {
            row.question.id: row.scores[metric] for row in self.rows if row.method == method and metric in row.scores
        }

    def estimate(self, method: str, metric: str) -> Estimate | None:
        """Return the mean of a metric with its 95 % interval; None where it applies to no question."""
        values = self.values(method, metric)
        return bootstrap(list(values.values())) if values else None

    def difference(self, method: str, baseline: str, metric: str) -> Estimate | None:
        """Return the mean of method minus baseline over the questions that both have; None without one."""
        return paired_difference(self.values(method, metric), self.values(baseline, metric))

    def latency(self, method: str) -> dict[str, float]:
        """Return p50 and p95 of the milliseconds that a question took without being embedded."""
        times = [row.milliseconds for row in self.rows if row.method == method]
        return {"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)}

    def usage(self, method: str) -> Usage:
        """Return what completions for a method cost in all."""
        return sum((row.usage for row in self.rows if row.method == method), Usage())

    def mean(self, method: str, metric: str) -> float:
        """Return the mean of a metric.

        Raises:
            UnknownName: no method or metric of that name was measured.
        """
        if method not in self.methods:
            raise UnknownName(f"method '{method}' was not measured. {closest(method, self.methods)}")
        estimate = self.estimate(method, metric)
        if estimate is None:
            raise UnknownName(f"metric '{metric}' was not measured. {closest(metric, self.metrics)}")
        return estimate.mean

    def json(self, *, baseline: str = "") -> dict[str, Any]:
        """Return everything but the rows as one JSON object; ``baseline`` defaults to the first method."""
        base = self._baseline(baseline)
        return {
            "dataset": self.dataset,
            "k": self.k,
            "questions": self.questions,
            "left_out": dict(self.left_out),
            "methods": {method: self._method_json(method) for method in self.methods},
            "baseline": base,
            "differences": {
                method: {
                    metric: _estimate_json(difference)
                    for metric in self.metrics
                    if (difference := self.difference(method, base, metric))
                }
                for method in self.methods
                if method != base
            },
            **({"judge": asdict(self.judging)} if self.judging else {}),
        }

    def _method_json(self, method: str) -> dict[str, Any]:
        estimates = {metric: self.estimate(method, metric) for metric in self.metrics}
        return {
            "metrics": {metric: _estimate_json(estimate) for metric, estimate in estimates.items() if estimate},
            "latency_ms": self.latency(method),
            "usage": asdict(self.usage(method)),
        }

    def _baseline(self, name: str) -> str:
        chosen = name or next(iter(self.methods), "")
        if chosen and chosen not in self.methods:
            raise UnknownName(f"baseline '{chosen}' was not measured. {closest(chosen, self.methods)}")
        return chosen

    def save_rows(self, path: Path) -> None:
        """Write one JSON line per question and method.

        Raises:
            StorageFailed: the file can't be written.
        """
        try:
            with path.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(row.json(), ensure_ascii=False) + "\n" for row in self.rows)
        except OSError as error:
            raise StorageFailed(f"{path} can't be written: {error.strerror}. Choose another file.") from error

    def table(self, *, baseline: str = "") -> Table:
        """Return the table for a terminal: a line per metric, a column per method, and its gain over the baseline."""
        from rich.table import Table

        base = self._baseline(baseline)
        notes = ["mean and 95 % bootstrap interval; * the interval leaves out 0"]
        if self.left_out:
            notes.append(", ".join(f"{count} left out ({reason})" for reason, count in self.left_out.items()))
        if self.judging:
            usage = self.judging.usage
            notes.append(
                f"judged by {self.judging.model} in {usage.completions} completions, {usage.input_tokens} + "
                f"{usage.output_tokens} tokens, {self.judging.unreadable} unreadable replies left out"
            )
        title = f"{self.dataset or 'questions'}: {self.questions} questions, k = {self.k}"
        table = Table(title=title, caption="; ".join(notes))
        table.add_column("metric")
        for method in self.methods:
            table.add_column(method, justify="right")
            if method != base:
                table.add_column(f"− {base}", justify="right")
        for cells in self._lines(base):
            table.add_row(*cells)
        return table

    def _lines(self, baseline: str) -> Iterator[list[str]]:
        for metric in self.metrics:
            name, _, cut = metric.partition("@")
            # every cutoff is measured; a terminal has room for the one asked for, and for those that are published
            if not cut or int(cut) == self.k or name == "ndcg" or (int(cut) == 1 and "hit" in name):
                cells = [metric]
                for method in self.methods:
                    cells.append(_estimate_cell(self.estimate(method, metric)))
                    if method != baseline:
                        cells.append(_estimate_cell(self.difference(method, baseline, metric), signed=True))
                yield cells
        latencies = {method: self.latency(method) for method in self.methods}
        usages = {method: self.usage(method) for method in self.methods}
        for label, values in (
            ("latency p50, ms", [f"{latencies[method]['p50']:.1f}" for method in self.methods]),
            ("latency p95, ms", [f"{latencies[method]['p95']:.1f}" for method in self.methods]),
            ("completions", [str(usages[method].completions) for method in self.methods]),
            ("tokens in + out", [f"{use.input_tokens} + {use.output_tokens}" for use in usages.values()]),
        ):
            cells = [label]
            for method, value in zip(self.methods, values, strict=True):
                cells += [value] if method == baseline else [value, ""]
            yield cells


def _estimate_json(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high, "n": estimate.n}


def _estimate_cell(estimate: Estimate | None, *, signed: bool = False) -> str:
    if estimate is None:
        return "–"
    sign, mark = ("+", "*" if estimate.clear else "") if signed else ("", "")
    return f"{estimate.mean:{sign}.3f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]{mark}"
