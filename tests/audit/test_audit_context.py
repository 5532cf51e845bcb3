"""The context graph: which terms there are, which are own, in force, and what they are called."""

import pyoxigraph as ox
import pytest

from kgrag.audit.audit_context import AuditTarget, prepare
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import AUDIT, RDF
from tests.audit.conftest import HEAD, ONTOLOGY

EX = "https://example.org/o#"
OBO = "http://purl.obolibrary.org/obo/"


def prepared(text: str, namespace: str | None = None) -> AuditTarget:
    triples = [quad.triple for quad in ox.parse(input=text, format=ox.RdfFormat.TURTLE)]
    return prepare(OxigraphScratch(), triples, name="target", namespace=namespace)


def known(scope: AuditTarget, term: str, name: ox.NamedNode) -> set[str]:
    node = ox.NamedNode(term)
    held = scope.bench.triples(AUDIT.context)
    return {getattr(t.object, "value", "") for t in held if t.subject == node and t.predicate == name}


def types(scope: AuditTarget, term: str) -> set[str]:
    return {name.removeprefix(AUDIT.prefix) for name in known(scope, term, RDF.type)}


NAMESPACES = {
    "what the ontology states": (
        '<urn:o> a owl:Ontology ; <http://purl.org/vocab/vann/preferredNamespaceUri> "https://example.org/o#" .'
        "ex:A a owl:Class . <urn:o/B> a owl:Class . <urn:o/C> a owl:Class .",
        (EX,),
    ),
    "its IRI with a hash": ("<https://example.org/o> a owl:Ontology . ex:A a owl:Class .", (EX,)),
    "its IRI without the file's suffix": ("<https://example.org/o.owl> a owl:Ontology . ex:A a owl:Class .", (EX,)),
    "where most terms stand": (
        "<urn:elsewhere> a owl:Ontology . ex:A a owl:Class . ex:B a owl:Class . <urn:x:C> a owl:Class .",
        (EX,),
    ),
    "not a well-known one": ("dcterms:a a owl:Class . dcterms:b a owl:Class . ex:A a owl:Class .", (EX,)),
    "the prefix of OBO": (
        f"<{OBO}pso/pso-base.owl> a owl:Ontology . <{OBO}PSO_0000001> a owl:Class . <{OBO}GO_1> a owl:Class .",
        (f"{OBO}PSO_",),
    ),
    "the longer one that terms have": (
        "<https://example.org/o> a owl:Ontology . <https://example.org/o/o.owl#A> a owl:Class .",
        ("https://example.org/o/o.owl#",),
    ),
    "none": ("", ()),
}


@pytest.mark.parametrize(("text", "wanted"), NAMESPACES.values(), ids=NAMESPACES)
def test_the_own_namespace_is(text: str, wanted: tuple[str, ...]) -> None:
    assert prepared(HEAD + text).namespaces == wanted


def test_a_namespace_that_is_given_wins() -> None:
    scope = prepared(ONTOLOGY + "ex:A a owl:Class . <urn:x:B> a owl:Class .", "urn:x:")
    assert "OwnTerm" in types(scope, "urn:x:B")
    assert "ForeignTerm" in types(scope, EX + "A")


@pytest.mark.parametrize(
    "said",
    [
        "owl:deprecated true",
        "a owl:DeprecatedClass",
        '<http://www.w3.org/2003/06/sw-vocab-status/ns#term_status> "archaic"',
    ],
)
def test_a_deprecated_term_is_own_and_not_live(said: str) -> None:
    scope = prepared(ONTOLOGY + f"ex:A a owl:Class ; {said} .")
    assert types(scope, EX + "A") == {"Term", "OwnTerm", "DeprecatedTerm"}


def test_a_term_in_force_is_live_by_its_kind() -> None:
    scope = prepared(ONTOLOGY + "ex:p a owl:ObjectProperty , owl:FunctionalProperty .")
    assert types(scope, EX + "p") == {"Term", "OwnTerm", "LiveTerm", "LiveProperty", "LiveObjectProperty"}
    assert known(scope, EX + "p", AUDIT.kind) == {AUDIT.ObjectPropertyTerm.value}


def test_a_property_without_a_kind_is_a_plain_one() -> None:
    scope = prepared(ONTOLOGY + "ex:p a owl:FunctionalProperty .")
    assert known(scope, EX + "p", AUDIT.kind) == {AUDIT.PropertyTerm.value}


def test_labels_and_definitions_are_found_whatever_property_gives_them() -> None:
    scope = prepared(
        ONTOLOGY
        + 'ex:A a owl:Class ; skos:prefLabel "a  B "@en ; skos:definition "d" ; '
        + "<http://www.w3.org/2008/05/skos-xl#altLabel> ex:l . "
        + 'ex:l <http://www.w3.org/2008/05/skos-xl#literalForm> "s" .'
    )
    assert known(scope, EX + "A", AUDIT.label) == {"a  B "}
    assert known(scope, EX + "A", AUDIT.normalLabel) == {"a b@en"}
    assert known(scope, EX + "A", AUDIT.definition) == {"d"}
    assert known(scope, EX + "A", AUDIT.synonym) == {"s"}
    assert known(scope, EX + "A", AUDIT.localName) == {"A"}


def test_ends_come_from_properties_above_and_from_inverses() -> None:
    scope = prepared(
        ONTOLOGY
        + "ex:p a owl:ObjectProperty ; rdfs:domain ex:A ; rdfs:range ex:B . ex:q rdfs:subPropertyOf ex:p ."
        + "ex:r a owl:ObjectProperty ; owl:inverseOf ex:q ."
    )
    assert known(scope, EX + "q", AUDIT.domain) == {EX + "A"}
    assert known(scope, EX + "r", AUDIT.domain) == {EX + "B"}
    assert known(scope, EX + "r", AUDIT.range) == {EX + "A"}


def test_an_ontology_that_is_imported_is_not_what_is_audited() -> None:
    scope = prepared(ONTOLOGY + "<https://example.org/o> owl:imports <urn:other> . <urn:other> a owl:Ontology .")
    assert scope.ontologies == ("https://example.org/o",)
