"""The command ``why`` and ``KnowledgeBase.why``: what a triple follows from, and what a finding rests on."""

import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, cli
from kgrag.audit import AuditOptions, audit_triples
from kgrag.errors import InputError, NotDecided
from kgrag.knowledge_base import explanation_runs
from kgrag.querying import ontology_check
from kgrag.store.scratch import OxigraphScratch

EX = "https://example.org/d#"
VANN = "http://purl.org/vocab/vann/preferredNamespace"
DATA = """
@prefix : <https://example.org/d#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://example.org/d> a owl:Ontology .
:Cat a owl:Class ; rdfs:subClassOf :Animal ; rdfs:label "cat"@en . :Animal a owl:Class .
:Person a owl:Class . :purrsAt a owl:ObjectProperty ; rdfs:domain :Cat ; rdfs:range :Person . :felix :purrsAt :tom .
"""
QUERY = f"SELECT ?name WHERE {{ ?x a <{EX}Person> . ?x <{EX}purrsAt> ?y . ?y <{EX}name> ?name }}"


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[ox.Triple]:
    """Write the data into a folder, and go there."""
    monkeypatch.chdir(tmp_path)
    Path("d.ttl").write_text(DATA, encoding="utf-8")
    return [quad.triple for quad in ox.parse(path=Path("d.ttl"))]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["kgrag", "why", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


def test_a_triple_is_explained_as_text_json_and_rdf(
    data: list[ox.Triple], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = (f"{EX}felix", "a", f"<{EX}Animal>", "--from", "d.ttl")
    assert run(monkeypatch, *asked) == 0
    assert capfd.readouterr().out.splitlines()[-1] == f"5. <{EX}felix> a <{EX}Animal> .  by rdfs9 from 3, 4"
    assert run(monkeypatch, *asked, "--format", "json") == 0
    assert [step["rule"] for step in json.loads(capfd.readouterr().out)["steps"]] == ["rdfs2", "rdfs9"]
    assert run(monkeypatch, *asked, "--format", "turtle") == 0
    graph = list(ox.parse(capfd.readouterr().out.encode(), format=ox.RdfFormat.TURTLE))
    assert sum(quad.predicate.value.endswith("#used") for quad in graph) == 4


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((f"{EX}felix", "a", f"{EX}Person"), 2),
        ((f"{EX}felix", "a"), 2),
        (("so", "it", "is"), 2),
        ((f"{EX}felix", "a", "zoo:Animal"), 2),
        ((":felix", "a", ":Animal"), 0),
        ((), 2),
        ((f"{EX}felix", "a", f"{EX}Animal", "--query", "ASK { ?s ?p ?o }"), 2),
        ((f"{EX}felix", "a", f"{EX}Animal", "--profile", "owl-dl"), 2),
        (("--finding", "0" * 20), 2),
        (("--query", "ASK { ?s ?p ?o }"), 0),
    ],
)
def test_what_cannot_be_explained_is_refused(
    data: list[ox.Triple], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int
) -> None:
    assert run(monkeypatch, *arguments, "--from", "d.ttl") == code


def test_every_finding_of_an_audit_is_found_in_its_grounds_and_in_no_part_of_them(data: list[ox.Triple]) -> None:
    alone = AuditOptions(namespace=EX, ungathered=True)
    given = explanation_runs.premises(None, [Path("d.ttl")])
    with KnowledgeBase() as kb:
        found = kb.audit("d.ttl", ungathered=True)
        chosen = [each for each in found.findings if each.check in ("ANN-01", "MET-02", "STR-05")]
        assert len(chosen) > 3
        for finding in chosen:
            grounds = kb.why_found(finding.fingerprint, "d.ttl")
            assert grounds.stated
            assert set(grounds.sources.values()) == {("d.ttl",)}
            for left_out in [None, *grounds.stated]:
                rest = [triple for each in grounds.stated if each != left_out for triple in each]
                again = audit_triples(rest, name=given.name, bench=OxigraphScratch(), options=alone)
                where = {(each.check, each.focus, each.path, each.value) for each in again.findings}
                key = (finding.check, finding.focus, finding.path, finding.value)
                assert (key in where) == (left_out is None)


def test_every_finding_about_a_query_is_found_by_its_grounds_and_by_no_part_of_them(data: list[ox.Triple]) -> None:
    with KnowledgeBase() as kb:
        grounds = kb.why_refused(QUERY, "d.ttl")
    rested = [each for each in grounds if each.stated]
    assert "domain" in {each.rule for each in rested}
    for each in rested:
        for left_out in [None, *each.stated]:
            rest = [triple for other in each.stated if other != left_out for triple in other]
            again = ontology_check.check(QUERY, ontology_check.build_index(rest), open_scratch=OxigraphScratch)
            assert (each.message in {finding.message for finding in again.findings}) == (left_out is None)


def test_graphs_of_a_knowledge_base_are_named_as_sources_and_time_is_bounded(data: list[ox.Triple]) -> None:
    with KnowledgeBase() as kb:
        preferred = f'<{EX[:-1]}> <{VANN}Prefix> "zoo" ; <{VANN}Uri> "{EX}" .'
        Path("named.ttl").write_text(DATA + preferred, encoding="utf-8")
        kb.load("named.ttl")
        proof = kb.why(("zoo:felix", "rdf:type", "zoo:Animal"))
        assert set(proof.sources.values()) == {("https://example.org/d",)}
        with pytest.raises(NotDecided):
            kb.why((f"{EX}felix", "rdf:type", f"{EX}Animal"), seconds=0.0)
        with pytest.raises(InputError, match="'ark:tom a ark:Cat' is no triple"):  # and no IRI <ark:tom>
            kb.why(("ark:tom", "a", "ark:Cat"))
        with pytest.raises(InputError, match="does not follow"):
            kb.why((f"{EX}tom", "a", f"{EX}Cat"))
