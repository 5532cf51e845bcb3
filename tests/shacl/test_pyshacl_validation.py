"""Validation of a union of graphs: what the engine decides, what pyshacl decides and is named for, what is refused."""

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import audit, shacl
from kgrag.errors import InvalidRDF
from kgrag.shacl.empty_targets import without_nodes
from kgrag.shacl.pyshacl_validation import refuse_network
from tests.quad_store import QuadStore

EX = "http://example.org/"
PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
GRAPHS = [ox.NamedNode(EX + "g"), ox.NamedNode(EX + "h")]
DATA = 'ex:g { ex:a a ex:A ; ex:p ex:b ; rdfs:label "A" . } ex:h { ex:c a ex:A . ex:b ex:q 7 . } ex:i { ex:z a ex:A . } ex:g { ex:loop ex:next ex:loop . }'
LABELLED = "ex:Labelled a sh:NodeShape ; sh:targetClass ex:A ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] ."
CUSTOM = """
ex:Component a sh:ConstraintComponent ; sh:parameter [ sh:path ex:below ] ; sh:validator ex:Below .
ex:Below a sh:SPARQLAskValidator ; sh:message "is not below" ; sh:ask "ASK { FILTER(?value < $below) }" .
ex:Custom a sh:NodeShape ; sh:targetClass ex:A ; sh:property [ sh:path ( ex:p ex:q ) ; ex:below 5 ] .
"""
LONE_FILTER = """
ex:Lone a sh:NodeShape ; sh:targetClass ex:A ; sh:sparql [
  sh:message "is c" ; sh:select "SELECT $this WHERE { FILTER($this = <http://example.org/c>) }" ] .
"""


@pytest.fixture
def validated(tmp_path: Path):
    """Return a function that validates the graphs g and h of the data against shapes written in Turtle."""

    def run(text: str, graphs: list[ox.NamedNode] = GRAPHS) -> audit.Validation:
        path = tmp_path / "shapes.ttl"
        path.write_text(PREFIXES + text, encoding="utf-8")
        store = QuadStore(ox.parse((PREFIXES + DATA).encode(), format=ox.RdfFormat.TRIG))
        return audit.validate(store, [path], graphs=graphs)

    return run


def short(validation: audit.Validation) -> list[tuple[str, str, str]]:
    """Return (shape, focus node, component) of each violation by local name."""
    named = ((v.shape, v.focus, v.component) for v in validation.violations)
    return [tuple(part.removeprefix(EX) for part in row) for row in named]


def test_what_the_engine_covers_does_not_go_elsewhere(validated) -> None:
    validation = validated(LABELLED)
    assert validation.elsewhere == {}
    assert short(validation) == [("Labelled", "c", "minCount")]


def test_a_custom_component_goes_to_pyshacl_by_name_and_the_rest_stays(validated) -> None:
    validation = validated(LABELLED + CUSTOM)
    assert list(validation.elsewhere) == [EX + "Custom"]
    assert "below" in validation.elsewhere[EX + "Custom"]
    assert short(validation) == [("Labelled", "c", "minCount"), ("Custom", "a", "Component")]
    assert validation.violations[1].path == f"<{EX}p>/<{EX}q>"


WITH_RULE = """
ex:Ruled a sh:NodeShape ; sh:targetClass ex:A ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] ;
  sh:rule [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate rdfs:label ; sh:object "made" ] .
"""


def test_a_shape_that_is_left_to_pyshacl_has_a_known_target_too() -> None:
    text = CUSTOM.replace("ex:Custom a", "ex:Odd sh:targetClass ex:B ; ex:below 5 . ex:Custom a")
    shapes = shacl.load_shapes((), triples=ox.parse((PREFIXES + text).encode(), ox.RdfFormat.TURTLE), elsewhere=True)
    store = QuadStore(ox.parse((PREFIXES + DATA).encode(), format=ox.RdfFormat.TRIG))
    assert without_nodes(store, shapes, graphs=GRAPHS) == [EX + "Odd"]


def test_a_constraint_in_javascript_is_not_decided(validated) -> None:
    script = 'ex:J sh:targetClass ex:A ; sh:js [ a sh:JSConstraint ; sh:jsFunctionName "f" ] .'
    validation = validated(LABELLED + script)
    assert "sh:js is not covered by pyshacl" in validation.undecided[EX + "J"]
    assert short(validation) == [("Labelled", "c", "minCount")]


FORMS = {
    "hexBinary": ("zz", "0aFF"),
    "base64Binary": ("a", "aGk="),
    "gYear": ("20", "2020"),
    "gYearMonth": ("2020-13", "2020-12Z"),
    "gMonth": ("13", "--12"),
    "gDay": ("---32", "---31"),
    "gMonthDay": ("--2-1", "--02-01"),
    "language": ("e n", "en-GB"),
}


