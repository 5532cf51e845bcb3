"""An ontology's triples as axioms: each statement together with the class expressions that hang from it.

An axiom is one triple of a named subject with all that its blank nodes say, or all that a blank node says which nothing
refers to (``owl:AllDisjointClasses``). Declarations are kept apart, since without them an ontology is read wrongly;
annotations are left out. ``words`` puts an axiom into something like the Manchester syntax.
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
_SAYING_NOTHING = frozenset(
    {
        *(RDFS.label, RDFS.comment, RDFS.isDefinedBy, RDFS.seeAlso, OWL.imports, OWL.versionInfo),
        *(ox.NamedNode(OWL.prefix + name) for name in ("deprecated", "versionIRI", "priorVersion")),
    }
)
_BETWEEN = {
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
_JOINED = {"intersectionOf": " and ", "unionOf": " or ", "oneOf": ", ", "members": ", ", "distinctMembers": ", "}


@dataclass(frozen=True, slots=True)
class Axiom:
    """One axiom: its triples, the first of which begins it, and the IRIs that it speaks of."""

    triples: tuple[ox.Triple, ...]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Axioms:
    """The axioms of an ontology, and the declarations of each term."""

    axioms: tuple[Axiom, ...]
    declarations: Mapping[str, Sequence[ox.Triple]]

    def near(self, term: str) -> list[Axiom]:
        """Give all axioms, those first that speak of a term, then those of the terms that these speak of, and so on."""
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
        """Give the triples of some axioms, with the declarations of the terms that they, or the caller, speak of."""
        named = dict.fromkeys([*terms, *sorted({name for axiom in axioms for name in axiom.terms})])
        declared = [triple for name in named for triple in self.declarations.get(name, ())]
        return [*declared, *dict.fromkeys(triple for axiom in axioms for triple in axiom.triples)]


def read_axioms(triples: Sequence[ox.Triple]) -> Axioms:
    """Take an ontology apart into axioms."""
    about: dict[ox.BlankNode, list[ox.Triple]] = {}
    referred: set[Term] = set()
    silent = set(_SAYING_NOTHING)
    for triple in triples:
        if isinstance(triple.subject, ox.BlankNode):
            about.setdefault(triple.subject, []).append(triple)
        if isinstance(triple.object, ox.BlankNode):
            referred.add(triple.object)
        if triple.predicate == RDF.type and triple.object in (OWL.AnnotationProperty, OWL.Ontology):
            silent.add(triple.subject)  # type: ignore[arg-type]
    declarations: dict[str, list[ox.Triple]] = {}
    found: list[Axiom] = []
    for triple in triples:
        if isinstance(triple.subject, ox.BlankNode) or triple.predicate in silent or triple.subject in silent:
            continue
        if triple.predicate == RDF.type and triple.object in _DECLARED:
            declarations.setdefault(plain(triple.subject), []).append(triple)
        else:
            found.append(_axiom([triple], about))
    roots = [each for node, each in about.items() if node not in referred]
    found += [_axiom(each, about) for each in roots if not _is_annotation(each)]
    return Axioms(tuple(found), declarations)


def _is_annotation(triples: Sequence[ox.Triple]) -> bool:
    return any(each.predicate == RDF.type and plain(each.object) == OWL.prefix + "Axiom" for each in triples)


def _axiom(first: Sequence[ox.Triple], about: Mapping[ox.BlankNode, Sequence[ox.Triple]]) -> Axiom:
    found: dict[ox.Triple, None] = {}
    waiting = deque(first)
    while waiting:
        triple = waiting.popleft()
        if triple in found:
            continue
        found[triple] = None
        if isinstance(triple.object, ox.BlankNode):
            waiting.extend(about.get(triple.object, ()))
    terms = {
        term.value
        for triple in found
        for term in (triple.subject, triple.predicate, triple.object)
        if isinstance(term, ox.NamedNode) and not term.value.startswith(_BUILT_IN)
    }
    return Axiom(tuple(found), frozenset(terms))


def words(axiom: Axiom) -> str:
    """Put an axiom into words, with local names for IRIs.

    >>> koala, quokka = ox.NamedNode("urn:Koala"), ox.NamedNode("urn:Marsupial")
    >>> words(Axiom((ox.Triple(koala, RDFS.subClassOf, quokka),), frozenset()))
    'Koala SubClassOf Marsupial'
    """
    first = axiom.triples[0]
    said = _said(axiom.triples)
    if isinstance(first.subject, ox.BlankNode):
        kind = local_name(plain(said[first.subject].get(RDF.type.value, [None])[0]))
        return f"{kind}: {_expression(first.subject, said, 0).strip('{()}')}"
    between = _BETWEEN.get(first.predicate, _name(first.predicate))
    return f"{_name(first.subject)} {between} {_expression(first.object, said, 0)}"


_Said = dict[Term, dict[str, list[Term]]]


def _said(triples: Sequence[ox.Triple]) -> _Said:
    said: _Said = {}
    for triple in triples:
        said.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
    return said


def _name(term: Term) -> str:
    if isinstance(term, ox.NamedNode):
        return local_name(term.value) or term.value
    return str(term) if isinstance(term, ox.Literal) and term.language else plain(term)


def _expression(term: Term, said: _Said, depth: int) -> str:
    """Put a class expression into words; brackets around those that stand within another."""
    known = said.get(term, {})
    if not isinstance(term, ox.BlankNode) or depth > 50:
        return _name(term)
    if RDF.first.value in known:
        return ", ".join(_expression(each, said, depth + 1) for each in _items(term, said))
    for name, joint in _JOINED.items():
        for values in known.get(OWL.prefix + name, []):
            text = joint.join(_expression(each, said, depth + 1) for each in _items(values, said))
            return f"{{{text}}}" if joint == ", " else _bracketed(text, depth)
    for values in known.get(OWL.prefix + "complementOf", []):
        return f"not {_expression(values, said, depth + 1)}"
    return _bracketed(_restriction(known, said, depth), depth)


def _restriction(known: Mapping[str, Sequence[Term]], said: _Said, depth: int) -> str:
    part = {local_name(name): values[0] for name, values in known.items()}
    if "onProperty" not in part:
        return "; ".join(f"{name} {_expression(value, said, depth + 1)}" for name, value in sorted(part.items()))
    role = part["onProperty"]
    inverse = said.get(role, {}).get(OWL.inverseOf.value)
    name = f"inverse {_name(inverse[0])}" if inverse else _name(role)
    quantifier = next((each for each in _QUANTIFIED if each in part), "")
    value = _expression(part[quantifier], said, depth + 1) if quantifier else ""
    target = next((part[each] for each in ("onClass", "onDataRange") if each in part), None)
    ending = f" {_expression(target, said, depth + 1)}" if target is not None else ""
    return f"{name} {_QUANTIFIED.get(quantifier, '')} {value}{ending}"


def _bracketed(text: str, depth: int) -> str:
    return f"({text})" if depth else text


def _items(node: Term, said: _Said) -> Iterator[Term]:
    seen: set[Term] = set()
    while (known := said.get(node, {})) and node not in seen:
        seen.add(node)
        yield from known.get(RDF.first.value, [])
        node = known.get(RDF.prefix + "rest", [RDF.nil])[0]
