"""Why a query finds nothing: it is run again without each of its patterns and filters in turn, then without pairs.

What gives rows when it is left out does not fit the data; the values that are in its place are looked up and named, so
that whoever reads the explanation can write what fits.

Patterns in OPTIONAL, UNION, MINUS and EXISTS cannot make a query empty by themselves and are kept, and so is what
is written in square brackets or with a comma.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from textwrap import shorten

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.model import plain
from kgrag.querying.ontology_check import DataView, OntologyIndex
from kgrag.querying.ontology_check.data_hints import class_hint
from kgrag.querying.ontology_check.query_graph import parts
from kgrag.querying.ontology_check.repairs import applied
from kgrag.querying.text_to_sparql.row_evidence import Execution
from kgrag.sparql.query_reader import read
from kgrag.sparql.syntax import Blank, Edit, Pattern, Query
from kgrag.text.sentences import content_words
from kgrag.vocab import RDF

__all__ = ["CANNOT_COMPUTE", "EmptyResult", "explained"]

CANNOT_COMPUTE = (
    "Its expression has no value for the values that the data have: a date less another is a duration, which AVG and "
    "SUM cannot add up, and text is no number. Convert them first, as with YEAR(), MONTH() and DAY(), or xsd:decimal()."
)
"""What to write where a query computes something that has no value."""
_MAX_LEFT_OUT = 12
_MAX_TOLD = 3
_MAX_PAIRS = 15
"""Pairs of patterns and filters that are left out together, at most, where no single one is enough."""
_MAX_VALUES_READ = 200
_MAX_VALUES_TOLD = 5
_MAX_VALUE_CHARACTERS = 80
_VALUE = "kgragValue"
"""The variable that takes the place of a constant."""
_VARIABLE = late_re(r"[?$](\w+)")


@dataclass(frozen=True, slots=True)
class EmptyResult:
    """Why a query finds nothing.

    ``reasons`` has a sentence for each omission that gives rows, or one that there is none. ``mended`` is the query
    without the pattern that is certain to be too much, "" without such a one, and ``note`` says what was left out.
    """

    reasons: tuple[str, ...]
    mended: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Omission:
    """A query without one of its patterns or filters, what that was, and a query for the values that would fit."""

    written: str
    text: str
    pattern: Pattern | None = None
    values: str = ""
    variable: str = ""


def explained(
    sparql: str, index: OntologyIndex, view: DataView, *, run: Callable[..., Execution], rows: int, seconds: float
) -> EmptyResult:
    """Return which patterns and filters of a query the data do not meet.

    Args:
        sparql: a query that ran and found nothing.
        index: the ontologies.
        view: what the data have.
        run: runs a query in a process of its own.
        rows: the most rows that are counted.
        seconds: how long all the runs may take together.
    """
    query, ends = read(sparql), time.monotonic() + seconds
    found: list[tuple[_Omission, int, bool]] = []
    tried = 0
    for omission in list(_omissions(query))[:_MAX_LEFT_OUT]:
        left = ends - time.monotonic()
        if left <= 0:
            break
        execution = run(omission.text, rows=rows, seconds=left)
        tried += not execution.problem
        if not execution.problem and not execution.empty:
            found.append((omission, len(execution.rows), execution.truncated))
    timed = partial(_within, run=run, ends=ends)
    if not found:
        return EmptyResult(tuple(_not_computed(query, timed) or _without_pairs(query, tried, timed)))
    reasons = [
        f"Without `{omission.written}` the query gives {'at least ' if more else ''}{count:,} "
        f"row{'' if count == 1 else 's'}{_because(query, omission, index, view) or _fitting(omission, timed)}."
        for omission, count, more in found[:_MAX_TOLD]
    ]
    omission = found[0][0]
    follows = _follows(query, omission.pattern, index, view) if len(found) == 1 else ""
    if not follows:
        return EmptyResult(tuple(reasons))
    note = f"`{omission.written}` was left out: no thing in the data has that class, and it is {follows}."
    return EmptyResult(tuple(reasons), omission.text, note)


def _within(sparql: str, *, run: Callable[..., Execution], ends: float, rows: int = 2) -> Execution:
    left = ends - time.monotonic()
    return run(sparql, rows=rows, seconds=left) if left > 0 else Execution(problem="there is no time left")


def _without_pairs(query: Query, tried: int, run: Callable[..., Execution]) -> Iterator[str]:
    """Yield what leaving out two patterns or filters gives, where one alone gives nothing."""
    single = list(_omissions(query))[:_MAX_LEFT_OUT]
    if not tried:
        return
    shown = "; ".join(f"`{one.written}`" for one in single[:tried])
    yield (
        f"Of {tried} that were tried, leaving out one pattern or filter alone gives no row either, so at least two do "
        f"not fit the data. Tried were: {shown}."
    )
    # filters are too narrow more often than patterns are wrong
    pairs = sorted(combinations(single, 2), key=lambda pair: sum(one.pattern is not None for one in pair))
    told = failed = 0
    for first, second in pairs[:_MAX_PAIRS]:
        both = next((one for one in _omissions(read(first.text)) if one.written == second.written), None)
        if both is None or told == _MAX_TOLD:
            continue
        execution = run(both.text)
        failed += bool(execution.problem)
        if not execution.problem and not execution.empty:
            told += 1
            fitting = "".join(_fitting(one, run) for one in (replace(first, values=_values_of(both, first)), both))
            yield f"Without `{first.written}` and `{second.written}` together it gives rows{fitting}."
    if failed:
        yield f"{failed} pairs could not be tried in the time that a query has."


def _values_of(omission: _Omission, other: _Omission) -> str:
    """Return a query for the values of another omission's variable, in what an omission leaves."""
    return _selecting(omission.text, other.variable) if other.variable and other.pattern is None else ""


