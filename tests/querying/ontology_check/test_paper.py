"""The paper's own examples (OBQC, sections 3.1.1 to 3.2) under its own profile give the paper's own sentences."""

import pytest

from kgrag.querying.ontology_check.check_rules import shipped_rules
from tests.querying.ontology_check.checks import checked, index

SOLD = ":soldByAgent rdfs:domain :Policy ; rdfs:range :Agent ."
AGAINST = """
:against a owl:ObjectProperty ; rdfs:domain :Claim ; rdfs:range :PolicyCoverageDetail .
:hasPolicy a owl:ObjectProperty ; rdfs:domain :PolicyCoverageDetail ; rdfs:range :Policy .
"""
EIGHT = {
    "domain",
    "range",
    "double-range",
    "double-domain",
    "domain-range",
    "incorrect-property",
    "iri-output",
    "subject-output",
}


def told(query: str, turtle: str) -> list[str]:
    return [finding.message for finding in checked(query, index(turtle), profile="paper").findings]


def test_the_domain_rule_says_what_section_3_1_1_prints() -> None:
    query = "SELECT ?agent WHERE { ?agent :soldByAgent ?policy . ?agent rdf:type :Agent }"
    sentence = "The property :soldByAgent has domain :Policy, but its subject ?agent is a :Agent, which isn't a subclass of :Policy."
    assert sentence in told(query, SOLD)


def test_the_range_rule_says_what_section_3_1_2_prints() -> None:
    query = "SELECT * WHERE { ?policy rdf:type :Policy . ?claim rdf:type :Claim . ?claim :against ?policy . }"
    sentence = (
        "The property :against has range :PolicyCoverageDetail, but its object ?policy is a :Policy, "
        "which isn't a subclass of :PolicyCoverageDetail."
    )
    assert sentence in told(query, AGAINST)


def test_the_double_range_rule_says_what_section_3_1_3_prints() -> None:
    query = "SELECT * WHERE { ?claim :against ?policy . ?policyCoverageDetail :hasPolicy ?policy . }"
    sentence = "The property :against has range :PolicyCoverageDetail, and :hasPolicy has range :Policy, and these are incompatible."
    assert told(query, AGAINST).count(sentence) == 1


def test_the_double_domain_rule_fills_the_template_of_section_3_1_4() -> None:
    query = "SELECT * WHERE { ?x :against ?a . ?x :hasPolicy ?b . }"
    sentence = "The property :against has domain :Claim, and :hasPolicy has domain :PolicyCoverageDetail, and these are incompatible."
    assert told(query, AGAINST).count(sentence) == 1


def test_the_domain_range_rule_fills_the_template_of_section_3_1_5() -> None:
    query = "SELECT * WHERE { ?d :hasPolicy ?x . ?x :against ?a . }"
    sentence = "The property :hasPolicy has range :Policy, and :against has domain :Claim, and these are incompatible with the query."
    assert told(query, AGAINST).count(sentence) == 1


def test_the_incorrect_property_rule_fills_the_template_of_section_3_1_6() -> None:
    sentence = (
        "The property :soldBy isn't defined in the ontology. Please only use properties from the ontology, "
        "or from a standard source like rdf:, rdfs:, owl:, or skos:"
    )
    assert sentence in told("SELECT ?n WHERE { ?p :soldBy ?a . ?a rdfs:label ?n }", SOLD)


def test_the_iri_output_rule_fills_the_template_of_section_3_2() -> None:
    sentence = (
        "Your selected variable agent is an IRI; your output should be something human readable, an ID or a label."
    )
    assert told("SELECT ?agent WHERE { ?policy :soldByAgent ?agent }", SOLD) == [sentence]


def test_the_subject_output_rule_fills_the_template_of_section_3_2() -> None:
    sentence = (
        "Your selected variable ?policy is an IRI (the subject of a triple is always an IRI). "
        "Your output should be something human readable, an ID or a label."
    )
    assert told("SELECT ?policy WHERE { ?policy :soldByAgent ?agent }", SOLD) == [sentence]


def test_the_profile_has_the_eight_rules_and_what_cannot_be_checked_at_all() -> None:
    assert {rule.id for rule in shipped_rules("paper")} - EIGHT == {"syntax", "service", "update", "too-large"}


@pytest.mark.parametrize(
    "query", ["SELECT ?p WHERE { ?p :soldByAgent ?a }", "SELECT ?n WHERE { OPTIONAL { ?p :sold ?n } }"]
)
def test_every_finding_of_the_profile_is_an_error_wherever_it_stands(query: str) -> None:
    assert {finding.severity for finding in checked(query, index(SOLD), profile="paper").findings} == {"error"}


def test_a_date_is_no_identifier() -> None:
    turtle = ":opened a owl:DatatypeProperty ; rdfs:domain :Claim ; rdfs:range xsd:dateTime ."
    assert told("SELECT ?d WHERE { ?c :opened ?d }", turtle) == []
