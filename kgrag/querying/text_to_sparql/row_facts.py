"""The stated triples that the rows of a query show, which make its rows sentences.

The patterns of a query say what a cell is: whose value, of which property. The query is run once more with all the
variables of these patterns, each row is put beside the triples that it comes from, and those which the store states
remain. For a count these are what was counted, for a minimum or maximum where it stands. Rows of which nothing is known
in this way, as those of a sum, remain cells. Queries read: ``facts/{labels,stating}``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.querying.text_to_sparql.fact_sentences import StatedFact
from kgrag.querying.text_to_sparql.row_evidence import Execution, Row, labels, preferred
from kgrag.sparql import syntax
from kgrag.vocab import RDF, local_name, words_of

__all__ = ["Run", "Triple", "facts_behind", "names_in", "triples_behind"]

_CONTEXTS = frozenset({"group", "graph", "optional", "union"})
_PATHS = frozenset({"", "^", "|"})
_NAMING_WORDS = frozenset({"label", "name", "title"})
_SAME_VALUE = frozenset({"MIN", "MAX", "SAMPLE"})
_DIGEST = late_re(r"[0-9a-f]{16,}$")
"""How the IRIs of things without a name end."""
_LIMIT = late_re(r"\bLIMIT\s+\d", re.IGNORECASE)
_MAX_LINKS = 2
_MAX_FACTS = 20
"""Facts of one row, at most: a row of a count may stand for many."""

Run = Callable[[str], Execution]
"""Runs a query over the facts, within its limits."""
Triple = tuple[ox.NamedNode, ox.NamedNode, Term]
_Bound = Mapping[str, Term]


def facts_behind(
    query: syntax.Query,
    execution: Execution,
    rows: Sequence[Row],
    *,
    run: Run,
    store: TripleStore,
) -> dict[Row, tuple[StatedFact, ...]]:
    """Return, for each row that stated triples are behind, these in the order of the patterns, at most 20.

    Args:
        query: the query that gave the rows, read.
        execution: what it gave.
        rows: those that are shown.
        run: runs it once more.
        store: contains the facts.
    """
    reading = _Reading.of(query) if rows else None
    if reading is None or (query.form == "ASK" and plain(rows[0][0]) == "false"):
        return {}
    bound = _bound_rows(reading, execution, run)
    behind: dict[Row, list[Triple]] = {}
    about: dict[Row, list[Triple]] = {}
    wording = _Wording()
    for row in rows:
        shown = _values(execution.variables, row)
        same = [one for one in bound if reading.fits(one, shown)]
        for one in same:
            wording.names.update(reading.names(one))
            wording.links.update((value, (thing, prop)) for thing, prop, value in reading.all_triples(one))
        behind[row] = list(dict.fromkeys(triple for one in same for triple in reading.triples(one)))[:_MAX_FACTS]
        about[row] = list(dict.fromkeys(triple for one in same for triple in reading.about_named(one)))[:_MAX_FACTS]
    facts = _worded(behind, wording, store)
    # a pattern of a UNION holds for some rows only; others are shown with what the query asks of the things they name
    others = {row: triples for row, triples in about.items() if triples and row not in facts}
    return facts | (_worded(others, wording, store) if others else {})


def triples_behind(
    query: syntax.Query, execution: Execution, rows: Sequence[Row], *, run: Run
) -> dict[Row, tuple[Triple, ...]]:
    """Return, for each row, the triples that the patterns of the query have for it, at most 20; arguments as above.

    {} for a query whose patterns are not triples, as those of a property path or a service.
    """
    reading = _Reading.of(query) if rows else None
    if reading is None:
        return {}
    bound = _bound_rows(reading, execution, run)
    behind: dict[Row, tuple[Triple, ...]] = {}
    for row in rows:
        shown = _values(execution.variables, row)
        found = (triple for one in bound if reading.fits(one, shown) for triple in reading.every_triple(one))
        behind[row] = tuple(dict.fromkeys(found))[:_MAX_FACTS]
    return {row: triples for row, triples in behind.items() if triples}


def names_in(triples: Iterable[Triple]) -> dict[str, str]:
    """Return what things are called in triples, by IRI, whatever property of an ontology says so."""
    return {
        thing.value: value.value for thing, prop, value in triples if _names(prop) and isinstance(value, ox.Literal)
    }


def _bound_rows(reading: _Reading, execution: Execution, run: Run) -> list[_Bound]:
    """Return what all variables of the patterns are bound to, row by row."""
    wide = execution if reading.selects_all else run(reading.wide())
    return [_values(wide.variables, row) for row in wide.rows]


def _values(variables: Sequence[str], row: Row) -> dict[str, Term]:
    return {name: term for name, term in zip(variables, row, strict=True) if term is not None}


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a query shows: column -> variable whose value it has, the variables counted, and the patterns that matter.

    ``naming`` are patterns that bind the name of a thing, ``stating`` all others between variables and constants.
    ``deciding`` are variables by which the rows that are shown were chosen.
    """

    query: syntax.Query
    same: dict[str, str]
    counted: frozenset[str]
    naming: tuple[syntax.Pattern, ...]
    stating: tuple[syntax.Pattern, ...]
    grouped: bool = field(default=False)
    deciding: frozenset[str] = frozenset()

    @classmethod
    def of(cls, query: syntax.Query) -> _Reading | None:
        """Return the reading of a query; None for one that has no such columns or patterns."""
        if query.columns is None or query.where is None or query.triple_terms:
            return None
        same: dict[str, str] = {}
        counted: list[str] = []
        for column in query.selected:
            if isinstance(column.source, syntax.Variable):
                same[column.name] = column.source.name
            elif len(column.variables) == 1 and column.aggregate in _SAME_VALUE:
                same[column.name] = column.variables[0].name
            elif column.aggregate == "COUNT":
                counted += [one.name for one in column.variables]
        usable = [pattern for pattern in query.patterns if _usable(pattern)]
        # of (rdfs:label|s:effect) ?text nobody knows that it is a name
        texts = {_ends(one) for one in usable if one.path == "|" and not _names(one.predicate)}
        naming = tuple(one for one in usable if _names(one.predicate) and (one.path != "|" or _ends(one) not in texts))
        stating = tuple(one for one in usable if not _names(one.predicate))
        grouped = bool(query.aggregates) or any(use.clause == "GROUP BY" for use in query.uses)
        read_as = cls(query, same, frozenset(counted), naming, stating, grouped, _deciding(query))
        return read_as if same or counted or query.form == "ASK" else None

    @property
    def variables(self) -> list[str]:
        """All variables of the patterns."""
        terms = (term for one in (*self.naming, *self.stating) for term in (one.subject, one.predicate, one.object))
        return list(dict.fromkeys(term.name for term in terms if isinstance(term, syntax.Variable)))

    @property
    def selects_all(self) -> bool:
        """Whether the query selects all variables of the patterns under their own names."""
        return not self.grouped and set(self.variables) <= {
            column for column, name in self.same.items() if column == name
        }

    def wide(self) -> str:
        """Return the query with all variables of the patterns, not grouped."""
        text, columns, where = self.query.text, self.query.columns, self.query.where
        assert columns is not None and where is not None
        selected = " ".join(f"?{name}" for name in dict.fromkeys([*self.variables, *self.same.values()]))
        tail = "" if self.grouped else text[where.end :]
        verb = "SELECT DISTINCT" if self.query.form == "ASK" else "DISTINCT"
        return f"{text[: columns.start]}{verb} {selected} {text[columns.end : where.end]}{tail}"

    def fits(self, bound: _Bound, shown: _Bound) -> bool:
        """Return whether a row of the wide query is behind a row that is shown."""
        return all(bound.get(variable) == shown.get(column) for column, variable in self.same.items())

    def names(self, bound: _Bound) -> Iterator[tuple[Term, str]]:
        """Yield the things of a row that the query names, with their names."""
        for pattern in self.naming:
            thing, name = _value(pattern.subject, bound), _value(pattern.object, bound)
            if thing is not None and isinstance(name, ox.Literal):
                yield thing, name.value

    def triples(self, bound: _Bound) -> list[Triple]:
        """Return the triples of a row that show what its columns have: with their values, else about their things."""
        wanted = {*self.same.values(), *self.counted, *self.deciding}
        named = {_name(one.subject) for one in self.naming if _name(one.object) in wanted}
        things = (wanted | named) - {""}
        values = [one for one in self.stating if one.predicate != RDF.type and _name(one.object) in things]
        shown = {_name(end) for one in values for end in (one.subject, one.object)}
        about = [one for one in self.stating if _name(one.subject) in things - shown]
        if self.query.form == "ASK":
            values, about = [], list(self.stating)
        stated = [one for one in about if one.predicate != RDF.type] or ([] if values else about)
        chosen = [one for one in self.stating if one in values or one in stated]
        return self._bound_triples(chosen, bound)

    def about_named(self, bound: _Bound) -> list[Triple]:
        """Return the triples of a row about the things whose names it may show, but not what they are a kind of."""
        wanted = {*self.same.values()}
        names = [one for one in self.query.patterns if _names(one.predicate) and _name(one.object) in wanted]
        named = {_name(one.subject) for one in names} - {""}
        about = [one for one in self.stating if not named.isdisjoint((_name(one.subject), _name(one.object)))]
        return self._bound_triples([one for one in about if one.predicate != RDF.type], bound)

    def all_triples(self, bound: _Bound) -> list[Triple]:
        """Return all triples of a row that say more than a name."""
        return self._bound_triples(self.stating, bound)

    def every_triple(self, bound: _Bound) -> list[Triple]:
        """Return all triples of a row, those of its names last."""
        names = [one for one in self.query.patterns if _usable(one) and _names(one.predicate)]
        return self._bound_triples((*self.stating, *names), bound)

    def _bound_triples(self, patterns: Iterable[syntax.Pattern], bound: _Bound) -> list[Triple]:
        ends = ((_value(end, bound) for end in (one.subject, one.predicate, one.object)) for one in patterns)
        return [
            (thing, prop, value)
            for thing, prop, value in ends
            if isinstance(thing, ox.NamedNode)
            and isinstance(prop, ox.NamedNode)
            and isinstance(value, ox.NamedNode | ox.Literal)
        ]


