"""Finds the searches in a query: ``?node kgv:near ("text" 20 "chunk")``, ``kgv:matches``, ``kgv:similarity(...)``.

A search is a triple whose object is a list, so that any SPARQL parser reads it. Its statement is noted with the pieces
of text around it, so that the search can be taken out and its results be put in front of what is left. Further texts in
the list are conditions on documents: ``("text" 20 "chunk" "tenant=a" "year>=2020")``. In the place of the text may
stand a variable, which something else in the group gives its values, and for ``kgv:near`` a node.

What the group of a search asks of its node beside it (triples, VALUES, GRAPH and other groups without a search in them,
and FILTERs over variables of triples) is noted too, as it stands: only nodes that meet it are of use. OPTIONAL, MINUS,
BIND and the groups around are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NoReturn

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.sparql.expression_reader import ExpressionParts
from kgrag.sparql.path_reader import Ends, Path
from kgrag.sparql.query_reader import QueryReader
from kgrag.sparql.selection_reader import Column
from kgrag.sparql.syntax import Limits, Place, Query, Selected, Term, Variable
from kgrag.sparql.term_reader import Group, Node, Selection
from kgrag.sparql.tokens import tokens
from kgrag.vocab import KGV, RDF

__all__ = ["Call", "Conditions", "Searches", "Statement", "read_searches"]

_KINDS = {KGV.near: "near", KGV.matches: "matches", KGV.fused: "fused"}
_SPACE = late_re(r"[\w:.-]+")
"""The name of a space, or a number; whatever has an operator is a condition."""
_NAME = late_re(r"[?$]\w+|_:[\w.-]*\w")
_READS_GROUPS = late_re("EXISTS", flags=re.IGNORECASE)
_FORM = '?node kgv:{} ("text" 20 "chunk") or (?node ?score ?snippet) kgv:{} ("text" 20 "chunk")'


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the group of a search asks of ``variable`` beside the search, in the words of the query.

    ``prologue`` has the prefixes, ``dataset`` the FROM clauses, ``graph`` what stands behind GRAPH ("" outside of one).
    """

    variable: str
    patterns: str
    graph: str = ""
    dataset: str = ""
    prologue: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One search.

    ``kind`` is "near", "matches" or "fused". ``variables`` are those of node, score and snippet, the last two where
    they are asked for. ``text`` is what is searched for; or ``like`` is the node that others shall be near to; or the
    variable ``given`` has such texts or nodes, which ``giving`` asks for. ``where`` are conditions on documents: only
    chunks of these are ranked. ``conditions`` are those of the group.
    """

    kind: str
    variables: tuple[str, ...]
    text: str
    count: int | None = None
    space: str | None = None
    where: tuple[str, ...] = ()
    line: int = 1
    column: int = 1
    conditions: Conditions | None = None
    like: str = ""
    given: str = ""
    giving: Conditions | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """Triples of one subject with searches among them: ``text[start:end]``, and what is left without the searches."""

    start: int
    end: int
    calls: tuple[Call, ...]
    rest: str


@dataclass(slots=True)
class _Part:
    """A part of a group that every row of it has to meet: a FILTER, or what ``binds`` all its variables, or may not."""

    text: str
    is_filter: bool = False
    binds: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The variables and blank nodes that it names."""
        found = (token.text for token in tokens(self.text))
        return frozenset(f"?{text[1:]}" if text[0] == "$" else text for text in found if _NAME.fullmatch(text))


@dataclass(frozen=True, slots=True)
class Searches:
    """The searches of a query, and the texts that ``kgv:similarity`` compares with."""

    statements: tuple[Statement, ...] = ()
    similar: tuple[str, ...] = ()


@dataclass(slots=True)
class _Property:
    """One property of a statement with its objects: ``text[start:end]``."""

    subject: Node
    verb: Path
    objects: list[Node]
    start: int
    end: int = 0


