"""The ontologies that ship: kgrag's vocabulary says what the code says, and every term is explained."""

from graphlib import TopologicalSorter
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib
from rdflib import OWL, RDF, RDFS
from rdflib.namespace import DCTERMS, VANN

from kgrag.resources import folder
from kgrag.vocab import KG

FILES = sorted(folder("ontologies").glob("*.ttl"))
EXAMPLES = [path for path in FILES if path.stem not in {"audit", "kgrag"}]
TERMS = (OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty)

every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def read(path: Path) -> rdflib.Graph:
    return rdflib.Graph().parse(path)


def terms(graph: rdflib.Graph) -> set[rdflib.URIRef]:
    return {term for kind in TERMS for term in graph.subjects(RDF.type, kind)}


def properties(graph: rdflib.Graph) -> set[rdflib.URIRef]:
    return {term for kind in TERMS[1:] for term in graph.subjects(RDF.type, kind)}


def test_the_vocabularies_and_two_examples_ship() -> None:
    assert [path.stem for path in FILES] == ["audit", "crops", "kgrag", "news", "vector"]


def test_the_vocabulary_defines_every_term_that_the_code_uses() -> None:
    defined = {str(term) for term in terms(read(folder("ontologies") / "kgrag.ttl"))}
    assert sorted({term.value for term in KG.all().values()} - defined) == []


def test_the_code_knows_every_term_that_the_vocabulary_defines() -> None:
    defined = {str(term) for term in terms(read(folder("ontologies") / "kgrag.ttl"))}
    assert sorted(defined - {term.value for term in KG.all().values()}) == []


@every_file
def test_two_parsers_read_the_same_triples(path: Path) -> None:
    assert len(set(ox.parse(path=path))) == len(read(path))


@every_file
def test_every_term_is_in_the_namespace_of_its_ontology(path: Path) -> None:
    graph = read(path)
    (ontology,) = graph.subjects(RDF.type, OWL.Ontology)
    namespace = str(graph.value(ontology, VANN.preferredNamespaceUri))
    assert namespace == f"{ontology}#"
    assert [term for term in terms(graph) if not term.startswith(namespace)] == []


@every_file
def test_the_header_names_title_creator_licence_and_version(path: Path) -> None:
    graph = read(path)
    (ontology,) = graph.subjects(RDF.type, OWL.Ontology)
    wanted = (
        DCTERMS.title,
        DCTERMS.description,
        DCTERMS.creator,
        DCTERMS.license,
        OWL.versionIRI,
        OWL.versionInfo,
        VANN.preferredNamespacePrefix,
        VANN.preferredNamespaceUri,
    )
    assert [name for name in wanted if len(list(graph.objects(ontology, name))) != 1] == []


@every_file
def test_every_term_has_one_label_and_one_comment_in_english_and_its_ontology(path: Path) -> None:
    graph = read(path)
    (ontology,) = graph.subjects(RDF.type, OWL.Ontology)
    for term in terms(graph):
        assert [label.language for label in graph.objects(term, RDFS.label)] == ["en"], term
        assert [comment.language for comment in graph.objects(term, RDFS.comment)] == ["en"], term
        assert list(graph.objects(term, RDFS.isDefinedBy)) == [ontology], term


@every_file
def test_no_two_terms_have_the_same_label(path: Path) -> None:
    graph = read(path)
    labels = [str(label).lower() for term in terms(graph) for label in graph.objects(term, RDFS.label)]
    assert sorted({label for label in labels if labels.count(label) > 1}) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_property_of_an_example_has_a_domain_and_a_range(path: Path) -> None:
    graph = read(path)
    wanted = (RDFS.domain, RDFS.range)
    assert [term for term in properties(graph) if any(len(list(graph.objects(term, w))) != 1 for w in wanted)] == []


@every_file
def test_domains_and_ranges_of_its_own_namespace_are_classes(path: Path) -> None:
    graph = read(path)
    own = terms(graph)
    named = {term for name in (RDFS.domain, RDFS.range, RDFS.subClassOf) for term in graph.objects(None, name)}
    classes = set(graph.subjects(RDF.type, OWL.Class))
    (ontology,) = graph.subjects(RDF.type, OWL.Ontology)
    assert {term for term in named if term.startswith(ontology)} <= classes & own


@every_file
def test_object_properties_point_to_things_and_datatype_properties_to_literals(path: Path) -> None:
    graph = read(path)
    things = {r for p in graph.subjects(RDF.type, OWL.ObjectProperty) for r in graph.objects(p, RDFS.range)}
    literals = {r for p in graph.subjects(RDF.type, OWL.DatatypeProperty) for r in graph.objects(p, RDFS.range)}
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert not any(term.startswith(xsd) for term in things)
    assert all(term.startswith(xsd) for term in literals)


@every_file
def test_no_class_is_below_itself(path: Path) -> None:
    graph = read(path)
    above: dict[rdflib.term.Node, set[rdflib.term.Node]] = {}
    for name in (RDFS.subClassOf, RDFS.subPropertyOf):
        for lower, upper in graph.subject_objects(name):
            above.setdefault(lower, set()).add(upper)
    TopologicalSorter(above).prepare()


def test_every_kind_of_graph_is_a_kind_of_graph() -> None:
    graph = read(folder("ontologies") / "kgrag.ttl")
    kinds = {
        rdflib.URIRef(term.value) for name, term in KG.all().items() if name.endswith("Graph") and name[0].isupper()
    }
    general = rdflib.URIRef(KG.Graph.value)
    assert {kind for kind in kinds - {general} if (kind, RDFS.subClassOf, general) not in graph} == set()
