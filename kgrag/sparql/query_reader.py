"""Reads whole queries: prologue, the four forms, datasets, templates; settles what could only be known at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.expression_reader import Wanted
from kgrag.sparql.pattern_reader import Subtraction
from kgrag.sparql.selection_reader import Column, Selections
from kgrag.sparql.syntax import Aggregate, Filter, Inline, Limits, Minus, Pattern, Query, Scope, Selected, Use, Variable
from kgrag.sparql.term_reader import DEFAULT_PREFIXES, Group, Selection

__all__ = ["QueryReader", "read"]

_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_UPDATES = {
    **dict.fromkeys(("INSERT", "DELETE"), ("DATA", "WHERE", "{")),
    **dict.fromkeys(("CLEAR", "DROP", "CREATE"), ("SILENT", "GRAPH", "DEFAULT", "NAMED", "ALL")),
    **dict.fromkeys(("ADD", "MOVE", "COPY"), ("SILENT", "GRAPH", "DEFAULT", "iri", "name")),
    **{"LOAD": ("SILENT", "iri", "name"), "WITH": ("iri", "name")},
}
_Item = TypeVar("_Item", Aggregate, Pattern, Filter, Inline, Minus, Use)


def read(text: str, *, limits: Limits | None = None, prefixes: Mapping[str, str] | None = None) -> Query:
    """Read a SPARQL query: its triple patterns with their places and contexts, and what else a check asks for.

    OBQC, section 3.1 (which takes the basic graph patterns only). Linear in the length of the text.

    Args:
        text: a query; an update is recognised, not read.
        limits: the most characters and the deepest nesting.
        prefixes: those that need no declaration, beside rdf, rdfs, owl, xsd and skos.

    Raises:
        InvalidSPARQL: not SPARQL, or beyond a limit; with line and column.

    Deviations:
        Prefixes that aren't declared, and prefixed names in angle brackets, are problems of the query and not errors:
        the terms are given as they were meant. So is what is well-formed but refused by the store.

    >>> query = read("SELECT ?n { ?p <urn:x:name> ?n }")
    >>> query.form, query.selected[0].name, query.patterns[0].predicate.value, query.patterns[0].column
    ('SELECT', 'n', 'urn:x:name', 16)
    """
    limits = limits or Limits()
    try:
        reader = QueryReader(text, limits)
        reader.known = {**DEFAULT_PREFIXES, **(prefixes or {})}
        return reader.query()
    except RecursionError:
        raise InvalidSPARQL(
            f"the query is nested too deep to be read (limit {limits.depth}). Write it flatter."
        ) from None


def _settled(kept: Filter, group: Group) -> Filter:
    """Note which variables that a FILTER needs only an OPTIONAL of its group gives a value."""
    return replace(kept, perhaps=tuple(each for each in kept.needed if each.name in group.perhaps))


class QueryReader(Selections):
    """Reads one text."""

    def query(self) -> Query:
        """Read the whole text."""
        self._prologue()
        if self.word in _UPDATES:
            return self._update()
        for form in _FORMS:
            if self.take_word(form):
                columns = getattr(self, f"_{form.lower()}")()
                if self.kind != "end":
                    self.expected("the end of the query")
                return self._finished(form, columns)
        return self.expected("SELECT, ASK, CONSTRUCT or DESCRIBE")

    def _prologue(self) -> None:
        while True:
            if self.take_word("BASE"):
                self.set_base(self.address("after BASE"))
            elif self.take_word("PREFIX"):
                self._prefix()
            elif self.take_word("VERSION"):
                if self.text.startswith(('"""', "'''"), self.start):
                    self.expected("a version in single quotation marks")
                self.string()
            else:
                return

    def _prefix(self) -> None:
        token = self.text[self.start : self.end]
        if self.kind != "name" or not token.endswith(":") or token.count(":") != 1:
            self.expected("a prefix with a colon at its end after PREFIX")
        self.advance()
        self.declared[token[:-1]] = self.address("after the prefix")

    def _update(self) -> Query:
        follows = _UPDATES[self.word]
        self.advance()
        if self.kind not in follows and self.word not in follows:
            self.expected("SELECT, ASK, CONSTRUCT or DESCRIBE, or an update")
        return Query(self.text, "UPDATE", {**self.known, **self.declared})

    def _select(self) -> list[Selected]:
        selection = Selection(0)
        self.selections.append(selection)
        start = self.start
        columns = self.select_clause(selection)
        self.columns = self.place(start, self.last)
        self._dataset()
        return self.where_and_modifiers(columns, selection)

    def _ask(self) -> list[Selected]:
        self.columns = self.place(self.last - len("ASK"), self.last)
        self._dataset()
        self.where_and_modifiers(None, Selection(0), "ASK")
        return []

    def _describe(self) -> list[Selected]:
        columns: list[Column] | None = None
        if not self.take("*"):
            columns = self._described()
        self._dataset()
        return self.where_and_modifiers(columns, Selection(0), "DESCRIBE")

    def _described(self) -> list[Column]:
        columns = []
        while self.kind in ("variable", "iri", "name"):
            start, end = self.start, self.end
            if self.kind == "variable":
                columns.append(Column(self.name(), start, end))
                continue
            term = self.iri("").term
            if isinstance(term, ox.NamedNode):
                self.note_constant(term, start, end)
        if not columns and not self.inline:
            self.expected("'*', a variable or an IRI after DESCRIBE")
        return columns

    def _construct(self) -> list[Selected]:
        short = self.kind != "{"
        if short:
            self._dataset()
            self.need_word("WHERE", "and triples, or a template after CONSTRUCT")
            self._template()
            self.template = self.patterns
            self.modifiers(None, Selection(0), "CONSTRUCT", self.group)
            return []
        where, patterns = self.group, self.patterns
        self.group, self.patterns = Group(hidden=True), self.template
        self._template()
        self.group, self.patterns = where, patterns
        self._dataset()
        self.where_and_modifiers(None, Selection(0), "CONSTRUCT")
        self._want_template(where)
        return []

    def _template(self) -> None:
        self.need("{", "before a template")
        self.deeper()
        self.in_template = True
        if self.kind != "}":
            self.triples()
        self.in_template = False
        self.need("}", "after triples, which are separated by '.'; a template has nothing else")
        self.depth -= 1

    def _want_template(self, where: Group) -> None:
        seen: set[Variable] = set()
        for pattern in self.template:
            for term, place in zip((pattern.subject, pattern.predicate, pattern.object), pattern.places, strict=True):
                if isinstance(term, Variable) and term not in seen:
                    seen.add(term)
                    self.wanted.append(Wanted(term, "CONSTRUCT", (place.start, place.end), where, ()))

    def _dataset(self) -> None:
        while self.take_word("FROM"):
            self.take_word("NAMED")
            self.iri("after FROM")

    def _finished(self, form: str, columns: Sequence[Selected]) -> Query:
        uses = [
            Use(one.variable, one.clause, self.place(*one.span), one.group.reaches(one.variable.name), one.context)
            for one in self.wanted
        ]
        return Query(
            text=self.text,
            form=form,
            prefixes={**self.known, **self.declared},
            assumed=tuple(self.assumed),
            patterns=self._grouped(self.patterns),
            template=tuple(self.template),
            selected=tuple(columns),
            columns=self.columns,
            where=self.where,
            filters=self._grouped([_settled(kept, group) for kept, group in self.filters]),
            minuses=self._grouped([self._subtracted(each) for each in self.minuses]),
            uses=self._grouped(uses),
            inline=self._grouped(self.inline),
            bound=frozenset(self.given),
            joins=tuple(join for join in self.joins if len(join) > 1),
            aggregates=self._grouped(self.aggregates),
            functions=tuple(self.functions),
            problems=tuple(self.problems),
            uses_service=self.uses_service,
            triple_terms=self.triple_terms,
        )

    def _subtracted(self, each: Subtraction) -> Minus:
        inside = each.inner.visible
        shared = tuple(name for name in inside if name in each.before)
        later = tuple(name for name in inside if name in each.outer.visible and name not in each.before)
        return Minus(self.place(*each.span), shared, later, each.outer.context)

    def _grouped(self, items: list[_Item]) -> tuple[_Item, ...]:
        """Call a union of one branch a group, which isn't known before its end."""
        if not self.lonely:
            return tuple(items)
        known: dict[tuple[Scope, ...], tuple[Scope, ...]] = {}
        for item in items:
            if item.context not in known:
                known[item.context] = tuple(
                    Scope("group", scope.number) if scope.number in self.lonely else scope for scope in item.context
                )
        return tuple(replace(item, context=known[item.context]) for item in items)
