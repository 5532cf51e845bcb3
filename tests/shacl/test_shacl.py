"""The SHACL engine on named graphs: what is one graph's and what is everyone's, and what it refuses to read."""

import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import shacl
from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft, Violation
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import KG, XSD, Names
from tests.conftest import ROOT
from tests.quad_store import QuadStore

PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix kg: <https://w3id.org/kgrag/ns#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
EX = "http://example.org/"
UNION = [ox.NamedNode(EX + "g"), ox.NamedNode(EX + "h")]


@pytest.fixture
def shapes(tmp_path: Path):
    """Give a function that compiles shapes written in Turtle."""

    def compiled(text: str) -> shacl.Shapes:
        path = tmp_path / "shapes.ttl"
        path.write_text(PREFIXES + text, encoding="utf-8")
        return shacl.load_shapes([path])

    return compiled


def store_of(trig: str) -> QuadStore:
    return QuadStore(ox.parse((PREFIXES + trig).encode(), format=ox.RdfFormat.TRIG))


def found(store: QuadStore, shapes: shacl.Shapes, **more: object) -> list[tuple[str, str]]:
    """Give (local name of the graph, local name of the focus node) of each violation."""
    violations = shacl.validate(store, shapes, **more)  # type: ignore[arg-type]
    return [(v.graph.removeprefix(EX), v.focus.removeprefix(EX)) for v in violations]


def one(store: QuadStore, shapes: shacl.Shapes) -> Violation:
    (violation,) = shacl.validate(store, shapes)
    return violation


NEEDS_A_LABEL = "ex:S a sh:NodeShape ; sh:targetClass ex:A ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] ."


def test_a_value_in_another_graph_does_not_count(shapes) -> None:
    store = store_of('ex:g { ex:a a ex:A . } ex:h { ex:a rdfs:label "A" . }')
    assert found(store, shapes(NEEDS_A_LABEL)) == [("g", "a")]


def test_one_value_in_each_of_two_graphs_is_not_two_values(shapes) -> None:
    store = store_of('ex:g { ex:a a ex:A ; rdfs:label "A" . } ex:h { ex:a a ex:A ; rdfs:label "B" . }')
    at_most_one = shapes("ex:S sh:targetClass ex:A ; sh:property [ sh:path rdfs:label ; sh:maxCount 1 ] .")
    assert found(store, at_most_one) == []


def test_the_default_graph_is_never_looked_at(shapes) -> None:
    assert found(store_of("ex:a a ex:A ."), shapes(NEEDS_A_LABEL)) == []


def test_the_class_of_a_value_may_stand_in_any_graph(shapes) -> None:
    of_class = shapes("ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:class ex:A ] .")
    store = store_of("ex:g { ex:a ex:p ex:b , ex:c . } ex:h { ex:b a ex:B . ex:B rdfs:subClassOf ex:A . }")
    violation = one(store, of_class)
    assert (violation.value, violation.message) == (EX + "c", f"p has {EX}c, which is no A")


def test_a_subclass_stated_in_an_ontology_graph_makes_focus_nodes_elsewhere(shapes) -> None:
    store = store_of("ex:g { ex:a a ex:C . } ex:onto { ex:C rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:A . }")
    assert found(store, shapes(NEEDS_A_LABEL)) == [("g", "a")]


def test_classes_that_are_below_each_other_end(shapes) -> None:
    store = store_of("ex:g { ex:a a ex:B . } ex:onto { ex:A rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:A . }")
    assert found(store, shapes(NEEDS_A_LABEL)) == [("g", "a")]


def test_only_the_given_graphs_are_checked(shapes) -> None:
    store = store_of("ex:g { ex:a a ex:A . } ex:h { ex:b a ex:A . }")
    assert found(store, shapes(NEEDS_A_LABEL), graphs=[ox.NamedNode(EX + "h")]) == [("h", "b")]
    assert found(store, shapes(NEEDS_A_LABEL), graphs=[]) == []


