"""Measures text-to-SPARQL behind the check: Tables 1 to 3 of the OBQC paper, and how often the check is wrong itself.

A benchmark is a folder with an ontology, data, and questions with the rows that they should return. Queries come from
the method (a model, live or recorded), or ready-made from a file of ``{"id": …, "sparql": …}``, so that what other
systems wrote can be scored without a model. Rows compare as multisets, whatever the order and the names of columns.
Questions whose expected result is empty, or an error, are left out: a wrong query would look right.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Protocol

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidRDF, UnknownName
from kgrag.evaluation.metrics import execution_accuracy
from kgrag.model import Usage, plain
from kgrag.querying.text_to_sparql import Execution, Outcome, Runner

__all__ = [
    "Asker",
    "Benchmark",
    "Inquiry",
    "ReadyQuery",
    "Report",
    "ScoredQuery",
    "measure",
    "read_benchmark",
    "read_queries",
]

Rows = tuple[tuple[str, ...], ...]
Progress = Callable[[str, int, int], None] | None

_LAYOUTS = {
    "inquiries.jsonl": ("ontology.ttl", ("acme.ttl",)),
    "questions.jsonl": ("prod-vocab.ttl", ("prod-inst.ttl.gz",)),
}
# the choices of columns grow with their number by factorials; a query with more columns than this is no near miss
_MAX_COLUMN_CHOICES = 500
_MAX_COLUMNS = 12
_NOT_RULES = ("execution", "empty", "prose", "deletion")
_SHARES_PRINTED = ("first_time", "with_repairs", "unknown", "error", "ungated", "extra", "empty")


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question with the rows that it should return; ``left_out`` is why it can't be scored, "" when it can.

    ``quadrant`` is question complexity (LQ, HQ) and schema complexity (LS, HS), "" where a set has none.
    """

    id: str
    question: str
    expected: Rows = ()
    quadrant: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A set of questions with the ontology and the data that they are asked of."""

    name: str
    ontology: Path
    data: tuple[Path, ...]
    inquiries: tuple[Inquiry, ...]

    @property
    def scored(self) -> tuple[Inquiry, ...]:
        """Return the questions that can be scored."""
        return tuple(inquiry for inquiry in self.inquiries if not inquiry.left_out)

    @property
    def left_out(self) -> dict[str, int]:
        """Count the questions that can't be scored, by reason."""
        return dict(sorted(Counter(inquiry.left_out for inquiry in self.inquiries if inquiry.left_out).items()))


@dataclass(frozen=True, slots=True)
class ReadyQuery:
    """A ready-made query for a question; ``system`` names who wrote it."""

    id: str
    sparql: str
    system: str = ""


@dataclass(frozen=True, slots=True)
class ScoredQuery:
    """What became of one question and query.

    ``flagged`` and ``first_right`` are about the first query, before any mend, whether or not it may be run; ``right``
    and ``unknown`` about the outcome. ``extra``: the outcome has the right rows and further columns. ``empty``: the
    outcome is a valid query that finds nothing; that counts as an error, not as unknown. ``rules`` are those that
    fired, once per finding and version.
    """

    id: str
    system: str
    quadrant: str
    flagged: bool
    first_right: bool
    right: bool
    unknown: bool
    extra: bool = False
    empty: bool = False
    mended: bool = False
    cycles: int = 0
    rules: tuple[str, ...] = ()
    first: str = ""
    final: str = ""
    usage: Usage = field(default_factory=Usage)

    @property
    def right_at_once(self) -> bool:
        """Whether the check passed the first query, and its rows are right."""
        return self.first_right and not self.flagged


class Asker(Protocol):
    """What is measured: the method."""

    runner: Runner
    rows: int
    seconds: float

    def repaired(self, question: str) -> tuple[Any, Outcome | None]:
        """Return what became of a question; None when there was no query."""

    def judged(self, question: str, sparql: str) -> Outcome:
        """Return what becomes of a ready-made query."""


