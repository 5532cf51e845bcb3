"""Components of SHACL 1.2 (Working Draft): those that are covered, and that no other is taken for kept."""

import pyoxigraph as ox
import pytest

from kgrag import shacl
from kgrag.errors import InvalidRDF
from kgrag.model import plain
from kgrag.shacl.pyshacl_validation import validate_shapes
from kgrag.store.scratch import OxigraphScratch
from tests.quad_store import QuadStore

EX = "http://example.org/"
GRAPH = ox.NamedNode(EX + "graph")
PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
DATA = (
    PREFIXES
    + r"""
ex:a ex:list ( 1 2 ) ; ex:text "one line" , "two\nlines"@en , "a\u000Btab" , ex:no_text ; ex:tends ex:duck , ex:cow .
ex:b ex:list ( 1 2 1 ) ; ex:text "ends\r" ; ex:tends ex:cow .
ex:c ex:list rdf:nil , ex:no_list , "text" .
ex:d ex:list ex:open , ex:ring , ex:forked .
ex:open rdf:first 1 .
ex:ring rdf:first 1 ; rdf:rest ex:ring .
ex:forked rdf:first 1 , 2 ; rdf:rest rdf:nil .
ex:e ex:list ( "1"^^xsd:byte "01"^^xsd:byte ) .
ex:duck a ex:Duck .
ex:a ex:said 1 {| ex:by ex:duck |} {| ex:by "nobody" |} , 2 . ex:b ex:said "01"^^xsd:byte {| ex:by ex:cow |} . ex:duck ex:said 3 {| ex:by 1 |} .
"""
)
NO_LISTS = {("c", "no_list"), ("c", "text"), ("d", "open"), ("d", "ring"), ("d", "forked")}


def found(body: str, *, also: str = "") -> set[tuple[str, str]]:
    """Give focus node and value of each violation, by their local names; "" for a value that is blank or that none is."""
    triples = [quad.triple for quad in ox.parse(DATA.encode(), format=ox.RdfFormat.TURTLE)]
    written = shacl.as_written(triples, OxigraphScratch())
    store = QuadStore(ox.Quad(t.subject, t.predicate, t.object, GRAPH) for t in triples)
    shape = f"{PREFIXES} ex:S a sh:NodeShape ; sh:targetNode ex:a , ex:b , ex:c , ex:d , ex:e ; {body} . {also}"
    results = shacl.validate(store, shacl.load_shapes((), also=shape), graphs=[GRAPH], merged=True, written=written)
    terms = [(v.terms.focus, v.terms.value) for v in results if v.terms is not None]
    return {(focus.value.removeprefix(EX), _name(value)) for focus, value in terms if isinstance(focus, ox.NamedNode)}


def _name(value: object) -> str:
    return value.value.removeprefix(EX) if isinstance(value, ox.NamedNode | ox.Literal) else ""


@pytest.mark.parametrize(
    ("body", "violations"),
    [
        ("sh:path ex:list ; sh:minListLength 0", NO_LISTS),
        ("sh:path ex:list ; sh:minListLength 3", NO_LISTS | {("a", ""), ("c", "nil"), ("e", "")}),
        ("sh:path ex:list ; sh:maxListLength 2", NO_LISTS | {("b", "")}),
        ("sh:path ex:list ; sh:uniqueMembers true", NO_LISTS | {("b", "")}),
        ("sh:path ex:list ; sh:uniqueMembers false", NO_LISTS),
        ("sh:path ex:list ; sh:memberShape [ sh:maxInclusive 1 ]", NO_LISTS | {("a", ""), ("b", "")}),
        ("sh:path ex:list ; sh:memberShape [ sh:datatype xsd:integer ]", NO_LISTS | {("e", "")}),
        ("sh:path ex:list ; sh:not [ sh:memberShape [ sh:in ( 1 2 ) ] ]", {("a", ""), ("b", ""), ("c", "nil")}),
        ("sh:path ex:said ; sh:reifierShape [ sh:property [ sh:path ex:by ; sh:nodeKind sh:IRI ] ]", {("a", "1")}),
        ("sh:path ex:said ; sh:reifierShape [ sh:closed false ] ; sh:reificationRequired true", {("a", "2")}),
        (
            "sh:path ex:tends ; sh:not [ sh:path ex:said ; sh:reifierShape [ sh:class ex:No ] ]",
            {("a", "cow"), ("b", "cow")},
        ),
        ("sh:path ex:text ; sh:singleLine true", {("a", "two\nlines"), ("a", "a\u000btab"), ("b", "ends\r")}),
        ("sh:path ex:text ; sh:singleLine false", set()),
        ("sh:path ex:tends ; sh:someValue [ sh:class ex:Duck ]", {(node, "") for node in "bcde"}),
        ("sh:path ex:text ; sh:not [ sh:singleLine true ]", {("a", "one line"), ("a", "no_text")}),
        ("sh:path ex:list ; sh:not [ sh:minListLength 2 ]", {("a", ""), ("b", ""), ("e", "")}),
    ],
)
def test_a_component_of_shacl_1_2_finds_what_departs(body: str, violations: set[tuple[str, str]]) -> None:
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    assert {(focus, value.removeprefix(rdf)) for focus, value in found(f"sh:property [ {body} ]")} == violations