@pytest.mark.parametrize("component", ["sh:minCount 1", "sh:hasValue 1", "sh:equals ex:q", "sh:minCount 2"])
def test_only_the_given_graphs_are_checked_by_every_kind_of_query(shapes, component: str) -> None:
    store = store_of("ex:g { ex:a a ex:A ; ex:q 2 . } ex:h { ex:b a ex:A ; ex:q 2 . }")
    wanted = shapes(f"ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; {component} ] .")
    assert found(store, wanted, graphs=[ox.NamedNode(EX + "h")]) == [("h", "b")]


def test_a_target_node_is_looked_for_where_a_graph_mentions_it(shapes) -> None:
    store = store_of("ex:g { ex:a ex:p 1 . } ex:h { ex:x ex:p ex:a . } ex:i { ex:x ex:p ex:y . }")
    needed = shapes("ex:S sh:targetNode ex:a ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] .")
    assert found(store, needed) == [("g", "a"), ("h", "a")]


CATALOGUE = """
<urn:kgrag:graph/catalogue> {
  ex:g a kg:DocumentGraph ; kg:publication ex:p1 .
  ex:h a kg:DataGraph ; kg:publication ex:p1 .
}
"""


def test_a_shape_for_a_kind_of_graph_sees_every_subject_there_and_none_elsewhere(shapes) -> None:
    store = store_of(CATALOGUE + "ex:g { ex:a ex:p ex:b . } ex:h { ex:c ex:p ex:d . }")
    needed = "ex:S kg:targetGraphKind kg:DocumentGraph ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] ."
    assert found(store, shapes(needed)) == [("g", "a")]


def test_a_kind_of_graph_confines_the_other_targets(shapes) -> None:
    store = store_of(CATALOGUE + "ex:g { ex:a a ex:A ; ex:p 1 . ex:b ex:p 1 . } ex:h { ex:c a ex:A ; ex:p 1 . }")
    target = "ex:S kg:targetGraphKind kg:DocumentGraph ; sh:targetClass ex:A ;"
    none = shapes(f"{target} sh:property [ sh:path ex:p ; sh:maxCount 0 ] .")
    assert found(store, none) == [("g", "a")]


def test_a_graph_listed_under_two_kinds_is_checked_once(shapes) -> None:
    twice = CATALOGUE + "<urn:kgrag:graph/catalogue> { ex:g a kg:DataGraph . } ex:g { ex:a ex:p 1 . }"
    single = "ex:S kg:targetGraphKind kg:DocumentGraph , kg:DataGraph ; sh:property [ sh:path ex:p ; sh:maxCount 1 ] ."
    assert found(store_of(twice), shapes(single)) == []


@pytest.mark.parametrize("bound", ["sh:minInclusive 1", "sh:maxInclusive 1", "sh:minExclusive 1", "sh:maxExclusive 1"])
def test_what_cannot_be_compared_violates_a_range(shapes, bound: str) -> None:
    store = store_of('ex:g { ex:a ex:p "2024-01-01"^^xsd:date . }')
    assert found(store, shapes(f"ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; {bound} ] .")) == [
        ("g", "a")
    ]


@pytest.mark.parametrize(("value", "conforms"), [('"5"', True), ('"127"', True), ('"128"', False), ('"c"', False)])
def test_a_derived_integer_is_known_by_its_range_since_the_store_keeps_it_as_an_integer(
    shapes, value, conforms
) -> None:
    store = store_of(f"ex:g {{ ex:a ex:p {value}^^xsd:byte . }}")
    byte = shapes("ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:datatype xsd:byte ] .")
    assert (found(store, byte) == []) is conforms


def violated(shapes: shacl.Shapes, turtle: str) -> list[tuple[str, str]]:
    """Give (focus, value) of the violations in a graph of which the engine knows how it was written."""
    triples = [quad.triple for quad in ox.parse((PREFIXES + turtle).encode(), format=ox.RdfFormat.TURTLE)]
    store = QuadStore(ox.Quad(t.subject, t.predicate, t.object, UNION[0]) for t in triples)
    written = shacl.as_written(triples, OxigraphScratch())
    found = shacl.validate(store, shapes, graphs=UNION[:1], merged=True, written=written)
    return [(v.focus.removeprefix(EX), v.value) for v in found]


