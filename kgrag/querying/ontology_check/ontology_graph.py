"""The ontology graph: what the ontology states of the properties and classes of one query, worked out beforehand.

Only terms of the query get in, so that a rule is as quick on an ontology of 35,000 triples as on one of 100.

===========================  ========================================================================================
statement                    meaning
===========================  ========================================================================================
``a check:Property``         defined, a term of RDF, RDFS, OWL or SKOS, or in a namespace that is let pass
``a check:ObjectProperty``   its values are IRIs; ``a check:DatatypeProperty``: its values are literals
``rdfs:domain`` and ``range`` what it wants: a class, or a node for alternatives ("A or B")
``a check:Class``            defined or standard; ``a check:Datatype``: a range of literals, with ``check:family``
``check:incompatible``       between two classes or ranges, both ways: nothing can lie in both
``check:within``             class -> class or alternatives that it is a subclass of (or equal to)
``a check:Deprecated``       a term of the query that should not be used; ``check:instead``: what took its place
``a check:Misfit``           ``check:predicate``, ``check:constant``: a literal that is no value of its range;
                             ``check:instead``: the same text as a value of it
``check:disjoint``           between two types of the query: declared disjoint, also through superclasses
===========================  ========================================================================================

*Compatible* is: equal; one a subclass of the other; a common named subclass; anything with ``owl:Thing``; never what is
declared disjoint; never a class with a datatype; datatypes of one family. The paper asks for a subclass in one given
direction and takes every other pair for disjoint (OBQC section 3.3); a named subclass in common is enough here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pyoxigraph as ox

from kgrag.querying.ontology_check.class_expressions import ANY_LITERAL, ANYTHING, Expression, family
from kgrag.querying.ontology_check.ontology_index import OntologyIndex
from kgrag.querying.ontology_check.query_constants import offered_classes, offered_properties, offers
from kgrag.sparql.syntax import Query, Variable
from kgrag.store.value_spaces import is_value_of
from kgrag.vocab import CHECK, OWL, PREFIXES, RDF, RDFS, digest

__all__ = [
    "CLASSES",
    "ONTOLOGY",
    "PROPERTIES",
    "OntologyGraph",
    "QueryTerms",
    "compatible",
    "disjoint",
    "ontology_graph",
    "terms_of",
    "value_kind",
    "within",
]

ONTOLOGY = ox.NamedNode("urn:kgrag:check:ontology")
_TOPS = frozenset({OWL.Thing.value, RDFS.Resource.value})

_NAMESPACES = (RDF.prefix, RDFS.prefix, OWL.prefix, PREFIXES["skos"])

_RDF_PROPERTIES = "type subject predicate object first rest value direction language"
_RDFS_PROPERTIES = "label comment subClassOf subPropertyOf domain range isDefinedBy seeAlso member"
_OWL_PROPERTIES = (
    "allValuesFrom annotatedProperty annotatedSource annotatedTarget assertionProperty backwardCompatibleWith "
    "bottomDataProperty bottomObjectProperty cardinality complementOf datatypeComplementOf deprecated differentFrom "
    "disjointUnionOf disjointWith distinctMembers equivalentClass equivalentProperty hasKey hasSelf hasValue imports "
    "incompatibleWith intersectionOf inverseOf maxCardinality maxQualifiedCardinality members minCardinality "
    "minQualifiedCardinality onClass onDataRange onDatatype onProperties onProperty oneOf priorVersion "
    "propertyChainAxiom propertyDisjointWith qualifiedCardinality sameAs someValuesFrom sourceIndividual "
    "targetIndividual targetValue topDataProperty topObjectProperty unionOf versionIRI versionInfo withRestrictions"
)
_SKOS_PROPERTIES = (
    "altLabel broadMatch broader broaderTransitive changeNote closeMatch definition editorialNote exactMatch example "
    "hasTopConcept hiddenLabel historyNote inScheme mappingRelation member memberList narrowMatch narrower "
    "narrowerTransitive notation note prefLabel related relatedMatch scopeNote semanticRelation topConceptOf"
)
_RDF_CLASSES = "Alt Bag List Property Seq Statement"
_RDFS_CLASSES = "Class Container ContainerMembershipProperty Datatype Literal Resource"
_OWL_CLASSES = (
    "AllDifferent AllDisjointClasses AllDisjointProperties Annotation AnnotationProperty AsymmetricProperty Axiom "
    "Class DataRange DatatypeProperty DeprecatedClass DeprecatedProperty FunctionalProperty InverseFunctionalProperty "
    "IrreflexiveProperty NamedIndividual NegativePropertyAssertion Nothing ObjectProperty Ontology OntologyProperty "
    "ReflexiveProperty Restriction SymmetricProperty Thing TransitiveProperty"
)
_SKOS_CLASSES = "Collection Concept ConceptScheme OrderedCollection"


def _terms(*lists: str) -> frozenset[str]:
    return frozenset(space + name for space, names in zip(_NAMESPACES, lists, strict=True) for name in names.split())


PROPERTIES = _terms(_RDF_PROPERTIES, _RDFS_PROPERTIES, _OWL_PROPERTIES, _SKOS_PROPERTIES)
CLASSES = _terms(_RDF_CLASSES, _RDFS_CLASSES, _OWL_CLASSES, _SKOS_CLASSES)


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The IRIs of a query by their place in it, each once, in order of appearance."""

    properties: tuple[str, ...]
    classes: tuple[str, ...]
    others: tuple[str, ...] = ()
    literals: tuple[tuple[str, ox.Literal], ...] = ()


