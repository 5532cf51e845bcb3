"""Checks of metadata, texts, names and concepts: what their own examples cannot say."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.audit import Audit, AuditOptions, Check, audit_triples, load_checks
from kgrag.audit.audit_context import prepare
from kgrag.audit.check_runner import compiled
from kgrag.audit.checks import shipped
from kgrag.audit.fixes import mended
from kgrag.audit.hierarchy_steps import heights, shortcuts
from kgrag.knowledge_base.audit_runs import audit_files
from kgrag.store.scratch import OxigraphScratch

Audited = Callable[..., Audit]

FAMILIES = ("met", "web", "ann", "nam", "sks")
CHECKS = [check for check in load_checks() if check.family in FAMILIES]
STEPS = [check for check in CHECKS if check.step and check.violating]
FIXED = [check for check in CHECKS if check.fix]
HEAD = """
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <https://example.org/o#> .
@prefix oboInOwl: <http://www.geneontology.org/formats/oboInOwl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
ONTOLOGY = HEAD + "<https://example.org/o> a owl:Ontology .\n"


def named(audit: Audit, check: str) -> list[str]:
    return [finding.focus.rpartition("#")[2] for finding in audit.findings if finding.check == check]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_identifier_of_the_catalogue_has_a_check(family: str) -> None:
    numbers = {"met": 11, "web": 1, "ann": 13, "nam": 8, "sks": 15}
    wanted = [f"{family.upper()}-{number:02}" for number in range(1, numbers[family] + 1)]
    assert [check.identifier for check in CHECKS if check.family == family] == wanted


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.identifier)
def test_a_check_says_where_else_it_is_made_and_what_raised_false_alarms(check: Check) -> None:
    assert check.anchors
    assert check.caution


@pytest.mark.parametrize("check", STEPS, ids=lambda check: check.identifier)
def test_a_step_finds_its_violating_examples_and_passes_its_conforming_ones(check: Check, audited: Audited) -> None:
    assert [text for text in check.violating if not named(audited(text), check.identifier)] == []
    assert [text for text in check.conforming if named(audited(text), check.identifier)] == []


def test_no_shape_of_these_families_needs_pyshacl() -> None:
    files = tuple(path for path in shipped().files if path.stem in FAMILIES)
    assert compiled(files).elsewhere == {}


def run_fix(check: Check, text: str) -> tuple[Audit, set[str], set[str]]:
    """Audit an example by one check, mend it, and give the audit afterwards with the triples gone and come."""
    triples = [quad.triple for quad in ox.parse(input=text, format=ox.RdfFormat.TURTLE)]
    bench = OxigraphScratch()
    found = audit_triples(triples, name="o", bench=bench, options=AuditOptions())
    alone = replace(found, totals={name: count for name, count in found.totals.items() if name == check.identifier})
    mend = mended(prepare(bench, triples, name="o"), alone)
    after = audit_triples(mend.after, name="o", bench=OxigraphScratch(), options=AuditOptions())
    return (
        after,
        set(map(str, mend.before)) - set(map(str, mend.after)),
        set(map(str, mend.after)) - set(map(str, mend.before)),
    )


@pytest.mark.parametrize("check", FIXED, ids=lambda check: check.identifier)
def test_a_fix_leaves_its_conforming_example_as_it_is(check: Check) -> None:
    for text in check.conforming:
        _, gone, come = run_fix(check, text)
        assert (gone, come) == (set(), set())


@pytest.mark.parametrize("check", FIXED, ids=lambda check: check.identifier)
def test_after_a_fix_its_first_example_has_no_finding(check: Check) -> None:
    after, gone, _ = run_fix(check, check.violating[0])
    assert gone
    assert named(after, check.identifier) == []