WRITTEN = """
ex:a ex:p "5"^^xsd:byte , "05"^^xsd:integer , "300"^^xsd:byte . ex:b ex:p 5 . ex:c ex:p "7"^^xsd:short , "x"^^xsd:byte .
ex:d ex:q "5"^^xsd:byte .
"""


@pytest.mark.parametrize(
    ("datatype", "departing"),
    [
        ("byte", [("a", "05"), ("a", "300"), ("b", "5"), ("c", "7"), ("c", "x")]),
        ("integer", [("a", "300"), ("a", "5"), ("c", "7"), ("c", "x")]),
        ("short", [("a", "05"), ("a", "300"), ("a", "5"), ("b", "5"), ("c", "x")]),
    ],
)
def test_a_datatype_is_the_one_that_was_written_where_that_is_known(shapes, datatype: str, departing) -> None:
    shape = shapes(f"ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:datatype xsd:{datatype} ] .")
    assert sorted(violated(shape, WRITTEN)) == departing


BELOW_NINE = "SELECT $this WHERE { ?node ?path $this FILTER($this < 9) }"


@pytest.mark.parametrize(
    ("body", "departing"),
    [
        (
            "sh:or ( [ sh:datatype xsd:nonNegativeInteger ] [ sh:datatype xsd:byte ] )",
            [("a", "05"), ("a", "300"), ("b", "5")],
        ),
        ("sh:not [ sh:datatype xsd:integer ]", [("a", "05"), ("b", "5")]),
        ('sh:pattern "^0"', [("a", "300"), ("a", "5"), ("b", "5")]),
        ('sh:in ( 5 "300"^^xsd:byte )', [("a", "05"), ("a", "5")]),
        ('sh:hasValue "05"^^xsd:integer', [("b", "")]),
        ("sh:maxCount 2", [("a", "")]),
        ("sh:minInclusive 200", [("a", "05"), ("a", "5"), ("b", "5")]),
        ("sh:node [ sh:closed true ; sh:datatype xsd:byte ]", [("a", "05"), ("a", "300"), ("b", "5")]),
        (f"sh:node [ sh:sparql [ sh:select '{BELOW_NINE}' ] ]", [("a", "05"), ("a", "5"), ("b", "5")]),
    ],
)
def test_every_component_sees_what_was_written(shapes, body: str, departing) -> None:
    shape = shapes(f"ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; {body} ] .")
    written = 'ex:a ex:p "5"^^xsd:byte , "05"^^xsd:integer , "300"^^xsd:byte . ex:b ex:p 5 .'
    assert sorted(violated(shape, written)) == departing


def test_a_literal_among_the_target_nodes_is_the_one_that_the_shape_names(shapes) -> None:
    text = 'ex:S sh:targetNode "05"^^xsd:integer , 5 , "5"^^xsd:byte ; '
    data = 'ex:a ex:p "05"^^xsd:integer .'
    assert violated(shapes(text + "sh:datatype xsd:byte ."), data) == [("05", "05"), ("5", "5")]
    inverse = shapes(text + "sh:property [ sh:path [ sh:inversePath ex:p ] ; sh:minCount 1 ] .")
    assert violated(inverse, data) == [("5", ""), ("5", "")]


@pytest.mark.parametrize(
    "path",
    [
        "( ex:r ex:p )",
        "[ sh:inversePath ( [ sh:inversePath ex:p ] [ sh:inversePath ex:r ] ) ]",
        "( [ sh:oneOrMorePath ex:r ] ex:p )",
        "( ex:r [ sh:zeroOrOnePath ex:p ] )",
    ],
)
def test_a_datatype_is_the_one_that_was_written_along_every_path(shapes, path: str) -> None:
    either = "sh:or ( [ sh:nodeKind sh:BlankNode ] [ sh:datatype xsd:byte ] )"
    shape = shapes(f"ex:S sh:targetSubjectsOf ex:r ; sh:property [ sh:path {path} ; {either} ] .")
    data = 'ex:e ex:r [ ex:p "5"^^xsd:byte , "05"^^xsd:integer ] , [ ex:p 5 ] .'
    assert sorted(violated(shape, data)) == [("e", "05"), ("e", "5")]


