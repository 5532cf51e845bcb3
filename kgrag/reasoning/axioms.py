"""An ontology's triples as axioms: each statement together with the class expressions that it refers to.

An axiom is one triple of a named subject with the statements of its blank nodes, or the statements of a blank node to
which nothing refers (``owl:AllDisjointClasses``). Declarations are kept apart, since without them an ontology is read
wrongly; annotations are left out. ``words`` writes an axiom in a form close to the Manchester syntax.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.model import Term, plain
from kgrag.vocab import OWL, RDF, RDFS, XSD, local_name

__all__ = ["Axiom", "Axioms", "read_axioms", "words"]

_DECLARED = frozenset(
    {
        *(OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty, OWL.NamedIndividual),
        *(OWL.Ontology, RDFS.Class, RDFS.Datatype, RDF.Property, ox.NamedNode(OWL.prefix + "Restriction")),
    }
)
_BUILT_IN = (OWL.prefix, RDF.prefix, RDFS.prefix, XSD.prefix)
_ANNOTATIONS = frozenset(
    {
        *(RDFS.label, RDFS.comment, RDFS.isDefinedBy, RDFS.seeAlso, OWL.imports, OWL.versionInfo),
        *(ox.NamedNode(OWL.prefix + name) for name in ("deprecated", "versionIRI", "priorVersion")),
    }
)
_KEYWORDS = {
    RDFS.subClassOf: "SubClassOf",
    RDFS.subPropertyOf: "SubPropertyOf",
    RDFS.domain: "Domain",
    RDFS.range: "Range",
    RDF.type: "Type",
    OWL.equivalentClass: "EquivalentTo",
    OWL.disjointWith: "DisjointWith",
    OWL.disjointUnionOf: "DisjointUnionOf",
    OWL.inverseOf: "InverseOf",
}
_QUANTIFIED = {
    "someValuesFrom": "some",
    "allValuesFrom": "only",
    "hasValue": "value",
    "minCardinality": "min",
    "maxCardinality": "max",
    "cardinality": "exactly",
    "minQualifiedCardinality": "min",
    "maxQualifiedCardinality": "max",
    "qualifiedCardinality": "exactly",
}
_JOINTS = {"intersectionOf": " and ", "unionOf": " or ", "oneOf": ", ", "members": ", ", "distinctMembers": ", "}


MAX_EXPRESSION_DEPTH = 50
"""Expressions nested deeper, as those on a cycle of blank nodes, are written by their node's name."""

_Statements = dict[Term, dict[str, list[Term]]]


@dataclass(frozen=True, slots=True)
class Axiom:
    """One axiom: its triples, the first of which begins it, and the IRIs that it mentions."""

    triples: tuple[ox.Triple, ...]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Axioms:
    """The axioms of an ontology, and the declarations of each term."""

    axioms: tuple[Axiom, ...]
    declarations: Mapping[str, Sequence[ox.Triple]]

    def near(self, term: str) -> list[Axiom]:
        """Return all axioms by distance: first those that mention a term, then those of terms that these mention."""
        by_term: dict[str, list[int]] = {}
        for number, axiom in enumerate(self.axioms):
            for name in axiom.terms:
                by_term.setdefault(name, []).append(number)
        order: dict[int, None] = {}
        seen, waiting = {term}, deque([term])
        while waiting:
            for number in by_term.get(waiting.popleft(), ()):
                order.setdefault(number)
                new = sorted(self.axioms[number].terms - seen)
                seen.update(new)
                waiting.extend(new)
        order.update(dict.fromkeys(range(len(self.axioms))))
        return [self.axioms[number] for number in order]

    def as_triples(self, axioms: Sequence[Axiom], *terms: str) -> list[ox.Triple]:
        """Return the triples of some axioms, with the declarations of terms that they mention or the caller names."""
        named = dict.fromkeys([*terms, *sorted({name for axiom in axioms for name in axiom.terms})])
        declared = [triple for name in named for triple in self.declarations.get(name, ())]
        return [*declared, *dict.fromkeys(triple for axiom in axioms for triple in axiom.triples)]


