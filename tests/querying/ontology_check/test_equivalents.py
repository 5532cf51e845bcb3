"""Properties: what means the same is judged the same, and a bigger hierarchy never adds a fault."""

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.querying.ontology_check import OntologyIndex, Options, build_index
from kgrag.querying.ontology_check.examination import examine
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import RDFS
from tests.querying.ontology_check.checks import BEFORE, KNOWN, checked, index, triples

CLASSES = ["Policy", "Claim", "PolicyCoverageDetail", "Party", "Agent", "Broker", "Holder"]
PROPERTIES = [
    "soldByAgent",
    "against",
    "hasPolicy",
    "policyNumber",
    "agentId",
    "opened",
    "reviewedBy",
    "knows",
    "unknown",
]
WITHOUT_DISJOINTNESS = """
:Policy a owl:Class . :Claim a owl:Class . :PolicyCoverageDetail a owl:Class . :Party a owl:Class .
:Agent a owl:Class ; rdfs:subClassOf :Party . :Broker rdfs:subClassOf :Agent . :Holder rdfs:subClassOf :Party .
:soldByAgent rdfs:domain :Policy ; rdfs:range :Agent . :against rdfs:domain :Claim ; rdfs:range :PolicyCoverageDetail .
:hasPolicy rdfs:domain :PolicyCoverageDetail ; rdfs:range :Policy . :policyNumber rdfs:domain :Policy ; rdfs:range xsd:string .
:agentId a owl:DatatypeProperty ; rdfs:domain :Agent . :opened rdfs:domain :Claim ; rdfs:range xsd:dateTime .
:reviewedBy rdfs:domain [ owl:unionOf ( :Policy :Claim ) ] ; rdfs:range [ owl:intersectionOf ( :Agent :Party ) ] .
:knows a owl:ObjectProperty .
"""
VARIABLES = st.sampled_from("abcd")
TRIPLES = st.lists(
    st.one_of(
        st.tuples(VARIABLES, st.sampled_from(PROPERTIES), VARIABLES),
        st.tuples(VARIABLES, st.just("type"), st.sampled_from(CLASSES)),
    ),
    min_size=1,
    max_size=6,
)
Triple = tuple[str, str, str]
Found = set[tuple[str, str]]


def body(patterns: list[Triple], *, names: str = "abcd") -> str:
    def written(subject: str, predicate: str, value: str) -> str:
        end = f":{value}" if predicate == "type" else f"?{names['abcd'.index(value)]}"
        return f"?{names['abcd'.index(subject)]} {'a' if predicate == 'type' else ':' + predicate} {end} ."

    return " ".join(written(*pattern) for pattern in patterns)


def found(text: str, about: OntologyIndex = KNOWN) -> Found:
    """Rules and messages, whatever the severity; the hints, which take four times as long, are none of them."""
    query = f"{BEFORE}ASK {{ {text} }}"
    findings = examine(query, about, scratch=OxigraphScratch(), view=None, options=Options()).findings
    return {(finding.rule, finding.message) for finding in findings}


@settings(max_examples=10, deadline=None)
@given(TRIPLES)
def test_hints_change_no_finding(patterns: list[Triple]) -> None:
    with_hints = checked(f"ASK {{ {body(patterns)} }}").findings
    assert {(finding.rule, finding.message) for finding in with_hints} == found(body(patterns))


@settings(max_examples=25, deadline=None)
@given(TRIPLES)
def test_the_names_of_variables_do_not_matter(patterns: list[Triple]) -> None:
    renamed = {
        (rule, message.replace("?w", "?a").replace("?x", "?b").replace("?y", "?c").replace("?z", "?d"))
        for rule, message in found(body(patterns, names="wxyz"))
    }
    assert renamed == found(body(patterns))


@settings(max_examples=25, deadline=None)
@given(TRIPLES)
def test_an_inverse_path_says_the_same_as_the_turned_triple(patterns: list[Triple]) -> None:
    turned = " ".join(
        f"?{value} ^:{predicate} ?{subject} ." if predicate != "type" else body([(subject, predicate, value)])
        for subject, predicate, value in patterns
    )
    assert found(turned) == found(body(patterns))


@settings(max_examples=25, deadline=None)
@given(TRIPLES, st.sampled_from(PROPERTIES), st.sampled_from(PROPERTIES))
def test_a_sequence_path_says_the_same_as_two_triples(patterns: list[Triple], one: str, other: str) -> None:
    rest = body(patterns)
    written_out = {
        (rule, message.replace("?middle", "[]"))
        for rule, message in found(f"{rest} ?a :{one} ?middle . ?middle :{other} ?b .")
    }
    assert found(f"{rest} ?a :{one}/:{other} ?b .") == written_out


@settings(max_examples=25, deadline=None)
@given(TRIPLES)
def test_an_optional_around_everything_changes_no_finding(patterns: list[Triple]) -> None:
    assert found(f"OPTIONAL {{ {body(patterns)} }}") - separate(body(patterns)) == found(body(patterns)) - separate(
        body(patterns)
    )


@settings(max_examples=25, deadline=None)
@given(TRIPLES)
def test_a_group_around_everything_changes_no_finding(patterns: list[Triple]) -> None:
    assert found(f"{{ {{ {body(patterns)} }} }}") == found(body(patterns))


@settings(max_examples=25, deadline=None)
@given(TRIPLES, TRIPLES)
def test_groups_beside_each_other_hold_together(one: list[Triple], other: list[Triple]) -> None:
    assert found(f"{{ {body(one)} }} {{ {body(other)} }}") == found(body([*one, *other]))


@settings(max_examples=25, deadline=None)
@given(TRIPLES)
def test_a_sub_select_of_everything_changes_no_finding(patterns: list[Triple]) -> None:
    assert found(f"{{ SELECT * {{ {body(patterns)} }} }}") == found(body(patterns))


@settings(max_examples=25, deadline=None)
@given(TRIPLES)
def test_order_and_repetition_change_no_finding(patterns: list[Triple]) -> None:
    def unordered(text: str) -> set[tuple[str, frozenset[str]]]:
        return {(rule, frozenset(message.split())) for rule, message in found(text) if rule != "disconnected"}

    assert {rule for rule, _ in unordered(body([*reversed(patterns), *patterns]))} == {
        rule for rule, _ in unordered(body(patterns))
    }


def separate(text: str) -> Found:
    return {each for each in found(text) if each[0] == "disconnected"}


FEW = triples(WITHOUT_DISJOINTNESS)
SMALL = index(WITHOUT_DISJOINTNESS)


@settings(max_examples=25, deadline=None)
@given(TRIPLES, st.sampled_from(CLASSES), st.sampled_from(CLASSES))
def test_one_more_subclass_never_adds_a_violation(patterns: list[Triple], below: str, above: str) -> None:
    """Nothing is declared disjoint here: a subclass of a class that is disjoint with another inherits the conflict."""
    space = "http://example.org/insurance#"
    more = ox.Triple(ox.NamedNode(space + below), RDFS.subClassOf, ox.NamedNode(space + above))
    assert found(body(patterns), build_index([*FEW, more])) <= found(body(patterns), SMALL)