def read_benchmark(folder: Path) -> Benchmark:
    """Read a folder of questions with expected rows, recognised by its files.

    Raises:
        UnknownName: the folder is in no known form.
        InputError: a line is no JSON object with ``id`` and ``question``.
    """
    for questions, (ontology, data) in _LAYOUTS.items():
        if (folder / questions).is_file() and (folder / ontology).is_file():
            inquiries = tuple(map(_inquiry, _records(folder / questions)))
            return Benchmark(folder.name, folder / ontology, tuple(folder / name for name in data), inquiries)
    known = "; ".join(f"{questions} with {ontology}" for questions, (ontology, _) in _LAYOUTS.items())
    raise UnknownName(f"{folder} is no text-to-SPARQL benchmark. Expected {known}.")


def read_queries(path: Path) -> list[ReadyQuery]:
    """Read ready-made queries: JSON Lines (``.gz`` too) with ``id``, ``sparql`` and perhaps ``system``.

    Raises:
        InputError: the file can't be read, or a line lacks a field.
    """
    return [
        ReadyQuery(str(r["id"]), str(r["sparql"]), str(r.get("system", ""))) for r in _records(path, "id", "sparql")
    ]


def _records(path: Path, *fields: str) -> Iterator[dict[str, Any]]:
    wanted = fields or ("id", "question")
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield _record(line, wanted, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} can't be read: {error}. Expected JSON Lines in UTF-8.") from error