def test_a_mended_label_keeps_its_language_and_what_an_axiom_says_of_it() -> None:
    text = ONTOLOGY + (
        'ex:Crop a owl:Class ; rdfs:label " field\\t crop\\u00a0A "@en .\n'
        "ex:note a owl:Axiom ; owl:annotatedSource ex:Crop ; owl:annotatedProperty rdfs:label ;\n"
        '  owl:annotatedTarget " field\\t crop\\u00a0A "@en .'
    )
    _, _, come = run_fix(next(each for each in FIXED if each.identifier == "ANN-07"), text)
    assert len(come) == 2
    assert all(each.endswith('"field crop\u00a0A"@en') for each in come)


def test_a_synonym_that_an_axiom_speaks_of_is_not_deleted() -> None:
    text = ONTOLOGY + (
        'ex:Crop a owl:Class ; rdfs:label "crop" ; oboInOwl:hasExactSynonym "crop" .\n'
        "ex:note a owl:Axiom ; owl:annotatedSource ex:Crop ; owl:annotatedProperty oboInOwl:hasExactSynonym ;\n"
        '  owl:annotatedTarget "crop" ; oboInOwl:hasDbXref "A:1" .'
    )
    after, gone, _ = run_fix(next(each for each in FIXED if each.identifier == "ANN-13"), text)
    assert gone == set()
    assert named(after, "ANN-13") == ["Crop"]


def test_an_ontology_of_which_only_the_type_is_told_is_not_asked_for_a_licence(audited: Audited) -> None:
    text = HEAD + (
        "<https://example.org/p> a owl:Ontology .\n"
        '<https://example.org/o> a owl:Ontology ; dcterms:title "Crops"@en ; dcterms:license <https://example.org/l> .'
    )
    assert named(audited(text), "MET-02") == []
    assert named(audited(ONTOLOGY), "MET-02") == ["https://example.org/o"]


def test_a_term_that_schema_org_supersedes_may_share_its_label(audited: Audited) -> None:
    old = 'ex:Old a owl:Class ; rdfs:label "crop"@en ; <https://schema.org/supersededBy> ex:Crop .\n'
    text = ONTOLOGY + 'ex:Crop a owl:Class ; rdfs:label "crop"@en .\n' + old
    assert named(audited(text), "ANN-04") == []
    assert named(audited(text.replace("supersededBy", "other")), "ANN-04") == ["Crop"]


@pytest.mark.parametrize(("number", "found"), [(2, True), (3, True), (4, False)])
def test_a_definition_counts_as_copied_up_to_three_terms(number: int, found: bool, audited: Audited) -> None:
    terms = [f'ex:C{each} a owl:Class ; rdfs:comment "One text for all of them."@en .\n' for each in "abcd"[:number]]
    assert bool(named(audited(ONTOLOGY + "".join(terms)), "ANN-05")) is found


@pytest.mark.parametrize(("others", "found"), [(4, False), (5, True), (6, True)], ids=["1 of 5", "1 of 6", "1 of 7"])
def test_a_style_is_odd_when_fewer_than_one_in_five_names_have_it(others: int, found: bool, audited: Audited) -> None:
    names = [f"ex:Crop{chr(65 + each)}b a owl:Class .\n" for each in range(others)]
    text = ONTOLOGY + "ex:field_crop a owl:Class .\n" + "".join(names)
    assert ("field_crop" in named(audited(text), "NAM-01")) is found


@pytest.mark.parametrize(
    "term",
    ["rdf:reifies", "rdf:dirLangString", "rdf:_12", "rdf:JSON", "rdfs:Proposition", "owl:hasSelf", "xsd:dateTimeStamp"],
)
def test_a_term_of_the_current_languages_exists(term: str, audited: Audited) -> None:
    prefixes = "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
    assert named(audited(f"{prefixes}{ONTOLOGY}ex:a rdfs:seeAlso {term} ."), "NAM-06") == []
    misspelt = audited(f"{prefixes}{ONTOLOGY}ex:a rdfs:seeAlso {term}x .")
    assert [finding.check for finding in misspelt.findings if finding.check in ("NAM-06", "PRO-13")] == [
        "PRO-13" if term.startswith("xsd:") else "NAM-06"
    ]