def _deciding(query: syntax.Query) -> frozenset[str]:
    """Return the variables by whose values the first rows are: those that a query with a limit orders by.

    An order by what a BIND computes is one by what it is computed from.
    """
    if query.where is None or not _LIMIT.search(query.text, query.where.end):
        return frozenset()
    ordered = {use.variable for use in query.uses if use.clause == "ORDER BY"}
    joined = {one for join in query.joins if ordered.intersection(join) for one in join}
    return frozenset(one.name for one in ordered | joined)


def _usable(pattern: syntax.Pattern) -> bool:
    """Return whether a pattern holds for the rows as it is, and its ends can be selected."""
    ends = (pattern.subject, pattern.predicate, pattern.object)
    visible = all(not isinstance(end, syntax.Blank) and getattr(end, "scope", 0) == 0 for end in ends)
    return visible and pattern.path in _PATHS and all(scope.kind in _CONTEXTS for scope in pattern.context)


def _ends(pattern: syntax.Pattern) -> tuple[syntax.Term, syntax.Term]:
    return pattern.subject, pattern.object


def _names(predicate: syntax.Term) -> bool:
    """Return whether a property says what things are called: rdfs:label, skos:prefLabel, ``crop name``, ``title``."""
    return isinstance(predicate, ox.NamedNode) and words_of(local_name(predicate.value)).split()[-1:] in (
        [word] for word in _NAMING_WORDS
    )


