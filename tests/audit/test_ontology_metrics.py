"""Metrics by hand-counted examples."""

import pytest

from kgrag.audit.ontology_metrics import _Hierarchy
from kgrag.audit.reports import as_dqv, as_text
from tests.audit.conftest import ONTOLOGY

DIAMOND = [("a", ""), ("b", "a"), ("c", "a"), ("d", "b"), ("d", "c"), ("e", "d"), ("f", "")]


def test_a_diamond_is_measured() -> None:
    hierarchy = _Hierarchy.of(DIAMOND)
    assert sorted(hierarchy.roots) == ["a", "f"]
    assert sorted(hierarchy.leaves) == ["e", "f"]
    assert hierarchy.depths == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 3, "f": 0}
    assert hierarchy.paths() == (3, 6)  # a-b-d-e, a-c-d-e, f
    assert hierarchy.figures()["maximalBreadth"] == 2


def test_a_cycle_has_no_depth_and_does_not_hang() -> None:
    hierarchy = _Hierarchy.of([("a", "b"), ("b", "a"), ("c", "a"), ("d", "")])
    assert hierarchy.depths == {"d": 0}


def test_as_many_paths_as_there_are_are_counted() -> None:
    rows = [("x0", "")]
    for n in range(60):
        rows += [(f"l{n}", f"x{n}"), (f"r{n}", f"x{n}"), (f"x{n + 1}", f"l{n}"), (f"x{n + 1}", f"r{n}")]
    assert _Hierarchy.of(rows).paths()[0] == 2**60


WANTED = {
    "classes": 3,
    "objectProperties": 1,
    "dataProperties": 1,
    "subClassAxioms": 2,
    "inheritanceRichness": 0.6667,
    "relationshipRichness": 0.3333,
    "DITOnto": 2,
    "NOCOnto": 1.0,
    "RROnto": 0.5,
    "NOMOnto": 0.6667,
    "INROnto": 0.3333,
    "CROnto": 0.3333,
    "ANOnto": 0.3333,
}


@pytest.fixture
def measured(audited):
    """A chain of three classes, a relation, an attribute, an individual, a label."""
    text = (
        'ex:A a owl:Class ; rdfs:label "a"@en . ex:B a owl:Class ; rdfs:subClassOf ex:A . '
        "ex:C a owl:Class ; rdfs:subClassOf ex:B . ex:p a owl:ObjectProperty ; rdfs:domain ex:A . "
        "ex:q a owl:DatatypeProperty . ex:i a owl:NamedIndividual , ex:C ."
    )
    return audited(ONTOLOGY + text, metrics=True)


@pytest.mark.parametrize(("name", "value"), WANTED.items(), ids=WANTED)
def test_a_small_ontology_is_measured(measured, name: str, value: float) -> None:
    assert measured.metrics[name] == value


def test_each_metric_becomes_a_measurement(measured) -> None:
    assert as_dqv(measured).count("a dqv:QualityMeasurement") == len(measured.metrics)


def test_metrics_stand_in_json_and_text_when_asked_for_and_only_then(audited, measured) -> None:
    assert measured.to_json()["metrics"]["classes"] == 3
    assert "DITOnto" in as_text(measured)
    assert "metrics" not in audited(ONTOLOGY).to_json()
