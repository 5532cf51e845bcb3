"""Terms that well-known vocabularies define: which are known, and that nothing else is."""

from collections.abc import Callable

import pyoxigraph as ox
import pytest

from kgrag.audit import Audit
from kgrag.audit.reserved_terms import reserved_among
from kgrag.vocab import AUDIT, RDF
from tests.audit.conftest import ONTOLOGY

W3 = "http://www.w3.org/"
TERMS = [
    f"{W3}1999/02/22-rdf-syntax-ns#type",
    f"{W3}2000/01/rdf-schema#subClassOf",
    f"{W3}2001/XMLSchema#precisionDecimal",
    f"{W3}2002/07/owl#hasSelf",
    f"{W3}2003/01/geo/wgs84_pos#lat",
    f"{W3}2003/06/sw-vocab-status/ns#term_status",
    f"{W3}2004/02/skos/core#exactMatch",
    f"{W3}2006/time#hasBeginning",
    f"{W3}2008/05/skos-xl#prefLabel",
    f"{W3}ns/csvw#Table",
    f"{W3}ns/dcat#DatasetSeries",
    f"{W3}ns/dcat#Distribution",
    f"{W3}ns/odrl/2/permission",
    f"{W3}ns/org#memberOf",
    f"{W3}ns/prov#wasDerivedFrom",
    f"{W3}ns/shacl#path",
    f"{W3}ns/sosa/observes",
    f"{W3}ns/ssn/hasProperty",
    "http://creativecommons.org/ns#license",
    "http://purl.org/dc/dcam/memberOf",
    "http://purl.org/dc/dcmitype/Text",
    "http://purl.org/dc/elements/1.1/title",
    "http://purl.org/dc/terms/title",
    "http://purl.org/linked-data/cube#DataSet",
    "http://purl.org/vocab/vann/preferredNamespaceUri",
    "http://rdfs.org/ns/void#triples",
    "http://usefulinc.com/ns/doap#Project",
    "http://xmlns.com/foaf/0.1/name",
    "http://schema.org/Person",
    "http://schema.org/OnlineStore",
    "https://schema.org/Person",
    "https://schema.org/OnlineStore",
]


def known(*iris: str) -> set[str]:
    found = reserved_among([ox.NamedNode(iri) for iri in iris])
    return {triple.subject.value for triple in found if triple.predicate == RDF.type}


def namespace(iri: str) -> str:
    return iri[: max(iri.rfind("#"), iri.rfind("/")) + 1]


@pytest.mark.parametrize("iri", TERMS)
def test_a_term_of_a_well_known_vocabulary_is_reserved_and_a_misspelt_one_is_not(iri: str) -> None:
    assert known(iri, f"{iri}x") == {iri}


def test_the_namespaces_of_these_vocabularies_are_reserved_and_no_others() -> None:
    stated = {triple.object.value for triple in reserved_among([]) if triple.predicate == AUDIT.reserves}  # type: ignore[union-attr]
    assert stated == {namespace(iri) for iri in TERMS}


@pytest.mark.parametrize("name", ["_NS", "_warn", "_0", "_1", "", "mro"])
def test_what_rdflib_s_classes_have_besides_terms_is_not_reserved(name: str) -> None:
    assert known(f"{W3}1999/02/22-rdf-syntax-ns#{name}") == set()


@pytest.mark.parametrize(
    "term", ["<http://www.w3.org/ns/shacl#or>", "<http://usefulinc.com/ns/doap#programming-language>"]
)
def test_a_term_whose_name_is_no_name_in_python_is_not_called_new(term: str, audited: Callable[..., Audit]) -> None:
    for text, found in ((f"{term} a owl:AnnotationProperty .", 0), (f"{term[:-1]}s> a owl:AnnotationProperty .", 1)):
        new = [each for each in audited(ONTOLOGY + text).findings if each.check == "NAM-07"]
        assert len(new) == found