def _record(line: str, wanted: Sequence[str], where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: no JSON ({error}). Expected one object per line.") from None
    if not isinstance(record, dict) or any(not isinstance(record.get(name), str | int) for name in wanted):
        raise InputError(f"{where}: expected an object with {' and '.join(wanted)}.")
    return record


def _inquiry(record: Mapping[str, Any]) -> Inquiry:
    expected = record.get("expected") or {}
    rows: Rows = ()
    left_out = ""
    if expected.get("kind") == "ask":
        rows = (("true" if expected["value"] else "false",),)
    elif "rows" not in expected:
        left_out = "gold fails"
    else:
        rows = tuple(tuple(_cell(cell) for cell in row) for row in expected["rows"])
        left_out = "" if rows else "gold is empty"
    return Inquiry(str(record["id"]), str(record["question"]), rows, str(record.get("quadrant", "")), left_out)


def _cell(text: str | None) -> str:
    """Return a term, written as N-Triples write it, as plain text."""
    if text is None:
        return ""
    try:
        quad = next(iter(ox.parse(f"<urn:s> <urn:p> {text} .", format=ox.RdfFormat.N_TRIPLES)))
    except (SyntaxError, StopIteration) as error:
        raise InvalidRDF(f"{text[:80]!r} is no term of N-Triples ({error}). Correct the expected rows.") from None
    return plain(quad.object)


# measuring


def measure(
    asker: Asker, benchmark: Benchmark, queries: Sequence[ReadyQuery] | None = None, *, progress: Progress = None
) -> Report:
    """Ask every question of a benchmark, or judge the queries that a file has for them.

    Args:
        asker: the method, over a knowledge base that contains the benchmark's ontology and data.
        benchmark: what ``read_benchmark`` returned.
        queries: ready-made queries; None lets the method write them.
        progress: called with (stage, done, in all).

    Raises:
        InputError: a query is for a question that the benchmark does not have.
        KgragError: whatever the method raises.
    """
    inquiries = {inquiry.id: inquiry for inquiry in benchmark.inquiries}
    if queries is not None and (unknown := [ready.id for ready in queries if ready.id not in inquiries]):
        raise InputError(f"there is no question {unknown[0]!r} in {benchmark.name}. Leave its query out.")
    wanted = [ReadyQuery(inquiry.id, "") for inquiry in benchmark.scored] if queries is None else queries
    scored = [ready for ready in wanted if not inquiries[ready.id].left_out]
    runs = []
    for done, ready in enumerate(scored, start=1):
        runs.append(_scored(asker, inquiries[ready.id], ready if queries is not None else None))
        if progress:
            progress("questions", done, len(scored))
    return Report(benchmark.name, tuple(runs), benchmark.left_out, len(wanted) - len(scored))


def _scored(asker: Asker, inquiry: Inquiry, ready: ReadyQuery | None) -> ScoredQuery:
    outcome = asker.repaired(inquiry.question)[1] if ready is None else asker.judged(inquiry.question, ready.sparql)
    system = ready.system if ready else ""
    if outcome is None:
        return ScoredQuery(
            inquiry.id, system, inquiry.quadrant, flagged=True, first_right=False, right=False, unknown=True
        )
    first, best = outcome.versions[0], outcome.best
    execution = best.execution if outcome.known else None
    first_execution = first.execution
    # the first query runs even when the check refused it: whether the check was right is what is measured
    if first_execution is None and first.sparql:
        first_execution = asker.runner(first.sparql, rows=asker.rows, seconds=asker.seconds)
    fired = [issue.rule for version in outcome.versions for issue in version.issues if issue.rule not in _NOT_RULES]
    return ScoredQuery(
        id=inquiry.id,
        system=system,
        quadrant=inquiry.quadrant,
        flagged=not first.valid,
        first_right=_right(first_execution, inquiry.expected),
        right=_right(execution, inquiry.expected),
        unknown=not outcome.known,
        extra=_extra(execution, inquiry.expected),
        empty=execution is not None and execution.empty,
        mended=best.origin == "mended",
        cycles=outcome.cycles,
        rules=tuple(fired),
        first=first.sparql,
        final=best.sparql if outcome.known else "",
        usage=outcome.usage,
    )


def _right(execution: Execution | None, expected: Rows) -> bool:
    if execution is None or execution.problem or execution.truncated:
        return False
    return execution_accuracy(execution.values(), expected) == 1.0


def _extra(execution: Execution | None, expected: Rows) -> bool:
    """Return whether some of the columns are the expected rows, and others are further ones."""
    if execution is None or execution.problem or not expected or len(execution.rows) != len(expected):
        return False
    ours, width = execution.values(), len(expected[0])
    if not width < len(execution.variables) <= _MAX_COLUMNS:
        return False
    choices = islice(combinations(range(len(execution.variables)), width), _MAX_COLUMN_CHOICES)
    return any(execution_accuracy([[row[c] for c in choice] for row in ours], expected) == 1.0 for choice in choices)


# reporting


@dataclass(frozen=True, slots=True)
class Report:
    """The runs over one benchmark, and the paper's tables of them; every share is 0 to 1."""

    dataset: str
    runs: tuple[ScoredQuery, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0

    def groups(self) -> dict[str, list[ScoredQuery]]:
        """Return the runs as a whole and by quadrant; a set without quadrants has one group."""
        groups = {"all": list(self.runs)}
        for run in self.runs:
            if run.quadrant:
                groups.setdefault(run.quadrant, []).append(run)
        return {"all": groups.pop("all"), **dict(sorted(groups.items()))}

    def accuracy(self) -> dict[str, dict[str, float]]:
        """Return Table 1 by group: first time, with repairs, unknown, their sum, error rate; and what is beyond it.

        ``ungated`` is the accuracy of the first query without a check; ``extra`` and ``empty`` are parts of the errors.
        """
        return {name: _accuracy(runs) for name, runs in self.groups().items() if runs}

    def achievable(self) -> dict[str, float]:
        """Return Table 2 by group: of the runs that were not right at once, the share that repairs made right."""
        return {
            name: _share(sum(run.right and not run.right_at_once for run in missed), len(missed))
            for name, runs in self.groups().items()
            for missed in [[run for run in runs if not run.right_at_once]]
        }

    def rules(self) -> dict[str, float]:
        """Return Table 3: the share of each rule in all findings that block a query, the most used first."""
        counts = Counter(rule for run in self.runs for rule in run.rules)
        return {rule: _share(count, counts.total()) for rule, count in counts.most_common()}

    def confusion(self) -> dict[str, int | float]:
        """Count first queries by the check's verdict and by their rows; shares are 0 to 1.

        ``precision`` is the share of wrong among flagged, ``caught`` of flagged among wrong, ``false_alarms`` of
        flagged among right.
        """
        wrong = [run for run in self.runs if not run.first_right]
        right = [run for run in self.runs if run.first_right]
        caught, alarms = sum(run.flagged for run in wrong), sum(run.flagged for run in right)
        return {
            "flagged_wrong": caught,
            "flagged_right": alarms,
            "passed_wrong": len(wrong) - caught,
            "passed_right": len(right) - alarms,
            "precision": _share(caught, caught + alarms),
            "caught": _share(caught, len(wrong)),
            "false_alarms": _share(alarms, len(right)),
        }

    def json(self) -> dict[str, Any]:
        """Return everything but the runs as one JSON object."""
        usage = sum((run.usage for run in self.runs), Usage())
        return {
            "dataset": self.dataset,
            "runs": len(self.runs),
            "left_out": dict(self.left_out),
            "skipped": self.skipped,
            "accuracy": self.accuracy(),
            "achievable": self.achievable(),
            "rules": self.rules(),
            "confusion": self.confusion(),
            "usage": asdict(usage),
        }

    def save_rows(self, path: Path) -> None:
        """Write one JSON line per run. Raises OSError."""
        path.write_text(
            "".join(json.dumps(asdict(run), ensure_ascii=False) + "\n" for run in self.runs), encoding="utf-8"
        )

    def text(self) -> str:
        """Return the tables for a person."""
        head = f"{self.dataset}: {len(self.runs)} runs"
        left = ", ".join(f"{count} questions left out ({why})" for why, count in self.left_out.items())
        return "\n".join([head + (f"; {left}" if left else ""), "", *self._accuracy_lines(), "", *self._check_lines()])

    def _accuracy_lines(self) -> Iterator[str]:
        columns = ("n", "first time", "with repairs", "unknown", "error", "ungated", "extra", "empty", "achieved")
        yield f"{'':8}" + "".join(f"{column:>14}" for column in columns)
        achieved = self.achievable()
        for name, shares in self.accuracy().items():
            cells = [f"{shares['n']:.0f}", *(f"{shares[key]:.2%}" for key in _SHARES_PRINTED), f"{achieved[name]:.2%}"]
            yield f"{name:8}" + "".join(f"{cell:>14}" for cell in cells)

    def _check_lines(self) -> Iterator[str]:
        counts = self.confusion()
        yield f"check     flagged: {counts['flagged_wrong']} wrong, {counts['flagged_right']} right"
        yield f"          passed:  {counts['passed_wrong']} wrong, {counts['passed_right']} right"
        yield f"          precision {counts['precision']:.2%}; caught {counts['caught']:.2%} of the wrong"
        yield f"          false alarms on {counts['false_alarms']:.2%} of the right"
        for rule, share in self.rules().items():
            yield f"rule      {rule:24}{share:8.2%}"


def _accuracy(runs: Sequence[ScoredQuery]) -> dict[str, float]:
    count = len(runs)
    right, unknown = sum(run.right for run in runs), sum(run.unknown for run in runs)
    return {
        "n": count,
        "first_time": _share(sum(run.right_at_once for run in runs), count),
        "with_repairs": _share(right, count),
        "unknown": _share(unknown, count),
        "accurate_or_unknown": _share(right + unknown, count),
        "error": _share(count - right - unknown, count),
        "ungated": _share(sum(run.first_right for run in runs), count),
        "extra": _share(sum(run.extra for run in runs), count),
        "empty": _share(sum(run.empty for run in runs), count),
    }


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