def concepts(pairs: list[tuple[int, int]]) -> str:
    stated = "".join(f"ex:c{below} skos:broader ex:c{above} .\n" for below, above in pairs)
    numbers = sorted({each for pair in pairs for each in pair})
    return ONTOLOGY + stated + "".join(f"ex:c{each} a skos:Concept .\n" for each in numbers)


def test_a_cycle_of_broader_concepts_is_one_finding(audited: Audited) -> None:
    assert named(audited(concepts([(1, 2), (2, 3), (3, 1), (4, 1), (5, 5)])), "SKS-04") == ["c1", "c5"]


def test_a_relation_within_a_cycle_of_broader_concepts_does_not_hang(audited: Audited) -> None:
    text = concepts([(1, 2), (2, 1), (3, 1)]) + "ex:c3 skos:related ex:c2 .\n"
    assert named(audited(text), "SKS-03") == ["c3"]


def test_a_chain_of_ten_thousand_concepts_has_no_cycle_and_no_shortcut() -> None:
    edges = {str(number): [str(number + 1)] for number in range(10_000)}
    assert list(shortcuts(edges)) == []
    order = [(str(number),) for number in range(10_000, -1, -1)]
    assert heights(edges, order)["0"] == 10_000


def test_an_unlinked_concept_of_a_flat_list_is_no_orphan(audited: Audited) -> None:
    lone = "ex:lone a skos:Concept .\n"
    assert named(audited(concepts([(1, 2)]) + lone), "SKS-05") == ["lone"]
    assert named(audited(ONTOLOGY + lone + "ex:other a skos:Concept . ex:third a skos:Concept .\n"), "SKS-05") == []


def test_a_message_with_braces_and_quotes_from_the_data_stays_as_it_is(audited: Audited) -> None:
    text = ONTOLOGY + 'ex:Crop a owl:Class ; rdfs:label "crop" ; rdfs:comment "TODO {value} \\"x\\" {$this}" .'
    (finding,) = [each for each in audited(text).findings if each.check == "ANN-12"]
    assert finding.value == 'TODO {value} "x" {$this}'
    assert finding.message.endswith(finding.value)


def test_an_ontology_iri_that_is_relative_to_its_file_is_found(audited: Audited) -> None:
    text = HEAD + "<> a owl:Ontology .\n<#Crop> a owl:Class ."
    assert len(named(audited(text), "MET-09")) == 1


def test_the_texts_that_oops_calls_misused_are_found(data: Path) -> None:
    path = data / "oops_pitfalls" / "input" / "P20.owl"
    audit = audit_files([path], AuditOptions())
    expected = [json.loads(line) for line in (path.parents[1] / "expected.jsonl").read_text("utf-8").splitlines()]
    (wanted,) = [
        each["affected"]
        for of in expected
        if of["file"] == path.name
        for each in of["expected"]
        if each["code"] == "P20"
    ]
    assert {each.focus for each in audit.findings if each.check in {"ANN-08", "ANN-09"}} == set(wanted)


FALSE_ALARMS = {
    "gist-core.ttl": ("ANN-01", "ANN-05", "MET-02", "MET-03"),
    "schema-org.ttl": ("MET-01", "ANN-04", "ANN-05", "NAM-04", "NAM-07"),
    "foaf.ttl": ("ANN-04", "NAM-08"),
    "bfo-core.ttl": ("ANN-01", "NAM-01", "MET-07"),
    "fibo-fnd-parties.rdf": ("MET-03", "MET-06", "ANN-12"),
    "plant-stress-ontology-base.owl": ("ANN-01", "NAM-01", "MET-07"),
    "goodrelations.ttl": ("NAM-01", "NAM-02", "NAM-07"),
    "prov-o.ttl": ("ANN-08", "MET-03", "MET-11"),
}


@pytest.mark.parametrize("name", FALSE_ALARMS)
def test_what_once_raised_false_alarms_on_a_real_ontology_is_quiet(name: str, data: Path) -> None:
    totals = audit_files([data / "ontologies" / name], AuditOptions()).totals
    assert {check: totals[check] for check in FALSE_ALARMS[name] if check in totals} == {}