def terms_of(query: Query) -> QueryTerms:
    """Return the properties and classes that a query names, also by VALUES or a FILTER.

    ``others`` are the IRIs in any place of a pattern, ``literals`` those in the place of a property's object.
    """
    properties: dict[str, None] = {}
    classes: dict[str, None] = {}
    for pattern in query.patterns:
        if isinstance(pattern.predicate, ox.NamedNode):
            properties[pattern.predicate.value] = None
            if pattern.predicate == RDF.type and isinstance(pattern.object, ox.NamedNode):
                classes[pattern.object.value] = None
    properties |= dict.fromkeys(offered_properties(query))
    classes |= dict.fromkeys(offered_classes(query))
    ends = dict.fromkeys(end for each in query.patterns for end in (each.subject, each.object))
    others = tuple(end.value for end in ends if isinstance(end, ox.NamedNode))
    return QueryTerms(tuple(properties), tuple(classes), others, tuple(dict.fromkeys(_literals(query))))


def _literals(query: Query) -> Iterator[tuple[str, ox.Literal]]:
    """Yield (property, literal) for what stands, or is offered to the variable, in the place of its object."""
    offered: dict[Variable, list[ox.Literal]] = {}
    for each in offers(query):
        if isinstance(each.term, ox.Literal) and not each.compared:
            offered.setdefault(each.variable, []).append(each.term)
    for pattern in query.patterns:
        if isinstance(pattern.predicate, ox.NamedNode) and not pattern.free_object:
            value = pattern.object
            literals = [value] if isinstance(value, ox.Literal) else []
            literals += offered.get(value, ()) if isinstance(value, Variable) else ()
            yield from ((pattern.predicate.value, literal) for literal in literals)


def value_kind(index: OntologyIndex, name: str) -> str:
    """Return "object" or "datatype" for what values a property has, "" where the ontology leaves it open."""
    kinds = index.kinds.get(name, "").split()
    if "object" in kinds or "datatype" in kinds:
        return "" if {"object", "datatype"} <= set(kinds) else "object" if "object" in kinds else "datatype"
    if name == RDF.type.value:
        return "object"
    named = {index.is_datatype(each) for alternative in index.range(name) for each in alternative}
    return "" if len(named) != 1 else "datatype" if named == {True} else "object"


