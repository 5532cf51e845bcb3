"""The gate: what it refuses, and what it must let pass."""

from __future__ import annotations

import contextlib
import time

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.gate import MAX_CHAIN, MAX_CHARACTERS, MAX_DEPTH, MAX_PATH_STEPS, check_query, check_update

HARMLESS = {
    "a comment": "# SERVICE <http://x>\nSELECT ?s WHERE { ?s ?p ?o } # LOAD <http://x>",
    "a string": "SELECT ?s WHERE { ?s ?p 'SERVICE <http://x> {}' }",
    "a string with an escaped quote": r"SELECT ?s WHERE { ?s ?p 'it\'s SERVICE <http://x> {}' }",
    "a long string with quotes": 'SELECT ?s WHERE { ?s ?p """a "SERVICE" \'LOAD\' {{{ """ }',
    "an IRI": "SELECT ?s WHERE { ?s <http://x/SERVICE#load> ?o }",
    "a variable": "SELECT ?service WHERE { ?service ?p ?load }",
    "a local name": "PREFIX ex: <http://x/> SELECT ?s WHERE { ?s ex:service ex:load , ex:LOAD.SERVICE }",
    "a prefix that is no call": "PREFIX service: <http://x/> SELECT ?s WHERE { ?s service:a ?o . ?o a service:b }",
    "a local name with an escaped quote": r"PREFIX ex: <http://x/> SELECT ?s WHERE { ?s ex:o\'clock ?o }",
    "a comparison": "SELECT ?s WHERE { ?s ?p ?o FILTER(?o<5&&?o>2) }",
    "a triple term": "SELECT ?s WHERE { <<?s ?p ?o>> ?a <<( ?b ?c ?d )>> }",
    "a language tag": "SELECT ?s WHERE { ?s ?p 'x'@en-service }",
    "an IRI with a hash and no scheme's slashes": "SELECT ?s WHERE { ?s a <#thing> , <urn:x#y> }",
    "such IRIs beside a keyword": "SELECT ?service WHERE { ?service a <#thing> , <urn:x#y> }",
    "a namespace without a path": "PREFIX ex: <http://h> SELECT ?s WHERE { ?s ex:load ex: , ex:service }",
    "a name with dots": "PREFIX ex: <http://x/> SELECT ?s WHERE { ?s ex:a..b ex:a.load }",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_service_and_load_are_let_pass_where_they_are_no_keywords(text: str) -> None:
    check_query(text)


CALLS = {
    "plain": "SELECT * WHERE { SERVICE <http://h/> { ?s ?p ?o } }",
    "in lower case and without blanks": "SELECT*{service<http://h/>{?s?p?o}}",
    "silent": "SELECT * WHERE { SERVICE SILENT <http://h/> { ?s ?p ?o } }",
    "with a variable": "SELECT * WHERE { BIND(<http://h/> AS ?x) SERVICE ?x { ?s ?p ?o } }",
    "glued to its prefix": "PREFIX ex: <http://h/> SELECT * WHERE { SERVICEex:a { ?s ?p ?o } }",
    "glued to a prefix that exists": "PREFIX SERVICEex: <urn:a:> PREFIX ex: <http://h/> SELECT * { SERVICEex:a {} }",
    "glued behind a number": "SELECT * WHERE { ?s ?p 1SERVICE <http://h/> { ?s ?p ?o } }",
    "glued behind true": "PREFIX ex: <http://h/> SELECT * WHERE { ?s ?p trueSERVICEex:a { ?s ?p ?o } }",
    "with a comment inside": "SELECT * WHERE { SERVICE # x\n <http://h/> { ?s ?p ?o } }",
    "hidden by a comparison and a quote": "SELECT * { FILTER(?a<'x>')SERVICE<http://h/>{?s ?p 'y'} }",
    "hidden by a comparison and a comment": "SELECT * { FILTER(?a<?b#>'''\n)SERVICE<http://h/>{}#'''\n}",
    "behind a string that is closed": "SELECT * WHERE { ?s ?p '''x''' SERVICE <http://h/> { ?s ?p ?o } }",
    "behind a name that ends before its second dot": "SELECT * { ?s ?p :a.b.SERVICE<http://h/>{ ?x ?y ?z } }",
    "in what only looks like a string": "SELECT * { VALUES ?v {'''a'} SERVICE <http://h/> {} } # \\x '''",
    "in a string with half a code point": "SELECT * { VALUES ?v {'''a'} SERVICE <http://h/> {} } # \\uD800 '''",
    "behind a prefix whose name is no IRI": "PREFIX p: <http://h:8> SELECT * { ?s ?p p:SERVICE <http://h/> {} }",
    "behind such a prefix, by a base": "BASE <http://h:8> PREFIX p: <> SELECT * { ?s ?p p:SERVICE <http://h/> {} }",
    "behind such a prefix, glued": "PREFIXp:<http://h:8> SELECT * { ?s ?p p:SERVICE <http://h/> {} }",
    "behind such a prefix, that is declared twice": "PREFIX p: <http://h:8> PREFIX PREFIXp: <urn:x:> "
    "DESCRIBE PREFIXp: <urn:y:> { ?s ?p p:SERVICE <http://h/> {} }",
    "behind a host without a port": "PREFIX p: <http://h> PREFIX : <http://h/> SELECT * { ?s ?p p:SERVICE:b {} }",
    "behind a second hash": r"PREFIX p: <http://h/#> PREFIX x: <urn:x:> SELECT * { ?s ?p p:SERVICEx:b\#c {} }",
    "behind a character that no IRI has": "PREFIX p: <http://h/> PREFIX \ufffdx: <urn:x:> "
    "SELECT * { ?s ?p p:SERVICE\ufffdx:b {} }",
    "behind an escaped quote": r"PREFIX ex: <urn:e:> SELECT * { ?s ex:\' ?o SERVICE <http://h/> {} . ?s ex:\' ?o }",
}


@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_service_call_is_refused(text: str) -> None:
    with pytest.raises(InvalidSPARQL, match=r"line \d+, column \d+"):
        check_query(text)


LOADS = {
    "plain": "LOAD <http://h/>",
    "in lower case, behind a comment": "# x\nload silent <http://h/> into graph <urn:g>",
    "of a file": "LOAD <file:///etc/hostname>",
    "glued to its prefix": "PREFIX ex: <http://h/> LOADex:a",
    "glued and silent": "PREFIX ex: <http://h/> LOADSILENTex:a",
    "as the second operation": "INSERT DATA { <urn:a> <urn:b> 1 } ;LOAD<http://h/>",
    "glued, as the second operation": "PREFIX : <http://h/> CLEAR DEFAULT;LOAD:a",
}


@pytest.mark.parametrize("text", LOADS.values(), ids=LOADS)
def test_a_load_is_refused(text: str) -> None:
    with pytest.raises(InvalidSPARQL, match="LOAD"):
        check_update(text)


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX load: <http://x/> INSERT DATA { GRAPH load:g { load:a load:b 'LOAD <http://x>' } }",
        "PREFIX load: <http://x/> WITH load:g DELETE { ?s load:b ?o } WHERE { ?s load:b ?o }",
        "PREFIX load: <http://x/> COPY load:a TO load:b",
        "PREFIX load: <http://x/> DROP SILENT GRAPH load:b",
    ],
)
def test_a_prefix_called_load_is_let_pass_where_it_is_no_call(text: str) -> None:
    check_update(text)


