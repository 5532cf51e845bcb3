"""What a SHACL shape asks, in words with links.

SHACL (W3C Recommendation), sections 2.1 (targets), 2.3 (paths) and 4 (core constraint components). A constraint that is
not known here is shown with the name of its parameter and its value, so that none is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from kgrag.model import plain
from kgrag.server.pages.iri_links import Naming
from kgrag.vocab import RDF, RDFS, local_name, words_of

__all__ = ["Piece", "ShapeWords", "shape_words"]

Piece = tuple[str, str]
"""Text, and where it links to; "" for plain text."""

_OWL = "http://www.w3.org/2002/07/owl#"
_SH = "http://www.w3.org/ns/shacl#"
_MAX_DEPTH, _MAX_MEMBERS = 12, 100
_TARGETS = {
    "targetClass": "everything of the class ",
    "targetNode": "the node ",
    "targetSubjectsOf": "whatever has the property ",
    "targetObjectsOf": "every value of the property ",
}
_WITH_VALUE = {
    "minCount": "at least {} values",
    "maxCount": "at most {} values",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minInclusive": "at least {}",
    "maxInclusive": "at most {}",
    "minExclusive": "more than {}",
    "maxExclusive": "less than {}",
    "pattern": "texts that match the expression {}",
    "qualifiedMinCount": "at least {} values that fit the shape",
    "qualifiedMaxCount": "at most {} values that fit the shape",
}
_WITH_LINK = {
    "class": "things of the class ",
    "datatype": "values of the datatype ",
    "node": "what fits the shape ",
    "property": "what the shape asks: ",
    "hasValue": "the value ",
    "equals": "the same values as ",
    "disjoint": "no value of ",
    "lessThan": "values less than those of ",
    "lessThanOrEquals": "values no greater than those of ",
}
_KINDS = {
    "IRI": "IRIs",
    "BlankNode": "blank nodes",
    "Literal": "texts or numbers",
    "BlankNodeOrIRI": "things, no texts",
    "IRIOrLiteral": "no blank nodes",
    "BlankNodeOrLiteral": "no IRIs",
}
_LISTS = {"in": "one of ", "languageIn": "texts in one of the languages "}
_GROUPS = {"and": "all of: ", "or": "one or more of: ", "xone": "exactly one of: "}
_REPEATS = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}
_ABOUT = frozenset(
    {"path", "severity", "message", "deactivated", "name", "description", "order", "group", "defaultValue", "flags"}
    | {"ignoredProperties", "prefixes", "qualifiedValueShapesDisjoint", "shapesGraph"}
)
_NUMBERS_OF_ONE = {"at least 1 values": "at least one value", "at most 1 values": "at most one value"}

_Statements = Mapping[object, Mapping[str, Sequence[Any]]]
"""Node -> property -> values."""


@dataclass(frozen=True)
class Rule:
    """What a shape asks of the values of a path, or of the node itself where ``path`` is empty."""

    path: list[Piece]
    asks: list[list[Piece]]
    severity: str
    messages: list[str]


@dataclass(frozen=True)
class ShapeWords:
    """A shape in words; ``is_cut`` where it has more statements than were read."""

    targets: list[list[Piece]]
    rules: list[Rule]
    is_active: bool
    is_cut: bool


def shape_words(
    node: ox.NamedNode, table: Sequence[tuple[Any, ...]], naming: Naming, *, limit: int
) -> ShapeWords | None:
    """Return what a shape asks, from rows of ``pages/shape``; None for what is no shape."""
    statements: dict[object, dict[str, list[Any]]] = {}
    for subject, property_, value in table:
        values = statements.setdefault(subject, {}).setdefault(property_.value, [])
        if value not in values:
            values.append(value)
    stated = statements.get(node, {})
    kinds = stated.get(RDF.type.value, [])
    is_shape = any(plain(kind) in (f"{_SH}NodeShape", f"{_SH}PropertyShape") for kind in kinds)
    if not is_shape and not any(f"{_SH}{name}" in stated for name in (*_TARGETS, "property", "path")):
        return None
    writer = _Writer(statements, naming)
    targets = list(writer.targets(stated))
    if any(plain(kind) in (RDFS.Class.value, f"{_OWL}Class") for kind in kinds):
        targets.append([("everything of this class", "")])
    deactivated = any(plain(value) == "true" for value in stated.get(f"{_SH}deactivated", []))
    return ShapeWords(targets, list(writer.rules(node, 0)), not deactivated, len(table) >= limit)


class _Writer:
    def __init__(self, statements: _Statements, naming: Naming) -> None:
        self._statements = statements
        self._naming = naming

    def targets(self, stated: Mapping[str, Sequence[Any]]) -> Iterator[list[Piece]]:
        for name, words in _TARGETS.items():
            for value in stated.get(_SH + name, []):
                yield [(words, ""), self._term(value)]
        for _ in stated.get(f"{_SH}target", []):
            yield [("what a query of the shape finds", "")]

    def rules(self, shape: object, depth: int) -> Iterator[Rule]:
        """Yield what a shape asks of the node, then what it asks of each path."""
        stated = self._statements.get(shape, {})
        path = [piece for value in stated.get(f"{_SH}path", [])[:1] for piece in self._path(value, 0)]
        nested = [each for each in stated.get(f"{_SH}property", []) if isinstance(each, ox.BlankNode)]
        asks = list(self._asks(stated, nested, depth))
        severity = local_name(plain(next(iter(stated.get(f"{_SH}severity", [])), None))) or "Violation"
        messages = [plain(each) for each in stated.get(f"{_SH}message", [])]
        if asks:
            yield Rule(path, asks, severity, messages)
        for each in nested if depth < _MAX_DEPTH else ():
            for rule in self.rules(each, depth + 1):
                # severity and message are of the shape that states the constraint (SHACL, 2.1.4 and 2.1.5)
                yield Rule(
                    [*path, *([(" / ", "")] if path and rule.path else []), *rule.path],
                    rule.asks,
                    rule.severity,
                    rule.messages,
                )

    def _asks(self, stated: Mapping[str, Sequence[Any]], nested: Sequence[Any], depth: int) -> Iterator[list[Piece]]:
        for property_, values in sorted(stated.items()):
            name = property_.removeprefix(_SH)
            if name == property_ or name in _ABOUT or name in _TARGETS or name == "target":
                continue
            for value in values:
                if value not in nested or name != "property":
                    yield list(self._ask(name, value, depth))

    def _ask(self, name: str, value: Any, depth: int) -> Iterator[Piece]:
        if name in _WITH_VALUE:
            text = _WITH_VALUE[name].format(plain(value))
            yield _NUMBERS_OF_ONE.get(text, text), ""
        elif name == "nodeKind":
            yield _KINDS.get(local_name(plain(value)), plain(value)), ""
        elif name in _LISTS:
            yield _LISTS[name], ""
            yield from _joined(([self._term(each)] for each in self._members(value)), ", ")
        elif name in _GROUPS or name in ("not", "qualifiedValueShape"):
            yield from self._group(name, value, depth)
        elif name == "uniqueLang":
            yield "no two texts in one language" if plain(value) == "true" else "any number of texts in a language", ""
        elif name == "closed":
            yield (
                "no properties but those that are named here" if plain(value) == "true" else "other properties too",
                "",
            )
        elif name == "sparql":
            yield "what a query of the shape asks", ""
        elif name in _WITH_LINK and not isinstance(value, ox.BlankNode):
            yield _WITH_LINK[name], ""
            yield self._term(value)
        elif name == "node":
            yield from self._inside(value, depth)
        else:
            yield f"{words_of(name)} ", ""
            yield self._term(value)

    def _group(self, name: str, value: Any, depth: int) -> Iterator[Piece]:
        if name in _GROUPS:
            yield _GROUPS[name], ""
            yield from _joined((self._shape(each, depth) for each in self._members(value)), "; ")
            return
        yield "not: " if name == "not" else "the shape meant: ", ""
        yield from self._shape(value, depth)

    def _shape(self, value: Any, depth: int) -> list[Piece]:
        if isinstance(value, ox.BlankNode):
            return list(self._inside(value, depth))
        return [("the shape ", ""), self._term(value)]

    def _inside(self, shape: Any, depth: int) -> Iterator[Piece]:
        """Write an unnamed shape in brackets: of each path, what it asks."""
        if depth >= _MAX_DEPTH:
            yield "…", ""
            return
        yield "(", ""
        parts = (
            [*rule.path, *([(": ", "")] if rule.path else []), *_joined(rule.asks, ", ")]
            for rule in self.rules(shape, depth + 1)
        )
        yield from _joined(parts, "; ")
        yield ")", ""

    def _path(self, value: Any, depth: int) -> Iterator[Piece]:
        """Write a property path as SPARQL does."""
        if isinstance(value, ox.NamedNode) or depth > _MAX_DEPTH:
            yield self._property(value)
            return
        stated = self._statements.get(value, {})
        if RDF.first.value in stated:
            yield from _joined((self._path(each, depth + 1) for each in self._members(value)), " / ")
        for inverse in stated.get(f"{_SH}inversePath", []):
            yield "inverse of ", ""
            yield from self._path(inverse, depth + 1)
        for alternatives in stated.get(f"{_SH}alternativePath", []):
            yield from _joined((self._path(each, depth + 1) for each in self._members(alternatives)), " or ")
        for name, mark in _REPEATS.items():
            for repeated in stated.get(_SH + name, []):
                yield from self._path(repeated, depth + 1)
                yield mark, ""

    def _members(self, head: Any) -> list[Any]:
        members: list[Any] = []
        while isinstance(head, ox.BlankNode) and len(members) < _MAX_MEMBERS:
            stated = self._statements.get(head, {})
            members += stated.get(RDF.first.value, [])[:1]
            head = next(iter(stated.get(RDF.rest.value, [])), None)
        return members

    def _property(self, value: Any) -> Piece:
        if not isinstance(value, ox.NamedNode):
            return plain(value), ""
        shown = self._naming.property(value.value)
        return shown.name, shown.href

    def _term(self, value: Any) -> Piece:
        shown = self._naming.term(value)
        return (shown.name if shown.iri else shown.text or "something"), shown.href


def _joined(parts: Any, between: str) -> Iterator[Piece]:
    for number, part in enumerate(parts):
        if number:
            yield between, ""
        yield from part
