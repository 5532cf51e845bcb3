"""The reader never crashes and never hangs, accepts what the store accepts, and doesn't mind names."""

import re
import time

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.query_reader import read
from kgrag.sparql.syntax import Variable
from kgrag.sparql.term_reader import DEFAULT_PREFIXES

MANY = 100_000
PIECES = [
    *"{}()[]<>.,;|/^*+?!=-&#'\"\\@:_$~ \n",
    *"SELECT ASK CONSTRUCT DESCRIBE WHERE FILTER OPTIONAL UNION MINUS BIND VALUES GRAPH SERVICE EXISTS NOT IN".split(),
    *"GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET PREFIX BASE FROM NAMED AS DISTINCT COUNT SUM STR IF a true".split(),
    *"?x ?y ?p $z _:b :c ex:d <urn:e> <> 1 2.5 3e4 'f' \"g\" '''h''' @en ^^ && || << >> <<( )>> {| |} []".split(),
]


def refused_by_store(text: str) -> str:
    try:
        ox.Store().query(text, prefixes={**DEFAULT_PREFIXES, "": "urn:n:", "ex": "urn:ex:"})
    except SyntaxError as error:
        return str(error)
    except (RuntimeError, OSError, ValueError):
        pass
    return ""


def declared(text: str) -> str:
    return "PREFIX : <urn:n:> PREFIX ex: <urn:ex:> " + text


@given(st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join))
def test_a_soup_of_tokens_is_read_or_refused(text):
    for start in ("", "ASK { ", "SELECT * { ?s ?p "):
        try:
            read(start + text)
        except InvalidSPARQL as error:
            assert re.match(r"line \d+, column \d+: ", str(error))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    for start in ("", "ASK { ?s ?p ", "ASK { FILTER("):
        try:
            read(start + text)
        except InvalidSPARQL as error:
            assert error.line > 0


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.sampled_from(["ASK { %s }", "ASK { ?x ?p %s }"]))
@example("?x<1", "ASK { FILTER(%s) }")
@example("?x<?y&&?y>?z", "ASK { FILTER(%s) }")
def test_what_the_store_accepts_is_accepted_even_without_blanks(text, frame):
    text = frame % text
    if not refused_by_store(text):
        assert not [one for one in read(declared(text)).problems if one.rule != "bracketed-prefix"]


# --- generated queries ---------------------------------------------------------------------------------------------

variables = st.sampled_from(["?x", "?y", "$z", "?Größe"])
iris = st.sampled_from([":p", "ex:q", "<urn:r>", "a"])
terms = st.one_of(
    variables, st.sampled_from([":c", "<urn:e>", "1", "-2.5", "'s'@en", '"t"^^xsd:date', "true", "[]", "()"])
)
paths = st.recursive(
    iris,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("|/"), inner).map(lambda parts: "({}{}{})".format(*parts)),
        st.tuples(inner, st.sampled_from("*+?")).map(lambda parts: f"({parts[0]}){parts[1]} "),
        inner.map(lambda one: f"^({one})"),
    ),
    max_leaves=4,
)
nodes = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.tuples(paths, inner).map(lambda parts: "[ {} {} ]".format(*parts)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"( {' '.join(parts)} )"),
    ),
    max_leaves=4,
)
triples = st.tuples(st.one_of(variables, nodes), st.one_of(variables, paths), nodes, st.sampled_from([" .", " ; ."]))
expressions = st.recursive(
    st.one_of(variables, st.sampled_from(["1", "'s'", ":c", "true", "-1", "BOUND(?x)", "NOW()"])),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("= != < > <= >= + - * / && ||".split()), inner).map(
            lambda p: "({} {} {})".format(*p)
        ),
        st.tuples(st.sampled_from(["STR", "LCASE", "!", "-", "xsd:int", "COALESCE"]), inner).map(
            lambda p: "{}({})".format(*p)
        ),
        st.tuples(inner, st.lists(inner, max_size=2)).map(lambda p: f"({p[0]} NOT IN ({','.join(p[1])}))"),
        st.tuples(inner, inner, inner).map(lambda p: "IF({},{},{})".format(*p)),
    ),
    max_leaves=5,
)
elements = st.recursive(
    triples.map(lambda parts: "{} {} {}{}".format(*parts)),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" ".join),
        st.tuples(st.sampled_from(["OPTIONAL", "MINUS", "", "GRAPH ?g", "FILTER NOT EXISTS"]), inner).map(
            lambda p: "{} {{ {} }}".format(*p)
        ),
        st.tuples(inner, inner).map(lambda p: "{{ {} }} UNION {{ {} }}".format(*p)),
        st.tuples(inner, expressions).map(lambda p: "{} FILTER({})".format(*p)),
        st.tuples(inner, expressions).map(lambda p: "{} BIND({} AS ?new)".format(*p)),
        inner.map(lambda one: f"{one} VALUES (?v ?x) {{ (1 UNDEF) }}"),
        inner.map(lambda one: f"{{ SELECT ?x (COUNT(?y) AS ?n) {{ {one} }} GROUP BY ?x HAVING(COUNT(*) > 1) }}"),
    ),
    max_leaves=5,
)
queries = st.tuples(
    st.sampled_from(["SELECT * WHERE", "SELECT DISTINCT ?x ?y", "ASK", "CONSTRUCT { ?x :p ?y } WHERE", "DESCRIBE ?x"]),
    elements,
    st.sampled_from(["", "ORDER BY ?x DESC(?y)", "LIMIT 5 OFFSET 2", "VALUES ?x { 1 }"]),
).map(lambda parts: "{} {{ {} }} {}".format(*parts))


