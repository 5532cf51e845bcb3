"""What is said of the mistakes that people make most, where, and that the proposed change does away with them."""

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.query_help import help_for, helped, with_declarations
from kgrag.store.engine import engine

DCAT = "http://www.w3.org/ns/dcat#"
PREFIXES = {"ex": "http://example.org/", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
MISTAKES = [
    (
        "SELECT * { ?s dcat:title ?t }",
        "dcat:",
        "dcat: is not declared",
        f"PREFIX dcat: <{DCAT}>\nSELECT * {{ ?s dcat:title ?t }}",
    ),
    ("SELECT * { ?s a ex:A ?s ex:b ?t }", "?s ex:b", "dot", "SELECT * { ?s a ex:A . ?s ex:b ?t }"),
    ("SELECT * { ?s a ex:A a ex:B }", "a ex:B", "semicolon", "SELECT * { ?s a ex:A ; a ex:B }"),
    ("SELECT * WHERE { ?s a ex:A", "{", "not closed", "SELECT * WHERE { ?s a ex:A }"),
    ("SELECT * { ?s a ex:A LIMIT 3", "{", "not closed", "SELECT * { ?s a ex:A } LIMIT 3"),
    ("SELECT * WHERE ( ?s a ex:A }", "(", "closed by }", "SELECT * WHERE { ?s a ex:A }"),
    ("SELECT * { ?s a ex:A } }", "}", "closes nothing", "SELECT * { ?s a ex:A } "),
    ("SELECT * { BIND(1 AS ?s }", "}", "not closed before", "SELECT * { BIND(1 AS ?s ) }"),
    ("SELECT ?x { ?s ?p ?o }  GROUP BY ?s", "?x", "nothing gives it a value", None),
    ("SELECT ?p { ?s ?p ?o } GROUP BY ?s", "?p", "GROUP BY", None),
    ("SELECT * { ?s ?p 'x'@ }", "@", "language", "SELECT * { ?s ?p 'x' }"),
    ("SELECT * { ?s ?p 'x'@en_GB }", "@en_GB", "hyphens", "SELECT * { ?s ?p 'x'@en-GB }"),
    ("SELECT * { ?s ?p 'x }", "'x", "not closed", None),
    ("SELECT ?s, ?p { ?s ?p ?o }", ",", "commas", "SELECT ?s ?p { ?s ?p ?o }"),
    ("SELECT * { ?s ?p ?o . ?o = <urn:x> }", "?o = <", "FILTER", "SELECT * { ?s ?p ?o . FILTER (?o = <urn:x>) }"),
    ("SELECT * { ?s ?p ?o FILTER ?o = 3 }", "?o = 3", "brackets", "SELECT * { ?s ?p ?o FILTER (?o = 3) }"),
    ("SELEC * { ?s ?p ?o }", "SELEC", "no keyword", "SELECT * { ?s ?p ?o }"),
    (
        "SELECT * { ?s ?p ?o OPTINAL { ?o ?q ?r } }",
        "OPTINAL",
        "no keyword",
        "SELECT * { ?s ?p ?o OPTIONAL { ?o ?q ?r } }",
    ),
    (
        "SELECT ?next { ?s ?p ?o BIND(?o + 1) }",
        "(?o + 1)",
        "a name by AS",
        "SELECT ?next { ?s ?p ?o BIND(?o + 1 AS ?next) }",
    ),
    ("SELECT * { ?s ?p ?o BIND(?o + 1) }", "(?o + 1)", "AS ?value", "SELECT * { ?s ?p ?o BIND(?o + 1 AS ?value) }"),
    ("SELECT (?value + 1) { ?s ?p ?value }", "(", "AS", "SELECT (?value + 1 AS ?value2) { ?s ?p ?value }"),
    ("SELECT name, age FROM people WHERE age > 3", "FROM people", "braces", None),
    ("SELECT ?s FROM people WHERE { ?s ?p ?o }", "FROM people", "IRI of a graph", "SELECT ?s WHERE { ?s ?p ?o }"),
    ("SELECT COUNT(?s) { ?s ?p ?o }", "COUNT", "in brackets", "SELECT (COUNT(?s) AS ?count) { ?s ?p ?o }"),
    ("SELECT s { ?s ?p ?o }", "s {", "begins with ?", "SELECT ?s { ?s ?p ?o }"),
    ("SELECT ?s { ?s ?p ?o } ORDER ?s", "ORDER", "BY", "SELECT ?s { ?s ?p ?o } ORDER BY ?s"),
    ("SELECT ?s { ?s ?p ?o } LIMIT 3 ORDER BY ?s", "ORDER", "after LIMIT", None),
    ("PREFIX a: http://x/ ASK { ?s ?p a:b }", "http", "angle", "PREFIX a: <http://x/> ASK { ?s ?p a:b }"),
    ("ASK { ?s ?p http://x.org/a }", "http", "angle", "ASK { ?s ?p <http://x.org/a> }"),
    ("ASK { ?s ?p ?o OPTIONAL ?o ?q ?r }", "?o ?q", "braces", "ASK { ?s ?p ?o OPTIONAL { ?o ?q ?r } }"),
    ("ASK { ?s ?p ?o FILTER(?o = 1 AND ?p = 2) }", "AND", "operator", "ASK { ?s ?p ?o FILTER(?o = 1 && ?p = 2) }"),
    ("ASK { ?s ?p ?o FILTER(?o == 1) }", "==", "operator", "ASK { ?s ?p ?o FILTER(?o = 1) }"),
    ("ASK { ?s A ex:A }", "A ex", "small letter", "ASK { ?s a ex:A }"),
    ("ASK { ?s ?p 'x'^ex:int }", "^", "datatype", "ASK { ?s ?p 'x'^^ex:int }"),
    ("ASK { ?s ?p \u201cx\u201d }", "\u201c", "quotation mark", None),
    ("INSERT DATA { ex:a ex:b 1 }", "INSERT", "/update", None),
]


@pytest.mark.parametrize(("text", "place", "message", "mended"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_mistake_is_told_at_its_place_with_what_to_write(
    text: str, place: str, message: str, mended: str | None
) -> None:
    with pytest.raises(SyntaxError):
        ox.Store().query(text, prefixes=PREFIXES)
    found = help_for(text, prefixes=PREFIXES, known={"dcat": DCAT})
    assert found is not None
    assert message in f"{found.message} {found.instead}"
    assert text.startswith(place, found.start)
    if mended is None:
        assert found.mend is None
        return
    assert found.mend is not None
    assert text[: found.mend.start] + found.mend.text + text[found.mend.end :] == mended
    ox.Store().query(mended, prefixes=PREFIXES)


def test_a_person_sees_line_and_column_and_a_caret_under_the_place() -> None:
    error = helped(InvalidSPARQL("x"), "SELECT *\n{ ?s a ex:A ?s a ex:B }", prefixes=PREFIXES, known={})
    assert (error.line, error.column, error.mend) == (2, 13, (20, 20, " ."))
    first, line, caret = str(error).split("\n")
    assert first.startswith("line 2, column 13: two triples have a dot between them")
    assert line[caret.index("^") :].startswith("?s a ex:B")


def test_a_long_line_is_shown_around_the_place() -> None:
    text = "ASK { " + "?s ?p ?o . " * 100 + "?s ?p ?o ?x ?p ?o }"
    error = helped(InvalidSPARQL("x"), text, prefixes={}, known={})
    _, line, caret = str(error).split("\n")
    assert len(line) < 170
    assert line[caret.index("^") :].startswith("?x ?p")


@pytest.mark.parametrize("text", ["ASK { ?s ?p ?o }", "SELECT ?s { ?s ?p ?o ; }", "x" * 30_000])
def test_nothing_is_said_of_what_is_right_or_too_long(text: str) -> None:
    error = InvalidSPARQL("what the engine says")
    assert helped(error, text, prefixes={}, known={}) is error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT DATA { ex:a dcat:b 1 }", "dcat: is not declared"),
        ("INSERT DATA { ex:a ex:b 1 ", "not closed"),
        ("SELECT * { ?s ?p ?o }", "/sparql"),
        ("INSERT DATA { ex:a ex:b http://x.org/a }", "angle"),
    ],
)
def test_mistakes_of_updates_are_told_too(text: str, message: str) -> None:
    with pytest.raises(SyntaxError) as raised:
        ox.Store().update(text, prefixes=PREFIXES)
    place = str(raised.value.args[0]).removeprefix("error at ").split(":")
    error = InvalidSPARQL(f"line {place[0]}, column {place[1]} near ..." if place[0].isdigit() else "x")
    found = helped(error, text, prefixes=PREFIXES, known={"dcat": DCAT}, update=True)
    assert message in str(found)


def test_where_the_engine_stopped_is_shown_in_the_text_as_it_was_sent() -> None:
    text = "INSERT DATA {\n  GRAPH <urn:g> { ex:a ex:b } }"
    for sent in (text, text.replace("\n ", "")):
        with pytest.raises(InvalidSPARQL) as raised, engine(sent):
            ox.Store().update(with_declarations(sent, PREFIXES))
        error = helped(raised.value, sent, prefixes=PREFIXES, known={}, update=True)
        what, line, caret = str(error).split("\n")
        assert "something else is expected here" in what
        assert line[caret.index("^") :] == "} }"
        assert sent.split("\n")[(error.line or 0) - 1][(error.column or 0) - 1 :] == "} }"


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="{}()[].;,?$<>=\"'@^ab: \nSELECTWHR*1&|!-", max_size=60))
def test_any_text_is_told_of_or_not_and_nothing_breaks(text: str) -> None:
    for update in (False, True):
        found = help_for(text, prefixes={}, known={}, update=update)
        assert found is None or 0 <= found.start <= found.end <= len(text) + 1


def test_declarations_are_added_for_what_is_used_and_not_declared() -> None:
    known = {"ex": "http://example.org/", "b": "urn:b:"}
    assert with_declarations("ASK { ?s ?p 'ex:a' }", known) == "ASK { ?s ?p 'ex:a' }"
    own = "PREFIX ex: <urn:own> ASK { ?s ?p ex:a, b:c }"
    assert with_declarations(own, known) == f"PREFIX b: <urn:b:> {own}"
