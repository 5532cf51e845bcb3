"""Competency questions: what an ontology, with its data, must be able to answer, as tests in files next to it.

A question is a SPARQL file whose first lines state what it asks and what it expects::

    # question: Which treatments are there?
    # expect: rows >= 3
    # reasoning: rdfs

``expect`` is ``true`` or ``false`` (an ASK); ``rows 3`` or ``rows >= 3`` (a SELECT); or the name of a file next to it
with the expected rows (``.csv``, ``.tsv``, ``.srj`` or ``.json``, ``.srx``), compared without regard to order unless
the query has ORDER BY. ``reasoning`` is ``rdfs`` or ``owl-rl``: what follows by it is then asked as well. The default
graph contains all that is audited.

Queries are those of a file, so that they may come from anybody: each is checked before it runs, they run read-only in a
process of their own, and one that takes too long is ended and counts as not decided.
"""

from __future__ import annotations

import csv
import multiprocessing
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import pyoxigraph as ox

from kgrag.audit.checks import Check
from kgrag.audit.findings import Audit, AuditFinding, Undecided
from kgrag.audit.suppressions import QUESTION, Suppression, suppress
from kgrag.errors import InputError, InvalidSPARQL, KgragError
from kgrag.late_patterns import late_re
from kgrag.model import Term, plain
from kgrag.ports import Workbench
from kgrag.reasoning.inference import PROFILES, materialise
from kgrag.sparql.gate import check_query
from kgrag.sparql.tokens import tokens
from kgrag.vocab import digest

__all__ = ["CompetencyQuestion", "CompetencyVerdict", "ask_questions", "read_questions", "with_verdicts"]

_HEADER = late_re(r"^#\s*(question|expect|reasoning)\s*:\s*(.*?)\s*$", flags=re.IGNORECASE)
_ROWS = late_re(r"rows\s*(>=|<=|=)?\s*(\d{1,9})$", flags=re.IGNORECASE)
_FORMS = ("ASK", "SELECT", "CONSTRUCT", "DESCRIBE")
_RESULTS = {
    ".tsv": ox.QueryResultsFormat.TSV,
    ".srj": ox.QueryResultsFormat.JSON,
    ".json": ox.QueryResultsFormat.JSON,
    ".srx": ox.QueryResultsFormat.XML,
}
MAX_ROWS_NAMED = 3
"""How many missing or unexpected rows a message lists."""

_Row = tuple[str, ...]
_Answer = bool | tuple[tuple[str, ...], list[tuple[Term | None, ...]]]


@dataclass(frozen=True, slots=True)
class CompetencyQuestion:
    """A question with the expected answer; ``reasoning`` is a profile of rules, or "" for asserted triples only."""

    path: Path
    question: str
    expect: str
    sparql: str
    form: str
    reasoning: str = ""

    @property
    def identifier(self) -> str:
        """Its name in reports."""
        return f"{QUESTION}{self.path.stem}"


@dataclass(frozen=True, slots=True)
class CompetencyVerdict:
    """The outcome of a question: ``found`` is what was found instead, "" when the answer is as expected."""

    question: CompetencyQuestion
    found: str = ""
    decided: bool = True


def read_questions(path: Path) -> tuple[CompetencyQuestion, ...]:
    """Read the questions of a file, or of all ``*.rq`` in a folder, sorted by name.

    Raises:
        InputError: there are none, or one lacks its header.
        InvalidSPARQL: a query names a remote service, or is nested too deep.
    """
    files = sorted(path.glob("*.rq")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} has no competency question. Put files *.rq there.")
    return tuple(_read_question(file) for file in files)


def _read_question(path: Path) -> CompetencyQuestion:
    text = _text(path)
    header = {line[1].lower(): line[2] for text_line in text.splitlines() if (line := _HEADER.match(text_line))}
    for name in ("question", "expect"):
        if not header.get(name):
            raise InputError(f"{path} has no line '# {name}: ...'. Add it: what is asked, and what is expected.")
    reasoning = header.get("reasoning", "")
    if reasoning and reasoning not in PROFILES:
        raise InputError(f"{path}: there is no reasoning '{reasoning}'. Write one of {', '.join(PROFILES)}.")
    try:
        check_query(text)
    except InvalidSPARQL as error:
        raise InvalidSPARQL(f"{path}: {error}") from None
    words = (token.text.upper() for token in tokens(text) if token.kind == "word")
    form = next((word for word in words if word in _FORMS), "")
    question = CompetencyQuestion(path, header["question"], header["expect"], text, form, reasoning)
    _refuse_mismatch(question)
    return question


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}. Name a file of SPARQL, or a folder of them.") from None


