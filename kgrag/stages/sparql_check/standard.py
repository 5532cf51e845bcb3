"""The terms of RDF, RDFS, OWL and SKOS: properties and classes that every ontology may use without defining them."""

from __future__ import annotations

from kgrag.vocab import OWL, PREFIXES, RDF, RDFS

__all__ = ["CLASSES", "PROPERTIES", "SPACES"]

SPACES = (RDF.prefix, RDFS.prefix, OWL.prefix, PREFIXES["skos"])

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
    return frozenset(space + name for space, names in zip(SPACES, lists, strict=True) for name in names.split())


PROPERTIES = _terms(_RDF_PROPERTIES, _RDFS_PROPERTIES, _OWL_PROPERTIES, _SKOS_PROPERTIES)
CLASSES = _terms(_RDF_CLASSES, _RDFS_CLASSES, _OWL_CLASSES, _SKOS_CLASSES)
