"""The constants of a query that a check looks at by themselves: those offered to a variable, and ill-typed literals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.sparql.syntax import Place, Query, Scope, Variable, unless
from kgrag.store.value_spaces import is_value_of
from kgrag.vocab import RDF, XSD

__all__ = ["IllTyped", "Offer", "ill_typed", "offered_classes", "offered_properties", "offers"]

_EXAMPLES = {
    "boolean": "true",
    "date": "2020-01-31",
    "dateTime": "2020-01-31T12:00:00",
    "dateTimeStamp": "2020-01-31T12:00:00Z",
    "time": "12:00:00",
    "gYear": "2020",
    "gYearMonth": "2020-01",
    "gMonth": "--01",
    "gMonthDay": "--01-31",
    "gDay": "---31",
    "duration": "P1Y2M3DT4H",
    "dayTimeDuration": "P3DT4H",
    "yearMonthDuration": "P1Y2M",
    "decimal": "1.5",
    "double": "1.5E0",
    "float": "1.5E0",
    "hexBinary": "0F",
    "base64Binary": "Zm9v",
    "language": "en",
    **dict.fromkeys(("negativeInteger", "nonPositiveInteger"), "-1"),
    **dict.fromkeys(("NCName", "NMTOKEN", "Name", "normalizedString", "token"), "a"),
}


@dataclass(frozen=True, slots=True)
class Offer:
    """A constant that VALUES gives a variable, or that a FILTER wants it to equal (``compared``).

    ``alone``: there is no other, so that the query has no row without it. ``unless`` is as that of a pattern.
    """

    variable: Variable
    term: ox.NamedNode | ox.Literal
    place: Place
    alone: bool
    compared: bool
    unless: tuple[Scope, ...]


@dataclass(frozen=True, slots=True)
class IllTyped:
    """A literal whose text is none of its datatype, and one that is."""

    literal: ox.Literal
    place: Place
    example: ox.Literal


def offers(query: Query) -> list[Offer]:
    """Return the constants offered to variables by VALUES, ``=`` and IN; a FILTER with ``!`` offers none."""
    found = [(each.variable, each.term, each.place, each.context, False) for each in query.inline if each.variable]
    for each in query.filters:
        for compared in () if each.denies else each.comparisons:
            if compared.operator in ("=", "in"):
                found += [(compared.variable, term, compared.place, each.context, True) for term in compared.constants]
    counts = Counter((variable, context) for variable, _, _, context, _ in found)
    return [
        Offer(variable, term, place, counts[variable, context] == 1 and not unless(context), compared, unless(context))
        for variable, term, place, context, compared in found
    ]


def offered_classes(query: Query) -> list[str]:
    """Return the IRIs that are offered to a variable in the place of a class."""
    wanted = {pattern.object for pattern in query.patterns if pattern.predicate == RDF.type and not pattern.free_ends}
    return _offered(query, wanted)


def offered_properties(query: Query) -> list[str]:
    """Return the IRIs that are offered to a variable in the place of a property."""
    return _offered(query, {pattern.predicate for pattern in query.patterns})


def _offered(query: Query, variables: Set[object]) -> list[str]:
    found = (each.term for each in offers(query) if each.variable in variables)
    return list(dict.fromkeys(term.value for term in found if isinstance(term, ox.NamedNode)))


def ill_typed(query: Query) -> Iterator[IllTyped]:
    """Yield the literals, of patterns, VALUES and expressions, that no value of their datatype is written as."""
    written: list[tuple[object, Place]] = [(each.object, each.places[2]) for each in query.patterns]
    written += [(each.term, each.place) for each in query.inline]
    written += [(term, each.place) for one in query.filters for each in one.comparisons for term in each.constants]
    seen: set[object] = set()
    for term, place in written:
        if isinstance(term, ox.Literal) and term not in seen and not is_value_of(term, term.datatype):
            seen.add(term)
            text = _EXAMPLES.get(term.datatype.value.removeprefix(XSD.prefix), "1")
            yield IllTyped(term, place, ox.Literal(text, datatype=term.datatype))