@pytest.mark.parametrize(("left", "right"), [("{", "}"), ("(", ")"), ("[", "]"), ("<<", ">>"), ("<<(", ")>>")])
def test_brackets_are_refused_when_they_are_nested_deeper_than_the_limit(left: str, right: str) -> None:
    deep = MAX_DEPTH // len(left.replace("<<", "<")) - 1
    check_query("SELECT * WHERE " + "{" + (left + " ") * (deep - 1) + (right + " ") * (deep - 1) + "}")
    with pytest.raises(InvalidSPARQL, match="deep"):
        check_query("SELECT * WHERE {" + (left + " ") * (MAX_DEPTH + 1))


def test_brackets_in_strings_and_comments_do_not_count() -> None:
    check_query("SELECT * WHERE { ?s ?p '" + "{" * 500 + "' } # " + "(" * 500)


def test_closing_brackets_in_strings_do_not_hide_depth() -> None:
    with pytest.raises(InvalidSPARQL, match="deep"):
        check_query("SELECT * WHERE " + "{ ?s ?p '}' . " * 60)


@pytest.mark.parametrize("part", ["{} UNION ", "OPTIONAL {} ", "MINUS {} ", "FILTER(1) ", "BIND(1 AS ?x) ", "{} "])
def test_a_long_chain_of_groups_is_refused(part: str) -> None:
    check_query("SELECT * WHERE {" + part * 300 + "{} }")
    with pytest.raises(InvalidSPARQL, match="chained"):
        check_query("SELECT * WHERE {" + part * (MAX_CHAIN + 1) + "{} }")