@dataclass(slots=True)
class OntologyGraph:
    """The quads, and the lists of class IRIs that the nodes for alternatives mean."""

    quads: list[ox.Quad] = field(default_factory=list)
    alternatives: dict[str, Expression] = field(default_factory=dict)

    def add(self, subject: str, predicate: ox.NamedNode, value: ox.NamedNode | ox.Literal) -> None:
        """Add one statement."""
        self.quads.append(ox.Quad(ox.NamedNode(subject), predicate, value, ONTOLOGY))

    def name(self, expression: Expression) -> str:
        """Return the IRI of an expression: the class itself where there is one only."""
        if len(expression) == 1 and len(expression[0]) == 1:
            return expression[0][0]
        node = f"urn:kgrag:check:alternatives:{digest(*('|'.join(each) for each in expression))}"
        self.alternatives[node] = expression
        return node


def ontology_graph(index: OntologyIndex, terms: QueryTerms, *, allowed: Sequence[str] = ()) -> OntologyGraph:
    """Return the ontology graph of one query; ``allowed`` are namespaces whose terms count as defined."""
    graph = OntologyGraph()
    wanted: dict[str, Expression] = {}
    for name in terms.properties:
        _property(graph, index, name, _passes(name, allowed))
        for end, expression in ((RDFS.domain, index.domain(name)), (RDFS.range, index.range(name))):
            if expression != ANYTHING:
                node = graph.name(expression)
                wanted[node] = expression
                graph.add(name, end, ox.NamedNode(node))
    for name in terms.classes:
        if name not in terms.properties and _defined(index, name):
            graph.add(name, RDF.type, CHECK.Property)
    for name in dict.fromkeys((*terms.classes, *terms.properties)):
        if name in index.classes or name in CLASSES or _passes(name, allowed):
            graph.add(name, RDF.type, CHECK.Class)
    _relations(graph, index, wanted, terms.classes)
    _misfits(graph, index, terms)
    _deprecated(graph, index, dict.fromkeys((*terms.properties, *terms.classes, *terms.others)))
    return graph


def _deprecated(graph: OntologyGraph, index: OntologyIndex, names: Iterable[str]) -> None:
    for name in names:
        if name in index.deprecated:
            graph.add(name, RDF.type, CHECK.Deprecated)
            for instead in index.deprecated[name][:1]:
                graph.add(name, CHECK.instead, ox.NamedNode(instead))


def _misfits(graph: OntologyGraph, index: OntologyIndex, terms: QueryTerms) -> None:
    for number, (name, literal) in enumerate(terms.literals):
        expression = index.range(name)
        if expression == ANYTHING or not is_value_of(literal, literal.datatype):
            continue
        datatypes = [[ox.NamedNode(each) for each in alternative] for alternative in expression]
        if any(all(is_value_of(literal, each) for each in alternative) for alternative in datatypes):
            continue
        node = f"urn:kgrag:check:misfit:{number:06}"
        graph.add(node, RDF.type, CHECK.Misfit)
        graph.add(node, CHECK.predicate, ox.NamedNode(name))
        graph.add(node, CHECK.constant, literal)
        for datatype in (each for alternative in datatypes for each in alternative[:1] if each != RDF.langString):
            retyped = ox.Literal(literal.value, datatype=datatype)
            if is_value_of(retyped, datatype):
                graph.add(node, CHECK.instead, retyped)
                break


def _passes(name: str, allowed: Sequence[str]) -> bool:
    return any(name.startswith(space) for space in allowed)


def _property(graph: OntologyGraph, index: OntologyIndex, name: str, passes: bool) -> None:
    if passes or _defined(index, name):
        graph.add(name, RDF.type, CHECK.Property)
    kind = value_kind(index, name)
    if kind:
        graph.add(name, RDF.type, CHECK.ObjectProperty if kind == "object" else CHECK.DatatypeProperty)


