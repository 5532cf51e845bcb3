"""The ontology graph: what the ontology says of the properties and classes of one query, worked out beforehand.

Only terms of the query get in, so that a rule is as quick on an ontology of 35,000 triples as on one of 100.

===========================  ========================================================================================
statement                    meaning
===========================  ========================================================================================
``a check:Property``         defined, a term of RDF, RDFS, OWL or SKOS, or in a namespace that is let pass
``a check:ObjectProperty``   its values are things; ``a check:DatatypeProperty``: its values are literals
``rdfs:domain`` and ``range`` what it wants: a class, or a node that stands for alternatives ("A or B")
``a check:Class``            defined or standard; ``a check:Datatype``: a range of literals, with ``check:family``
``check:incompatible``       between two classes or ranges, both ways: nothing can lie in both
``check:within``             class -> class or alternatives that it is a subclass of (or equal to)
``check:disjoint``           between two types of the query: declared disjoint, also through superclasses
===========================  ========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.stages.sparql_check import standard
from kgrag.stages.sparql_check.compatibility import compatible, disjoint, within
from kgrag.stages.sparql_check.expressions import ANYTHING, Expression
from kgrag.stages.sparql_check.families import ANY_LITERAL, family
from kgrag.stages.sparql_check.ontology import OntologyIndex
from kgrag.stages.sparql_reader import Query
from kgrag.vocab import CHECK, RDF, RDFS, digest

__all__ = ["ONTOLOGY", "OntologyGraph", "QueryTerms", "ontology_graph", "terms_of", "value_kind"]

ONTOLOGY = ox.NamedNode("urn:kgrag:check:ontology")


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The IRIs of a query by the place they stand in, each once, in order of appearance."""

    properties: tuple[str, ...]
    classes: tuple[str, ...]


def terms_of(query: Query) -> QueryTerms:
    """Give the properties and classes that the patterns of a query name."""
    properties: dict[str, None] = {}
    classes: dict[str, None] = {}
    for pattern in query.patterns:
        if isinstance(pattern.predicate, ox.NamedNode):
            properties[pattern.predicate.value] = None
            if pattern.predicate == RDF.type and isinstance(pattern.object, ox.NamedNode):
                classes[pattern.object.value] = None
    return QueryTerms(tuple(properties), tuple(classes))


def value_kind(index: OntologyIndex, name: str) -> str:
    """Give "object" or "datatype" for what values a property has, "" where the ontology leaves it open."""
    kinds = index.kinds.get(name, "").split()
    if "object" in kinds or "datatype" in kinds:
        return "" if {"object", "datatype"} <= set(kinds) else "object" if "object" in kinds else "datatype"
    if name == RDF.type.value:
        return "object"
    named = {index.is_datatype(each) for alternative in index.range(name) for each in alternative}
    return "" if len(named) != 1 else "datatype" if named == {True} else "object"


@dataclass(slots=True)
class OntologyGraph:
    """The quads, and how nodes that stand for alternatives are told: as lists of class IRIs."""

    quads: list[ox.Quad] = field(default_factory=list)
    alternatives: dict[str, Expression] = field(default_factory=dict)

    def say(self, subject: str, predicate: ox.NamedNode, value: ox.NamedNode | ox.Literal) -> None:
        """Add one statement."""
        self.quads.append(ox.Quad(ox.NamedNode(subject), predicate, value, ONTOLOGY))

    def name(self, expression: Expression) -> str:
        """Give the IRI that stands for an expression: the class itself where there is one only."""
        if len(expression) == 1 and len(expression[0]) == 1:
            return expression[0][0]
        node = f"urn:kgrag:check:alternatives:{digest(*('|'.join(each) for each in expression))}"
        self.alternatives[node] = expression
        return node


def ontology_graph(index: OntologyIndex, terms: QueryTerms, *, allowed: Sequence[str] = ()) -> OntologyGraph:
    """Give the ontology graph of one query; ``allowed`` are namespaces whose terms count as defined."""
    graph = OntologyGraph()
    wanted: dict[str, Expression] = {}
    for name in terms.properties:
        _property(graph, index, name, _passes(name, allowed))
        for end, expression in ((RDFS.domain, index.domain(name)), (RDFS.range, index.range(name))):
            if expression != ANYTHING:
                node = graph.name(expression)
                wanted[node] = expression
                graph.say(name, end, ox.NamedNode(node))
    for name in terms.classes:
        if name not in terms.properties and _defined(index, name):
            graph.say(name, RDF.type, CHECK.Property)
    for name in dict.fromkeys((*terms.classes, *terms.properties)):
        if name in index.classes or name in standard.CLASSES or _passes(name, allowed):
            graph.say(name, RDF.type, CHECK.Class)
    _relations(graph, index, wanted, terms.classes)
    return graph


def _passes(name: str, allowed: Sequence[str]) -> bool:
    return any(name.startswith(space) for space in allowed)


def _property(graph: OntologyGraph, index: OntologyIndex, name: str, passes: bool) -> None:
    if passes or _defined(index, name):
        graph.say(name, RDF.type, CHECK.Property)
    kind = value_kind(index, name)
    if kind:
        graph.say(name, RDF.type, CHECK.ObjectProperty if kind == "object" else CHECK.DatatypeProperty)


def _defined(index: OntologyIndex, name: str) -> bool:
    return name in index.kinds or name in standard.PROPERTIES or _is_member(name)


def _is_member(name: str) -> bool:
    """Whether this is rdf:_1, rdf:_2 ..."""
    return name.startswith(f"{RDF.prefix}_") and name.removeprefix(f"{RDF.prefix}_").isdigit()


def _relations(
    graph: OntologyGraph, index: OntologyIndex, wanted: Mapping[str, Expression], classes: Sequence[str]
) -> None:
    known = {name: ((name,),) for name in classes if name in index.classes or index.is_datatype(name)}
    every: dict[str, Expression] = {**known, **wanted}
    for one, other in _pairs(list(every)):
        if not compatible(index, every[one], every[other]):
            graph.say(one, CHECK.incompatible, ox.NamedNode(other))
            graph.say(other, CHECK.incompatible, ox.NamedNode(one))
    for name in known:
        for node, expression in wanted.items():
            if within(index, name, expression):
                graph.say(name, CHECK.within, ox.NamedNode(node))
        for other in known:
            if other != name and disjoint(index, name, other):
                graph.say(name, CHECK.disjoint, ox.NamedNode(other))
    for node, expression in wanted.items():
        _datatype(graph, index, node, expression)


def _pairs(names: list[str]) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(names):
        for other in names[number + 1 :]:
            yield one, other


def _datatype(graph: OntologyGraph, index: OntologyIndex, node: str, expression: Expression) -> None:
    named = [name for alternative in expression for name in alternative]
    if all(index.is_datatype(name) for name in named):
        graph.say(node, RDF.type, CHECK.Datatype)
        families = {family(name) for name in named}
        if len(families) == 1 and not families & {"", ANY_LITERAL}:
            graph.say(node, CHECK.family, ox.Literal(families.pop()))