def read_searches(text: str, *, limits: Limits | None = None) -> Searches:
    """Read the searches of a query; an update has none to read.

    Raises:
        InvalidSPARQL: not SPARQL, beyond a limit, or a search that is not of the form wanted; with line and column.

    >>> (found,) = read_searches("SELECT * { ?n kgv:near ('frost' 3) ; a ?kind }").statements
    >>> found.rest, found.calls[0].kind, found.calls[0].text, found.calls[0].count
    ('?n a ?kind', 'near', 'frost', 3)
    """
    reader = _SearchReader(text, limits or Limits())
    reader.query()
    return Searches(tuple(reader.statements), tuple(dict.fromkeys(reader.similar)))


class _SearchReader(QueryReader):
    """Reads one text, and keeps the places of statements, properties and lists."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self.declared["kgv"] = KGV.prefix  # as for every query of a user's, unless it declares it itself
        self.statements: list[Statement] = []
        self.similar: list[str] = []
        self._begun = 0
        self._listed: list[_Property] = []
        self._open: list[_Property] = []
        self._first: dict[object, Node] = {}
        self._rest: dict[object, Node] = {}
        self._given: list[Node | None] = []
        self._prologue_end = 0
        self._from = ""
        self._graph_name = ""
        self._graph_names: dict[int, str] = {}
        self._uses = 0
        self._braces = 0
        self._parts: list[tuple[Group, _Part]] = []
        self._searching: list[Group] = []

    def query(self) -> Query:
        """Read the whole text, and refuse searches where they cannot be run."""
        read = super().query()
        run = sum(len(statement.calls) for statement in self.statements)
        written = [pattern for pattern in (*read.patterns, *read.template) if pattern.predicate in _KINDS]
        if len(written) > run:
            self._refuse_search(written[-1].places[1].start, "is in a property path or a template")
        self.statements = [
            replace(statement, calls=tuple(self._conditioned(call, group) for call in statement.calls))
            for statement, group in zip(self.statements, self._searching, strict=True)
        ]
        return read

    # what a group asks of a node

    def _conditioned(self, call: Call, group: Group) -> Call:
        """Return a search with what its group asks of its node, and of the variable that gives its text."""
        giving = self._asked_of(call.given, group) if call.given else None
        if call.given and giving is None:
            raise InvalidSPARQL(
                f"line {call.line}, column {call.column}: nothing in the braces of kgv:{call.kind} gives "
                f"?{call.given} a value. Write VALUES or triples there."
            )
        return replace(call, conditions=self._asked_of(call.variables[0], group), giving=giving)

    def _asked_of(self, variable: str, group: Group) -> Conditions | None:
        """Return what a group asks of a variable; None where that is nothing."""
        if any(scope.kind in ("service", "lateral") for scope in group.context):
            return None
        parts = [part for own, part in self._parts if own is group]
        known = {f"?{variable}"}
        chosen: list[_Part] = []
        while new := [part for part in parts if part not in chosen and not part.is_filter and part.names & known]:
            chosen += new
            known |= {name for part in new for name in part.names}
        if not chosen:
            return None
        bound = {name for part in chosen if part.binds for name in part.names}
        chosen += [part for part in parts if part.is_filter and part.names <= bound]
        graphs = [self._graph_names[scope.number] for scope in group.context if scope.kind == "graph"]
        patterns = "\n".join(part.text if part.is_filter else f"{part.text} ." for part in chosen)
        prologue = self.text[: self._prologue_end]
        return Conditions(variable, patterns, (graphs or [""])[-1], self._from, prologue)

    def _note(self, text: str, *, is_filter: bool = False, binds: bool = False) -> None:
        if self._braces and not self.in_template and text.strip():
            self._parts.append((self.group, _Part(text, is_filter, binds)))

    def _keyword(self) -> None:
        start, is_graph, before = self.start, self.word.startswith("GRAPH"), self._uses
        super()._keyword()
        if is_graph and self._uses == before:
            self._note(self.text[start : self.last])

    def _union(self) -> None:
        start, before = self.start, self._uses
        super()._union()
        if self._uses == before:
            self._note(self.text[start : self.last])

    def _prologue(self) -> None:
        super()._prologue()
        self._prologue_end = self.start

    def _dataset(self) -> None:
        start = self.start
        super()._dataset()
        if self.last > start:
            self._from = self.text[start : self.last]

    def braces(self) -> None:
        """Read a group, and keep the GRAPH that it is in."""
        self._braces += 1
        if self.group.context and self.group.context[-1].kind == "graph":
            self._graph_names[self.group.context[-1].number] = self._graph_name
        super().braces()
        self._braces -= 1

    def modifiers(
        self,
        columns: list[Column] | None,
        selection: Selection,
        form: str,
        where: Group,
        braces: Place | None = None,
    ) -> list[Selected]:
        """Read what follows WHERE; VALUES there is joined with what is selected, and no part of a group."""
        before, self._braces = self._braces, 0
        selected = super().modifiers(columns, selection, form, where, braces)
        self._braces = before
        return selected

    def _variable_or_iri(self, where: str) -> Node:
        node = super()._variable_or_iri(where)
        self._graph_name = self.text[node.start : node.end]
        return node

    def data_block(self) -> None:
        """Read what follows VALUES, and keep it for the searches of the group."""
        start = self.start
        super().data_block()
        text = self.text[start : self.last]
        self._note(f"VALUES {text}", binds="UNDEF" not in text.upper())

    def constraint(self, clause: str) -> ExpressionParts:
        """Read what follows FILTER or HAVING, and keep a FILTER for the searches of the group."""
        start, before = self.start, self._uses
        read = super().constraint(clause)
        text = self.text[start : self.last]
        if clause == "FILTER" and self._uses == before and not _READS_GROUPS.search(text):
            self._note(f"FILTER {text}", is_filter=True)
        return read

    def same_subject(self) -> None:
        """Read the triples of one subject, and keep them as a statement where a search is among them."""
        start, before, self._listed = self.start, self._listed, []
        super().same_subject()
        own = [one for one in self._listed if one.subject.start == start]
        calls = [self._call(one) for one in self._listed if _is_search(one)]
        if calls:
            left = self._left(own)
            self.statements.append(Statement(start, self.last, tuple(calls), left))
            self._searching.append(self.group)
            self._note(left, binds=True)
        else:
            self._note(self.text[start : self.last], binds=True)
        self._listed = before

    def _left(self, own: list[_Property]) -> str:
        """Write the statement without its searches."""
        kept = [one for one in own if not _is_search(one)]
        if not kept:
            return ""
        subject = own[0].subject
        if not isinstance(subject.term, Variable):
            self._refuse_search(own[0].start, "shares its subject (?node ?score) with other properties")
        written = " ;\n".join(self.text[one.start : one.end] for one in kept)
        return f"{self.text[subject.start : subject.end]} {written}"

    def objects(self, subject: Node, verb: Path) -> None:
        """Read the objects of one subject and predicate, and keep them as a property."""
        found = _Property(subject, verb, [], self._begun)
        self._listed.append(found)
        self._open.append(found)
        super().objects(subject, verb)
        self._open.pop()
        found.end = self.last

    def verb(self) -> Path:
        """Read a predicate, and keep where it begins."""
        self._begun = self.start
        return super().verb()

    def write(self, path: Path, ends: Ends) -> None:
        """Write the patterns that a path means, and keep its objects."""
        if self._open and path is self._open[-1].verb:
            self._open[-1].objects.append(ends.object)
        super().write(path, ends)

    def list_step(self, subject: Node, predicate: ox.NamedNode, value: Node) -> None:
        """Write one triple of a collection, and keep what it links."""
        (self._first if predicate == RDF.first else self._rest)[subject.term] = value
        super().list_step(subject, predicate, value)

    def _members(self, head: Node) -> Iterator[Node]:
        node: Node | None = head
        while node is not None and node.term in self._first:
            yield self._first[node.term]
            node = self._rest.get(node.term)

    def _call(self, found: _Property) -> Call:
        self._uses += 1
        kind = _kind(found)
        subject = [found.subject] if isinstance(found.subject.term, Variable) else list(self._members(found.subject))
        names = [node.term.name for node in subject if isinstance(node.term, Variable)]
        if len(names) != len(subject) or len(set(names)) != len(names) or not 1 <= len(names) <= 3:
            self._refuse_search(found.start, "has no variable, or up to three, before it")
        if self.in_template or self.text[found.subject.start] == "[":
            self._refuse_search(found.start, "is inside brackets or a template")
        first, count, space, where = self._asked(found)
        line, column = self.position(found.start)
        call = Call(kind, tuple(names), "", count, space, where, line, column)
        if isinstance(first, ox.Literal):
            return replace(call, text=first.value)
        if isinstance(first, Variable) and first.name not in names:
            return replace(call, given=first.name)
        if isinstance(first, ox.NamedNode) and kind == "near":
            return replace(call, like=first.value)
        return self._refuse_search(found.start, "has no text, and no variable with texts, as the first of its list")

    def _asked(self, found: _Property) -> tuple[Term, int | None, str | None, tuple[str, ...]]:
        """Return the first of the list behind a search, then count, space and conditions."""
        terms = [node.term for node in self._members(found.objects[0])]
        if len(found.objects) > 1 or not terms or not all(isinstance(term, ox.Literal) for term in terms[1:]):
            self._refuse_search(found.start, "has no list of constants behind it")
        texts = ["", *(term.value for term in terms[1:] if isinstance(term, ox.Literal))]
        numbers = [text for text in texts[1:] if text.isdecimal()]
        spaces = [text for text in texts[1:] if _SPACE.fullmatch(text) and not text.isdecimal()]
        where = tuple(text for text in texts[1:] if not _SPACE.fullmatch(text))
        if len(numbers) > 1 or len(spaces) > 1:
            self._refuse_search(found.start, "has two numbers or two spaces in its list")
        return terms[0], int(numbers[0][:9]) if numbers else None, spaces[0] if spaces else None, where

    def called(self, *, required: bool) -> Node | None:
        """Read an IRI and its arguments, and keep those of ``kgv:similarity``."""
        start = self.start
        outer, self._given = self._given, []
        node = super().called(required=required)
        given, self._given = self._given, outer
        if node is None and given:
            name = self.text[start : self.text.index("(", start)].strip()
            prefix, _, local = name.partition(":")
            if name == str(KGV.similarity) or self.declared.get(prefix, "") + local == KGV.similarity.value:
                self._compare(given, start)
        return node

    def arguments(self) -> list[Node | None]:
        """Read a list of expressions in brackets, and keep their terms for the function before it."""
        self._given = super().arguments()
        return self._given

    def _compare(self, given: list[Node | None], start: int) -> None:
        self._uses += 1
        other = given[1].term if len(given) == 2 and given[1] is not None else None
        if given[0] is None or not isinstance(other, Variable | ox.NamedNode | ox.Literal):
            self.refuse(
                "kgv:similarity takes a node, and a text in quotation marks or another node",
                'Write kgv:similarity(?node, "text")',
                at=start,
            )
        if isinstance(other, ox.Literal):
            self.similar.append(other.value)

    def _refuse_search(self, at: int, why: str) -> NoReturn:
        said = self.text[at : at + 200].split("(")[0]
        name = next((kind for kind in _KINDS.values() if kind in said), "near")
        self.refuse(f"the search kgv:{name} {why}", f"Write {_FORM.format(name, name)}", at=at)


def _kind(one: _Property) -> str:
    return _KINDS[one.verb.term] if isinstance(one.verb, Node) and isinstance(one.verb.term, ox.NamedNode) else ""


def _is_search(one: _Property) -> bool:
    return isinstance(one.verb, Node) and one.verb.term in _KINDS
