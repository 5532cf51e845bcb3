"""SELECTs of shapes see literals as they were written, in a file and in the graph that it was loaded to."""

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, shacl
from kgrag.errors import InvalidRDF
from kgrag.store.scratch import OxigraphScratch
from kgrag.testing import HashEmbedder
from tests.quad_store import QuadStore

GRAPH = ox.NamedNode("http://example.org/g")
PREFIXES = (
    "@prefix ex: <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> . "
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
DATA = """
ex:zero a ex:P ; ex:a "01"^^xsd:integer . ex:point a ex:P ; ex:a "1.0"^^xsd:decimal . ex:small a ex:P ; ex:a "1"^^xsd:int .
ex:two a ex:P ; ex:a 1 , "01"^^xsd:integer . ex:plain a ex:P ; ex:a 1 ; ex:b "01"^^xsd:integer .
ex:far a ex:P ; ex:d "INF"^^xsd:double . ex:plus a ex:P ; ex:d "+INF"^^xsd:double . ex:none a ex:P ; ex:d "NaN"^^xsd:float .
ex:long a ex:P ; ex:d "1.0E0"^^xsd:double . ex:yes a ex:P ; ex:c "1"^^xsd:boolean . ex:true a ex:P ; ex:c true .
"""
SELECTS = {
    "?value ex:none ?x . $this ex:a ?value": set(),
    "$this ex:a ?value FILTER(STR(?value) = '01')": {"zero", "two"},
    "$this ex:a ?value FILTER(REGEX(STR(?value), '^1[.]0$'))": {"point"},
    "$this ex:a ?value FILTER(DATATYPE(?value) = xsd:int)": {"small"},
    "$this ex:a ?value FILTER(sameTerm(?value, '01'^^xsd:integer))": {"zero", "two"},
    "$this ex:a '01'^^xsd:integer": {"zero", "two"},
    "$this ex:a 1": {"two", "plain"},
    "$this ex:a ?value ; ex:b ?value": set(),
    "$this ex:a ?value FILTER(?value = 1)": {"zero", "point", "small", "two", "plain"},
    "$this ex:a ?value FILTER(?value + 1 > 2)": set(),
    "$this ?p ?value FILTER(STRLEN(STR(?value)) = 2)": {"zero", "two", "plain"},
    "$this ?p ?value FILTER(?p IN (ex:a)) FILTER(STRLEN(STR(?value)) = 2)": {"zero", "two"},
    "$this ex:d ?value FILTER(STR(?value) = 'INF')": {"far"},
    "$this ex:d ?value FILTER(STR(?value) = '+INF')": {"plus"},
    "$this ex:d ?value FILTER(?value > 5)": {"far", "plus"},
    "$this ex:d ?value FILTER(?value != ?value)": {"none"},
    "$this ex:d ?value FILTER(DATATYPE(?value) = xsd:float)": {"none"},
    "$this ex:d ?value FILTER(STR(?value) = '1.0E0')": {"long"},
    "$this ex:c ?value FILTER(?value)": {"yes", "true"},
    "$this ex:c ?value FILTER(STR(?value) = '1')": {"yes"},
}


def shape(body: str) -> str:
    return (
        f'{PREFIXES} ex: sh:declare [ sh:prefix "ex" ; sh:namespace "http://example.org/"^^xsd:anyURI ] .\n'
        f'ex:S sh:targetClass ex:P ; sh:sparql [ sh:prefixes ex: ; sh:select """SELECT $this ?value WHERE {{ {body} }}""" ] .'
    )


def found(body: str, *, whole: bool = True) -> list[tuple[str, str]]:
    """Return focus nodes and values."""
    triples = [quad.triple for quad in ox.parse((PREFIXES + DATA).encode(), format=ox.RdfFormat.TURTLE)]
    store = QuadStore([ox.Quad(*triple, GRAPH) for triple in triples])
    written = shacl.as_written(triples if whole else (), OxigraphScratch(), whole=whole)
    compiled = shacl.load_shapes((), triples=ox.parse(shape(body).encode(), format=ox.RdfFormat.TURTLE))
    violations = shacl.validate(store, compiled, graphs=[GRAPH], merged=True, written=written)
    return sorted((each.focus.rsplit("/", 1)[-1], each.value) for each in violations)


@pytest.mark.parametrize(("body", "nodes"), SELECTS.items())
def test_a_select_finds_what_was_written(body: str, nodes: set[str]) -> None:
    assert {focus for focus, _ in found(body)} == nodes


def test_a_value_is_reported_as_it_was_written_even_where_only_its_worth_was_compared() -> None:
    values = dict(found("$this ex:d ?value FILTER(?value > 5)"))
    assert values == {"far": "INF", "plus": "+INF"}


def test_two_forms_of_one_value_are_two_results() -> None:
    assert [value for focus, value in found("$this ex:a ?value FILTER(?value = 1)") if focus == "two"] == ["01", "1"]


def test_a_type_that_an_update_left_open_is_not_decided() -> None:
    with pytest.raises(InvalidRDF, match="its SPARQL names <http://www.w3.org/2001/XMLSchema#int>"):
        found("$this ex:a ?value FILTER(DATATYPE(?value) = xsd:int)", whole=False)
    assert len(found("$this ex:a ?value FILTER(?value = 1)", whole=False)) == 5


def test_what_rdflib_cannot_read_is_not_decided() -> None:
    with pytest.raises(InvalidRDF, match="reads how literals were written"):
        found(r"$this ex:a ?value FILTER(REGEX(STR(?value), '^\\\\p{Nd}{2}$'))")


def test_a_file_and_the_graph_that_it_was_loaded_to_have_one_report(tmp_path: Path) -> None:
    data, shapes = tmp_path / "data.ttl", tmp_path / "shapes.ttl"
    data.write_text(PREFIXES + DATA)
    bodies = "\n".join(shape(body).replace("ex:S ", f"ex:S{n} ") for n, body in enumerate(SELECTS))
    shapes.write_text(bodies)
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.load(data)
        reports = [kb.validate(*where, shapes=[shapes]) for where in ([data], [])]
    rows = [sorted((f.check, f.focus, f.value) for f in each.findings) for each in reports]
    assert rows[0] == rows[1]
    assert len(rows[0]) > sum(map(len, SELECTS.values()))
