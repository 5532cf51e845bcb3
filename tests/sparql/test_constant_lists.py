"""Filters by lists of IRIs as joins: the same solutions, for every shape of query."""

from collections import Counter

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.sparql.constant_lists import with_values_for_lists

STORE = ox.Store()
STORE.update(
    "INSERT DATA { "
    + " ".join(f"<urn:{s}> <urn:{p}> <urn:{o}> ." for s in "abcd" for p in "pq" for o in "axy" if s != o)
    + " GRAPH <urn:g> { <urn:a> <urn:p> <urn:b> . <urn:c> <urn:p> 1 } GRAPH <urn:h> { <urn:b> <urn:q> <urn:a> } }"
)


def solutions(text: str) -> Counter[tuple[tuple[str, str], ...]]:
    found = STORE.query(text, prefixes={"u": "urn:"})
    names = [variable.value for variable in found.variables]  # type: ignore[union-attr]
    rows = (zip(names, map(str, row), strict=True) for row in found)  # type: ignore[union-attr]
    return Counter(tuple(sorted(row)) for row in rows)


LIST = "(<urn:a>, <urn:b>, <urn:a>, u:c)"
ALIKE = [
    "SELECT * { ?v <urn:p> ?o FILTER(?v IN LIST) }",
    "SELECT * { FILTER(?v IN LIST) ?v <urn:p> ?o }",
    "SELECT * { ?v <urn:p> ?o . FILTER(?v IN LIST) . ?v <urn:q> ?z }",
    "SELECT * { OPTIONAL { ?v <urn:q> ?x } ?v <urn:p> ?o FILTER(?v IN LIST) }",
    "SELECT * { FILTER(?v IN LIST) OPTIONAL { ?x <urn:none> ?v } ?v <urn:p> ?o }",
    "SELECT * { ?s <urn:p> ?o OPTIONAL { ?s <urn:q> ?v FILTER(?v IN LIST) } }",
    "SELECT * { ?s <urn:p> ?o OPTIONAL { ?s <urn:q> ?v } FILTER(?v IN LIST) }",
    "SELECT * { ?v <urn:p> ?o MINUS { ?v <urn:q> <urn:x> } FILTER(?v IN LIST) }",
    "SELECT * { ?s <urn:p> ?o MINUS { ?v <urn:q> ?o FILTER(?v IN LIST) } }",
    "SELECT * { { ?v <urn:p> ?o } UNION { ?o <urn:q> ?v } FILTER(?v IN LIST) }",
    "SELECT * { { ?v <urn:p> ?o FILTER(?v IN LIST) } UNION { ?o <urn:q> ?v } }",
    "SELECT * { GRAPH ?v { ?s ?p ?o } FILTER(?v IN (<urn:g>, <urn:x>)) }",
    "SELECT * { GRAPH ?g { ?v ?p ?o FILTER(?v IN LIST) } }",
    "SELECT * { GRAPH ?g { ?v ?p ?o } FILTER(?v IN LIST) OPTIONAL { ?v <urn:q> ?z } }",
    "SELECT * { OPTIONAL { GRAPH ?g { ?v ?p ?o } } FILTER(?v IN LIST) }",
    "SELECT * { ?s ?v ?o FILTER(?v IN (<urn:p>, <urn:z>)) }",
    "SELECT ?v (COUNT(*) AS ?n) { ?v <urn:p> ?o FILTER(?v IN LIST) } GROUP BY ?v",
    "SELECT * { ?v <urn:p> ?o FILTER(?v IN LIST) } VALUES ?o { <urn:x> }",
    "SELECT * { VALUES ?v { <urn:a> <urn:d> } ?v <urn:p> ?o FILTER(?v IN LIST) }",
    "SELECT * { BIND(<urn:a> AS ?v) FILTER(?v IN LIST) }",
    "SELECT * { ?s <urn:p> ?o FILTER EXISTS { ?v <urn:q> ?o FILTER(?v IN LIST) } }",
    "SELECT * { ?s <urn:p> ?o FILTER NOT EXISTS { ?s <urn:q> ?v FILTER(?v IN LIST) } }",
    "SELECT * { { SELECT ?v { ?v <urn:p> ?o FILTER(?v IN LIST) } } ?v <urn:q> ?z }",
    "SELECT * { ?v <urn:p>/<urn:q>* ?o FILTER(?v IN LIST) FILTER(?o IN LIST) }",
    "SELECT * { ?v <urn:p> ?o FILTER(?v NOT IN LIST) }",
    "SELECT * { ?v <urn:p> ?o FILTER(?v IN LIST && ?o = <urn:x>) }",
    "SELECT * { ?v <urn:p> ?o FILTER(?v IN (<urn:a>, 1, 'x')) }",
    "SELECT * { ?s <urn:p> ?v FILTER(?v IN (1, 1.0)) }",
    "SELECT * { ?s <urn:p> [ <urn:q> ?v ] FILTER(?v IN LIST) }",
    "SELECT * { _:b <urn:p> ?v . FILTER(?v IN LIST) . _:b <urn:q> ?o }",
    "PREFIX u: <urn:x:> PREFIX u: <urn:> SELECT * { ?v <urn:p> ?o FILTER(?v IN LIST) }",
    "CONSTRUCT { ?v <urn:n> ?o } WHERE { ?v <urn:p> ?o FILTER(?v IN LIST) }",
]


@pytest.mark.parametrize("query", ALIKE)
def test_the_solutions_stay_the_same(query: str) -> None:
    text = query.replace("LIST", LIST)
    rewritten = with_values_for_lists(text, {"u": "urn:"}, least=2)
    if text.startswith("CONSTRUCT"):
        assert set(STORE.query(rewritten, prefixes={"u": "urn:"})) == set(STORE.query(text, prefixes={"u": "urn:"}))  # type: ignore[arg-type]
    else:
        assert solutions(rewritten) == solutions(text)


PIECES = [
    "?v <urn:p> ?o .",
    "?o <urn:q> ?v .",
    "OPTIONAL { ?v <urn:q> ?x }",
    "OPTIONAL { ?x <urn:q> ?v FILTER(?v IN LIST) }",
    "MINUS { ?v <urn:q> <urn:x> }",
    "{ ?x <urn:p> ?v } UNION { ?v <urn:p> ?x }",
    "BIND(IF(BOUND(?v), 1, 2) AS ?b)",
    "FILTER(?v IN LIST)",
    "FILTER(?x IN LIST)",
    "GRAPH ?g { ?v ?p ?z }",
    "FILTER EXISTS { ?v <urn:p> ?y FILTER(?y IN LIST) }",
]


@given(st.permutations(PIECES), st.integers(2, 6))
def test_the_solutions_stay_the_same_in_any_order(pieces: list[str], count: int) -> None:
    body = " ".join(pieces[:count]).replace("LIST", LIST)
    text = f"SELECT * {{ {body} }}"
    assert solutions(with_values_for_lists(text, {"u": "urn:"}, least=2)) == solutions(text)


def test_a_long_list_becomes_a_join_and_a_short_one_stays() -> None:
    long = ", ".join(f"<urn:{number}>" for number in range(900))
    text = f"SELECT * {{ ?s ?p ?o FILTER(?s IN ({long})) }}"
    assert with_values_for_lists(text).count("VALUES ?s") == 1
    short = "SELECT * { ?s ?p ?o FILTER(?s IN (<urn:a>, <urn:b>)) }"
    assert with_values_for_lists(short) == short
