"""Sums, averages and counts whose values a join repeats are found by running them with each value once."""

from collections.abc import Iterator

import pytest

from kgrag.querying.ontology_check import DataView, Finding, check
from kgrag.querying.query_process import QueryProcess
from kgrag.store.scratch import OxigraphScratch
from tests.querying.ontology_check.checks import BEFORE, index, store

ONTOLOGY = """
:Policy a owl:Class . :Detail a owl:Class . :Claim a owl:Class . :Premium a owl:Class . :Agent a owl:Class .
:hasPolicy a owl:ObjectProperty ; rdfs:domain :Detail ; rdfs:range :Policy .
:hasPremium a owl:ObjectProperty ; rdfs:domain :Detail ; rdfs:range :Premium .
:against a owl:ObjectProperty ; rdfs:domain :Claim ; rdfs:range :Detail .
:premium a owl:DatatypeProperty ; rdfs:domain :Premium . :number a owl:DatatypeProperty ; rdfs:domain :Policy .
:paid a owl:DatatypeProperty ; rdfs:domain :Claim .
"""
DATA = """
:p1 a :Policy ; :number "31003000336" . :p2 a :Policy ; :number "31003000337" .
:d1 :hasPolicy :p1 ; :hasPremium :a1 . :a1 :premium 15000 . :d2 :hasPolicy :p1 ; :hasPremium :a2 . :a2 :premium 71000 .
:d3 :hasPolicy :p2 ; :hasPremium :a3 . :a3 :premium 12000 .
:c1 a :Claim ; :against :d2 ; :paid 5 . :c2 a :Claim ; :against :d2 ; :paid 5 .
"""
SUM = "SELECT (SUM(?x) AS ?total) { ?d :hasPolicy ?p ; :hasPremium ?a . ?a :premium ?x . ?c :against/:hasPolicy ?p }"
MULTIPLIED = {
    SUM: "`WHERE { SELECT DISTINCT ?x ?a WHERE { … } }`",
    "SELECT (AVG(?x) AS ?m) { ?d :hasPremium ?a . ?a :premium ?x OPTIONAL { ?c :against ?d } }": "DISTINCT ?x ?a",
    "SELECT ?n (SUM(?x) AS ?t) { ?d :hasPolicy ?p ; :hasPremium/:premium ?x . ?p :number ?n . ?c :against/:hasPolicy ?p } "
    "GROUP BY ?n": "DISTINCT ?n ?x ?d",
    "SELECT (COUNT(?p) AS ?k) { ?p a :Policy ; :number ?n . ?p ^:hasPolicy/^:against ?c }": "COUNT(DISTINCT ?p)",
    "SELECT ?k { { SELECT (SUM(?x) AS ?k) { ?d :hasPremium/:premium ?x . ?c :against ?d } } }": "DISTINCT ?x ?d",
}
HARMLESS = [
    SUM.replace("SUM(?x)", "SUM(DISTINCT ?x)"),
    "SELECT (SUM(?x) AS ?t) { ?d :hasPolicy ?p ; :hasPremium [ :premium ?x ] . ?p :number ?n }",
    "SELECT (SUM(?y) AS ?t) { ?c :paid ?y ; :against ?d . ?d :hasPolicy ?p . ?p :number ?n }",
    "SELECT ?n (COUNT(?c) AS ?k) { ?c :against/:hasPolicy ?p . ?p :number ?n } GROUP BY ?n",
    "SELECT (SUM(?z) AS ?t) { ?c :paid ?y ; :against/:hasPremium/:premium ?x BIND(?x + ?y AS ?z) }",
    "SELECT ?n (COUNT(?p) AS ?k) { ?d :hasPolicy ?p . ?p :number ?n } GROUP BY ?n",
    "SELECT (MAX(?x) AS ?m) { ?d :hasPremium/:premium ?x . ?c :against ?d }",
]


@pytest.fixture(scope="module")
def view() -> Iterator[DataView]:
    opened = store(DATA)
    process = QueryProcess(opened, None)
    yield DataView(opened, lambda sparql: process(sparql, rows=100, seconds=10).rows)
    process.close()
    opened.close()


def fan_outs(query: str, view: DataView) -> list[Finding]:
    found = check(BEFORE + query, index(ONTOLOGY), open_scratch=OxigraphScratch, data=view).findings
    return [finding for finding in found if finding.rule == "fan-out"]


@pytest.mark.parametrize(("query", "remedy"), MULTIPLIED.items())
def test_an_aggregate_whose_values_a_join_repeats_is_an_error(query: str, remedy: str, view: DataView) -> None:
    (finding,) = fan_outs(query, view)
    assert (finding.severity, remedy in finding.hint) == ("error", True)


@pytest.mark.parametrize("query", HARMLESS)
def test_an_aggregate_that_the_data_prove_harmless_is_let_pass(query: str, view: DataView) -> None:
    assert fan_outs(query, view) == []


def test_the_message_has_the_result_with_each_value_once(view: DataView) -> None:
    (finding,) = fan_outs(SUM, view)
    assert "it gives 172000, and 86000 with each value once" in finding.message
    assert finding.start == len(BEFORE) + len("SELECT (")


def test_without_a_process_to_run_it_nothing_is_said(view: DataView) -> None:
    assert fan_outs(SUM, DataView(view.store)) == []
