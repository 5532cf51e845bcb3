"""What the reader says of a query: terms, places, contexts, paths, selections, uses, problems."""

import pyoxigraph as ox
import pytest

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.query_reader import read
from kgrag.sparql.syntax import Blank, Edit, Limits, Query, Scope, Variable

PREFIX = "PREFIX : <urn:x:>\n"
A, B, C = (ox.NamedNode(f"urn:x:{name}") for name in "abc")


def patterns(where: str) -> list[tuple]:
    """Subject, predicate, object, path and which ends are free, with blank nodes as their labels."""
    found = read(f"{PREFIX}SELECT * {{ {where} }}").patterns
    return [
        (_short(one.subject), _short(one.predicate), _short(one.object), one.path, one.free_subject, one.free_object)
        for one in found
    ]


def _short(term) -> str:
    if isinstance(term, Variable):
        return "?" + term.name
    if isinstance(term, Blank):
        return "_:" + term.label
    return term.value.removeprefix("urn:x:")


def contexts(where: str) -> list[list[str]]:
    return [[scope.kind for scope in one.context] for one in read(f"{PREFIX}SELECT * {{ {where} }}").patterns]


def problems(text: str) -> list[tuple[str, str]]:
    return [(one.rule, one.subject) for one in read(PREFIX + text).problems]


def unbound(text: str) -> list[tuple[str, str]]:
    return [(use.variable.name, use.clause) for use in read(PREFIX + text).uses if not use.bound]


# --- terms and places ----------------------------------------------------------------------------------------------


