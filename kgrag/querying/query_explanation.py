"""Explains a query by its patterns: how many statements each matches by itself, and how many the data profile expects.

The engine does not tell in which order it takes the patterns, so they are listed as they are written. Each is counted
by a query of its own, up to ``MAX_COUNTED`` and within its share of the time: an empty pattern shows why a query finds
nothing, one with very many why it is slow.

Queries read: ``explain/count``, ``profile/terms``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

import pyoxigraph as ox

from kgrag.sparql.placed_patterns import PlacedPattern, placed_patterns
from kgrag.sparql.syntax import Blank, Pattern, Term, Variable
from kgrag.vocab import KGV, RDF

__all__ = ["MAX_COUNTED", "SECONDS_PER_PATTERN", "PatternCount", "counted", "explained", "planned"]

MAX_COUNTED = 100_000
"""Statements of a pattern that are counted at most."""
SECONDS_PER_PATTERN = 2.0
"""How long one pattern may be counted."""
Parameters: TypeAlias = Mapping[str, Any]
_MAX_PATTERNS = 50
_MAX_CHARACTERS = 200
_PARTS_OF_LISTS: Mapping[Term, str] = {RDF.first: "rdf:first", RDF.rest: "rdf:rest", RDF.nil: "()"}
_WITHIN = ("optional", "union", "minus", "exists", "not exists", "graph", "subselect", "lateral", "service")


@dataclass(frozen=True, slots=True)
class PatternCount:
    """What one pattern of a query matches by itself.

    Attributes:
        text: the pattern, with its parts as they are written.
        line: of its property, from 1.
        column: of its property, from 1.
        start: where its property begins in the query.
        end: where its property ends.
        within: what it is in, from outside: "OPTIONAL", "GRAPH" ...; "PATH +" where it is one step of a path.
        expected: how many statements the data profile expects; None where it has no figure.
        matches: how many were counted; None where that is not known.
        counted: "whole"; "limit": there are more than were counted; "time": it took too long; "not" (``why``).
        why: why it was not counted.
    """

    text: str
    line: int
    column: int
    start: int
    end: int
    within: tuple[str, ...] = ()
    expected: int | None = None
    matches: int | None = None
    counted: Literal["whole", "limit", "time", "not"] = "not"
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self) | {"within": list(self.within)}


def explained(
    sparql: str,
    prefixes: Mapping[str, str],
    *,
    count: Callable[..., int],
    uses: Iterable[tuple[str, str, str]],
    seconds: float,
) -> list[PatternCount]:
    """Return the counts of the patterns of a query.

    Args:
        sparql: the query; it is not run.
        prefixes: those that it may use without declaring them.
        count: returns what ``explain/count`` finds for its parameters.
        uses: rows of ``profile/terms``.
        seconds: how long all counts may take together; what is left then is not counted.

    Raises:
        InvalidSPARQL: the query cannot be read.
    """
    found, end = [], time.monotonic() + seconds
    for each, values in planned(sparql, prefixes, uses):
        if values is None:
            found.append(each)
        else:
            found.append(counted(each, count(**values) if time.monotonic() < end else None))
    return found


def planned(
    sparql: str, prefixes: Mapping[str, str], uses: Iterable[tuple[str, str, str]]
) -> list[tuple[PatternCount, Parameters | None]]:
    """Return each pattern, not yet counted, with the parameters of ``explain/count``, None where it cannot be counted.

    Raises:
        InvalidSPARQL: the query cannot be read.
    """
    known = {(kind, term): int(figure) for term, kind, figure in uses}
    placed = placed_patterns(sparql, prefixes)
    searches = _parts_of_searches(placed)
    shown = [each for each in placed if not _is_list_part(each.pattern, searches)]
    shown.sort(key=lambda each: each.pattern.places[1].start)
    return [
        _planned(sparql, each, known, refused="more patterns are before it" if number >= _MAX_PATTERNS else "")
        for number, each in enumerate(shown)
    ]


def counted(pattern: PatternCount, found: int | None) -> PatternCount:
    """Return a pattern with what was counted; None: that took too long."""
    if found is None:
        return replace(pattern, counted="time")
    if found > MAX_COUNTED:
        return replace(pattern, counted="limit", matches=MAX_COUNTED)
    return replace(pattern, counted="whole", matches=found)


def _planned(
    sparql: str, placed: PlacedPattern, known: Mapping[tuple[str, str], int], *, refused: str
) -> tuple[PatternCount, Parameters | None]:
    pattern = placed.pattern
    terms = (pattern.subject, pattern.predicate, pattern.object)
    text = " ".join(_written(term, sparql[at.start : at.end]) for term, at in zip(terms, pattern.places, strict=True))
    within = [scope.kind.upper() for scope in pattern.context if scope.kind in _WITHIN]
    within += [f"PATH {pattern.path}"] if pattern.path in ("+", "*", "?") else []
    place = pattern.places[1]
    figures = PatternCount(
        text, place.line, place.column, place.start, place.end, tuple(within), _expected(pattern, known)
    )
    why = refused or _uncountable(pattern)
    if why:
        return replace(figures, why=why), None
    if placed.graphs == ():  # nothing that FROM names is there
        return figures, _parameters(pattern, placed, [ox.NamedNode("urn:kgrag:no-graph")])
    return figures, _parameters(pattern, placed, list(placed.graphs or ()))


def _written(term: Term, text: str) -> str:
    """Return a part of a pattern as it is written; what the reader made of a list or of brackets, in short."""
    if isinstance(term, Blank):
        return "(…)" if text.startswith("(") else "[]" if text[:1] in "[" and term.label.startswith(".") else text
    if term in _PARTS_OF_LISTS and ":" not in text:
        return _PARTS_OF_LISTS[term]
    text = " ".join(text.split())
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]} …"


def _parameters(pattern: Pattern, placed: PlacedPattern, graphs: Sequence[ox.NamedNode]) -> Parameters:
    def constant(term: object) -> list[Any]:
        return [] if isinstance(term, Variable | Blank) else [term]

    return {
        "subjects": constant(pattern.subject),
        "predicates": constant(pattern.predicate),
        "objects": constant(pattern.object),
        "graphs": list(graphs),
        "merged": int(placed.merged),
        "repeated": int(pattern.subject == pattern.object),
        "limit": MAX_COUNTED + 1,
    }


def _uncountable(pattern: Pattern) -> str:
    if isinstance(pattern.predicate, ox.NamedNode) and pattern.predicate.value.startswith(KGV.prefix):
        return "a search, which is run before the patterns"
    if pattern.path == "!":
        return "a path by other properties than some"
    if any(isinstance(end, ox.Literal) for end in (pattern.subject, pattern.predicate)):
        return "a text is no subject"
    if isinstance(pattern.predicate, Variable) and pattern.predicate in (pattern.subject, pattern.object):
        return "the property is the same variable as another part"
    return ""


def _expected(pattern: Pattern, known: Mapping[tuple[str, str], int]) -> int | None:
    """Return what the data profile has: things of a class, statements of a property."""
    if not isinstance(pattern.predicate, ox.NamedNode) or not isinstance(pattern.subject, Variable | Blank):
        return None
    if pattern.predicate == RDF.type and isinstance(pattern.object, ox.NamedNode):
        return known.get(("class", pattern.object.value))
    return known.get(("property", pattern.predicate.value)) if isinstance(pattern.object, Variable | Blank) else None


def _parts_of_searches(placed: Sequence[PlacedPattern]) -> set[Blank]:
    """Return the nodes of the lists that searches take and return."""
    ends = [(each.pattern.subject, each.pattern.predicate, each.pattern.object) for each in placed]
    found = {
        node
        for subject, predicate, value in ends
        if isinstance(predicate, ox.NamedNode) and predicate.value.startswith(KGV.prefix)
        for node in (subject, value)
        if isinstance(node, Blank)
    }
    rests = {subject: value for subject, predicate, value in ends if predicate == RDF.rest}
    for node in list(found):
        following = rests.get(node)
        while isinstance(following, Blank) and following not in found:
            found.add(following)
            following = rests.get(following)
    return found


def _is_list_part(pattern: Pattern, searches: set[Blank]) -> bool:
    return pattern.subject in searches and pattern.predicate in (RDF.first, RDF.rest)