@pytest.mark.parametrize("part", ["1+", "1 -1 ", "?a-", "?a||", "?a&&", "!", "1*", "a-b-"])
def test_a_long_chain_of_operators_is_refused(part: str) -> None:
    with pytest.raises(InvalidSPARQL, match="chained"):
        check_query("SELECT (" + part * (MAX_CHAIN + 1) + "1 AS ?x) WHERE {}")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { FILTER(?a<" + "(" * 200 + "1" + ")" * 200 + "&&2>1) }",
        "SELECT * { FILTER(?a<<" + "(" * 200 + "1" + ")" * 200 + "&&2>1) }",
        "SELECT * { FILTER(?a<" + "1+" * (MAX_CHAIN + 1) + "1&&2>1) }",
        "SELECT * { FILTER(?a<1)" + "FILTER(1)" * (MAX_CHAIN + 1) + "FILTER(2>1) }",
        "SELECT * { FILTER(?a<?b#>'''\n)" + "FILTER(1)" * (MAX_CHAIN + 1) + "#'''\n}",
    ],
)
def test_depth_and_chains_do_not_hide_in_what_looks_like_an_iri(text: str) -> None:
    with pytest.raises(InvalidSPARQL, match="deep|chained|comparison"):
        check_query(text)


def test_iris_with_brackets_and_operators_are_let_pass_outside_comparisons() -> None:
    iris = " ".join(f"<urn:a-(b)&c,d#{row}> <urn:p> <urn:e-(f)#{row}> ." for row in range(600))
    check_query(f"SELECT * WHERE {{ VALUES (?x ?y) {{ (<urn:a#(b)> <urn:a#(b)>) }} {iris} }}")
    check_update(f"INSERT {{ {iris} }} WHERE {{}}")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "".join(f"(trueAS?a{row})" for row in range(MAX_CHAIN + 1)) + " {}",
        "PREFIX x: <urn:x:> SELECT * {" + "FILTERx:f(1)" * (MAX_CHAIN + 1) + "}",
        "SELECT * { " + "?s <urn:p>? ?o ." * (MAX_CHAIN + 1) + "}",
        "SELECT (COUNT(*) AS ?c) {} GROUP BY " + "(1)" * (MAX_CHAIN + 1),
        "PREFIX x: <urn:x:> SELECT (COUNT(*) AS ?c) {} HAVING " + "x:f(1)" * (MAX_CHAIN + 1),
    ],
)
def test_a_chain_without_operators_or_blanks_is_refused(text: str) -> None:
    with pytest.raises(InvalidSPARQL, match="chained"):
        check_query(text)


