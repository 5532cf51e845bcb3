"""The outcome of an experiment: one row a question and method; all other figures are computed from them."""

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
    """Which model judged, what that cost, and how many of its replies were not what was asked for."""

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
        """Add up what completions cost."""
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
            "differences": {method: self._differences_json(method, base) for method in self.methods if method != base},
            **({"judge": _judging_json(self.judging)} if self.judging else {}),
        }

    def _method_json(self, method: str) -> dict[str, Any]:
        estimates = {metric: self.estimate(method, metric) for metric in self.metrics}
        usage = self.usage(method)
        return {
            "metrics": {metric: _estimate_json(estimate) for metric, estimate in estimates.items() if estimate},
            "latency_ms": self.latency(method),
            "usage": asdict(usage),
        }

    def _differences_json(self, method: str, baseline: str) -> dict[str, Any]:
        found = {metric: self.difference(method, baseline, metric) for metric in self.metrics}
        return {metric: _estimate_json(estimate) for metric, estimate in found.items() if estimate}

    def _baseline(self, name: str) -> str:
        chosen = name or next(iter(self.methods), "")
        if chosen and chosen not in self.methods:
            raise UnknownName(f"baseline '{chosen}' was not measured. {closest(chosen, self.methods)}")
        return chosen

    def save_rows(self, path: Path) -> None:
        """Write one JSON line a question and method.

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
        table = Table(title=self._title(), caption=self._caption())
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
            if _is_shown(metric, self.k):
                yield [metric, *self._cells(metric, baseline)]
        for name in ("p50", "p95"):
            yield [
                f"latency {name}, ms",
                *self._padded(lambda method, name=name: f"{self.latency(method)[name]:.1f}", baseline),
            ]
        yield ["completions", *self._padded(lambda method: str(self.usage(method).completions), baseline)]
        yield ["tokens in + out", *self._padded(self._tokens, baseline)]

    def _cells(self, metric: str, baseline: str) -> Iterator[str]:
        for method in self.methods:
            yield _with_interval(self.estimate(method, metric))
            if method != baseline:
                yield _signed(self.difference(method, baseline, metric))

    def _padded(self, cell: Any, baseline: str) -> Iterator[str]:
        for method in self.methods:
            yield cell(method)
            if method != baseline:
                yield ""

    def _tokens(self, method: str) -> str:
        usage = self.usage(method)
        return f"{usage.input_tokens} + {usage.output_tokens}"

    def _title(self) -> str:
        return f"{self.dataset or 'questions'}: {self.questions} questions, k = {self.k}"

    def _caption(self) -> str:
        left = ", ".join(f"{count} left out ({reason})" for reason, count in self.left_out.items())
        judge = f"; {_told(self.judging)}" if self.judging else ""
        return f"mean and 95 % bootstrap interval; * the interval leaves out 0{'; ' + left if left else ''}{judge}"


def _is_shown(metric: str, k: int) -> bool:
    name, _, cut = metric.partition("@")
    return not cut or int(cut) == k or name == "ndcg" or (int(cut) == 1 and "hit" in name)


def _judging_json(judging: Judging) -> dict[str, Any]:
    return {"model": judging.model, "usage": asdict(judging.usage), "unreadable": judging.unreadable}


def _told(judging: Judging) -> str:
    usage = judging.usage
    return (
        f"judged by {judging.model} in {usage.completions} completions, {usage.input_tokens} + {usage.output_tokens} "
        f"tokens, {judging.unreadable} unreadable replies left out"
    )


def _estimate_json(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high, "n": estimate.n}


def _with_interval(estimate: Estimate | None) -> str:
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]" if estimate else "–"


def _signed(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.mean:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]{'*' if estimate.clear else ''}"
