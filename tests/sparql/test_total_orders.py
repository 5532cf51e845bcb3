"""Sorting terms of different kinds: the engine ends its process where two of three comparisons contradict the third."""

import json
import random
import re
import subprocess
import sys

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, queries
from kgrag.sparql.total_orders import with_total_orders
from kgrag.vocab import XSD

SORTING = """\
import json, sys
import pyoxigraph as ox
data, texts = json.load(sys.stdin)
store = ox.Store()
store.load(data.encode(), ox.RdfFormat.N_TRIPLES)
store.load(data.encode(), ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode("urn:g"))
for text in texts:
    print(len(list(store.query(text))))
"""
QUERIES = [
    "SELECT ?v { ?s <urn:p> ?v } ORDER BY ?v",
    "SELECT DISTINCT ?v { ?s <urn:p> ?v } ORDER BY DESC(?v) LIMIT 9",
    "SELECT ?v { { SELECT ?v { ?s <urn:p> ?v } ORDER BY(?v)asc( ?s ) } }",
    "SELECT ?v (COUNT(*) AS ?n) { ?s <urn:p> ?v } GROUP BY ?v ORDER BY ?n STR(?v) ?v",
    "SELECT ?v { ?s <urn:p> ?v } ORDER BY COALESCE(?w, ?v)",
    "SELECT ?v { ?s <urn:p> ?v } ORDER BY DESC(IF(BOUND(?w), ?w, ((?v)))) (?v)",
    "SELECT ?s (MAX(?v) AS ?m) { ?s <urn:p> ?v } GROUP BY ?s ORDER BY MAX(?v) DESC(SAMPLE(?v))",
    "SELECT ?v { ?s <urn:p> ?v } ORDER BY (TRIPLE(?s, <urn:p>, ?v))",
    "SELECT ?s { ?s <urn:p> ?w } ORDER BY EXISTS { SELECT ?v { ?s <urn:p> ?v } ORDER BY ?v }",
]


def mixed(drawn: random.Random) -> ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple:
    """Return a term of one of the kinds that compare in a circle."""
    number, zone = drawn.randrange(3000), drawn.choice(["", "Z", "+10:00", "-09:00"])
    time = f"200{number % 3}-01-0{1 + number % 3}T{number % 24:02}:00:00{zone}"
    literals = [
        ox.Literal(number),
        ox.Literal(f"{number}s"),
        ox.Literal(time, datatype=XSD.dateTime),
        ox.Literal(time),
        ox.Literal(f"{number}", language="en"),
        ox.Literal(f"P{number}D", datatype=ox.NamedNode(XSD.string.value.replace("string", "duration"))),
    ]
    literal = drawn.choice(literals)
    about = drawn.choice([XSD.string, ox.BlankNode("b")])
    triple = ox.Triple(about, XSD.string, literal)
    nested = ox.Triple(about, XSD.string, triple)
    others = [literal, ox.NamedNode(f"urn:{number}"), ox.BlankNode(), triple, nested]
    return drawn.choice([literal, literal, *others])


def test_no_mixture_of_values_ends_the_process_that_sorts_them() -> None:
    drawn = random.Random(7)
    triples = [ox.Triple(ox.NamedNode(f"urn:s{n}"), ox.NamedNode("urn:p"), mixed(drawn)) for n in range(400)]
    data = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    assert data is not None
    texts = [with_total_orders(text) for text in QUERIES]
    done = subprocess.run(
        [sys.executable, "-c", SORTING], input=json.dumps([data.decode(), texts]), capture_output=True, text=True
    )
    assert (done.returncode, len(done.stdout.split())) == (0, len(QUERIES)), done.stderr[:400]


def test_kinds_of_terms_and_parts_of_triple_terms_come_in_the_order_of_sparql() -> None:
    def said(thing: ox.Literal | ox.Triple, *, of: str = "urn:a") -> ox.Triple:
        return ox.Triple(ox.NamedNode(of), ox.NamedNode("urn:p"), thing)

    in_order = [
        *(ox.BlankNode("b"), ox.NamedNode("urn:x"), ox.Literal(7), ox.Literal("abc")),
        *(said(ox.Literal(-456)), said(ox.Literal(12)), said(ox.Literal(123)), said(said(ox.Literal(1), of="urn:x"))),
        said(ox.Literal(5), of="urn:b"),
    ]
    store = ox.Store()
    things = enumerate(reversed(in_order))
    store.extend(ox.Quad(ox.NamedNode(f"urn:{n}"), ox.NamedNode("urn:q"), thing) for n, thing in things)
    table = store.query(with_total_orders("SELECT ?v { ?s <urn:q> ?v } ORDER BY ?v"))
    assert [row[0] for row in table] == in_order


@pytest.mark.parametrize(
    "left",
    [
        "SELECT ?v { ?s ?p 'ORDER BY ?v' } # ORDER BY ?v",
        "SELECT ?v { ?s ?p ?v } ORDER BY STR(?v) <urn:f>(?v, ( ?s )) COUNT(DISTINCT ?v) NOT EXISTS { ?v ?p ?s } LIMIT 3",
        "SELECT ?v { ?s ?p ?v } ORDER BY DESC(COUNT(?v)) ASC",
        "SELECT ?v { ?s ?p ?v } ORDER BY",
        "SELECT ?v { ?s ?p ?v FILTER(?v = <urn:order>) }",
    ],
)
def test_what_is_no_variable_behind_order_by_is_left_alone(left: str) -> None:
    assert with_total_orders(left) == left


def test_numbers_come_first_and_by_value_and_every_kind_keeps_its_order(kb: KnowledgeBase) -> None:
    terms = '"b" 10 "a" 9.5 "2001-01-02"^^xsd:date <urn:x> "1a" "2001-01-01"^^xsd:date true'
    query = f"SELECT ?v {{ VALUES ?v {{ {terms} }} }} ORDER BY %s"
    found = [row[0] for row in kb.query(query % "?v").values()]
    assert found == ["urn:x", "9.5", "10", "true", "2001-01-01", "2001-01-02", "1a", "a", "b"]
    assert [row[0] for row in kb.query(query % "DESC(?v)").values()] == found[::-1]


def test_a_stored_query_that_sorts_values_keeps_numbers_apart() -> None:
    """In queries whose values a user's data state; those of other rooms sort IRIs, or values of one kind."""
    values = ("value", "object", "innermost", "said", "label", "comment", "year")
    sorts = re.compile(rf"ORDER BY[^\n}}]*(?<![(\w])\?({'|'.join(values)})\b")
    rooms = (
        "facts/",
        "obqc_data/",
        "pages/",
        "profile/",
        "schema/details",
        "templates/",
        "audit/ann_05",
        "audit/sks_10",
    )
    asked = [name for name in queries.names() if name.startswith(rooms)]
    sorting = {name: match for name in asked if (match := sorts.search(queries.describe(name).text))}
    assert len(sorting) > 20
    apart = {name for name, match in sorting.items() if f"(?{match[1]})" in match[0]}
    assert sorting.keys() - apart == set()
