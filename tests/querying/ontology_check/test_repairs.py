"""Hints and deterministic repair: what is certain is mended, what is not is only said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.querying.ontology_check import mend, mended
from kgrag.querying.ontology_check.hints import advise
from kgrag.querying.ontology_check.repairs import applied
from kgrag.sparql.syntax import Edit
from tests.querying.ontology_check.checks import BEFORE, checked

MENDED = {
    "SELECT ?i { ?a :soldByAgent ?p . ?a a :Agent ; :agentId ?i }": "SELECT ?i { ?p :soldByAgent ?a . ?a a :Agent ; :agentId ?i }",
    "SELECT ?i { ?a a :Agent ; :agentId ?i ; :soldByAgent ?p }": "SELECT ?i { ?a a :Agent ; :agentId ?i ; ^:soldByAgent ?p }",
    "SELECT ?i { ?p a :Policy ; ^:soldByAgent ?a . ?a :agentId ?i }": "SELECT ?i { ?p a :Policy ; :soldByAgent ?a . ?a :agentId ?i }",
    "SELECT ?n { ?c a :Claim ; :against ?p . ?p a :Policy ; :policyNumber ?n }": "SELECT ?n { ?c a :Claim ; :against/:hasPolicy ?p . ?p a :Policy ; :policyNumber ?n }",
    "SELECT ?n { ?c a :Claim ; :policyNumber ?n }": "SELECT ?n { ?c a :Claim ; :against/:hasPolicy/:policyNumber ?n }",
    "SELECT ?n { ?p a <:Policy> ; :policyNumber ?n }": "SELECT ?n { ?p a :Policy ; :policyNumber ?n }",
    "SELECT ?p ?nWHERE { ?p :policyNumber ?n }": "SELECT ?p ?n WHERE { ?p :policyNumber ?n }",
}  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), MENDED.items())
def test_what_is_certain_is_mended_and_passes(query: str, expected: str) -> None:
    after = mended(checked(query), checked)
    assert after.query == BEFORE + expected
    assert after.valid


def test_a_prefix_is_declared_when_the_ontology_has_its_names_in_one_namespace() -> None:
    after = mended(checked("# no prologue\nSELECT ?n { ?p a ins:Policy ; ins:policyNumber ?n }"), checked)
    assert after.query.startswith("PREFIX ins: <http://example.org/insurance#>\n")
    assert after.valid


def test_a_prefix_that_could_be_anything_is_not_guessed() -> None:
    assert mend(checked("# no prologue\nSELECT ?n { ?p zz:unheard ?n }")) is None


def test_two_ways_out_are_told_and_neither_is_taken() -> None:
    found = checked("SELECT ?n { ?c :against ?x . ?d :hasPolicy ?x ; rdfs:label ?n }")
    (finding,) = found.findings
    assert " or " in finding.hint
    assert mend(found) is None


def test_a_query_without_faults_is_left_alone() -> None:
    assert mend(checked("SELECT ?n { ?p a :Policy ; :policyNumber ?n }")) is None


HINTS = {
    'SELECT ?d { ?c :opened ?d FILTER(?d > "2020-01-01") }': 'Write "2020-01-01"^^xsd:dateTime if',
    "SELECT ?n { ?p :polcyNumber ?n }": "Nearest: :policyNumber",
    "SELECT ?n { ?p a :Polcy ; :policyNumber ?n }": "Nearest: :Policy",
    "SELECT ?n { ?p :Agent ?a . ?a :agentId ?n }": "Properties that lead to one: :reviewedBy, :soldByAgent.",
    "SELECT ?a { ?p :soldByAgent ?a }": "Select :agentId of ?a instead.",
    "SELECT ?c { ?c :opened ?d }": "Select rdfs:label of ?c instead.",
}


@pytest.mark.parametrize(("query", "hint"), HINTS.items())
def test_a_hint_says_what_to_write_instead(query: str, hint: str) -> None:
    assert any(finding.hint.startswith(hint) for finding in checked(query).findings)


def test_a_mend_that_makes_things_worse_is_not_kept() -> None:
    found = checked("SELECT ?n { ?c a :Claim ; :policyNumber ?n }")
    worse = checked("SELECT ?n { ?p :number ?n ; :other ?m }")
    assert mended(found, lambda _: worse) is found


def test_mending_ends_when_a_text_comes_back() -> None:
    found = checked("SELECT ?n { ?c a :Claim ; :policyNumber ?n }")
    assert mended(found, lambda _: found) is found


def test_text_that_is_no_sparql_gets_no_advice() -> None:
    found = checked("SELECT ?n {")
    assert advise(found, None, recheck=checked, profile=None) is found  # type: ignore[arg-type]


@given(
    st.text(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5), st.text(max_size=3)), max_size=4)
)
def test_edits_that_overlap_never_fail(text: str, raw: list[tuple[int, int, str]]) -> None:
    edits = [Edit(min(a, len(text)), min(a + b, len(text)), new) for a, b, new in raw]
    assert isinstance(applied(text, edits), str)