def test_ill_typed_literals_are_found_of_datatypes_to_which_sparql_cannot_cast() -> None:
    shapes = "".join(f"ex:{n} sh:targetObjectsOf ex:{n} ; sh:datatype xsd:{n} ." for n in FORMS)
    data = "".join(f'ex:a ex:{n} "{bad}"^^xsd:{n} , "{good}"^^xsd:{n} .' for n, (bad, good) in FORMS.items())
    compiled = shacl.load_shapes((), triples=ox.parse((PREFIXES + shapes).encode(), ox.RdfFormat.TURTLE))
    store = QuadStore(ox.parse(f"{PREFIXES} ex:g {{ {data} }}".encode(), format=ox.RdfFormat.TRIG))
    found = {v.shape.removeprefix(EX): v.value for v in shacl.validate(store, compiled, graphs=GRAPHS, merged=True)}
    assert found == {name: bad for name, (bad, _) in FORMS.items()}
    assert len(shacl.validate(store, compiled, graphs=GRAPHS, merged=True)) == len(FORMS)


def test_rules_are_run_by_a_validation_only_where_the_shapes_say_so(validated) -> None:
    validation = validated(WITH_RULE + LONE_FILTER)
    assert list(validation.elsewhere) == [EX + "Lone"]
    assert short(validation) == [("Ruled", "c", "minCount"), ("Lone", "c", "sparql")]
    entailed = validated(f"{WITH_RULE} ex: sh:entailment sh:Rules .")
    assert (list(entailed.elsewhere), short(entailed)) == ([EX + "Ruled"], [])


def test_a_select_that_needs_its_focus_node_beforehand_goes_to_pyshacl(validated) -> None:
    validation = validated(LONE_FILTER)
    assert list(validation.elsewhere) == [EX + "Lone"]
    assert short(validation) == [("Lone", "c", "sparql")]


def test_no_graphs_have_no_violation_and_start_no_engine(validated) -> None:
    assert validated(LABELLED + CUSTOM, graphs=[]).violations == ()


def test_sparql_that_shacl_forbids_is_refused_with_the_shape(validated) -> None:
    minus = (
        "ex:Minus a sh:NodeShape ; sh:targetClass ex:A ; sh:sparql "
        '[ sh:select "SELECT $this WHERE { $this ?p ?o MINUS { $this ?p 1 } }" ] .'
    )
    validation = validated(LABELLED + minus)
    assert short(validation) == [("Labelled", "c", "minCount")]
    assert "pyshacl" in validation.undecided[EX + "Minus"]


RECURSIVE = "ex:S a sh:NodeShape ; sh:targetClass ex:A ; sh:property [ sh:path ex:p ; sh:node ex:S ; sh:maxCount 0 ] ."


def test_a_recursive_shape_is_decided_by_the_engine(validated) -> None:
    validation = validated(LABELLED + RECURSIVE)
    assert validation.elsewhere == {}
    assert short(validation) == [("Labelled", "c", "minCount"), ("S", "a", "maxCount")]
    assert validation.undecided == {}


def test_a_recursion_that_data_never_end_is_not_decided_and_the_rest_is(validated) -> None:
    endless = "ex:E a sh:NodeShape ; sh:targetNode ex:loop ; sh:property [ sh:path ex:next ; sh:node ex:E ] ."
    validation = validated(LABELLED + CUSTOM + endless)
    assert set(validation.undecided) == {EX + "E"}
    assert "a cycle of the data" in validation.undecided[EX + "E"]
    assert ("Custom", "a", "Component") in short(validation)


def test_what_pyshacl_does_not_follow_to_the_end_is_not_decided(validated) -> None:
    deep = "ex:D a sh:NodeShape ; sh:targetNode ex:loop ; sh:property ex:N . ex:N sh:path ex:next ; sh:property ex:N ."
    assert set(validated(deep).undecided) == {EX + "D"}


@pytest.mark.parametrize(
    "select",
    [
        "SELECT $this WHERE { $this ?p ?o . SERVICE <http://127.0.0.1:9/> { $this ?q 1 } }",
        "SELECT $this FROM <http://127.0.0.1:9/> WHERE { $this ?p ?o }",
        # a quote with a bad escape is no string to the engine, so what is behind it is no comment either
        r"SELECT $this WHERE { $this ?p ?o . VALUES ?v {'''a'} SERVICE <http://127.0.0.1:9/> { $this ?q 1 } } # \\x '''",
    ],
)
def test_sparql_that_would_ask_another_server_is_refused(validated, select: str) -> None:
    validation = validated(
        f'{LABELLED} ex:S a sh:NodeShape ; sh:targetClass ex:A ; sh:sparql [ sh:select "{select}" ] .'
    )
    assert "another server" in validation.undecided[EX + "S"]
    assert short(validation) == [("Labelled", "c", "minCount")]