def _name(term: syntax.Term) -> str:
    return term.name if isinstance(term, syntax.Variable) else ""


def _value(term: syntax.Term, bound: _Bound) -> Term | None:
    if isinstance(term, syntax.Variable):
        return bound.get(term.name)
    return term if isinstance(term, ox.NamedNode | ox.Literal) else None


@dataclass(slots=True)
class _Wording:
    """What things are called: by the query, by labels, or by what links them to a thing that has a name."""

    names: dict[Term, str] = field(default_factory=dict)
    links: dict[Term, tuple[ox.NamedNode, ox.NamedNode]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    def shown(self, term: Term, links: int = _MAX_LINKS) -> str:
        """Return a term for readers; "" for a thing that has no name, and is linked to none that has."""
        if not isinstance(term, ox.NamedNode):
            return plain(term)
        if name := self.names.get(term) or self.labels.get(term.value):
            return name
        if not _DIGEST.search(term.value):
            return words_of(local_name(term.value))
        thing, prop = self.links.get(term, (None, None))
        owner = self.shown(thing, links - 1) if thing is not None and links else ""
        return f"the {self.shown(prop).removeprefix('has ')} of {owner}" if owner and prop is not None else ""

    def is_of(self, triple: Triple) -> bool:
        """Return whether the value of a triple is called nothing but what this triple says: "the rate of wheat"."""
        thing, prop, value = triple
        if not isinstance(value, ox.NamedNode) or value in self.names or value.value in self.labels:
            return False
        return bool(_DIGEST.search(value.value)) and self.links.get(value) == (thing, prop)


def _worded(
    behind: Mapping[Row, Sequence[Triple]], wording: _Wording, store: TripleStore
) -> dict[Row, tuple[StatedFact, ...]]:
    """Return triples that the store states in words."""
    triples = list(dict.fromkeys(triple for found in behind.values() for triple in found))
    chunks, wording.labels = _stating(triples, wording.links.values(), store)

    def fact(triple: Triple) -> StatedFact:
        thing, prop, value = map(wording.shown, triple)
        if thing and wording.is_of(triple):
            return StatedFact(thing, "has", prop.removeprefix("has "), chunks[triple], verbal=True)
        attribute = "is a" if triple[1] == RDF.type else prop
        return StatedFact(thing, attribute, value or plain(triple[2]), chunks[triple])

    def said(found: Sequence[Triple]) -> list[Triple]:
        """Return those that are stated, without those that others say: "the rate of wheat is 45 kg" says it has one."""
        stated = [triple for triple in found if triple in chunks]
        about = {thing for thing, *_ in stated}
        return [triple for triple in stated if triple[2] not in about or not wording.is_of(triple)]

    facts = {row: tuple(map(fact, said(found))) for row, found in behind.items()}
    return {row: stated for row, stated in facts.items() if stated}


def _stating(
    triples: Iterable[Triple], others: Iterable[Sequence[Term]], store: TripleStore
) -> tuple[dict[Triple, tuple[str, ...]], dict[str, str]]:
    """Return the triples that graphs of facts state, with the chunks behind these; and labels of them and of others."""
    wanted = set(triples)
    if not wanted:
        return {}, labels(others, store)
    things, properties, values = (sorted(ends, key=str) for ends in map(set, zip(*wanted, strict=True)))
    nodes = {term for row in (*wanted, *others) for term in row if isinstance(term, ox.NamedNode)}
    about = {"things": things, "properties": properties, "values": values, "named": sorted(nodes, key=str)}
    rows = store.select(queries.bind("facts/stating", catalogue=store.names.catalogue, **about)).rows
    chunks: dict[Triple, list[str]] = defaultdict(list)
    for thing, prop, value, chunk, _ in rows:
        if isinstance(thing, ox.NamedNode) and isinstance(prop, ox.NamedNode) and value is not None:
            chunks[thing, prop, value] += [plain(chunk)] if chunk is not None else []
    stated = {triple: tuple(chunks[triple]) for triple in wanted if triple in chunks}
    return stated, preferred((thing, label) for thing, *_, label in rows if label is not None)
