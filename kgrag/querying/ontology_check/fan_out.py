"""Aggregates that a join multiplies, proven in the data: the same query with each value once gives another result.

The text of the query's own group is run twice: as it is, and with only the distinct combinations of the groups, the
values and the subjects that have them. Where no name in the query stands for such a subject (a step of a path, ``[]``),
the subject that leads to it takes its place, if the steps between lead to at most one each in the data. What cannot be
run in time, or has too many groups, is not reported. Query asked: ``obqc_data/several``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.model import Term, plain
from kgrag.querying.ontology_check.data_graph import DataView
from kgrag.sparql.syntax import Aggregate, Blank, Pattern, Query, Variable
from kgrag.sparql.syntax import Term as ReadTerm
from kgrag.vocab import RDF

__all__ = ["FanOut", "fan_out"]

_ADDING = frozenset({"SUM", "AVG", "COUNT"})
_RESULT = "?kgragValue"


@dataclass(frozen=True, slots=True)
class FanOut:
    """What an aggregate gives, what it gives with each value once ("" for many groups), and what to write instead."""

    value: str
    once: str
    remedy: str


def fan_out(query: Query, aggregate: Aggregate, view: DataView) -> FanOut | None:
    """Return how the data show that rows of an aggregate are multiplied; None when they do not show it."""
    joined = [pattern for pattern in query.patterns if pattern.predicate != RDF.type]
    if aggregate.distinct or aggregate.name not in _ADDING or not aggregate.variables or len(joined) < 2:
        return None
    steps: set[ox.NamedNode] = set()
    keys = _keys(query, aggregate, steps)
    if keys is None:
        return None
    text, names = query.text, " ".join(f"?{variable.name}" for variable in keys)
    call = text[aggregate.place.start : aggregate.place.end]
    body = text[aggregate.where.start : aggregate.where.end]
    tail = text[aggregate.grouping.start : aggregate.grouping.end] if aggregate.grouping else ""
    head = "".join(f"PREFIX {prefix}: <{space}>\n" for prefix, space in query.prefixes.items())
    column = f"({call} AS {_RESULT})"
    head += f"SELECT {column} WHERE "
    distinct = f"{{ SELECT DISTINCT {names} WHERE "
    values, once = (view.rows(f"{head}{group} {tail}") for group in (body, f"{distinct}{body} }}"))
    if values is None or once is None or _same(values, once):
        return None
    if aggregate.name == "COUNT" and aggregate.grouping and all(_number(row[0]) == 1 for row in once):
        return None  # one thing per group: it is the rows that are counted
    if any(view.ask("several", p=step) for step in sorted(steps, key=str)):
        return None
    entity = aggregate.name == "COUNT" and set(keys) - set(aggregate.grouped) == set(aggregate.variables)
    remedy = call.replace("(", "(DISTINCT ", 1) if entity else f"WHERE {distinct}{{ … }} }}"
    single = not aggregate.grouping
    return FanOut(_shown(values) if single else "", _shown(once) if single else "", remedy)


def _keys(query: Query, aggregate: Aggregate, steps: set[ox.NamedNode]) -> list[Variable] | None:
    """Return what makes a value one: groups, subjects and values; None when a subject has no name.

    What COUNT counts is one by itself when the query describes it. ``steps`` gets the properties that lead from a
    subject with a name to one without.
    """
    objects = {pattern.object for pattern in query.patterns}
    values = list(aggregate.variables)
    for variable in aggregate.variables:
        if variable not in objects:  # given by BIND or VALUES: what it is made of
            values += [each for join in query.joins if variable in join for each in join]
    subjects = {pattern.subject for pattern in query.patterns} if aggregate.name == "COUNT" else set()
    keys = dict.fromkeys([*aggregate.grouped, *values])
    for pattern in query.patterns:
        if pattern.object in values and pattern.object not in subjects:
            subject = _named(query, pattern, steps)
            if subject is None:
                return None
            keys |= {subject: None} if isinstance(subject, Variable) else {}
    return list(keys)


def _named(query: Query, pattern: Pattern, steps: set[ox.NamedNode]) -> ReadTerm | None:
    """Return the subject of a pattern; of one without a name, the subject that leads to it."""
    seen: set[ReadTerm] = set()
    while isinstance(pattern.subject, Blank) and pattern.subject not in seen:
        seen.add(pattern.subject)
        above = [each for each in query.patterns if each.object == pattern.subject]
        if len(above) != 1 or not isinstance(above[0].predicate, ox.NamedNode) or above[0].path in ("*", "+", "?"):
            return None
        pattern = above[0]
        steps.add(above[0].predicate)
    return None if isinstance(pattern.subject, Blank) else pattern.subject


def _same(values: Sequence[Sequence[Term | None]], once: Sequence[Sequence[Term | None]]) -> bool:
    one, other = (sorted(map(_number, (row[0] for row in rows))) for rows in (values, once))
    return len(one) == len(other) and all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(one, other, strict=True))


def _number(term: Term | None) -> float:
    """Return a value as a number; what is none (unbound, an error) is as good as 0 in both results."""
    try:
        return float(plain(term))
    except ValueError:
        return 0.0


def _shown(rows: Sequence[Sequence[Term | None]]) -> str:
    return plain(rows[0][0]) if rows else ""
