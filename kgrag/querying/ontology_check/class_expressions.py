"""Class expressions of OWL, read as alternatives of named classes.

``owl:unionOf (A B)`` is two alternatives, ``owl:intersectionOf (A B)`` one that requires both; what names no class (a
restriction, a complement, an enumeration) requires nothing in particular and so accepts everything. Nested expressions
are multiplied out, up to ``MAX_ALTERNATIVES``.

Datatypes come in families: values of one family can be compared, and a range of one accepts a value of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.vocab import OWL, RDF, RDFS, XSD

__all__ = [
    "ANYTHING",
    "ANY_LITERAL",
    "MAX_ALTERNATIVES",
    "Expression",
    "Statements",
    "family",
    "joined",
]

MAX_ALTERNATIVES = 64
_MAX_DEPTH = 20

Expression = tuple[tuple[str, ...], ...]
"""Alternatives, each a tuple of class IRIs that all have to hold; ``()`` is anything."""

ANYTHING: Expression = ()
_TOPS = frozenset({OWL.Thing.value, RDFS.Resource.value})


@dataclass(slots=True)
class Statements:
    """The triples of an ontology by predicate and subject; subjects and objects are keyed by their N-Triples form."""

    by_predicate: dict[str, dict[str, list[ox.NamedNode | ox.BlankNode | ox.Literal]]] = field(default_factory=dict)

    @classmethod
    def of(cls, triples: Iterable[ox.Triple]) -> Statements:
        """Sort triples; those about triples are left out."""
        found: dict[str, dict[str, list[ox.NamedNode | ox.BlankNode | ox.Literal]]] = {}
        for triple in triples:
            subject, value = triple.subject, triple.object
            if isinstance(subject, ox.Triple) or isinstance(value, ox.Triple):
                continue
            found.setdefault(triple.predicate.value, {}).setdefault(str(subject), []).append(value)
        return cls(found)

    def pairs(self, predicate: ox.NamedNode) -> Iterator[tuple[str, ox.NamedNode | ox.BlankNode | ox.Literal]]:
        """Yield (subject, object) of a predicate, subjects as N-Triples."""
        for subject, values in self.by_predicate.get(predicate.value, {}).items():
            for value in values:
                yield subject, value

    def named_pairs(self, predicate: ox.NamedNode) -> Iterator[tuple[str, str]]:
        """Yield the IRIs of subject and object where both are IRIs."""
        for subject, value in self.pairs(predicate):
            if subject.startswith("<") and isinstance(value, ox.NamedNode):
                yield subject[1:-1], value.value

    def objects(self, subject: object, predicate: ox.NamedNode) -> list[ox.NamedNode | ox.BlankNode | ox.Literal]:
        """Return the objects of one subject."""
        return self.by_predicate.get(predicate.value, {}).get(str(subject), [])

    def members(self, head: object) -> list[ox.NamedNode | ox.BlankNode | ox.Literal]:
        """Return the items of an RDF list; a list that runs in a circle ends where it would begin again."""
        items: list[ox.NamedNode | ox.BlankNode | ox.Literal] = []
        seen: set[str] = set()
        node: object = head
        while str(node) not in seen and node != RDF.nil:
            seen.add(str(node))
            items += self.objects(node, RDF.first)[:1]
            rest = self.objects(node, RDF.rest)
            if not rest:
                break
            node = rest[0]
        return items

    def expression(self, node: object, depth: int = 0) -> Expression:
        """Return a class expression as alternatives of named classes."""
        if isinstance(node, ox.NamedNode):
            return ANYTHING if node.value in _TOPS else ((node.value,),)
        return self.combination(node, depth) if isinstance(node, ox.BlankNode) and depth < _MAX_DEPTH else ANYTHING

    def combination(self, node: object, depth: int = 0) -> Expression:
        """Return what a node is by itself: a union, an intersection, a restricted datatype; else anything."""
        for head in self.objects(node, OWL.unionOf):
            return _union([self.expression(member, depth + 1) for member in self.members(head)])
        for head in self.objects(node, OWL.intersectionOf):
            return _intersection([self.expression(member, depth + 1) for member in self.members(head)])
        if self.objects(node, OWL.onDatatype):
            return self.expression(self.objects(node, OWL.onDatatype)[0], depth + 1)
        if RDFS.Datatype in self.objects(node, RDF.type):
            return ((RDFS.Literal.value,),)
        return ANYTHING


def _union(parts: list[Expression]) -> Expression:
    if ANYTHING in parts:
        return ANYTHING
    return _bounded([alternative for part in parts for alternative in part])


def _intersection(parts: list[Expression]) -> Expression:
    alternatives: list[tuple[str, ...]] = [()]
    for part in parts:
        if part != ANYTHING:
            alternatives = [(*one, *other) for one in alternatives for other in part][: MAX_ALTERNATIVES + 1]
    return ANYTHING if alternatives == [()] else _bounded(alternatives)


def _bounded(alternatives: list[tuple[str, ...]]) -> Expression:
    unique = tuple(dict.fromkeys(tuple(sorted(set(alternative))) for alternative in alternatives))
    return ANYTHING if len(unique) > MAX_ALTERNATIVES else unique


def joined(expressions: Mapping[str, list[Expression]]) -> dict[str, Expression]:
    """Read several statements about one property as alternatives; one that accepts everything settles it."""
    return {name: _union(parts) for name, parts in expressions.items()}


ANY_LITERAL = "any"

_NAMES = {
    "number": "decimal double float integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte",
    "text": "string normalizedString token language Name NCName NMTOKEN",
    "boolean": "boolean",
    "time": "date dateTime dateTimeStamp",
    "clock": "time",
    "year": "gYear gYearMonth",
    "month": "gMonth gMonthDay gDay",
    "duration": "duration dayTimeDuration yearMonthDuration",
    "address": "anyURI",
    "bytes": "base64Binary hexBinary",
}
_SCHEMA = {
    "number": "Number Integer Float",
    "text": "Text CssSelectorType PronounceableText URL XPathType",
    "boolean": "Boolean",
    "time": "Date DateTime",
    "clock": "Time",
}
_FAMILIES: dict[str, str] = {
    RDFS.Literal.value: ANY_LITERAL,
    RDF.langString.value: "text",
    f"{RDF.prefix}PlainLiteral": "text",
    f"{RDF.prefix}HTML": "text",
    f"{RDF.prefix}XMLLiteral": "text",
    "http://www.w3.org/2002/07/owl#real": "number",
    "http://www.w3.org/2002/07/owl#rational": "number",
}
_FAMILIES |= {f"{XSD.prefix}{name}": kind for kind, names in _NAMES.items() for name in names.split()}
_FAMILIES |= {
    f"{scheme}://schema.org/{name}": kind
    for scheme in ("http", "https")
    for kind, names in _SCHEMA.items()
    for name in names.split()
}


def family(datatype: str) -> str:
    """Return the family of a datatype, "any" for ``rdfs:Literal``, "" for what is no datatype known by its name.

    >>> family("http://www.w3.org/2001/XMLSchema#int"), family("http://example.org/Crop")
    ('number', '')
    """
    return _FAMILIES.get(datatype, "")