@pytest.mark.parametrize(
    "component", ["sh:datatype xsd:byte", 'sh:in ( "05"^^xsd:integer )', 'sh:hasValue "05"^^xsd:integer']
)
def test_what_may_have_been_written_so_passes_where_not_all_is_known(shapes, component: str) -> None:
    shape = shapes(f"ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; {component} ] .")
    store = store_of('ex:g { ex:a ex:p 5 . ex:b ex:p "0005"^^xsd:integer . }')
    known = [ox.Triple(ox.NamedNode(EX + "b"), ox.NamedNode(EX + "p"), ox.Literal("0005", datatype=XSD.integer))]
    written = shacl.as_written(known, OxigraphScratch(), whole=False)
    assert found(store, shape, graphs=UNION[:1], merged=True, written=written) == [("", "b")]


def test_what_was_written_is_known_of_a_union_only(shapes) -> None:
    written = shacl.as_written([], OxigraphScratch())
    with pytest.raises(ValueError, match="merged=True"):
        shacl.validate(store_of(""), shapes(NEEDS_A_LABEL), graphs=UNION, written=written)


LONG = "1" + 25 * "0"


@pytest.mark.parametrize(
    ("value", "datatype", "conforms"),
    [
        (LONG, "integer", True),
        (LONG, "positiveInteger", True),
        (LONG, "negativeInteger", False),
        (LONG, "long", False),
        (f"-{LONG}", "nonNegativeInteger", False),
        (f"-{LONG}", "negativeInteger", True),
        (f"{LONG}.5", "decimal", True),
        (f"{LONG}.5", "integer", False),
        (f"{LONG}x", "decimal", False),
        ("18446744073709551615", "unsignedLong", True),
        ("+018446744073709551615", "unsignedLong", True),
        ("18446744073709551616", "unsignedLong", False),
        ("9223372036854775808", "unsignedLong", True),
        ("5", "unsignedLong", True),
        ("-5", "unsignedLong", False),
        ("1e400", "double", True),
        ("1e", "float", False),
    ],
)
def test_a_number_that_is_too_long_for_the_store_is_judged_by_its_digits(shapes, value, datatype, conforms) -> None:
    store = store_of(f'ex:g {{ ex:a ex:p "{value}"^^xsd:{datatype} . }}')
    shape = shapes(f"ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:datatype xsd:{datatype} ] .")
    assert (found(store, shape) == []) is conforms


UNREADABLE = {
    "a class without its end": 'sh:pattern "^[a"',
    "a block of Unicode": r'sh:pattern "^\\p{IsBasicLatin}"',
    "within another shape": 'sh:not [ sh:pattern "^[a" ]',
    "in a SELECT": """sh:sparql [ sh:select "SELECT $this ?value { $this $PATH ?value
        FILTER(!regex(CONCAT(?value, ''), '^[a', 'i')) }" ]""",
    "in a REPLACE": """sh:sparql [ sh:select "SELECT $this ?value { $this $PATH ?value
        FILTER(REPLACE(?value, 'a|*', '') != '') }" ]""",
}


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
def test_what_a_regular_expression_that_the_store_cannot_read_asks_for_is_not_decided(shapes, body: str) -> None:
    broken = shapes(f"ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; {body} ] .")
    store = store_of('ex:g { ex:a ex:p "a" . }')
    undecided: dict[str, str] = {}
    assert shacl.validation(store, graphs=UNION, merged=True, undecided=undecided)(broken) == []
    assert "cannot read" in " ".join(undecided.values())
    with pytest.raises(InvalidRDF, match="cannot read"):
        shacl.validate(store, broken, graphs=UNION, merged=True)