def _refuse_mismatch(question: CompetencyQuestion) -> None:
    expect, where = question.expect, question.path
    wants_truth = expect.lower() in ("true", "false")
    wanted = "ASK" if wants_truth else "SELECT"
    if question.form != wanted:
        raise InputError(
            f"{where} expects '{expect}', for which an {wanted} is needed; found {question.form or 'none'}."
        )
    if not wants_truth and not _ROWS.match(expect) and not (where.parent / expect).is_file():
        raise InputError(
            f"{where} expects '{expect}': neither true, false, 'rows N', 'rows >= N' nor a file in its folder."
        )


# --- asking -------------------------------------------------------------------------------------------------------


def ask_questions(
    questions: Sequence[CompetencyQuestion],
    triples: Sequence[ox.Triple],
    *,
    open_bench: Callable[[], Workbench],
    seconds: float = 60.0,
) -> tuple[CompetencyVerdict, ...]:
    """Ask every question of triples.

    Args:
        questions: what is asked.
        triples: the ontology with its data.
        open_bench: opens a scratch store; it is called in another process, so it must be a class or a function of a
            module.
        seconds: the time that one question may take, by the clock.

    Raises:
        InputError: a file of expected rows cannot be read.
        InvalidSPARQL: a query does not parse.
    """
    data_by_profile = {"": list(triples)}
    for profile in sorted({question.reasoning for question in questions} - {""}):
        data_by_profile[profile] = [*triples, *materialise(open_bench(), triples, profile=profile).triples]
    verdicts: list[CompetencyVerdict] = []
    for profile, data in data_by_profile.items():
        with_profile = [question for question in questions if question.reasoning == profile]
        if with_profile:
            verdicts += _verdicts(with_profile, data, open_bench, seconds)
    return tuple(sorted(verdicts, key=lambda verdict: verdict.question.path))


def _verdicts(
    questions: Sequence[CompetencyQuestion],
    triples: Sequence[ox.Triple],
    open_bench: Callable[[], Workbench],
    seconds: float,
) -> Iterator[CompetencyVerdict]:
    process = _QueryProcess(triples, open_bench)
    try:
        for question in questions:
            answer = process.answer(question, seconds)
            if answer is None:
                yield CompetencyVerdict(question, f"it took more than {seconds:g} s", decided=False)
            elif isinstance(answer, str):
                raise InvalidSPARQL(f"{question.path}: {answer}")
            else:
                yield CompetencyVerdict(question, _difference(question, answer))
    finally:
        process.end()


class _QueryProcess:
    """A process that answers queries over some triples; when one is late it is ended, and the next gets a new one."""

    def __init__(self, triples: Sequence[ox.Triple], open_bench: Callable[[], Workbench]) -> None:
        self._data = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b""
        self._open_bench = open_bench
        self._running: tuple[multiprocessing.process.BaseProcess, Connection] | None = None

    def answer(self, question: CompetencyQuestion, seconds: float) -> _Answer | str | None:
        """Return the answer, or why the query failed; None when it is late."""
        _, connection = self._running = self._running or self._started()
        connection.send((question.form, question.sparql))
        try:
            if connection.poll(seconds):
                answer: _Answer | str = connection.recv()
                return answer
        except (EOFError, ConnectionError):
            self.end()
            return "the process that ran it ended, perhaps for want of memory"
        self.end()
        return None

    def _started(self) -> tuple[multiprocessing.process.BaseProcess, Connection]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._data, self._open_bench), daemon=True)
        process.start()
        theirs.close()
        ours.recv()  # its data is loaded, so that loading does not count as a query's time
        return process, ours

    def end(self) -> None:
        """End the process, if there is one."""
        if self._running is not None:
            process, connection = self._running
            self._running = None
            connection.close()
            process.kill()
            process.join()


def _serve(connection: Connection, data: bytes, open_bench: Callable[[], Workbench]) -> None:
    """Answer (form, SPARQL) with the answer, or with the text of an error, until the connection is closed."""
    bench = open_bench()
    bench.fill([ox.Quad(*quad.triple) for quad in ox.parse(data, format=ox.RdfFormat.N_TRIPLES)])
    connection.send(None)
    while True:
        try:
            form, sparql = connection.recv()
        except EOFError:
            return
        try:
            if form == "ASK":
                connection.send(bench.ask(sparql))
            else:
                table = bench.select(sparql)
                connection.send((table.variables, table.rows))
        except KgragError as error:
            connection.send(str(error))


# --- comparing ----------------------------------------------------------------------------------------------------


def _difference(question: CompetencyQuestion, answer: _Answer) -> str:
    """Return what was found instead of the expected answer; "" when they agree."""
    if isinstance(answer, bool):
        wanted = question.expect.lower() == "true"
        return "" if answer is wanted else f"found {str(answer).lower()}"
    names, rows = answer
    if counted := _ROWS.match(question.expect):
        number = int(counted[2])
        fits = {"": len(rows) == number, "=": len(rows) == number, ">=": len(rows) >= number, "<=": len(rows) <= number}
        return "" if fits[counted[1] or ""] else f"found {len(rows)} rows"
    return _rows_differ(question, names, rows)