def test_a_pattern_says_where_its_terms_stand():
    query = read("SELECT ?n\nWHERE { ?x a <urn:x:a> ;\n  <urn:x:b> ?n }")
    pattern = query.patterns[1]
    assert (pattern.line, pattern.column) == (3, 3)
    assert [query.text[place.start : place.end] for place in pattern.places] == ["?x", "<urn:x:b>", "?n"]
    assert (pattern.places[0].line, pattern.places[0].column) == (2, 9)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", ox.Literal("true", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#boolean"))),
        ("- 5", ox.Literal("-5", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer"))),
        ("5.0", ox.Literal("5.0", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#decimal"))),
        (".5e1", ox.Literal(".5e1", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#double"))),
        ("'x'@en-GB", ox.Literal("x", language="en-GB")),
        ('"a\\n\\u00e9\\"b"', ox.Literal('a\né"b')),
        ("'''a'b''c'''", ox.Literal("a'b''c")),
        ("'5'^^xsd:date", ox.Literal("5", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#date"))),
        ("()", ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#nil")),
        (":a\\(b\\)", ox.NamedNode("urn:x:a(b)")),
        (":a%20", ox.NamedNode("urn:x:a%20")),
        ("_:n", Blank("n")),
        ("<urn:\\u0061>", ox.NamedNode("urn:a")),
    ],
)
def test_a_term_is_read_as_the_store_reads_it(written, meant):
    query = read(f"{PREFIX}ASK {{ ?s ?p {written} }}")
    assert query.patterns[0].object == meant
    place = query.patterns[0].places[2]
    assert query.text[place.start : place.end] == written


def test_relative_iris_are_resolved_against_the_base():
    query = read("BASE <http://a/b/c> PREFIX p: <d#> ASK { <../e> p:f <> }")
    assert [one.value for one in (query.patterns[0].subject, query.patterns[0].predicate)] == [
        "http://a/e",
        "http://a/b/d#f",
    ]


def test_a_relative_iri_without_base_is_refused():
    with pytest.raises(InvalidSPARQL, match=r"line 1, column 7: <b> is no IRI.*declare BASE"):
        read("ASK { <b> ?p ?o }")


def test_default_prefixes_need_no_declaration_and_are_named_as_assumed():
    query = read("ASK { ?s rdf:type owl:Class ; rdfs:label 'x'^^xsd:string ; skos:note ?n }")
    assert query.assumed == ("rdf", "owl", "rdfs", "xsd", "skos")
    assert not query.problems


def test_blank_node_lists_and_collections_become_triples():
    assert patterns("?s :p [ :q ?x ; :r ( 1 ?y ) ]") == [
        ("_:.1", "q", "?x", "", False, False),
        ("_:.2", "http://www.w3.org/1999/02/22-rdf-syntax-ns#first", "1", "", False, False),
        ("_:.2", "http://www.w3.org/1999/02/22-rdf-syntax-ns#rest", "_:.3", "", False, False),
        ("_:.3", "http://www.w3.org/1999/02/22-rdf-syntax-ns#first", "?y", "", False, False),
        ("_:.3", "http://www.w3.org/1999/02/22-rdf-syntax-ns#rest", RDF_NIL, "", False, False),
        ("_:.1", "r", "_:.2", "", False, False),
        ("?s", "p", "_:.1", "", False, False),
    ]


RDF_NIL = "http://www.w3.org/1999/02/22-rdf-syntax-ns#nil"


# --- paths ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (":a", [("?s", "a", "?o", "", False, False)]),
        ("^:a", [("?o", "a", "?s", "^", False, False)]),
        ("(:a)", [("?s", "a", "?o", "", False, False)]),
        (":a/:b", [("?s", "a", "_:.1", "/", False, False), ("_:.1", "b", "?o", "/", False, False)]),
        ("^(:a/:b)", [("?o", "a", "_:.1", "^", False, False), ("_:.1", "b", "?s", "^", False, False)]),
        (":a|:b", [("?s", "a", "?o", "|", False, False), ("?s", "b", "?o", "|", False, False)]),
        (":a+", [("?s", "a", "?o", "+", False, False)]),
        (":a*", [("?s", "a", "?o", "*", True, True)]),
        (":a?", [("?s", "a", "?o", "?", True, True)]),
        (":a/:b*", [("?s", "a", "_:.1", "/", False, False), ("_:.1", "b", "?o", "/", True, True)]),
        ("(:a/:b)*", [("?s", "a", "_:.1", "*", True, False), ("_:.1", "b", "?o", "*", False, True)]),
        ("(:a/:b)+", [("?s", "a", "_:.1", "+", False, False), ("_:.1", "b", "?o", "+", False, False)]),
        ("!(:a|^:b)", [("?s", "_:.1", "?o", "!", True, True)]),
        (
            "(:a|:b)+",
            [
                ("?s", "a", "?o", "+", False, True),
                ("?s", "b", "?o", "+", False, True),
                ("?s", "a", "?o", "+", True, False),
                ("?s", "b", "?o", "+", True, False),
            ],
        ),
    ],
)
def test_a_path_is_read_as_the_patterns_it_stands_for(path, expected):
    assert patterns(f"?s {path} ?o") == expected


def test_the_alternatives_of_a_path_are_branches_of_a_union():
    first, second = read(PREFIX + "ASK { ?s :a|:b ?o }").patterns
    assert [one.kind for one in first.context] == ["union"]
    assert first.context[0].number == second.context[0].number
    assert (first.context[0].branch, second.context[0].branch) == (0, 1)


def test_nested_repeats_do_not_multiply():
    path = "(<urn:d>|(" * 20 + "<urn:a>|<urn:b>" + ")+/<urn:c>)+" * 20
    assert len(read(f"ASK {{ ?s {path} ?o }}").patterns) < 200


# --- contexts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("?a ?b ?c", [[]]),
        ("{ ?a ?b ?c }", [["group"]]),
        ("OPTIONAL { ?a ?b ?c OPTIONAL { ?a ?b ?c } }", [["optional"], ["optional", "optional"]]),
        ("{ ?a ?b ?c } UNION { { ?a ?b ?c } }", [["union"], ["union", "group"]]),
        ("MINUS { ?a ?b ?c }", [["minus"]]),
        ("FILTER EXISTS { ?a ?b ?c }", [["exists"]]),
        ("FILTER(?x && NOT EXISTS { ?a ?b ?c })", [["not exists"]]),
        ("GRAPH ?g { ?a ?b ?c }", [["graph"]]),
        ("SERVICE SILENT <urn:s> { ?a ?b ?c }", [["service"]]),
        ("{ SELECT * { ?a ?b ?c } }", [["group", "subselect"]]),
        ("OPTIONAL { SELECT * { { ?a ?b ?c } } }", [["optional", "subselect", "group"]]),
    ],
)
def test_a_pattern_knows_its_context(where, expected):
    assert contexts(where) == expected


def test_scopes_have_numbers_of_their_own_and_union_branches_share_one():
    query = read("ASK { { ?a ?b 1 } UNION { ?a ?b 2 } { ?a ?b 3 } OPTIONAL { ?a ?b 4 } }")
    assert [one.context for one in query.patterns] == [
        (Scope("union", 1, 0),),
        (Scope("union", 1, 1),),
        (Scope("group", 2),),
        (Scope("optional", 3),),
    ]


def test_what_a_pattern_depends_on_leaves_out_scopes_that_only_group():
    pattern = read("ASK { SERVICE <urn:s> { GRAPH ?g { { OPTIONAL { ?a ?b ?c } } } } }").patterns[0]
    assert [scope.kind for scope in pattern.unless] == ["optional"]


def test_a_service_is_noted_and_read_through():
    query = read("ASK { SERVICE <urn:s> { ?a <urn:x:a> ?c } }")
    assert query.uses_service
    assert query.patterns[0].predicate == A


def test_a_variable_that_a_sub_select_keeps_is_another_one():
    query = read("SELECT ?x { ?x <urn:x:a> ?y { SELECT ?x { ?x <urn:x:b> ?y } } }")
    outer, inner = query.patterns
    assert outer.subject == inner.subject
    assert outer.object != inner.object
    assert inner.object == Variable("y", inner.context[-1].number)


# --- selections, uses ----------------------------------------------------------------------------------------------


def test_a_star_selects_what_is_visible():
    query = read(
        "SELECT * { ?a ?b 1 OPTIONAL { ?c ?b 2 } MINUS { ?d ?b 3 } FILTER EXISTS { ?e ?b 4 } VALUES ?f { 1 } }"
    )
    assert [one.name for one in query.selected] == ["a", "b", "c", "f"]
    assert all(one.starred for one in query.selected)


def test_a_selected_expression_says_what_it_is():
    query = read("SELECT ?x (COUNT(DISTINCT ?y) AS ?n) (?x AS ?z) (STR(?x) AS ?s) { ?x ?p ?y } GROUP BY ?x")
    x, y = Variable("x"), Variable("y")
    assert [(one.name, one.source, one.aggregate, one.variables) for one in query.selected] == [
        ("x", x, "", (x,)),
        ("n", None, "COUNT", (y,)),
        ("z", x, "", (x,)),
        ("s", None, "", (x,)),
    ]
    assert query.functions == ("COUNT", "STR")


def test_a_filter_says_what_it_compares():
    query = read("ASK { ?x ?p ?y FILTER(5 < ?x && ?y = 'a' || (?x) IN (1, 2) && STR(?x) = 'b' && ?x != ?y) }")
    found = query.filters[0]
    assert [(one.variable.name, one.operator, [c.value for c in one.constants]) for one in found.comparisons] == [
        ("x", ">", ["5"]),
        ("y", "=", ["a"]),
        ("x", "in", ["1", "2"]),
    ]
    assert found.functions == ("STR",)
    assert found.variables == (Variable("x"), Variable("y"))
    assert query.text[found.place.start : found.place.end].startswith("(5 <")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ?x { ?y :a ?z }", [("x", "SELECT")]),
        ("SELECT ?x { ?x :a ?z FILTER(?y > 1) }", [("y", "FILTER")]),
        ("SELECT ?x { FILTER(?z > 1) ?x :a ?z }", []),
        ("SELECT ?x { ?x :a ?z { FILTER(?z > 1) } }", [("z", "FILTER")]),
        ("SELECT ?x { ?x :a ?z OPTIONAL { ?x :b ?y FILTER(?z > ?y) } }", []),
        ("SELECT ?x { ?x :a ?z FILTER NOT EXISTS { ?x :b ?y FILTER(?z > ?y) } }", []),
        ("SELECT ?y { ?x :a ?z FILTER NOT EXISTS { ?x :b ?y } }", [("y", "SELECT")]),
        ("SELECT ?y { ?x :a ?z MINUS { ?x :b ?y } }", [("y", "SELECT")]),
        ("SELECT ?x { ?x :a ?z FILTER(!BOUND(?y)) FILTER(COALESCE(?y, 1) = 1) }", []),
        ("SELECT ?x { ?x :a ?z } ORDER BY ?y DESC(?z)", [("y", "ORDER BY")]),
        ("SELECT (SUM(?y) AS ?n) { ?x :a ?z }", [("y", "SELECT")]),
        ("SELECT ?x (SUM(?z) AS ?n) { ?x :a ?z } GROUP BY ?x HAVING(?n > 1) ORDER BY ?n", [("n", "HAVING")]),
        ("SELECT ?x (SUM(?z) AS ?n) { ?x :a ?z } GROUP BY ?x ORDER BY ?z SUM(?z)", [("z", "ORDER BY")]),
        ("SELECT (1 AS ?x) (?x + 1 AS ?y) {}", []),
        ("SELECT ?x { { SELECT ?y { ?x :a ?y } } }", [("x", "SELECT")]),
        ("SELECT ?x { BIND(?y AS ?x) }", [("y", "BIND")]),
        ("SELECT ?x { VALUES ?x { UNDEF } GRAPH ?g { } } GROUP BY ?x ?g ?h", [("h", "GROUP BY")]),
        ("CONSTRUCT { ?x :a ?y } { ?x :b 1 }", [("y", "CONSTRUCT")]),
        ("DESCRIBE ?x ?y { ?x :b 1 }", [("y", "SELECT")]),
    ],
)
def test_a_variable_without_a_value_is_told(text, expected):
    assert unbound(text) == expected


def test_bound_leaves_out_what_minus_and_exists_keep():
    query = read("SELECT ?x { ?x ?p 1 MINUS { ?y ?p 2 } FILTER EXISTS { ?z ?p 3 } BIND(1 AS ?b) }")
    assert query.bound == {Variable("x"), Variable("p"), Variable("b")}


def test_constants_outside_triples_are_kept():
    query = read(PREFIX + "SELECT ?x { VALUES (?x ?y) { (:a UNDEF) (1 :b) } FILTER(?x = :c || :f(?x)) }")
    assert [(one.variable and one.variable.name, one.term.value) for one in query.inline] == [
        ("x", "urn:x:a"),
        ("x", "1"),
        ("y", "urn:x:b"),
        (None, "urn:x:c"),
    ]
    assert query.functions == ("urn:x:f",)


# --- problems ------------------------------------------------------------------------------------------------------


def test_an_undeclared_prefix_is_a_problem_with_its_place_and_reading_goes_on():
    query = read("SELECT ?x {\n  ?x foaf:name ?n ; in:b ?m }")
    first, second = query.problems
    assert (first.rule, first.subject, first.place.line, first.place.column) == ("undeclared-prefix", "foaf", 2, 6)
    assert first.mend == Edit(0, 0, "PREFIX foaf: <http://xmlns.com/foaf/0.1/>\n")
    assert (second.subject, second.mend) == ("in", None)
    assert query.patterns[0].predicate == ox.NamedNode("http://xmlns.com/foaf/0.1/name")


def test_a_bracketed_prefix_is_a_problem_whose_mend_is_the_bare_name():
    query = read("PREFIX in: <urn:in:>\nSELECT ?x { ?x <in:name> ?n . ?n a <rdf:List> , <http://in/> , <urn:a> }")
    assert [(one.rule, one.subject) for one in query.problems] == [
        ("bracketed-prefix", "in"),
        ("bracketed-prefix", "rdf"),
    ]
    assert query.patterns[0].predicate == ox.NamedNode("urn:in:name")
    edit = query.problems[0].mend
    assert edit is not None
    assert query.text[edit.start : edit.end] == "<in:name>"
    assert edit.text == "in:name"


def test_a_name_with_two_dots_is_a_problem_whose_mend_is_the_whole_iri():
    query = read(PREFIX + "ASK { :a.b ?p :a.b.c , :a\\.b.c }")
    (problem,) = query.problems
    assert (problem.rule, problem.subject) == ("syntax", ":a.b.c")
    assert problem.mend is not None
    mended = query.text[: problem.mend.start] + problem.mend.text + query.text[problem.mend.end :]
    assert "?p <urn:x:a.b.c> ," in mended
    assert ox.Store().query(mended) is not None
    assert not read(mended).problems


def test_a_prefix_that_is_its_own_scheme_may_stand_in_brackets():
    assert not read("PREFIX urn: <urn:> ASK { <urn:a> ?p ?o }").problems


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("SELECT ?x (SUM(?y) AS ?n) { ?x :a ?y }", "?x"),
        ("SELECT ?y { ?x :a ?y } GROUP BY ?x", "?y"),
        ("SELECT (?y + 1 AS ?n) { ?x :a ?y } GROUP BY ?x", "?y"),
        ("SELECT * { ?x :a ?y } GROUP BY ?x", ""),
        ("SELECT ?x ?x { ?x :a ?y }", "?x"),
        ("SELECT (1 AS ?x) { ?x :a ?y }", "?x"),
        ("SELECT * { ?x :a ?y BIND(1 AS ?x) }", "?x"),
        ("ASK { VALUES (?x ?x) { (1 1) } }", "?x"),
        ("ASK { VALUES (?x ?y) { (1) } }", ""),
        ("ASK { FILTER(SUM(?x) > 1) }", "SUM"),
        ("ASK { _:a :p ?o OPTIONAL { _:a :q ?r } }", "_:a"),
        ("ASK { ?x :a ?y } GROUP BY ?x", ""),
    ],
)
def test_what_the_store_refuses_though_well_formed_is_a_problem(text, subject):
    assert problems(text) == [("syntax", subject)]
    with pytest.raises(SyntaxError):
        ox.Store().query(PREFIX + text)