XPATH = [  # of XML Schema, part 2, appendix F, which SPARQL's REGEX refers to
    (r"^\\i\\c*$", ["abc", "_a-1", "é:ü"], ["1a", "-a", "a b"]),
    (r"^[\\i-[:]][\\c-[:]]*$", ["abc"], ["a:b", ":a"]),
    (r"^[a-z-[aeiou]]+$", ["xyz"], ["abc", "-"]),
    (r"^[^a-z-[0-9]]+$", ["XY"], ["a", "5"]),
    (r"^[a-z-[^aeiou]]+$", ["ae"], ["b"]),
    (r"^[R&&D]+$", ["R&D"], ["RSD"]),
    (r"^[^[]*$", ["a"], ["[a"]),
    (r"^\\C+$", ["  "], ["a"]),
    (r"^\\p{L}+$", ["aé"], ["1"]),
]


@pytest.mark.parametrize(("pattern", "matching", "others"), XPATH)
def test_a_regular_expression_of_xml_schema_is_read_as_it_says(shapes, pattern, matching, others) -> None:
    shape = shapes(f'ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:pattern "{pattern}" ] .')
    values = " , ".join(f'"{value}"' for value in (*matching, *others))
    violations = shacl.validate(store_of(f"ex:g {{ ex:a ex:p {values} . }}"), shape)
    assert {violation.value for violation in violations} == set(others)
    assert all(violation.message.endswith(pattern.replace(r"\\", "\\")) for violation in violations)


def test_a_flag_that_xpath_does_not_know_is_refused(shapes) -> None:
    with pytest.raises(InvalidRDF, match="sh:flags has"):
        shapes('ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:pattern "a" ; sh:flags "zz" ] .')
    assert shapes('ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:pattern "[-[]" ; sh:flags "q" ] .')


def test_a_regular_expression_that_looks_around_is_left_to_pyshacl() -> None:
    shape = f'{PREFIXES} ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:pattern "^a(?!b)" ] .'
    assert list(shacl.load_shapes((), also=shape, elsewhere=True).elsewhere) == [f"{EX}S"]


def test_characters_are_counted_as_python_counts_them(shapes) -> None:
    text = "a\U0001f33ee\u0301"
    exactly = f"sh:minLength {len(text)} ; sh:maxLength {len(text)}"
    length = shapes(f"ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; {exactly} ] .")
    assert found(store_of(f'ex:g {{ ex:a ex:p "{text}" . }}'), length) == []


SELECT = """
ex:S a sh:NodeShape ; sh:targetClass ex:A ;
  sh:sparql [
    a sh:SPARQLConstraint ; sh:message "{$this} has {?value}." ; sh:prefixes ex: ;
    sh:select "SELECT $this ?graph ?value WHERE { GRAPH ?graph { $this e:p ?value } FILTER(?value > 1) }"
  ] .
ex: sh:declare [ sh:prefix "e" ; sh:namespace "http://example.org/"^^xsd:anyURI ] .
"""


def test_a_sparql_constraint_holds_for_focus_nodes_only(shapes) -> None:
    store = store_of("ex:g { ex:a a ex:A ; ex:p 1 , 2 . ex:b ex:p 3 . } ex:h { ex:a ex:p 4 . }")
    violation = one(store, shapes(SELECT))
    assert (violation.focus, violation.value, violation.component) == (EX + "a", "2", "sparql")
    assert violation.message == f"{EX}a has 2."


def test_a_sparql_constraint_keeps_to_the_given_graphs(shapes) -> None:
    store = store_of("ex:g { ex:a a ex:A ; ex:p 2 . } ex:h { ex:a a ex:A ; ex:p 2 . }")
    assert found(store, shapes(SELECT), graphs=[ox.NamedNode(EX + "h")]) == [("h", "a")]


def test_text_from_data_is_never_a_template(shapes) -> None:
    store = store_of('ex:g { ex:a ex:p "{focus} {value.__class__}" . }')
    short = shapes(
        'ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:maxLength 1 ; sh:message "Is {value}" ] .'
    )
    assert one(store, short).message == "Is {focus} {value.__class__}"


def test_a_violation_says_where_what_and_how_bad(shapes) -> None:
    shape = shapes(
        "ex:S sh:targetClass ex:A ; sh:property [ sh:path [ sh:inversePath ex:p ] ; sh:nodeKind sh:BlankNode ; "
        'sh:severity sh:Warning ; sh:message "Unten"@de , "Below"@en ] .'
    )
    assert one(store_of("ex:g { ex:a a ex:A . ex:b ex:p ex:a . }"), shape) == Violation(
        graph=EX + "g",
        focus=EX + "a",
        message="Below",
        shape=EX + "S",
        path="^" + EX + "p",
        value=EX + "b",
        severity="Warning",
        component="nodeKind",
    )