def _rows_differ(question: CompetencyQuestion, names: _Row, rows: Sequence[tuple[Term | None, ...]]) -> str:
    file = question.path.parent / question.expect
    as_text = file.suffix.lower() == ".csv"
    wanted_names, wanted = _expected(file)
    if set(wanted_names) != set(names):
        return f"found the columns {', '.join(names)}, and {file.name} has {', '.join(wanted_names)}"
    columns = [names.index(name) for name in wanted_names]
    found = [tuple(_key(row[index], as_text=as_text) for index in columns) for row in rows]
    ordered = any(t.kind == "word" and t.text.upper() == "ORDER" for t in tokens(question.sparql))
    missing, more = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    differences = [f"{_some(missing)} missing"] if missing else []
    differences += [f"{_some(more)} not expected"] if more else []
    if not differences and ordered and found != wanted:
        return "found the rows in another order"
    return "; ".join(differences)


def _some(rows: Counter[_Row]) -> str:
    first = [" ".join(row) for row in sorted(rows)[:MAX_ROWS_NAMED]]
    rest = rows.total() - len(first)
    return " | ".join(first) + (f" and {rest} more" if rest > 0 else "")


def _expected(file: Path) -> tuple[_Row, list[_Row]]:
    """Read a file of expected rows."""
    try:
        if file.suffix.lower() == ".csv":
            lines = list(csv.reader(_text(file).splitlines()))
            return tuple(lines[0]), [tuple(line) for line in lines[1:]]
        form = _RESULTS[file.suffix.lower()]
        solutions = ox.parse_query_results(path=file, format=form)
        if isinstance(solutions, ox.QueryBoolean):
            raise InputError(f"{file} contains a truth value. Write 'expect: true' or 'expect: false'.")
        names = tuple(variable.value for variable in solutions.variables)
        return names, [tuple(_key(row[name], as_text=False) for name in names) for row in solutions]
    except (SyntaxError, IndexError, KeyError, ValueError) as error:
        reason = f"{error}" or "it is empty"
        raise InputError(f"{file} contains no expected rows: {reason}. Use .csv, .tsv, .srj, .json or .srx.") from None


def _key(term: Term | None, *, as_text: bool) -> str:
    """Return the text by which two terms are compared; all blank nodes have the same."""
    if isinstance(term, ox.BlankNode):
        return "_:"
    return plain(term) if as_text or term is None else str(term)


# --- reporting ----------------------------------------------------------------------------------------------------


def with_verdicts(
    audit: Audit,
    verdicts: Sequence[CompetencyVerdict],
    *,
    suppressions: Iterable[Suppression] = (),
    baseline: frozenset[str] = frozenset(),
) -> Audit:
    """Return an audit with competency questions: a check for each, and a violation where the answer differs.

    Args:
        audit: the audit of the same target, whose name the findings are about.
        verdicts: the outcomes of the questions.
        suppressions: which findings are accepted; of these, those about questions count.
        baseline: fingerprints of the findings that are known.
    """
    wrong = [_finding(verdict, audit.target) for verdict in verdicts if verdict.decided and verdict.found]
    of_questions = (suppression for suppression in suppressions if suppression.of_question)
    kept = suppress(wrong, of_questions, baseline, today=datetime.now(tz=UTC).date())
    failed = kept.findings
    undecided = [Undecided(v.question.identifier, v.found, asked=True) for v in verdicts if not v.decided]
    counts = dict(audit.counts)
    counts["Violation"] += len(failed)
    counts["suppressed"] += kept.suppressed
    counts["not_decided"] += len(undecided)
    violations = [finding for finding in audit.findings if finding.severity == "Violation"]
    rest = audit.findings[len(violations) :]  # findings are sorted, worst first
    return replace(
        audit,
        counts=counts,
        findings=(*violations, *failed, *rest),
        not_decided=(*audit.not_decided, *undecided),
        unused_suppressions=(*audit.unused_suppressions, *kept.unused),
        totals={**audit.totals, **{finding.check: 1 for finding in failed}},
        checks={**audit.checks, **{v.question.identifier: _check(v.question) for v in verdicts}},
        fingerprints=(*audit.fingerprints, *(finding.fingerprint for finding in failed)),
    )


def _check(question: CompetencyQuestion) -> Check:
    return Check(
        identifier=question.identifier,
        label=question.question,
        severity="Violation",
        file=question.path,
        rationale="A competency question says what the ontology is for.",
        mend="Add to the ontology, or to the data, what the question needs; or correct what is expected.",
        query=question.path.name,
    )


def _finding(verdict: CompetencyVerdict, focus: str) -> AuditFinding:
    question = verdict.question
    return AuditFinding(
        check=question.identifier,
        severity="Violation",
        focus=focus,
        message=f"{question.question} Expected {question.expect}: {verdict.found}.",
        fingerprint=digest("competency", question.identifier, focus),
    )
