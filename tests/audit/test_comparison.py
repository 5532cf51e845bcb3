"""Differences of audits and of versions of an ontology."""

import json

import pyoxigraph as ox
import pytest

from kgrag.audit.comparison import compare_audits, compare_versions
from kgrag.errors import InputError
from tests.audit.conftest import FLAWED, HEAD, ONTOLOGY


def triples(text: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(input=HEAD + text, format=ox.RdfFormat.TURTLE)]


def test_what_is_new_and_what_is_gone_is_told(audited, write) -> None:
    old = write(json.dumps(audited(FLAWED).to_json()), "old.json")
    mended = (
        FLAWED.replace("ex:Rye a owl:Class .", 'ex:Rye a owl:Class ; rdfs:label "rye"@en .') + "ex:Millet a owl:Class ."
    )
    found = compare_audits(audited(mended), old)
    assert {f["focus"] for f in found.gone if f["check"] == "ANN-01"} == {"https://example.org/o#Rye"}
    assert {f["focus"] for f in found.new if f["check"] == "ANN-01"} == {"https://example.org/o#Millet"}
    assert found.text().endswith(f"{len(found.new)} new, {len(found.gone)} gone, {found.same} as before")


def test_what_is_no_audit_is_refused(audited, write) -> None:
    with pytest.raises(InputError, match="no audit in JSON"):
        compare_audits(audited(FLAWED), write("{}", "old.json"))


def test_a_restriction_that_was_named_anew_is_the_same() -> None:
    some = "ex:A rdfs:subClassOf {0} . {0} owl:onProperty ex:p ; owl:someValuesFrom {1} . {1} owl:oneOf ( ex:x ex:y ) ."
    assert not compare_versions(triples(some.format("_:a", "_:b")), triples(some.format("_:y", "_:x"))).changes


def test_a_restriction_that_changed_is_told_in_full() -> None:
    some = "ex:A rdfs:subClassOf [ owl:onProperty ex:p ; owl:someValuesFrom ex:{} ] ."
    found = compare_versions(triples(some.format("B")), triples(some.format("C")))
    (old, new) = found.changed["<https://example.org/o#A>"]
    assert "someValuesFrom> <https://example.org/o#B>" in old[0]
    assert "someValuesFrom> <https://example.org/o#C>" in new[0]


def test_terms_that_came_and_went_are_told() -> None:
    found = compare_versions(
        triples("ex:A a owl:Class . ex:B a owl:Class ."), triples("ex:B a owl:Class . ex:C a owl:Class .")
    )
    assert (list(found.removed), list(found.added), dict(found.changed)) == (
        ["<https://example.org/o#A>"], ["<https://example.org/o#C>"], {},
    )  # fmt: skip


def test_an_axiom_without_a_subject_counts() -> None:
    found = compare_versions([], triples("[] a owl:AllDisjointClasses ; owl:members ( ex:A ex:B ) ."))
    assert any("owl#members> ( <https://example.org/o#A>" in term for term in found.added)


def test_the_same_file_twice_has_no_difference() -> None:
    held = triples(ONTOLOGY + "_:a rdfs:seeAlso _:b . _:b rdfs:seeAlso _:a .")
    assert not compare_versions(held, held).changes