# --- forms, triple terms -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("select ?x {}", "SELECT"),
        ("# c\nASK {}", "ASK"),
        ("CONSTRUCT WHERE { ?a ?b ?c }", "CONSTRUCT"),
        ("DESCRIBE <urn:a>", "DESCRIBE"),
        ("INSERT DATA { <urn:a> <urn:b> 1 }", "UPDATE"),
        ("PREFIX a: <urn:a> DELETE WHERE { ?a ?b ?c }", "UPDATE"),
        ("DROP ALL", "UPDATE"),
        ("LOAD <http://x>", "UPDATE"),
        ("WITH <urn:g> DELETE { ?a ?b ?c } WHERE { ?a ?b ?c }", "UPDATE"),
        ("COPY DEFAULT TO <urn:g>", "UPDATE"),
    ],
)
def test_the_form_of_a_text_is_recognised(text, form):
    assert read(text).form == form


@pytest.mark.parametrize("text", ["", " ", "Add the following", "With this query you get", "Drop me a line", "```"])
def test_prose_is_neither_query_nor_update(text):
    with pytest.raises(InvalidSPARQL, match="expected SELECT, ASK, CONSTRUCT or DESCRIBE"):
        read(text)


def test_a_template_is_kept_apart_from_the_patterns():
    query = read("CONSTRUCT { ?x <urn:x:a> ?y } { ?x <urn:x:b> ?y }")
    assert [one.predicate for one in query.template] == [A]
    assert [one.predicate for one in query.patterns] == [B]