def test_a_shape_may_refer_to_one_in_another_file(tmp_path: Path) -> None:
    for name, text in (
        ("one", "ex:S sh:targetClass ex:A ; sh:property ex:Label ."),
        ("two", "ex:Label sh:path rdfs:label ; sh:minCount 1 ."),
    ):
        (tmp_path / f"{name}.ttl").write_text(PREFIXES + text, encoding="utf-8")
    compiled = shacl.load_shapes(sorted(tmp_path.glob("*.ttl")))
    assert [(c.shape, c.component) for c in compiled.constraints] == [(EX + "Label", "minCount")]


UNREADABLE = {
    "sh:or": "ex:S sh:targetClass ex:A ; sh:or ( ex:T ) .",
    "sh:node": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:node ex:T ] .",
    "sh:minCout": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:minCout 1 ] .",
    "sh:path": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ( ex:p ) ; sh:minCount 1 ] .",
    "no property path": "ex:S sh:targetClass ex:A ; sh:property [ sh:path [ ex:p ex:q ] ; sh:minCount 1 ] .",
    "several properties": "ex:S sh:targetClass ex:A ; sh:path [ sh:inversePath ex:p ; ex:q ex:r ] ; sh:minCount 1 .",
    "sh:qualifiedValueShape": "ex:S sh:targetClass ex:A ; sh:qualifiedValueShape ex:S ; sh:qualifiedMinCount 1 .",
    "sh:xone": "ex:S sh:targetClass ex:A ; sh:xone ( ex:T 1 ) . ex:T sh:class ex:A .",
    "leads back": "ex:S sh:targetClass ex:A ; sh:path ex:p ; sh:property ex:S .",
    "sh:not is": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:not ex:S ] .",
    "sh:qualifiedMaxCount is": """ex:S sh:targetClass ex:A ; sh:property [
      sh:path ex:p ; sh:qualifiedValueShape ex:S ; sh:qualifiedMaxCount 1 ] .""",
    "sh:target is": "ex:S sh:target [ a sh:SPARQLTarget ; sh:select 'SELECT ?this WHERE { ?this ?p ?o }' ] .",
    "ex.*test": "ex:S sh:targetClass ex:A ; ex:test 1 . ex:C sh:parameter [ sh:path ex:test ] .",
    "sh:rule": "ex:S sh:targetClass ex:A ; sh:rule [] . ex:Shapes sh:entailment sh:Rules .",
    "sh:property": "ex:S sh:targetClass ex:A ; sh:property ex:Nowhere .",
    "sh:minCount": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:minCount 1.5 ] .",
    "sh:maxCount": "ex:S sh:targetClass ex:A ; sh:maxCount 1 .",
    "sh:in": "ex:S sh:targetClass ex:A ; sh:in [ rdf:first ex:a ] .",
    "sh:hasValue": "ex:S sh:targetClass ex:A ; sh:hasValue [] .",
    "sh:class": 'ex:S sh:targetClass ex:A ; sh:class "A" .',
    "sh:closed": 'ex:S sh:targetClass ex:A ; sh:closed "yes" .',
    "sh:closed has": 'ex:S sh:targetClass ex:A ; sh:closed "true" .',
    "sh:closed has .1": 'ex:S sh:targetClass ex:A ; sh:closed "1"^^xsd:boolean .',
    "sh:deactivated has": 'ex:S sh:targetClass ex:A ; sh:deactivated "true" ; sh:class ex:B .',
    "sh:uniqueLang has": 'ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:uniqueLang "true" ] .',
    "sh:maxCount has 2 values": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:maxCount 1, 5 ] .",
    "sh:datatype has 2 values": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:datatype xsd:int, xsd:date ] .",
    "sh:maxCount has the value": 'ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:maxCount "1" ] .',
    "needs a sh:qualifiedValueShape": "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:qualifiedMinCount 1 ] .",
    "sh:targetClass": 'ex:S sh:targetClass "A" .',
    "sh:select": 'ex:S sh:targetClass ex:A ; sh:sparql [ sh:select "SELECT $this WHERE { BIND(1 AS ?x) }" ] .',
    "sh:inversePath": "ex:S sh:targetClass ex:A ; sh:path [ sh:inversePath ex:p , ex:q ] ; sh:minCount 1 .",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_the_engine_does_not_cover_is_refused_by_name(shapes, name: str) -> None:
    with pytest.raises(InvalidRDF, match=name) as raised:
        shapes(UNREADABLE[name])
    assert EX + "S" in str(raised.value)


