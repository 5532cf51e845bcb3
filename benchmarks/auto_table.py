"""The default method beside each single one, on every set: one table, and one row for all sets together.

``python -m benchmarks.auto_table [SET …] --work FOLDER [--part dev|unseen|all] [--json FILE] [--only METHOD …]
[--again METHOD …] [--report]``. Every set of ``benchmarks.evidence_sets`` is filled, built (sire_rag with the
extractive model; og_rag, poly_rag or cg_rag where a set has mapped facts, layers or citations) and asked; ``--report``
prints what the folder has, and asks nothing. Every third question (the third, the sixth …) was kept unseen while the
methods were made: ``--part dev`` leaves these out, ``unseen`` asks no others.

Means with 95 % bootstrap intervals over questions. ``+`` and ``−`` mark a paired difference to passages whose interval
leaves out 0; the last columns are those of auto to the best single method of the set, and of the pooled rows, where
each set counts the same whatever its size and questions are drawn within sets. For each method the set is named where
it is furthest below passages.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evidence_sets import BASELINE, DEFAULT, SETS, ask, dataset_of, kept, opened, part_of
from kgrag.evaluation.intervals import Estimate, bootstrap, paired_difference

__all__ = ["main", "pooled", "pooled_difference", "table"]

METRICS = ("hit@1", "recall@2", "recall@5", "recall@10")
_DRAWS, _SEED = 2000, 20240607
Values = Mapping[str, Mapping[str, float]]
"""Set -> question -> value of a metric."""


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--work", type=Path, help="keeps knowledge bases, embeddings and scores")
    parser.add_argument("--part", choices=("dev", "unseen", "all"), default="dev", help="which questions are asked")
    parser.add_argument("--only", nargs="*", default=(), metavar="METHOD", help="ask only these rows")
    parser.add_argument("--again", nargs="*", default=(), metavar="METHOD", help="forget the scores of these rows")
    parser.add_argument("--report", action="store_true", help="print what was kept, and ask nothing")
    parser.add_argument("--json", type=Path, help="writes every mean, interval and difference")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgrag-auto-") as temporary:
        work = options.work or Path(temporary)
        found = {}
        for name in options.sets or SETS:
            scores = measured(name, work, options)
            if scores.get(BASELINE):
                found[name] = scores
                print(table(name, scores), flush=True)
        if found:
            print(of_all(found))
        if options.json:
            options.json.write_text(json.dumps(figures(found), indent=1), encoding="utf-8")


def measured(name: str, work: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Return the scores of each method on a part of a set, after asking what was not asked yet."""
    dataset = dataset_of(name)
    if dataset is None:
        print(f"{name}: skipped: no {SETS[name].folder}; set KGRAG_DATA")
        return {}
    chosen = [
        each for place, each in enumerate(dataset.scored) if options.part == "all" or part_of(place) == options.part
    ]
    methods = [each for each in SETS[name].methods if not options.only or each in options.only]
    if not options.report:
        with opened(name, dataset, work) as kb:
            for method in methods:
                ask(kb, name, method, chosen, work, again=method in options.again)
    ids = {each.id for each in chosen}
    every = {method: kept(work, name, method) for method in SETS[name].methods}
    return {
        method: {question: scores for question, scores in rows.items() if question in ids}
        for method, rows in every.items()
        if ids <= rows.keys()
    }


def of_metric(scores: Mapping[str, Mapping[str, float]], metric: str) -> dict[str, float]:
    """Return question -> value, for the questions that a metric applies to."""
    return {question: values[metric] for question, values in scores.items() if metric in values}


def table(name: str, scores: Mapping[str, Any]) -> str:
    """Return the table of a set as Markdown."""
    shown = [metric for metric in METRICS if of_metric(scores[BASELINE], metric)]
    lines = [f"\n### {name}: {len(scores[BASELINE])} questions\n", f"| | {' | '.join(shown)} | ms p50 |"]
    lines.append(f"|---|{'--:|' * (len(shown) + 1)}")
    for method, rows in scores.items():
        cells = [_cell(of_metric(rows, metric), of_metric(scores[BASELINE], metric)) for metric in shown]
        times = [values["ms"] for values in rows.values()]
        lines.append(f"| {method} | {' | '.join(cells)} | {np.median(times):.0f} |")
    for metric in shown:
        best = _best_single(scores, metric)
        gain = paired_difference(of_metric(scores.get(DEFAULT, {}), metric), of_metric(scores[best], metric))
        if gain is not None:
            lines.append(f"\n{metric}: auto less the best single method ({best}): {written(gain)}")
    return "\n".join(lines)