UNREADABLE = {
    "a misspelt term": ("sh:nodekind sh:IRI", "sh:nodeKind is the nearest that is"),
    "a term of SHACL 1.2": ("sh:rootClass ex:A", "sh:rootClass is no term of SHACL"),
    "an unreadable SELECT": ('sh:sparql [ sh:select "SELECT $this WHERE { $this ?p }" ]', "sh:select"),
    "a misspelt term within sh:not": ("sh:not [ sh:nodekind sh:IRI ]", "sh:nodeKind is the nearest that is"),
    "a bad value": ('sh:minLength "x"', "sh:minLength"),
    "a shape that nothing describes": ("sh:node ex:nowhere", "do not describe"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_not_decided_and_the_rest_is_validated(validated, name: str) -> None:
    term, reason = UNREADABLE[name]
    shape = f"ex:S a sh:NodeShape ; sh:targetClass ex:A ; {term} ; sh:property [ sh:path rdfs:label ; sh:minCount 1 ] ."
    validation = validated(LABELLED + shape)
    assert short(validation) == [("Labelled", "c", "minCount"), ("S", "c", "minCount")]
    assert reason in validation.undecided[EX + "S"]


def test_a_prefix_that_everybody_knows_need_not_be_declared(validated) -> None:
    select = '[ sh:select "SELECT $this WHERE { $this a ?c FILTER NOT EXISTS { $this rdfs:label ?l } }" ]'
    validation = validated(f"ex:S a sh:NodeShape ; sh:targetClass ex:A ; sh:sparql {select} .")
    assert (short(validation), validation.undecided) == ([("S", "c", "sparql")], {})


def test_a_report_in_a_file_of_shapes_is_no_shape(validated) -> None:
    report = "[] a sh:ValidationReport ; sh:conforms false ; sh:result [ a sh:ValidationResult ; sh:focusNode ex:a ] ."
    validation = validated(LABELLED + report)
    assert (short(validation), validation.undecided) == ([("Labelled", "c", "minCount")], {})


def test_a_class_whose_type_is_a_class_of_classes_is_its_own_target(validated) -> None:
    meta = "ex:Meta rdfs:subClassOf rdfs:Class . ex:A a ex:Meta , sh:NodeShape ; "
    validation = validated(meta + "sh:property [ sh:path rdfs:label ; sh:minCount 1 ] .")
    assert short(validation) == [("A", "c", "minCount")]


def test_a_word_within_a_string_fetches_nothing_and_one_that_rdflib_would_find_does() -> None:
    def said(text: str) -> list[ox.Triple]:
        return [ox.Triple(ox.BlankNode(), ox.NamedNode("http://www.w3.org/ns/shacl#select"), ox.Literal(text))]

    refuse_network(said('SELECT $this { $this ?p ?o FILTER(REGEX(?o, "(in|from|\\\\s)")) }'))
    for text in (
        "SELECT $this { SERVICE <http://a.example/> { ?s ?p ?o } }",
        "SELECT $this FROM <http://a.example/> { ?s ?p ?o }",
        'SELECT $this { $this ?p "a\\u0022 . SERVICE <http://a.example/> { ?s ?p ?o } }',
        'SELECT $this { $this ?p "a"SERVICE<http://a.example/> { ?s ?p ?o } }',
    ):
        with pytest.raises(InvalidRDF, match="may ask another server"):
            refuse_network(said(text))


def test_a_select_that_calls_a_function_of_the_shapes_is_decided(validated) -> None:
    function = """
    ex:twice a sh:SPARQLFunction ; sh:parameter [ sh:path ex:number ; sh:datatype xsd:integer ] ;
      sh:returnType xsd:integer ; sh:select "SELECT ($number * 2 AS ?result) {}" .
    ex:Twice a sh:NodeShape ; sh:targetSubjectsOf ex:q ; sh:sparql [
      sh:message "is seven" ; sh:select "SELECT $this ?value { $this ex:q ?value . FILTER(ex:twice(?value) = 14) }" ] .
    """
    found = validated(function)
    assert [(v.focus, v.value) for v in found.violations] == [(EX + "b", "7")]
    assert list(found.elsewhere) == [EX + "Twice"]
    assert not found.undecided


def test_what_is_left_to_pyshacl_may_use_the_prefixes_of_its_file(validated) -> None:
    target = '[ a sh:SPARQLTarget ; sh:select "SELECT ?this { ?this ex:q ?number }" ]'
    found = validated(f"ex:Aimed a sh:NodeShape ; sh:target {target} ; sh:class ex:A .")
    assert [violation.focus for violation in found.violations] == [EX + "b"]
    assert not found.undecided