def test_a_list_that_bites_its_tail_is_refused(shapes) -> None:
    with pytest.raises(InvalidRDF, match="well-formed RDF list"):
        shapes("ex:S sh:targetClass ex:A ; sh:in ex:l . ex:l rdf:first 1 ; rdf:rest ex:l .")


def test_a_file_that_is_no_rdf_is_refused_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "broken.ttl"
    path.write_text("ex:S a", encoding="utf-8")
    with pytest.raises(InvalidRDF, match=r"broken\.ttl"):
        shacl.load_shapes([path])


def hyperedge(number_of_values: int) -> GraphDraft:
    names = Names()
    node = names.hypernode("Crop name", "Barley")
    values = [ox.Triple(node, KG.value, ox.Literal(f"Barley {n}")) for n in range(number_of_values)]
    return GraphDraft(
        iri=names.hyperedge([("Crop name", str(number_of_values))]),
        kind=KG.HyperedgeGraph,
        triples=[ox.Triple(node, KG.key, ox.Literal("Crop name")), *values],
        sources=[names.chunk(names.document("text", "title"), 0, 4)],
        described=[(KG.size, ox.Literal(1))],
    )


def test_publishing_lets_in_what_conforms_and_puts_the_rest_aside() -> None:
    with OxigraphStore.open(None, validator=shacl.graph_validator()) as store:
        good, bad = hyperedge(1), hyperedge(2)
        published = store.publish([good, bad])
        assert (published.published, published.quarantined) == ((good.iri.value,), (bad.iri.value,))
        assert [v.component for v in published.violations] == ["maxCount"]
        assert shacl.validate(store, shacl.graph_shapes()) == []


def test_a_draft_whose_catalogue_entry_is_wrong_is_put_aside() -> None:
    draft = hyperedge(1)
    unsourced = GraphDraft(draft.iri, draft.kind, draft.triples, described=draft.described)
    with OxigraphStore.open(None, validator=shacl.graph_validator()) as store:
        assert store.publish([unsourced]).quarantined == (draft.iri.value,)


def test_in_a_union_a_value_in_another_graph_counts_and_one_in_two_graphs_counts_once(shapes) -> None:
    store = store_of(
        'ex:g { ex:a a ex:A ; rdfs:label "A" . ex:b a ex:A . } ex:h { ex:b rdfs:label "B" . ex:a rdfs:label "A" . }'
    )
    single = shapes("ex:S sh:targetClass ex:A ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ; sh:maxCount 1 ] .")
    assert found(store, single, graphs=UNION, merged=True) == []
    assert found(store, single, graphs=UNION) == [("g", "b")]


def test_in_a_union_no_other_graph_is_seen_not_even_for_classes(shapes) -> None:
    store = store_of("ex:g { ex:a ex:p ex:b . } ex:i { ex:b a ex:A . ex:c ex:p ex:d . }")
    of_class = shapes("ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:class ex:A ] .")
    assert found(store, of_class, graphs=UNION, merged=True) == [("", "a")]
    assert found(store, of_class, graphs=UNION) == []


def test_a_union_of_unsaid_graphs_is_an_error(shapes) -> None:
    with pytest.raises(ValueError, match=r"graphs=\[\.\.\.\]"):
        shacl.validate(store_of(""), shapes(NEEDS_A_LABEL), merged=True)