def _fitting(omission: _Omission, run: Callable[..., Execution]) -> str:
    """Return the values that stand in the place of what was left out, as the end of a sentence; "" for none."""
    if not omission.values:
        return ""
    rows = run(omission.values, rows=_MAX_VALUES_READ).rows
    values = list(dict.fromkeys(plain(row[0]) for row in rows if row and row[0] is not None))
    wanted = set(content_words(omission.written))
    values.sort(key=lambda value: (-len(wanted.intersection(content_words(value))), value))
    if not values:
        return ""
    shown = ", ".join(f'"{shorten(value, _MAX_VALUE_CHARACTERS)}"' for value in values[:_MAX_VALUES_TOLD])
    more = f" and {len(values) - _MAX_VALUES_TOLD:,} more" if len(values) > _MAX_VALUES_TOLD else ""
    place = f"?{omission.variable}" if omission.variable != _VALUE else "the value"
    return f"; there {place} is {shown}{more}"


def _selecting(text: str, variable: str) -> str:
    """Return a query with one variable selected, not grouped; "" for a query that selects in another way."""
    query = read(text)
    plain_rows = query.columns is not None and query.where is not None and not query.aggregates
    if not plain_rows or query.form != "SELECT" or any(use.clause == "GROUP BY" for use in query.uses):
        return ""
    assert query.columns is not None and query.where is not None
    return f"{text[: query.columns.start]}DISTINCT ?{variable} {text[query.columns.end : query.where.end]}"


def _omissions(query: Query) -> Iterator[_Omission]:
    """Yield the query without each pattern (a path as a whole) and filter; only what can still be read."""
    for steps in _statements(query):
        omission = _without(query, steps)
        if omission is not None and _reads(omission.text):
            yield omission
    for each in query.filters:
        if each.clause == "FILTER" and all(scope.kind in ("group", "graph", "subselect") for scope in each.context):
            text = applied(query.text, [Edit(each.place.start, each.place.end, "(true)")])
            written = " ".join(query.text[each.place.start : each.place.end].split())
            if _reads(text):
                variable = next(iter(_VARIABLE.findall(written)), "")
                values = _selecting(text, variable) if variable else ""
                yield _Omission(f"FILTER {written}", text, values=values, variable=variable)


def _statements(query: Query) -> list[list[Pattern]]:
    """Return the required patterns; those of one path together."""
    statements: list[list[Pattern]] = []
    for pattern in query.patterns:
        if pattern.unless:
            continue
        before = statements[-1][-1] if statements else pattern
        shared = isinstance(pattern.subject, Blank) and pattern.subject in (before.subject, before.object)
        if shared and before is not pattern and pattern.path and before.path:
            statements[-1].append(pattern)
        else:
            statements.append([pattern])
    return statements


