"""SELECTs of shapes over literals as they were written, where the store keeps them by their value.

The store has 1 for ``"01"^^xsd:integer`` and ``"1"^^xsd:int``. A SELECT that only compares such values, or calculates
with them, has the same rows either way; one that reads their text or datatype, joins by them or counts them has not. It
is run by rdflib, on the statements that it reads with their literals as they were written.

Query: ``shacl/statements``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidRDF
from kgrag.model import Term
from kgrag.ports import TripleStore
from kgrag.shacl.components import is_kept_as_integer
from kgrag.shacl.written_literals import Written
from kgrag.sparql.syntax import Filter, Pattern, Query, Scope, Variable
from kgrag.store.rdflib_copies import rdflib_copy
from kgrag.vocab import XSD

__all__ = ["WrittenSelect", "written_select"]

_BY_VALUE = frozenset(
    {
        *(
            "ABS",
            "BOUND",
            "CEIL",
            "COALESCE",
            "DAY",
            "FLOOR",
            "HOURS",
            "IF",
            "ISBLANK",
            "ISIRI",
            "ISLITERAL",
            "ISNUMERIC",
        ),
        *("ISURI", "MINUTES", "MONTH", "NOW", "ROUND", "SECONDS", "TIMEZONE", "TZ", "YEAR"),
    }
)
"""Functions whose result does not depend on how a value was written."""
_Rows = list[dict[str, Term | None]]


@dataclass(frozen=True, slots=True)
class WrittenSelect:
    """How a SELECT is run where literals were changed.

    ``exact``: on the statements as they were written, of ``properties`` (() = all). Otherwise it is run on the store,
    and ``returned`` are the properties by which ``?value`` is a value of ``$this``.
    """

    exact: bool = False
    properties: tuple[ox.NamedNode, ...] = ()
    returned: tuple[ox.NamedNode, ...] = ()

    def rows(
        self, select: str, store: TripleStore, merged: Sequence[ox.NamedNode], written: Written, shape: str
    ) -> _Rows:
        """Return the rows of a SELECT on the statements as they were written.

        Raises:
            InvalidRDF: rdflib cannot run it.
        """
        asked = queries.bind("shacl/statements", properties=list(self.properties), merged=merged)
        try:
            graph = rdflib_copy(written.restored(store.construct(asked)))
            found = graph.query(select)
            return [{name: _term(value) for name, value in row.asdict().items()} for row in found]  # type: ignore[union-attr]
        except Exception as error:  # rdflib raises many kinds
            raise InvalidRDF(
                f"shape {shape}: sh:select reads how literals were written, and rdflib, which knows, failed: {error}"
            ) from error

    def restored(self, row: dict[str, Term | None], written: Written) -> dict[str, Term | None]:
        """Return a row of the store with its ``?value`` as it was written."""
        for name in self.returned:
            known = written.literals.get((row.get("this"), name, row.get("value")))
            if known:
                return {**row, "value": known[0]}
        return row


def written_select(select: str, written: Written, shape: str) -> WrittenSelect:
    """Return how a SELECT is to be run on the union of some graphs.

    Raises:
        InvalidRDF: its rows depend on which integers were written with a type that the store does not keep, and that is
            not known.
    """
    from kgrag.sparql.query_reader import read

    query = read(select)
    types = {term for term in _constants(query) if isinstance(term, ox.NamedNode) and is_kept_as_integer(term)}
    if types and not written.whole:
        raise InvalidRDF(
            f"shape {shape}: its SPARQL names {min(map(str, types))}, and the store doesn't know after an update which "
            "integers were written so. Load the graph from a file, or validate a file that kgrag export writes."
        )
    listed = _listed(query)
    predicates = [each.predicate for each in query.patterns]
    every = any(each not in listed for each in predicates if isinstance(each, Variable))
    every = every or any(each.path == "!" for each in query.patterns)
    named = {each for each in predicates if isinstance(each, ox.NamedNode)}.union(*map(set, listed.values()))
    met = written.predicates if every else written.predicates & named
    in_graphs = any(scope.kind == "graph" for each in query.patterns for scope in each.context)
    if not met or in_graphs:
        return WrittenSelect()
    valued = [each for each in query.patterns if isinstance(each.predicate, Variable) or each.predicate in met]
    if _by_value(query, valued) and not _collapsed(written, met):
        direct = (each for each in valued if each.subject == Variable("this") and each.object == Variable("value"))
        returned = tuple(each.predicate for each in direct if isinstance(each.predicate, ox.NamedNode))
        if returned or not any(Variable("value") == each.object for each in valued):
            return WrittenSelect(returned=returned)
    properties = () if every else tuple(sorted(named, key=str))
    return WrittenSelect(exact=True, properties=properties)


def _listed(query: Query) -> dict[Variable, list[ox.NamedNode]]:
    """Return the properties that a FILTER allows a variable in the place of a predicate, beside whose pattern it is."""
    contexts: dict[Variable, set[tuple[Scope, ...]]] = {}
    for pattern in query.patterns:
        if isinstance(pattern.predicate, Variable):
            contexts.setdefault(pattern.predicate, set()).add(pattern.context)
    return {
        compared.variable: [term for term in compared.constants if isinstance(term, ox.NamedNode)]
        for each in query.filters
        if _is_one_comparison(each, query)
        for compared in each.comparisons
        if contexts.get(compared.variable) == {each.context}
    }


def _is_one_comparison(each: Filter, query: Query) -> bool:
    """Return whether a FILTER is one comparison by = or IN, in brackets, and nothing else."""
    if len(each.comparisons) != 1 or each.denies or each.comparisons[0].operator not in ("=", "in"):
        return False
    place = each.comparisons[0].place
    return query.text[each.place.start : each.place.end].strip("() \n\t") == query.text[place.start : place.end].strip(
        "() \n\t"
    )


def _constants(query: Query) -> Iterator[Any]:
    yield from (term for each in query.patterns for term in (each.subject, each.object))
    yield from (each.term for each in query.inline)
    yield from (term for one in query.filters for each in one.comparisons for term in each.constants)
    for each in query.patterns:
        yield from ([each.object.datatype] if isinstance(each.object, ox.Literal) else ())


def _by_value(query: Query, valued: Sequence[Pattern]) -> bool:
    """Return whether a query reads the values of some patterns by what they are worth only."""
    if any(isinstance(each.object, ox.Literal) and each.object.datatype != XSD.string for each in valued):
        return False
    if query.aggregates or not _BY_VALUE.issuperset(query.functions) or any(each.path for each in valued):
        return False
    ends = Counter(end for each in query.patterns for end in (each.subject, each.object))
    return all(ends[each.object] == 1 for each in valued if isinstance(each.object, Variable))


def _collapsed(written: Written, predicates: frozenset[Term | None]) -> bool:
    """Return whether the store made one statement of several."""
    return any(len(forms) > 1 for (_, predicate, _), forms in written.literals.items() if predicate in predicates)


def _term(value: Any) -> Term | None:
    """Return a term of rdflib as one of the engine's."""
    import rdflib

    if isinstance(value, rdflib.URIRef):
        return ox.NamedNode(str(value))
    if isinstance(value, rdflib.BNode):
        return ox.BlankNode(str(value))
    if isinstance(value, rdflib.Literal):
        if value.language:
            return ox.Literal(str(value), language=value.language)
        return (
            ox.Literal(str(value), datatype=ox.NamedNode(str(value.datatype)))
            if value.datatype
            else ox.Literal(str(value))
        )
    return None