def test_a_shape_for_a_kind_of_graph_is_refused_on_a_union(shapes) -> None:
    of_a_kind = shapes("ex:S kg:targetGraphKind kg:DocumentGraph ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .")
    with pytest.raises(InvalidRDF, match=r"ex.*S.*targetGraphKind"):
        shacl.validate(store_of(CATALOGUE), of_a_kind, graphs=UNION, merged=True)


PLAIN_SELECT = """
ex:S a sh:NodeShape ; sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:sparql [
  sh:message "too large" ; sh:select "SELECT $this ?value WHERE { $this $PATH ?value FILTER(?value > 1) }" ] ] .
"""


def test_a_select_without_graph_runs_on_a_union_and_is_refused_on_single_graphs(shapes) -> None:
    store = store_of("ex:g { ex:a a ex:A . ex:b ex:p 2 . } ex:h { ex:a ex:p 1 , 2 . }")
    assert found(store, shapes(PLAIN_SELECT), graphs=UNION, merged=True) == [("", "a")]
    with pytest.raises(InvalidRDF, match=r"no \?graph"):
        shacl.validate(store, shapes(PLAIN_SELECT))


def test_an_inner_shape_is_decided_in_the_graph_of_its_focus_node(shapes) -> None:
    store = store_of(
        "ex:g { ex:a a ex:A ; ex:p ex:b . } ex:h { ex:b ex:q 1 . ex:c a ex:A ; ex:p ex:d . ex:d ex:q 1 . }"
    )
    inner = shapes(
        "ex:S sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:node [ sh:property [ sh:path ex:q ; sh:minCount 1 ] ] ] ."
    )
    assert found(store, inner) == [("g", "a")]
    assert found(store, inner, graphs=UNION, merged=True) == []


def test_severity_within_an_inner_shape_does_not_matter(shapes) -> None:
    store = store_of("ex:g { ex:a a ex:A . }")
    inner = "sh:node [ sh:property [ sh:path ex:q ; sh:minCount 1 ; sh:severity sh:Info ] ]"
    violation = one(store, shapes(f"ex:S sh:targetClass ex:A ; {inner} ."))
    assert (violation.component, violation.severity, violation.value) == ("node", "Violation", EX + "a")


MIXED = """
import random, sys
from pathlib import Path
import pyoxigraph as ox
from kgrag import shacl
from tests.quad_store import QuadStore

graph, node, name = (ox.NamedNode(f"http://example.org/{part}") for part in ("g", "n", "p"))
for seed in range(20):
    chance = random.Random(seed)
    texts = (f"{chance.randint(1, 150)}{chance.choice('xyz')}" for _ in range(60))
    mixed = [ox.Literal(chance.randint(1, 150)) if chance.random() < 0.4 else ox.Literal(text) for text in texts]
    store = QuadStore(ox.Quad(node, name, literal, graph) for literal in mixed)
    shapes = shacl.load_shapes([Path(sys.argv[1])])
    for options in ({}, {"graphs": [graph], "merged": True}):
        assert shacl.validate(store, shapes, **options)
"""


@pytest.mark.parametrize("path", ["ex:p", "[ sh:zeroOrMorePath ex:p ]"])
@pytest.mark.parametrize("target", ["sh:targetSubjectsOf ex:p", "sh:targetObjectsOf ex:p"])
def test_numbers_among_texts_do_not_end_the_process(target: str, path: str, tmp_path: Path) -> None:
    shapes = tmp_path / "shapes.ttl"
    shapes.write_text(f"{PREFIXES} ex:S {target} ; sh:property [ sh:path {path} ; sh:minLength 9 ] ; sh:minLength 30 .")
    done = subprocess.run(
        [sys.executable, "-c", MIXED, str(shapes)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_shapes_file_is_compiled_once_for_as_long_as_it_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "shapes.ttl"
    path.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . "
        "<urn:s> sh:targetNode <urn:a> ; sh:property [ sh:path <urn:p> ; sh:minCount 1 ] ."
    )
    first = shacl.load_shapes([path])
    assert shacl.load_shapes([path]) is first
    path.write_text(path.read_text().replace("minCount 1", "minCount 2"))
    assert [each.values for each in shacl.load_shapes([path]).constraints] == [{"wanted": 2}]
