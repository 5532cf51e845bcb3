"""What an audit leads to: kept graphs, mends, and a gate."""

from dataclasses import replace

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.audit import AuditOptions, Undecided, load_checks
from kgrag.audit.auditing import refuse_violations
from kgrag.errors import InputError, InvalidRDF, ShapeViolation
from kgrag.knowledge_base import audit_runs
from kgrag.model import GraphDraft
from kgrag.store.lexical_forms import as_loaded
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import AUDIT, KG, PROV
from tests.audit.conftest import FLAWED, HEAD, ONTOLOGY

SPACED = ONTOLOGY + 'ex:A a owl:Class ; rdfs:label " barley "@en .\n'
BEGAN = "2026-11-21T10:00:00Z"


def test_a_kept_audit_is_a_graph_that_conforms_to_its_shape(kb: KnowledgeBase, write) -> None:
    kb.load(write(FLAWED))
    found = kb.audit(metrics=True)
    iri = audit_runs.keep(kb.store, found, began=BEGAN)
    results = kb.query(f"SELECT ?r WHERE {{ GRAPH <{iri}> {{ ?r a <http://www.w3.org/ns/shacl#ValidationResult> }} }}")
    assert len(results) == len(found.findings)  # type: ignore[arg-type]
    assert kb.doctor() == []


def test_a_kept_audit_names_what_was_asked_for_and_has_no_verdict_and_does_not_conform(
    kb: KnowledgeBase, write
) -> None:
    kb.load(write(ONTOLOGY))
    undecided = Undecided("LOG-01", "took too long", asked=True)
    kept = audit_runs.keep(kb.store, replace(kb.audit(), not_decided=(undecided,)), began=BEGAN)
    ((ok, check, why),) = kb.query(  # type: ignore[misc]
        "PREFIX sh: <http://www.w3.org/ns/shacl#> SELECT ?ok ?check ?why "
        f"{{ GRAPH <{kept}> {{ ?r sh:conforms ?ok ; <{AUDIT.notDecided.value}> ?u ."
        " ?u sh:sourceShape ?check ; sh:resultMessage ?why } }"
    )
    assert [ok.value, check.value, why.value] == ["false", f"{AUDIT.prefix}LOG-01", "LOG-01: took too long"]
    assert kb.doctor() == []


def test_a_kept_audit_says_what_was_audited_when(kb: KnowledgeBase, write) -> None:
    kb.load(write(FLAWED))
    graph = ox.NamedNode(audit_runs.keep(kb.store, kb.audit(), began=BEGAN))
    held = list(kb.store.triples(kb.store.names.catalogue))
    (activity,) = [t.object for t in held if t.subject == graph and t.predicate == PROV.wasGeneratedBy]
    said = {t.predicate: t.object for t in kb.store.triples(kb.store.names.provenance) if t.subject == activity}
    assert said[PROV.used] == ox.NamedNode("https://example.org/o")
    assert said[PROV.startedAtTime].value == BEGAN


def test_the_same_findings_kept_twice_are_one_graph(kb: KnowledgeBase, write) -> None:
    kb.load(write(FLAWED))
    assert audit_runs.keep(kb.store, kb.audit(), began=BEGAN) == audit_runs.keep(kb.store, kb.audit(), began=BEGAN)


def test_a_mend_is_shown_as_a_difference_and_nothing_is_written(write) -> None:
    path = write(SPACED)
    mend = audit_runs.mend_file(path, AuditOptions())
    lines = mend.diff("o.ttl").splitlines()
    assert [line[0] for line in lines if "barley" in line] == ["-", "+"]
    assert path.read_text() == SPACED


def test_a_mend_is_written_beside_and_leaves_nothing_more_to_mend(write, tmp_path) -> None:
    target = tmp_path / "mended.ttl"
    audit_runs.mend_file(write(SPACED), AuditOptions(), target=target)
    assert '"barley"@en' in target.read_text()
    assert not audit_runs.mend_file(target, AuditOptions()).changes


NUMBERED = SPACED + 'ex:A ex:size "007"^^<http://www.w3.org/2001/XMLSchema#byte> , 1.50 .\n'


