"""A validation report in RDF has the terms of data and shapes, as they were written."""

from pathlib import Path

import pytest
import rdflib
from rdflib import Literal, URIRef
from rdflib.namespace import SH

from kgrag import KnowledgeBase
from kgrag.audit.reports import as_shacl

EX = rdflib.Namespace("https://example.org/")
HEAD = """
@prefix ex: <https://example.org/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
DATA = """
ex:ada a ex:Person ; ex:size "07"^^xsd:byte ; ex:address ex:home ; ex:knows ex:bob .
ex:home a ex:Address . ex:bob ex:name 5 .
"""
SHAPES = """
ex:Size a sh:NodeShape ; sh:targetClass ex:Person ; sh:property ex:SizeProperty .
ex:SizeProperty sh:path ex:size ; sh:datatype xsd:string ; sh:severity ex:Blocker ;
  sh:message "is no text"@en , "ist kein Text"@de .
ex:Home a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:address ; sh:node ex:Address ] .
ex:Address a sh:NodeShape ; sh:property [ sh:path ex:street ; sh:minCount 1 ; sh:message "has no street" ] .
ex:Path a sh:NodeShape ; sh:targetClass ex:Person ;
  sh:property [ sh:path ( ex:knows ex:name ) ; sh:nodeKind sh:IRI ] .
ex:Query a sh:NodeShape ; sh:targetClass ex:Person ; sh:sparql ex:Constraint .
ex:Constraint sh:message "knows {?value}"@en ; sh:select "SELECT $this ?value WHERE { $this <https://example.org/knows> ?value }" .
"""


@pytest.fixture
def text(tmp_path: Path) -> str:
    """The report of the data by the shapes, in Turtle."""
    for name, text in (("data", DATA), ("shapes", SHAPES)):
        (tmp_path / f"{name}.ttl").write_text(HEAD + text, encoding="utf-8")
    with KnowledgeBase() as kb:
        found = kb.validate(tmp_path / "data.ttl", shapes=[tmp_path / "shapes.ttl"])
    return as_shacl(found)


@pytest.fixture
def report(text: str) -> rdflib.Graph:
    """The report, read by rdflib."""
    return rdflib.Graph().parse(data=text, format="turtle")


def of(report: rdflib.Graph, component: str) -> rdflib.term.Node:
    """Return the only result of a component that is no detail of another."""
    results = set(report.objects(None, SH.result))
    of_component = report.subjects(SH.sourceConstraintComponent, SH[f"{component}ConstraintComponent"])
    (result,) = results.intersection(of_component)
    return result


def test_a_literal_is_in_the_report_as_it_was_written(text: str) -> None:
    assert 'sh:value "07"^^xsd:byte' in text


def test_a_source_shape_without_a_name_is_described(report: rdflib.Graph) -> None:
    shape = report.value(of(report, "Node"), SH.sourceShape)
    assert report.value(shape, SH.path) == EX.address


def test_a_severity_and_every_message_are_as_they_were_written(report: rdflib.Graph) -> None:
    result = of(report, "Datatype")
    assert report.value(result, SH.resultSeverity) == EX.Blocker
    assert report.value(result, SH.sourceShape) == EX.SizeProperty
    assert set(report.objects(result, SH.resultMessage)) == {
        Literal("is no text", "en"),
        Literal("ist kein Text", "de"),
    }


def test_a_value_that_departs_from_a_shape_has_the_results_of_that_shape(report: rdflib.Graph) -> None:
    result = of(report, "Node")
    detail = report.value(result, SH.detail)
    assert report.value(result, SH.value) == report.value(detail, SH.focusNode) == EX.home
    assert report.value(detail, SH.sourceConstraintComponent) == SH.MinCountConstraintComponent
    assert str(report.value(detail, SH.resultMessage)) == "has no street"
    assert not list(report.subjects(SH.result, detail))


def test_a_path_of_several_steps_is_in_the_report(report: rdflib.Graph) -> None:
    path = report.value(of(report, "NodeKind"), SH.resultPath)
    assert list(rdflib.collection.Collection(report, path)) == [EX.knows, EX.name]


def test_a_sparql_constraint_is_named_by_the_result(report: rdflib.Graph) -> None:
    result = of(report, "SPARQL")
    assert report.value(result, SH.sourceConstraint) == EX.Constraint
    assert report.value(result, SH.sourceShape) == URIRef(EX.Query)
    assert report.value(result, SH.resultMessage) == Literal("knows https://example.org/bob", "en")