def read_axioms(triples: Sequence[ox.Triple]) -> Axioms:
    """Return the axioms and declarations of an ontology."""
    about: dict[ox.BlankNode, list[ox.Triple]] = {}
    referred: set[Term] = set()
    annotations = set(_ANNOTATIONS)
    for triple in triples:
        if isinstance(triple.subject, ox.BlankNode):
            about.setdefault(triple.subject, []).append(triple)
        if isinstance(triple.object, ox.BlankNode):
            referred.add(triple.object)
        if triple.predicate == RDF.type and triple.object in (OWL.AnnotationProperty, OWL.Ontology):
            annotations.add(triple.subject)  # type: ignore[arg-type]
    declarations: dict[str, list[ox.Triple]] = {}
    axioms: list[Axiom] = []
    for triple in triples:
        if isinstance(triple.subject, ox.BlankNode) or triple.predicate in annotations or triple.subject in annotations:
            continue
        if triple.predicate == RDF.type and triple.object in _DECLARED:
            declarations.setdefault(plain(triple.subject), []).append(triple)
        else:
            axioms.append(_axiom([triple], about))
    for node, statements in about.items():
        # an owl:Axiom annotates another axiom
        annotates = any(t.predicate == RDF.type and plain(t.object) == OWL.prefix + "Axiom" for t in statements)
        if node not in referred and not annotates:
            axioms.append(_axiom(statements, about))
    return Axioms(tuple(axioms), declarations)


def _axiom(first: Sequence[ox.Triple], about: Mapping[ox.BlankNode, Sequence[ox.Triple]]) -> Axiom:
    triples: dict[ox.Triple, None] = {}
    waiting = deque(first)
    while waiting:
        triple = waiting.popleft()
        if triple in triples:
            continue
        triples[triple] = None
        if isinstance(triple.object, ox.BlankNode):
            waiting.extend(about.get(triple.object, ()))
    terms = {
        term.value
        for triple in triples
        for term in (triple.subject, triple.predicate, triple.object)
        if isinstance(term, ox.NamedNode) and not term.value.startswith(_BUILT_IN)
    }
    return Axiom(tuple(triples), frozenset(terms))


def words(axiom: Axiom) -> str:
    """Return an axiom in words, with local names for IRIs.

    >>> koala, quokka = ox.NamedNode("urn:Koala"), ox.NamedNode("urn:Marsupial")
    >>> words(Axiom((ox.Triple(koala, RDFS.subClassOf, quokka),), frozenset()))
    'Koala SubClassOf Marsupial'
    """
    first = axiom.triples[0]
    statements: _Statements = {}
    for triple in axiom.triples:
        statements.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
    if isinstance(first.subject, ox.BlankNode):
        kind = local_name(plain(statements[first.subject].get(RDF.type.value, [None])[0]))
        return f"{kind}: {_expression(first.subject, statements, 0).strip('{()}')}"
    keyword = _KEYWORDS.get(first.predicate, _name(first.predicate))
    return f"{_name(first.subject)} {keyword} {_expression(first.object, statements, 0)}"


def _name(term: Term) -> str:
    if isinstance(term, ox.NamedNode):
        return local_name(term.value) or term.value
    return str(term) if isinstance(term, ox.Literal) and term.language else plain(term)


def _expression(term: Term, statements: _Statements, depth: int) -> str:
    """Return a class expression in words, in brackets where it is part of another one."""
    known = statements.get(term, {})
    if not isinstance(term, ox.BlankNode) or depth > MAX_EXPRESSION_DEPTH:
        return _name(term)
    if RDF.first.value in known:
        return ", ".join(_expression(each, statements, depth + 1) for each in _items(term, statements))
    for name, joint in _JOINTS.items():
        for values in known.get(OWL.prefix + name, []):
            text = joint.join(_expression(each, statements, depth + 1) for each in _items(values, statements))
            return f"{{{text}}}" if joint == ", " else _bracketed(text, depth)
    for values in known.get(OWL.prefix + "complementOf", []):
        return f"not {_expression(values, statements, depth + 1)}"
    return _bracketed(_restriction(known, statements, depth), depth)


def _restriction(known: Mapping[str, Sequence[Term]], statements: _Statements, depth: int) -> str:
    part = {local_name(name): values[0] for name, values in known.items()}
    if "onProperty" not in part:
        return "; ".join(f"{name} {_expression(value, statements, depth + 1)}" for name, value in sorted(part.items()))
    role = part["onProperty"]
    inverse = statements.get(role, {}).get(OWL.inverseOf.value)
    name = f"inverse {_name(inverse[0])}" if inverse else _name(role)
    quantifier = next((each for each in _QUANTIFIED if each in part), "")
    value = _expression(part[quantifier], statements, depth + 1) if quantifier else ""
    target = next((part[each] for each in ("onClass", "onDataRange") if each in part), None)
    ending = f" {_expression(target, statements, depth + 1)}" if target is not None else ""
    return f"{name} {_QUANTIFIED.get(quantifier, '')} {value}{ending}"


def _bracketed(text: str, depth: int) -> str:
    return f"({text})" if depth else text


def _items(node: Term, statements: _Statements) -> Iterator[Term]:
    seen: set[Term] = set()
    while (known := statements.get(node, {})) and node not in seen:
        seen.add(node)
        yield from known.get(RDF.first.value, [])
        node = known.get(RDF.prefix + "rest", [RDF.nil])[0]
