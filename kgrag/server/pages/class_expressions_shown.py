"""Class expressions of OWL in Manchester syntax, with links.

OWL 2 Web Ontology Language, Manchester Syntax (second edition), section 2.4: restrictions, ``and``, ``or``, ``not``,
enumerations, ``inverse``. What is no expression that is known comes as ``...``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from kgrag.server.pages.iri_links import Naming
from kgrag.vocab import OWL, RDF, RDFS

__all__ = ["Piece", "class_expressions"]

Piece = tuple[str, str]
"""Text, and where it links to; "" for plain text."""

_OWL = OWL.prefix
_ROLES = {
    RDFS.subClassOf.value: "subclass of",
    f"{_OWL}equivalentClass": "equivalent to",
    f"{_OWL}disjointWith": "disjoint with",
}
_QUANTIFIERS = {"someValuesFrom": "some", "allValuesFrom": "only", "hasValue": "value"}
_CARDINALITIES = {
    "minCardinality": "min", "maxCardinality": "max", "cardinality": "exactly",
    "minQualifiedCardinality": "min", "maxQualifiedCardinality": "max", "qualifiedCardinality": "exactly",
}  # fmt: skip
_LISTS = {"intersectionOf": " and ", "unionOf": " or "}
_MAX_DEPTH, _MAX_MEMBERS = 12, 200

_Statements = Mapping[str, Mapping[str, Sequence[Any]]]
"""Name of a blank node -> property -> values."""


def class_expressions(table: Sequence[tuple[Any, ...]], naming: Naming) -> dict[str, list[list[Piece]]]:
    """Return the expressions that describe a class, by role, from rows of ``pages/expressions``."""
    statements: dict[str, dict[str, list[Any]]] = {}
    roots: dict[str, dict[str, Any]] = {}
    for role, root, node, property_, value in table:
        roots.setdefault(role.value, {})[root.value] = root
        values = statements.setdefault(node.value, {}).setdefault(property_.value, [])
        if value not in values:
            values.append(value)
    writer = _Writer(statements, naming)
    return {
        _ROLES[role]: [_merged(writer.expression(root, 0)) for root in nodes.values()]
        for role, nodes in sorted(roots.items())
    }


class _Writer:
    def __init__(self, statements: _Statements, naming: Naming) -> None:
        self._statements = statements
        self._naming = naming

    def expression(self, term: Any, depth: int) -> Iterator[Piece]:
        """Write a term: a name, a literal, or what a blank node stands for."""
        if not isinstance(term, ox.BlankNode):
            shown = self._naming.term(term)
            text = f'"{shown.text}"' if isinstance(term, ox.Literal) and not _is_number(term) else shown.name
            yield text, shown.href
            return
        stated = {name.removeprefix(_OWL): values for name, values in self._statements.get(term.value, {}).items()}
        if depth > _MAX_DEPTH or not stated:
            yield "...", ""
            return
        for name, sign in _LISTS.items():
            if name in stated:
                yield from self._joined(stated[name][0], sign, depth)
                return
        if "oneOf" in stated:
            yield "{", ""
            yield from self._joined(stated["oneOf"][0], ", ", depth, brackets=False)
            yield "}", ""
        elif "complementOf" in stated:
            yield "not ", ""
            yield from self._inner(stated["complementOf"][0], depth)
        elif "inverseOf" in stated:
            yield "inverse ", ""
            yield from self._inner(stated["inverseOf"][0], depth)
        elif "onProperty" in stated:
            yield from self._restriction(stated, depth)
        else:
            yield "...", ""

    def _restriction(self, stated: Mapping[str, Sequence[Any]], depth: int) -> Iterator[Piece]:
        yield from self._inner(stated["onProperty"][0], depth)
        for name, word in _QUANTIFIERS.items():
            if name in stated:
                yield f" {word} ", ""
                yield from self._inner(stated[name][0], depth)
                return
        for name, word in _CARDINALITIES.items():
            if name in stated:
                yield f" {word} {stated[name][0].value}", ""
                for filler in (*stated.get("onClass", ()), *stated.get("onDataRange", ())):
                    yield " ", ""
                    yield from self._inner(filler, depth)
                return
        yield " Self" if "hasSelf" in stated else " ...", ""

    def _inner(self, term: Any, depth: int) -> Iterator[Piece]:
        """Write a term within another expression: in brackets where it is one itself."""
        if not isinstance(term, ox.BlankNode):
            yield from self.expression(term, depth)
            return
        yield "(", ""
        yield from self.expression(term, depth + 1)
        yield ")", ""

    def _joined(self, head: Any, sign: str, depth: int, *, brackets: bool = True) -> Iterator[Piece]:
        node, number = head, 0
        while isinstance(node, ox.BlankNode) and number < _MAX_MEMBERS:
            stated = self._statements.get(node.value, {})
            if number:
                yield sign, ""
            for member in stated.get(RDF.first.value, ())[:1]:
                yield from self._inner(member, depth) if brackets else self.expression(member, depth + 1)
            node = next(iter(stated.get(RDF.rest.value, ())), None)
            number += 1


def _is_number(term: ox.Literal) -> bool:
    return term.datatype.value.endswith(("#integer", "#decimal", "#double", "#boolean"))


def _merged(pieces: Iterator[Piece]) -> list[Piece]:
    """Return pieces with neighbouring plain texts as one."""
    merged: list[Piece] = []
    for text, href in pieces:
        if not href and merged and not merged[-1][1]:
            merged[-1] = (merged[-1][0] + text, "")
        else:
            merged.append((text, href))
    return merged
