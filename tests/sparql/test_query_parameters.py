"""Values for variables of a query: whatever the text, it stays a value."""

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgrag.errors import InputError, InvalidSPARQL
from kgrag.sparql.query_parameters import term_of, variables_of, with_values

STORE = ox.Store()
STORE.update('INSERT DATA { <urn:a> <urn:p> "x" , 1 . <urn:b> <urn:p> "y" , 2 . GRAPH <urn:g> { <urn:c> <urn:p> 3 } }')


def rows(text: str) -> list[list[str]]:
    return [[str(term) for term in row] for row in STORE.query(text)]  # type: ignore[union-attr]


@given(st.text())
@example('"} ; DROP ALL #')
@example("\\u0022 \\ ' \n\r")
def test_any_text_comes_back_as_the_value_that_it_was(text: str) -> None:
    bound = with_values("SELECT ?v { BIND(1 AS ?one) } ", {"v": ox.Literal(text)})
    (row,) = STORE.query(bound)  # type: ignore[union-attr]
    assert row[0] == ox.Literal(text)


@pytest.mark.parametrize(
    ("query", "values", "expected"),
    [
        ("SELECT ?s ?o { ?s <urn:p> ?o } ORDER BY ?o", {"s": "urn:a"}, 2),
        ("SELECT * { ?s <urn:p> ?o }", {"s": "urn:a"}, 2),
        ("SELECT ?o { ?s ?p ?o FILTER(?s = <urn:b>) }", {"p": "urn:p"}, 2),
        ("SELECT ?s (COUNT(?o) AS ?n) { ?s <urn:p> ?o } GROUP BY ?s", {"s": "urn:a"}, 1),
        ("SELECT ?s { ?s <urn:p> ?o } ORDER BY DESC(?s) ?s LIMIT 5", {"s": "urn:b"}, 2),
        ("SELECT ?g ?s { GRAPH ?g { ?s ?p ?o } }", {"g": "urn:g"}, 1),
        ("SELECT ?n { { SELECT ?s (COUNT(*) AS ?n) { ?s <urn:p> ?o } GROUP BY ?s } }", {"s": "urn:a"}, 1),
    ],
)
def test_a_variable_takes_a_value_wherever_it_stands(query: str, values: dict[str, str], expected: int) -> None:
    found = rows(with_values(query, {name: ox.NamedNode(iri) for name, iri in values.items()}))
    assert len(found) == expected


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ?s { BIND(1 AS ?s) }", "AS"),
        ("SELECT ?s { VALUES ?s { 1 } }", "VALUES"),
        ("SELECT ?s { ?s ?p ?o } VALUES (?o ?s) { (1 2) }", "VALUES"),
        ("SELECT ?s { ?s ?p ?o FILTER(BOUND(?s)) }", "BOUND"),
        ("SELECT ?x { ?x ?p ?o }", "no variable"),
    ],
)
def test_a_variable_that_the_query_sets_itself_is_no_parameter(query: str, said: str) -> None:
    with pytest.raises(InvalidSPARQL, match=said):
        with_values(query, {"s": ox.Literal("1")})


@pytest.mark.parametrize(
    ("kind", "text", "term"),
    [
        ("IRI", "<urn:x:a>", ox.NamedNode("urn:x:a")),
        ("IRI", "ex:a", ox.NamedNode("http://example.org/a")),
        ("text", " as it is ", ox.Literal(" as it is ")),
        ("number", "12", ox.Literal(12)),
        ("boolean", "true", ox.Literal(True)),
        (
            "date",
            "2026-05-31",
            ox.Literal("2026-05-31", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#date")),
        ),
    ],
)
def test_what_a_person_writes_becomes_a_term(kind, text, term) -> None:  # type: ignore[no-untyped-def]
    assert term_of(kind, text, {"ex": "http://example.org/"}) == term


@pytest.mark.parametrize(
    ("kind", "text"), [("IRI", "no iri"), ("number", "1,5"), ("date", "31.5.2026"), ("boolean", "yes")]
)
def test_what_is_none_of_its_kind_is_refused(kind, text) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError):
        term_of(kind, text)


def test_the_variables_of_a_query_are_those_outside_strings_and_comments() -> None:
    assert variables_of('SELECT ?a { ?a $b "?c" # ?d\n }') == {"a", "b"}