@pytest.mark.parametrize(
    "where",
    [
        "<< ?a ?b ?c >> :p ?d",
        "?d :p <<( ?a ?b ?c )>>",
        "?a ?b ?c {| :p ?d |}",
        "?a ?b ?c ~ ?d",
        "FILTER(<<( ?a ?b ?c )>> = ?d) ?a ?b ?c , ?d",
    ],
)
def test_triple_terms_are_flagged_and_their_variables_have_values(where):
    query: Query = read(f"{PREFIX}SELECT * {{ {where} }}")
    assert query.triple_terms
    assert {one.name for one in query.bound} == {"a", "b", "c", "d"}


# --- errors and limits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?x WHERE {\n ?x ?p }", r"line 2, column 8: found '}', expected a variable, a term, '\[' or '\('"),
        ("SELECT ?x { ?x ?p 'a }", r"line 1, column 19: a string opened by ' is not closed. Close it"),
        ("SELECT COUNT(?x) { ?x ?p ?o }", r"found 'COUNT', expected '\*', variables, or \(expression AS \?name\)"),
        ("SELECT ?x { ?x ?p ?o ", r"column 22: found the end of the query, expected"),
        ("SELECT ?x { ?x ?p ?o } LIMIT 5;", r"found ';', expected the end of the query"),
        ("SELECT ?x { ?x ?p ?o FILTER date(?x) }", "found 'date', expected an expression"),
        ("SELECT ?x { FILTER(REGEX(?x)) }", "REGEX has 1 arguments. It takes 2 to 3"),
        ("ASK { ?a ?b '\\q' }", r"column 14: '\\\\q' is no escape"),
        ("ASK { ?a ?b 'x'@abcdefghij }", "@abcdefghij is no language tag"),
        ("ASK { ?a <http://a/%zz> ?b }", "<http://a/%zz> is no IRI"),
        ("ASK { ?a <urn:b>/<urn:c> ?d {| ?e ?f |} }", "after a path"),
    ],
)
def test_an_error_says_what_was_found_where_and_what_was_expected(text, message):
    with pytest.raises(InvalidSPARQL, match=message) as caught:
        read(text)
    assert caught.value.line > 0
    assert caught.value.column > 0


def test_a_text_that_is_too_long_is_refused_with_the_limit():
    with pytest.raises(InvalidSPARQL, match="1,000,001 characters; at most 1,000,000"):
        read("#" * 1_000_001)


@pytest.mark.parametrize("depth", [50, 5])
def test_nesting_is_refused_beyond_the_limit_and_read_up_to_it(depth):
    limits = Limits(depth=depth)
    assert read("ASK " + "{" * depth + "}" * depth, limits=limits).form == "ASK"
    with pytest.raises(InvalidSPARQL, match=f"column {5 + depth}: brackets are nested more than {depth} deep"):
        read("ASK " + "{" * (depth + 1) + "}" * (depth + 1), limits=limits)


def test_a_limit_beyond_the_stack_ends_in_the_same_error():
    with pytest.raises(InvalidSPARQL, match="nested too deep"):
        read("ASK " + "{" * 100_000, limits=Limits(depth=1_000_000))
