"""What is said to be doubted in an answer from rows: a case for each, and one in which nothing is."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.obqc_weak_queries import FILE, judged, opened, questions
from kgrag import KnowledgeBase
from kgrag.querying.ontology_check import DataView, index_of_graphs, ontology_graphs
from kgrag.querying.text_to_sparql.cautions import cautions
from kgrag.sparql.query_reader import read
from kgrag.testing import HashEmbedder

NS = "https://example.org/shop#"
HEAD = f"PREFIX : <{NS}>\n"
ONTOLOGY = f"""
@prefix : <{NS}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
: a owl:Ontology .
:Product a owl:Class . :Service a owl:Class ; rdfs:subClassOf :Product . :Tool a owl:Class ; rdfs:subClassOf :Product .
:Supplier a owl:Class ; rdfs:label "supplier" .
:price a owl:ObjectProperty ; rdfs:domain :Product . :amount a owl:DatatypeProperty .
:supplier a owl:ObjectProperty ; rdfs:domain :Product ; rdfs:range :Supplier .
"""
DATA = f"""
@prefix : <{NS}> .
:saw a :Tool ; :price :p1 ; :supplier :ada . :axe a :Tool ; :price :p2 ; :supplier :ada .
:fix a :Service ; :price :p1 . :ada a :Supplier ; :city "Paris" . :p1 :amount 10 . :p2 :amount 20 .
"""


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "ontology.ttl").write_text(ONTOLOGY)
    (folder / "data.ttl").write_text(DATA)
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.load(folder / "ontology.ttl", folder / "data.ttl")
        yield kb


def doubts(kb: KnowledgeBase, question: str, body: str) -> list[str]:
    index = index_of_graphs(kb.store, ontology_graphs(kb.store))

    def rows(sparql: str):  # type: ignore[no-untyped-def]
        return tuple(kb.query(sparql).rows)  # type: ignore[union-attr]

    return cautions(question, read(HEAD + body), index, DataView(kb.store, rows))


@pytest.mark.parametrize(
    ("question", "body", "doubt"),
    [
        ("Which service is cheap?", "SELECT ?s { ?s a :Tool ; :price ?p }", '"service", and the query asks for none'),
        ("Which suppliers are there?", "SELECT ?t { ?t a :Tool }", '"supplier", and the query asks for none'),
        ("What is the average price?", "SELECT (SUM(?a) AS ?x) { ?p :amount ?a }", "an average, and the query has SUM"),
        ("Which cost under 15?", "SELECT ?t { ?t :price/:amount ?a FILTER (?a > 15) }", 'says "under 15"'),
        ("Which cost at least 15?", "SELECT ?t { ?t :price/:amount ?a FILTER (15 >= ?a) }", 'says "at least 15"'),
        ("Who supplies the saw?", 'SELECT ?s { :saw :supplier ?s . ?s :city "Rome" }', 'narrows down to "Rome"'),
        ("What is dearest?", "SELECT ?t { ?t :price ?p } ORDER BY DESC(?p)", "?p is a thing (price leads to no value)"),
        ("How many are there?", "SELECT (COUNT(?s) AS ?n) { ?t :supplier ?s }", "counted 2 times, and only 1"),
        ("How many each?", "SELECT ?t (COUNT(?t) AS ?n) { ?t :price ?p } GROUP BY ?t", "every group has one value"),
    ],
)
def test_a_query_that_is_not_what_was_asked_is_doubted(kb: KnowledgeBase, question: str, body: str, doubt: str) -> None:
    (found,) = doubts(kb, question, body)
    assert doubt in found


@pytest.mark.parametrize(
    ("question", "body"),
    [
        ("Which services are there?", "SELECT ?s { ?s a :Service }"),
        ("Which product is dear?", "SELECT ?s { ?s a :Tool ; :price ?p }"),
        ("Who works in Data Services?", "SELECT ?t { ?t a :Tool }"),
        ("What is the average?", "SELECT (SUM(?a) / COUNT(?p) AS ?x) { ?p :amount ?a }"),
        ("Which cost no more than 15?", "SELECT ?t { ?t :price/:amount ?a FILTER (?a <= 15) }"),
        ("Which do not exceed 15?", "SELECT ?t { ?t :price/:amount ?a FILTER (?a <= 15) }"),
        ("Which suppliers are in PARIS?", 'SELECT ?s { ?s a :Supplier ; :city "Paris" }'),
        ("What is dearest?", "SELECT ?t { ?t :price/:amount ?a } ORDER BY DESC(?a) LIMIT 1"),
        ("How many suppliers are there?", "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?t :supplier ?s }"),
    ],
)
def test_a_query_that_is_what_was_asked_is_not_doubted(kb: KnowledgeBase, question: str, body: str) -> None:
    assert doubts(kb, question, body) == []


def test_faulty_queries_over_real_data_give_no_wrong_answer_in_silence(data: Path) -> None:
    kb, facts = opened("acme", data)
    known = questions("acme", data)
    rows = [row for row in map(json.loads, FILE.read_text().splitlines()) if row["set"] == "acme"]
    with kb:
        outcomes = Counter(
            judged(kb, facts, known[row["question"]][0], row["sparql"], known[row["question"]][1])[0] for row in rows
        )
    assert outcomes["silent"] == 0
    assert outcomes["right"] >= 4
