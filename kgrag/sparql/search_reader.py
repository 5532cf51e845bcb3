"""Finds the searches in a query: ``?node kgv:near ("text" 20 "chunk")``, ``kgv:matches``, ``kgv:similarity(...)``.

A search is a triple whose object is a list, so that any SPARQL parser reads it. Its statement is noted with the pieces
of text around it, so that the search can be taken out and its results be put in front of what is left. Further texts in
the list are conditions on documents: ``("text" 20 "chunk" "tenant=a" "year>=2020")``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import pyoxigraph as ox

from kgrag.sparql.path_reader import Ends, Path
from kgrag.sparql.query_reader import QueryReader
from kgrag.sparql.syntax import Limits, Query, Variable
from kgrag.sparql.term_reader import Node
from kgrag.vocab import KGV, RDF

__all__ = ["Call", "Searches", "Statement", "read_searches"]

_TRIPLES = frozenset({KGV.near, KGV.matches})
_SPACE = re.compile(r"[\w:.-]+")
"""The name of a space, or a number; whatever has an operator is a condition."""
_FORM = '?node kgv:{} ("text" 20 "chunk") or (?node ?score) kgv:{} ("text" 20 "chunk")'


@dataclass(frozen=True, slots=True)
class Call:
    """One search: ``kind`` is "near" or "matches", ``variables`` are the node's and, if asked for, the score's.

    ``where`` are conditions on documents: only chunks of these are ranked.
    """

    kind: str
    variables: tuple[str, ...]
    text: str
    count: int | None = None
    space: str | None = None
    where: tuple[str, ...] = ()
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Statement:
    """Triples of one subject with searches among them: ``text[start:end]``, and what is left without the searches."""

    start: int
    end: int
    calls: tuple[Call, ...]
    rest: str


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

    def query(self) -> Query:
        """Read the whole text, and refuse searches where they cannot be run."""
        read = super().query()
        run = sum(len(statement.calls) for statement in self.statements)
        written = [pattern for pattern in (*read.patterns, *read.template) if pattern.predicate in _TRIPLES]
        if len(written) > run:
            self._refuse_search(written[-1].places[1].start, "is in a property path or a template")
        return read

    def same_subject(self) -> None:
        """Read the triples of one subject, and keep them as a statement where a search is among them."""
        start, before, self._listed = self.start, self._listed, []
        super().same_subject()
        own = [one for one in self._listed if one.subject.start == start]
        calls = [self._call(one) for one in self._listed if _is_search(one)]
        if calls:
            self.statements.append(Statement(start, self.last, tuple(calls), self._left(own)))
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
        kind = "near" if isinstance(found.verb, Node) and found.verb.term == KGV.near else "matches"
        subject = [found.subject] if isinstance(found.subject.term, Variable) else list(self._members(found.subject))
        names = [node.term.name for node in subject if isinstance(node.term, Variable)]
        if len(names) != len(subject) or len(set(names)) != len(names) or not 1 <= len(names) <= 2:
            self._refuse_search(found.start, "has no variable, or two, before it")
        if self.in_template or self.text[found.subject.start] == "[":
            self._refuse_search(found.start, "is inside brackets or a template")
        text, count, space, where = self._asked(found)
        line, column = self.position(found.start)
        return Call(kind, tuple(names), text, count, space, where, line, column)

    def _asked(self, found: _Property) -> tuple[str, int | None, str | None, tuple[str, ...]]:
        """Return text, count, space and conditions from the list behind a search."""
        terms = [node.term for node in self._members(found.objects[0])]
        if len(found.objects) > 1 or not terms or not all(isinstance(term, ox.Literal) for term in terms):
            self._refuse_search(found.start, "has no list of constants behind it")
        texts = [term.value for term in terms if isinstance(term, ox.Literal)]
        numbers = [text for text in texts[1:] if text.isdecimal()]
        spaces = [text for text in texts[1:] if _SPACE.fullmatch(text) and not text.isdecimal()]
        where = tuple(text for text in texts[1:] if not _SPACE.fullmatch(text))
        if len(numbers) > 1 or len(spaces) > 1:
            self._refuse_search(found.start, "has two numbers or two spaces in its list")
        return texts[0], int(numbers[0][:9]) if numbers else None, spaces[0] if spaces else None, where

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
        name = "matches" if "matches" in self.text[at : at + 200].split("(")[0] else "near"
        self.refuse(f"the search kgv:{name} {why}", f"Write {_FORM.format(name, name)}", at=at)


def _is_search(one: _Property) -> bool:
    return isinstance(one.verb, Node) and one.verb.term in _TRIPLES