@pytest.mark.parametrize(
    ("body", "component", "details"),
    [
        ("sh:path ex:p ; sh:someValue [ sh:class ex:Duck ]", "SomeValue", []),
        ("sh:someValue [ sh:class ex:Duck ]", "SomeValue", []),
        ("sh:path ex:list ; sh:uniqueMembers true", "UniqueMembers", [("UniqueMembers", "1")]),
        ("sh:path ex:list ; sh:memberShape [ sh:maxExclusive 2 ]", "MemberShape", [("MaxExclusive", "2")]),
        ("sh:path ex:said ; sh:reifierShape [ sh:nodeKind sh:IRI ]", "ReifierShape", [("NodeKind", "r")]),
    ],
)
def test_a_report_names_the_component_of_shacl_1_2(body: str, component: str, details: list[tuple[str, str]]) -> None:
    shape = f"{PREFIXES} ex:S sh:targetNode ex:a ; {body} ."
    data = PREFIXES + "ex:a ex:list ( 1 2 1 ) ; ex:said 1 . _:r rdf:reifies <<( ex:a ex:said 1 )>> ."
    store = QuadStore(ox.Quad(*quad.triple, GRAPH) for quad in ox.parse(data.encode(), format=ox.RdfFormat.TURTLE))
    (violation,) = shacl.validate(store, shacl.load_shapes((), also=shape), graphs=[GRAPH], merged=True)
    assert violation.terms is not None
    assert violation.terms.component == ox.NamedNode(f"http://www.w3.org/ns/shacl#{component}ConstraintComponent")
    names = [(str(detail.component), plain(detail.value)) for detail in violation.terms.details]
    assert names == [(f"<http://www.w3.org/ns/shacl#{name}ConstraintComponent>", value) for name, value in details]


@pytest.mark.parametrize(
    "body",
    [
        "sh:property [ sh:path ex:list ; sh:memberShape [ sh:path ex:text ; sh:nodeKind sh:IRI ] ]",
        "sh:property [ sh:path ( ex:list ex:list ) ; sh:reifierShape [ sh:nodeKind sh:IRI ] ]",
        "sh:property [ sh:path ex:list ; sh:reificationRequired true ]",
        "sh:property [ sh:path ex:list ; sh:subsetOf ex:text ]",
        "sh:property [ sh:path ex:list ; sh:rootClass ex:Duck ]",
        "sh:property [ sh:path ex:list ; sh:nodeKind sh:TripleTerm ]",
        "sh:property [ sh:path ex:list ; sh:class ( ex:Duck ex:Cow ) ]",
        "sh:property [ sh:path ex:list ; sh:equals ( ex:list ) ]",
        "sh:closed sh:ByTypes",
        "sh:uniqueValuesFor ex:text",
        "sh:targetWhere [ sh:class ex:Duck ]",
        "sh:singleLine true ; sh:target [ a sh:SPARQLTarget ; sh:select 'SELECT ?this { ?this a ex:Duck }' ]",
        "sh:node [ sh:or ( [ sh:uniqueMembers true ] ) ] ; sh:expression [ ]",
    ],
)
def test_what_of_shacl_1_2_is_not_covered_is_not_decided(body: str) -> None:
    shape = f"{PREFIXES} ex:S a sh:NodeShape ; sh:targetNode ex:a ; {body} ."
    with pytest.raises(InvalidRDF):
        shacl.load_shapes((), also=shape)
    store = QuadStore([ox.Quad(ox.NamedNode(EX + "a"), ox.NamedNode(EX + "list"), ox.Literal("x"), GRAPH)])
    validation = validate_shapes(store, shacl.load_shapes((), also=shape, elsewhere=True), graphs=[GRAPH])
    assert list(validation.undecided) == [EX + "S"]
    assert validation.violations == ()