def _defined(index: OntologyIndex, name: str) -> bool:
    is_member = name.startswith(f"{RDF.prefix}_") and name.removeprefix(f"{RDF.prefix}_").isdigit()  # rdf:_1 …
    return name in index.kinds or name in PROPERTIES or is_member


def _relations(
    graph: OntologyGraph, index: OntologyIndex, wanted: Mapping[str, Expression], classes: Sequence[str]
) -> None:
    known = {name: ((name,),) for name in classes if name in index.classes or index.is_datatype(name)}
    every: dict[str, Expression] = {**known, **wanted}
    for one, other in combinations(every, 2):
        if not compatible(index, every[one], every[other]):
            graph.add(one, CHECK.incompatible, ox.NamedNode(other))
            graph.add(other, CHECK.incompatible, ox.NamedNode(one))
    for name in known:
        for node, expression in wanted.items():
            if within(index, name, expression):
                graph.add(name, CHECK.within, ox.NamedNode(node))
        for other in known:
            if other != name and disjoint(index, name, other):
                graph.add(name, CHECK.disjoint, ox.NamedNode(other))
    for node, expression in wanted.items():
        _datatype(graph, index, node, expression)


def _datatype(graph: OntologyGraph, index: OntologyIndex, node: str, expression: Expression) -> None:
    named = [name for alternative in expression for name in alternative]
    if all(index.is_datatype(name) for name in named):
        graph.add(node, RDF.type, CHECK.Datatype)
        families = {family(name) for name in named}
        if len(families) == 1 and not families & {"", ANY_LITERAL}:
            graph.add(node, CHECK.family, ox.Literal(families.pop()))


def compatible(index: OntologyIndex, one: Expression, other: Expression) -> bool:
    """Return whether anything can lie in both: some alternative of one goes with some alternative of the other."""
    if ANYTHING in (one, other):
        return True
    return any(
        all(_classes_go(index, a, b) for a in alternative for b in counterpart)
        for alternative in one
        for counterpart in other
    )


def within(index: OntologyIndex, name: str, expression: Expression) -> bool:
    """Return whether a class lies within an expression: in every class of one of its alternatives."""
    if expression == ANYTHING:
        return True
    above = index.ancestors(name)
    return any(all(wanted in above for wanted in alternative) for alternative in expression)


def disjoint(index: OntologyIndex, one: str, other: str) -> bool:
    """Return whether two classes, or superclasses of theirs, are declared disjoint."""
    if not index.disjoint:
        return False
    above = index.ancestors(other)
    return any(far in above for name in index.ancestors(one) for far in index.disjoint.get(name, ()))


def _classes_go(index: OntologyIndex, one: str, other: str) -> bool:
    key = ("go", one, other) if one <= other else ("go", other, one)
    known = index.memory.get(key)
    if known is None:
        known = index.memory[key] = _examine(index, one, other)
    return bool(known)


def _examine(index: OntologyIndex, one: str, other: str) -> bool:
    values = (index.is_datatype(one), index.is_datatype(other))
    if one == other:
        return True
    if any(values):
        families = [{family(name) for name in index.ancestors(datatype)} - {""} for datatype in (one, other)]
        shared = families[0] & families[1] or any(ANY_LITERAL in found for found in families)
        return all(values) and (not all(families) or bool(shared))
    if one in _TOPS or other in _TOPS:
        return True
    if disjoint(index, one, other):
        return False
    if one in index.ancestors(other) or other in index.ancestors(one):
        return True
    return bool(index.descendants(one) & index.descendants(other)) or _overlap(index, one, other)


def _overlap(index: OntologyIndex, one: str, other: str) -> bool:
    """Whether one lies within a union of classes, and the other has to do with a member of it."""
    for first, second in ((one, other), (other, one)):
        near = {member for name in index.ancestors(first) for member in index.overlaps.get(name, ())}
        if near and near & (index.ancestors(second) | index.descendants(second)):
            return True
    return False