def _without(query: Query, steps: list[Pattern]) -> _Omission | None:
    """Return the query without a statement, and without the semicolon or full stop that goes with it."""
    text = query.text
    start, end = min(each.places[1].start for each in steps), max(place.end for each in steps for place in each.places)
    while text[start - 1] in "^!(":
        start -= 1
    subject = min((each.places[0] for each in steps), key=lambda place: place.start)
    if any(each.path == "^" for each in steps):
        subject = min((each.places[2] for each in steps), key=lambda place: place.start)
    name, before, after = text[subject.start : subject.end], text[:start].rstrip(), text[end:].lstrip()
    if name in "[(" or text[end - 1] in "[(" or before.endswith(",") or after.startswith(",") or subject.start > start:
        return None
    stop = len(text) - len(after)
    if after.startswith(";"):
        cut = Edit(start, stop + 1, "")
    elif before.endswith(";"):
        cut = Edit(len(before) - 1, end, "")
    else:
        cut = Edit(subject.start, stop + after.startswith("."), "")
    written = " ".join(f"{name} {text[start:end]}".split())
    pattern, values = (steps[0] if len(steps) == 1 else None), ""
    if pattern is not None and not pattern.path and isinstance(pattern.object, ox.NamedNode | ox.Literal):
        place = pattern.places[2]
        other = applied(text, [Edit(place.start, place.end, f"?{_VALUE}")])
        values = _selecting(other, _VALUE) if pattern.predicate != RDF.type and _reads(other) else ""
    return _Omission(written, applied(text, [cut]), pattern, values, _VALUE if values else "")


def _reads(text: str) -> bool:
    """Whether a text is a query without problems, of parts that are still joined."""
    try:
        query = read(text)
    except InvalidSPARQL:
        return False
    return not query.problems and not parts(query)


def _not_computed(query: Query, timed: Callable[..., Execution]) -> list[str]:
    """Return that a query without a row of values computes what has none, where its patterns match."""
    head = "".join(f"PREFIX {prefix}: <{space}>\n" for prefix, space in query.prefixes.items())
    for one in query.aggregates:
        columns = " ".join(f"?{variable.name}" for variable in one.variables)
        body = query.text[one.where.start : one.where.end]
        matched = timed(f"{head}SELECT {columns} WHERE {body}") if columns else Execution()
        if not matched.problem and not matched.empty:
            written = " ".join(query.text[one.place.start : one.place.end].split())
            return [f"Its patterns match rows, but `{written}` has no value. {CANNOT_COMPUTE}"]
    return []


def _because(query: Query, omission: _Omission, index: OntologyIndex, view: DataView) -> str:
    """Return what the data have of a pattern's class or property, as the end of a sentence."""
    pattern = omission.pattern
    if pattern is None or not isinstance(pattern.predicate, ox.NamedNode):
        return ""
    if pattern.predicate != RDF.type:
        return "" if view.ask("used", p=pattern.predicate) else "; nothing in the data has that property"
    if not isinstance(pattern.object, ox.NamedNode):
        return ""
    reasons = {
        "none": "; no thing in the data has that class",
        "subclasses": "; only things of its subclasses are in the data",
    }
    reason = reasons.get(view.instances(index, pattern.object.value), "; the things found have another class")
    hint = class_hint(query, pattern, view.profile())
    return f"{reason}. {hint.rstrip('.')}" if hint else reason


def _follows(query: Query, pattern: Pattern | None, index: OntologyIndex, view: DataView) -> str:
    """Return from which range the class of a type pattern follows, "" when it does not or the data have the class."""
    if pattern is None or pattern.predicate != RDF.type or not isinstance(pattern.object, ox.NamedNode):
        return ""
    wanted = pattern.object.value
    for each in query.patterns if view.instances(index, wanted) == "none" else ():
        if each.object == pattern.subject and isinstance(each.predicate, ox.NamedNode) and not each.unless:
            classes = [name for alternative in index.range(each.predicate.value) for name in alternative]
            if classes and all(wanted in index.ancestors(name) for name in classes) and not each.free_ends:
                return f"the range of `{query.text[each.places[1].start : each.places[1].end]}`"
    return ""