def test_long_lists_of_values_are_let_pass() -> None:
    check_query("SELECT * WHERE { VALUES (?x ?y) {" + "(-1 +2) " * 5000 + "} }")
    check_query("SELECT * WHERE { FILTER(?x IN (" + "1, " * 5000 + "1)) }")
    check_update("INSERT DATA { GRAPH <urn:g> {" + " <urn:a> <urn:b> -1 ." * 5000 + "} }")
    check_update("INSERT DATA {" + " GRAPH <urn:g> { <urn:a> <urn:b> -1 }" * 5000 + "}")


def test_a_text_over_the_size_limit_is_refused() -> None:
    with pytest.raises(InvalidSPARQL, match="1,000,000"):
        check_query("#" * (MAX_CHARACTERS + 1))


def test_a_string_that_is_not_closed_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidSPARQL, match="line 2, column 11"):
        check_query("SELECT * WHERE {\n  ?s ?p   'x }")


@pytest.mark.parametrize("part", ["a.a", '"""', "'''x", "<a", "ex:a.", "\\", '"\\', "a-", "<<a", ":", "?a<b#"])
def test_no_text_takes_long_to_read(part: str) -> None:
    text = part * (MAX_CHARACTERS // len(part))
    begun = time.process_time()
    with contextlib.suppress(InvalidSPARQL):
        check_query(text)
    assert time.process_time() - begun < 15


PIECES = [
    "'",
    '"',
    "'''",
    '"""',
    "\\",
    "\\x",
    "\\uD800",
    "\\n",
    "a",
    "1",
    "p:",
    "p:a",
    ".",
    "b",
    "#",
    "\n",
    " ",
    "<",
    ">",
    "}",
    "{",
    "?v",
]


@given(*[st.lists(st.sampled_from(PIECES), max_size=8).map("".join)] * 3)
@example("'''a'", "", "} # \\x '''")
@example("p:", "", "}")
def test_no_text_that_is_let_pass_calls_a_service(before: str, between: str, after: str) -> None:
    call = "SERVICE <http://127.0.0.1:9/> { ?x ?y ?z }"
    text = f"PREFIX p: <http://h:8> SELECT * {{ VALUES ?v {{{before}}}{between}{call} {after}"
    with contextlib.suppress(InvalidSPARQL):
        check_query(text)
        with contextlib.suppress(SyntaxError):
            list(ox.Store().query(text))  # type: ignore[arg-type]  # an OSError would be the call


@given(st.text(max_size=200))
def test_a_text_in_a_string_is_never_taken_for_a_keyword(text: str) -> None:
    literal = str(ox.Literal(f"SERVICE LOAD {text}"))
    check_query(f"SELECT ?s WHERE {{ ?s ?p {literal} }}")


def test_keywords_that_are_glued_together_are_known() -> None:
    assert check_query("ASKFROM<urn:g>{ ?s ?p ?o }").chooses_dataset
    assert "WHERE" in check_update("DELETEWHERE{ ?s ?p ?o }").words
    assert check_update("INSERTDATA{ <urn:a> <urn:b> 1 };DELETEDATA{ <urn:a> <urn:b> 2 }").adds_and_removes


@pytest.mark.parametrize("sign", ["/", "|", "/^"])
def test_a_path_has_as_many_steps_as_the_engine_can_take_and_no_more(sign: str) -> None:
    steps = MAX_PATH_STEPS // len(sign) + 1
    check_query(f"SELECT * {{ ?s {sign.join(['<urn:p>'] * steps)} ?o . ?o {sign.join(['<urn:p>'] * steps)} ?x }}")
    with pytest.raises(InvalidSPARQL, match="more than 200 steps"):
        check_query(f"SELECT * {{ ?s {sign.join(['<urn:p>'] * (MAX_PATH_STEPS + 2))} ?o }}")
