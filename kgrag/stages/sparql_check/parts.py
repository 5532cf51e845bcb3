"""Parts of a query that share no variable."""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from kgrag.stages.sparql_reader import Pattern, Query, Scope, Variable
from kgrag.stages.sparql_reader import Term as ReadTerm

__all__ = ["separate"]


def separate(query: Query) -> list[tuple[int, int]]:
    """Give (first pattern of the query, first pattern of another part) where nothing connects the two.

    Variables, blank nodes and IRIs connect, and so do FILTER, BIND and patterns inside OPTIONAL, UNION or a sub-select.
    Only patterns that hold for certain, of the same SELECT, are called separate: a sub-select beside the rest is as a
    rule a single row on purpose. [] for a query with triple terms, which connect as well and are not read.
    """
    if query.triple_terms:
        return []
    leaders = _Leaders()
    for pattern in query.patterns:
        leaders.join(_ends(pattern))
    for each in query.filters:
        leaders.join(list(each.variables))
    leaders.join([use.variable for use in query.uses if use.clause == "BIND"])
    leaders.join([each.variable for each in query.inline if each.variable is not None])
    found: list[tuple[int, int]] = []
    for numbers in _regions(query):
        firsts: dict[ReadTerm, int] = {}
        for number in numbers:
            firsts.setdefault(leaders.of(_ends(query.patterns[number])[0]), number)
        first, *others = firsts.values()
        found += [(first, other) for other in others]
    return found


def _ends(pattern: Pattern) -> list[ReadTerm]:
    terms: list[ReadTerm] = [pattern.subject]
    if isinstance(pattern.predicate, Variable):
        terms.append(pattern.predicate)
    if not isinstance(pattern.object, ox.Literal):
        terms.append(pattern.object)
    return terms


def _regions(query: Query) -> Iterator[list[int]]:
    """Yield the patterns, by number, that hold for certain in one SELECT."""
    regions: dict[tuple[Scope, ...], list[int]] = {}
    for number, pattern in enumerate(query.patterns):
        if not pattern.unless:
            region = tuple(scope for scope in pattern.context if scope.kind == "subselect")
            regions.setdefault(region, []).append(number)
    yield from regions.values()


class _Leaders:
    """Union-find over terms."""

    def __init__(self) -> None:
        self._up: dict[ReadTerm, ReadTerm] = {}

    def of(self, term: ReadTerm) -> ReadTerm:
        while (up := self._up.get(term, term)) != term:
            self._up[term] = self._up.get(up, up)
            term = up
        return term

    def join(self, terms: list[ReadTerm]) -> None:
        for term in terms[1:]:
            self._up[self.of(term)] = self.of(terms[0])