@given(queries)
def test_generated_queries_are_accepted_where_the_store_accepts_them_and_refused_where_it_refuses(text):
    refused = refused_by_store(text)
    assert bool(read(declared(text)).problems) == bool(refused), refused


@given(queries)
def test_other_names_of_variables_keep_the_shape(text):
    renamed = re.sub(r"[?$](\w+)", r"?other_\1", text)
    before, after = read(declared(text)), read(declared(renamed))
    assert [_shape(one, "other_") for one in before.patterns] == [_shape(one, "") for one in after.patterns]
    assert [use.bound for use in before.uses] == [use.bound for use in after.uses]
    assert [f"other_{one.name}" for one in before.selected] == [one.name for one in after.selected]


def _shape(pattern, put):
    terms = (pattern.subject, pattern.predicate, pattern.object)
    named = [Variable(put + term.name, term.scope) if isinstance(term, Variable) else term for term in terms]
    return named, pattern.context, pattern.path, pattern.free_subject, pattern.free_object


# --- hostile texts -------------------------------------------------------------------------------------------------

BOMBS = ["{", "(", "[", "<", "<<", "<<(", "{|", "'", '"', "'''", '"""', "<http://", "#", "!", "^", "-", "?", "\\", "a:"]
BOMBS += [
    "{ SELECT * ",
    "FILTER(",
    "FILTER NOT EXISTS {",
    "OPTIONAL {",
    "a.",
    "\x00",
    "\ud800",
    "[ :p (",
    "IF(",
    ";",
    ".",
]
STARTS = ["", "ASK { ", "ASK { ?s ?p ", "ASK { ?s ", "ASK { FILTER(", "ASK { VALUES ?x { ", "SELECT ("]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_quickly(bomb):
    for start in STARTS:
        began = time.process_time()
        with pytest.raises(InvalidSPARQL):
            read((start + bomb * MANY)[:1_000_000])
        assert time.process_time() - began < 20


@pytest.mark.parametrize("opened", ["'", '"', "'''", '"""', "<urn:", "# "])
def test_what_is_opened_and_never_closed_is_refused_quickly(opened):
    began = time.process_time()
    with pytest.raises(InvalidSPARQL):
        read("ASK { ?s ?p " + opened + "x" * 900_000)
    assert time.process_time() - began < 20


LONG = {
    "conditions": ("ASK { FILTER(", "?x=1||", "?x) }"),
    "steps": ("ASK { ?s ", "<a:b>/", "<a:b> ?o }"),
    "alternatives": ("ASK { ?s ", "<a:b>|", "<a:b> ?o }"),
    "list items": ("ASK { ?s ?p (", "1 ", ") }"),
    "groups": ("ASK { ", "{?a ?b ?c}", "}"),
    "branches": ("ASK { ", "{?a ?b ?c} UNION ", "{} }"),
    "sub-selects": ("ASK { ", "{SELECT ?a{}}", "}"),
    "values": ("ASK { VALUES ?x {", "1 ", "} }"),
    "columns": ("SELECT ", "(?a AS ?b)", "{}"),
    "bindings": ("ASK { ", "BIND(1 AS ?x)", "}"),
    "empty rows": ("ASK { VALUES () {", "( \n)", "} }"),
}


@pytest.mark.parametrize("kind", LONG)
def test_reading_takes_linear_time(kind):
    before, piece, after = LONG[kind]
    times = [_seconds(before + piece * (count // len(piece)) + after) for count in (5_000, 40_000)]
    assert times[1] < max(5, 60 * times[0])


def _seconds(text: str) -> float:
    began = time.process_time()
    read(text)
    return time.process_time() - began