def _best_single(scores: Mapping[str, Any], metric: str) -> str:
    means = {
        method: float(np.mean(list(values.values())))
        for method, rows in scores.items()
        if not method.startswith(DEFAULT) and (values := of_metric(rows, metric))
    }
    return max(means, key=means.__getitem__)


def _cell(values: Mapping[str, float], baseline: Mapping[str, float]) -> str:
    if not values:
        return "–"
    mean = bootstrap(list(values.values()))
    gain = paired_difference(values, baseline)
    mark = "" if gain is None or not gain.clear else "+" if gain.mean > 0 else "−"
    return f"{mean.mean:.3f} [{mean.low:.2f}, {mean.high:.2f}]{mark}"


def of_all(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the rows of all sets together, each set counting the same, and the worst set of each method."""
    methods = list(dict.fromkeys(method for scores in found.values() for method in scores))
    lines = [f"\n### all {len(found)} sets, each counting the same\n"]
    lines += [
        "| | metric | sets | mean | less passages | auto less it | below passages on | worst set, less passages |"
    ]
    lines.append("|---|---|--:|--:|--:|--:|---|---|")
    for metric in METRICS[:3]:
        values = {
            method: {
                name: of_metric(scores[method], metric)
                for name, scores in found.items()
                if method in scores and of_metric(scores[method], metric)
            }
            for method in methods
        }
        values["the best single one of each set"] = {
            name: of_metric(scores[_best_single(scores, metric)], metric) for name, scores in found.items()
        }
        lines += [_pooled_row(method, metric, values) for method in values if values[method]]
    return "\n".join(lines)


def _pooled_row(method: str, metric: str, values: Mapping[str, Values]) -> str:
    ours, base = values[method], values[BASELINE]
    gains = {name: paired_difference(ours[name], base[name]) for name in ours if name in base}
    below = [name for name, gain in gains.items() if gain is not None and gain.clear and gain.mean < 0]
    known = {name: gain for name, gain in gains.items() if gain is not None}
    worst = min(known, key=lambda name: known[name].mean)
    less = "" if method == BASELINE else written(pooled_difference(ours, base))
    auto = "" if method == DEFAULT or DEFAULT not in values else written(pooled_difference(values[DEFAULT], ours))
    cells = (str(len(ours)), f"{pooled(ours):.3f}", less, auto, ", ".join(below), f"{worst} {written(known[worst])}")
    return f"| {method} | {metric} | {' | '.join(cells)} |"


def pooled(values: Values) -> float:
    """Return the mean over sets of the mean over questions."""
    return float(np.mean([np.mean(list(of_set.values())) for of_set in values.values()]))


def pooled_difference(ours: Values, theirs: Values) -> Estimate:
    """Estimate the mean over sets of the mean of ours minus theirs, questions drawn anew within each set.

    >>> pooled_difference({"a": {"1": 1.0, "2": 1.0}, "b": {"1": 1.0}}, {"a": {"1": 0.0, "2": 0.0}, "b": {"1": 1.0}})
    Estimate(mean=0.5, low=0.5, high=0.5, n=3)
    """
    draw = np.random.default_rng(_SEED)
    means, draws, count = [], [], 0
    for name in sorted(ours.keys() & theirs.keys()):
        shared = sorted(ours[name].keys() & theirs[name].keys())
        gains = np.array([ours[name][each] - theirs[name][each] for each in shared])
        means.append(gains.mean())
        draws.append(gains[draw.integers(len(gains), size=(_DRAWS, len(gains)))].mean(axis=1))
        count += len(gains)
    low, high = np.quantile(np.mean(draws, axis=0), [0.025, 0.975])
    return Estimate(float(np.mean(means)), float(low), float(high), count)


def written(gain: Estimate) -> str:
    """Write a difference with its interval."""
    return f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def figures(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return means, intervals and differences to passages, by set, method and metric."""

    def figure(rows: Any, base: Any, metric: str) -> dict[str, Any]:
        values = of_metric(rows, metric)
        gain = paired_difference(values, of_metric(base, metric))
        mean = bootstrap(list(values.values()))
        return {"mean": mean.mean, "interval": [mean.low, mean.high], "less passages": gain and written(gain)}

    return {
        name: {
            method: {metric: figure(rows, scores[BASELINE], metric) for metric in METRICS if of_metric(rows, metric)}
            for method, rows in scores.items()
        }
        for name, scores in found.items()
    }


if __name__ == "__main__":
    main()
