"""What a finding about a query rests on: a smallest part of the ontology against which the query is still found so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.ports import Scratch
from kgrag.querying.ontology_check import Finding, Options, build_index, check
from kgrag.reasoning.grounds import Grounds
from kgrag.reasoning.justification import smallest
from kgrag.reasoning.nearness import by_nearness
from kgrag.reasoning.proofs import Statement, statements_of
from kgrag.sparql.query_reader import read

__all__ = ["grounds_of_query"]


def grounds_of_query(
    query: str,
    triples: Sequence[ox.Triple],
    *,
    open_scratch: Callable[[], Scratch],
    options: Options | None = None,
    seconds: float = 60.0,
) -> list[Grounds]:
    """Return, for each finding about a query that an ontology gives rise to, what it rests on (OBQC, section 3.1).

    Args:
        query: SPARQL.
        triples: the ontology.
        open_scratch: returns a small store in memory.
        options: of the check.
        seconds: the time that each finding may take, by the clock.

    Raises:
        NotDecided: the time is up.
    """
    distinct = list(dict.fromkeys(triples))
    found = check(query, build_index(distinct), open_scratch=open_scratch, options=options)
    near = statements_of(by_nearness(distinct, _iris(query)))
    grounds = []
    for finding in found.findings:
        wanted = _key(finding)

        def still_found(part: Sequence[Statement], wanted: tuple[str, ...] = wanted) -> bool:
            index = build_index(triple for statement in part for triple in statement)
            again = check(query, index, open_scratch=open_scratch, options=options)
            return any(_key(each) == wanted for each in again.findings)

        stated = [] if still_found(()) else smallest(near, still_found, until=time.monotonic() + seconds)
        grounds.append(Grounds(finding.rule, finding.message, tuple(stated or ()), query))
    return grounds


def _iris(query: str) -> set[ox.NamedNode]:
    """Return the IRIs in the patterns of a query; none where it cannot be read, which is a finding too."""
    try:
        patterns = read(query).patterns
    except InvalidSPARQL:
        return set()
    terms = {term for pattern in patterns for term in (pattern.subject, pattern.predicate, pattern.object)}
    return {term for term in terms if isinstance(term, ox.NamedNode)}


def _key(finding: Finding) -> tuple[str, ...]:
    return finding.rule, finding.message, finding.subject, finding.predicate, finding.object