def test_a_mend_leaves_numbers_as_they_were_written(write, tmp_path) -> None:
    target = tmp_path / "mended.nt"
    mend = audit_runs.mend_file(write(NUMBERED), AuditOptions(), target=target)
    assert '"007"^^<http://www.w3.org/2001/XMLSchema#byte>' in target.read_text()
    assert '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>' in target.read_text()
    assert "size" not in mend.diff("o.ttl")


def test_a_mend_of_a_graph_leaves_the_surface_of_its_numbers(kb: KnowledgeBase, write) -> None:
    kb.load(write(NUMBERED))
    graph = ox.NamedNode("https://example.org/o")
    before = set(as_loaded(kb.store, graph))
    audit_runs.apply_to_graph(kb.store, graph.value, audit_runs.mend_graph(kb.store, graph.value, AuditOptions()))
    after = set(as_loaded(kb.store, graph))
    assert {t for t in before if "size" in t.predicate.value} == {t for t in after if "size" in t.predicate.value}
    assert before != after


def test_what_is_sound_has_nothing_to_mend(write, tmp_path) -> None:
    target = tmp_path / "mended.ttl"
    mend = audit_runs.mend_file(write(ONTOLOGY), AuditOptions(), target=target)
    assert (mend.diff("o.ttl"), target.exists()) == ("", False)


def test_a_file_of_several_graphs_is_not_mended(write) -> None:
    with pytest.raises(InputError, match="holds 2 graphs"):
        audit_runs.mend_file(
            write("<urn:a> { <urn:s> <urn:p> 1 } <urn:b> { <urn:s> <urn:p> 2 }", "o.trig"), AuditOptions()
        )


def test_a_mend_of_a_graph_is_written_with_its_activity(kb: KnowledgeBase, write) -> None:
    kb.load(write(SPACED))
    name = "https://example.org/o"
    mend = audit_runs.mend_graph(kb.store, name, AuditOptions())
    audit_runs.apply_to_graph(kb.store, name, mend)
    assert ox.Literal("barley", language="en") in {triple.object for triple in kb.graph(name)}
    labels = [t.object.value for t in kb.store.triples(kb.store.names.provenance) if "label" in t.predicate.value]
    assert any("mended https://example.org/o: ANN-07 by audit/fix_ann_07" in label for label in labels)
    assert kb.doctor() == []


@pytest.mark.parametrize("check", [c for c in load_checks() if c.fix], ids=lambda check: check.identifier)
def test_a_fix_mends_a_violating_example_of_its_check_and_makes_none_worse(check, write) -> None:
    profile = write(f'families = []\n[severities]\n"{check.identifier}" = "Warning"\n', "p.toml")
    options = AuditOptions(profile=str(profile))
    fewer = 0
    for text in check.violating:
        path = write(text, "o.trig")
        before = audit_runs.audit_files([path], options).totals[check.identifier]
        mend = audit_runs.mend_file(path, options)
        mended = write(ox.serialize(mend.after, format=ox.RdfFormat.N_TRIPLES) or b"", "after.nt")
        after = audit_runs.audit_files([mended], options).totals.get(check.identifier, 0)
        assert after <= before
        fewer += after < before
    assert fewer


def test_the_gate_lets_pass_what_conforms_and_refuses_the_rest(kb: KnowledgeBase, write) -> None:
    kb.load(write(FLAWED, "good.ttl"), profile="default")
    with pytest.raises(ShapeViolation, match=r"(?s)1 of 1 ontologies do not conform to 'publish'.*ANN-01"):
        kb.load(write(FLAWED.replace("example.org/o", "example.org/p"), "bad.ttl"), profile="publish")
    assert not kb.store.described(ox.NamedNode("https://example.org/p"))


def test_the_gate_leaves_data_alone(write) -> None:
    draft = GraphDraft(ox.NamedNode("urn:g"), KG.DataGraph, [])
    assert refuse_violations([draft], profile="publish", open_bench=OxigraphScratch) == ()


def test_files_are_refused_by_a_gate_without_a_knowledge_base(write) -> None:
    with pytest.raises(ShapeViolation):
        audit_runs.gate_files([write(FLAWED)], "publish")
    with pytest.raises(InvalidRDF):
        audit_runs.gate_files([write(HEAD + "x")], "publish")
