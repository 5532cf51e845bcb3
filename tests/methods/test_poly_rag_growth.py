"""PolyRAG's pyramid grows: extraction, completion with decisions, condensation, inference."""

import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, queries
from kgrag.errors import InvalidSettings, NotBuilt, UnknownName
from kgrag.stages import shacl
from kgrag.vocab import OWL
from tests.methods.test_poly_rag import SCHEMA, ask, lines

TRIPLES = [
    ("Ann Lee (painter)", "birth place", "Bath"),
    ("Ann Lee (painter)", "has published in", "Art Review"),
    ("Bo Oak", "has published in", "Nature"),
    ("Cy Elm", "has published in", "Science"),
    ("Ann Lee", "award", "Turner Prize"),
]


@pytest.fixture
def pyramid(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    kb.build("poly_rag", schema=[tmp_path / "staff.ttl"], triples=lines(tmp_path / "t.jsonl", TRIPLES))
    return kb


def conforms(kb: KnowledgeBase) -> bool:
    return shacl.validate(kb.store, shacl.graph_shapes()) == [] and not [f for f in kb.doctor() if f.fault]


# --- extraction ----------------------------------------------------------------------------------------------------


@pytest.fixture
def read(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    (tmp_path / "ann.txt").write_text("The birth place of Ann Lee is Bath. Ann Lee painted Auron.")
    kb.ingest(tmp_path / "ann.txt")
    kb.build("poly_rag", schema=[tmp_path / "staff.ttl"])
    return kb


def test_text_becomes_triples_and_instances_without_a_key(read: KnowledgeBase) -> None:
    assert ask(read, "What is the birth place of Ann Lee?")[:2] == (["Bath"], "row")
    assert ask(read, "Who painted Auron?", "graph")[0] == ["Ann Lee"]
    assert conforms(read)


def test_triples_of_text_cite_the_chunk_that_states_them(read: KnowledgeBase) -> None:
    answer = read.ask("Who painted Auron?", method="poly_rag")
    assert [citation.quote for citation in answer.citations] == ["Ann Lee"]


def test_a_dry_run_counts_the_completions_and_writes_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "ann.txt").write_text("The birth place of Ann Lee is Bath. Ann Lee painted Auron.")
    kb.ingest(tmp_path / "ann.txt")
    revision = kb.store.revision
    estimated = kb.build("poly_rag", dry_run=True).counts
    assert (estimated["completions"], kb.store.revision) == (4, revision)
    assert kb.build("poly_rag").usage.completions == 4
    assert kb.build("poly_rag", dry_run=True).counts["completions"] == 0


def test_building_again_asks_for_nothing(read: KnowledgeBase) -> None:
    revision = read.store.revision
    report = read.build("poly_rag")
    assert (report.counts["triples_asked"], report.counts["instances_asked"]) == (0, 0)
    assert (report.usage.completions, read.store.revision) == (0, revision)


def test_a_document_that_is_forgotten_takes_its_triples_and_instances_along(read: KnowledgeBase) -> None:
    (done,) = read.forget("ann")
    assert done.remains == () or list(done.remains) == []
    assert ask(read, "What is the birth place of Ann Lee?")[:2] == ([], "")


# --- completion ----------------------------------------------------------------------------------------------------


def test_a_relation_that_the_ontology_lacks_is_proposed_with_its_evidence(pyramid: KnowledgeBase) -> None:
    method = pyramid.method("poly_rag")
    pyramid.build("poly_rag", steps=["complete"])
    found = {one.label: one for one in method.proposals()}  # type: ignore[attr-defined]
    assert len(found["has published in"].evidence) == 3
    assert "birth place" not in found
    assert conforms(pyramid)


def test_nothing_changes_until_a_proposal_is_accepted(pyramid: KnowledgeBase) -> None:
    pyramid.build("poly_rag", steps=["complete"])
    assert ask(pyramid, "What has Bo Oak published in?", "ontology")[0] == []
    pyramid.method("poly_rag").decide("has published in", "accepted")  # type: ignore[attr-defined]
    assert ask(pyramid, "What has Bo Oak published in?", "ontology")[0] == ["Nature"]
    assert conforms(pyramid)


def test_a_decision_can_be_taken_back(pyramid: KnowledgeBase) -> None:
    pyramid.build("poly_rag", steps=["accept"])
    method = pyramid.method("poly_rag")
    assert ask(pyramid, "What has Bo Oak published in?", "ontology")[0] == ["Nature"]
    method.decide("has published in", "rejected")  # type: ignore[attr-defined]
    assert ask(pyramid, "What has Bo Oak published in?", "ontology")[0] == []


def test_what_was_rejected_is_not_proposed_again(pyramid: KnowledgeBase) -> None:
    method = pyramid.method("poly_rag")
    pyramid.build("poly_rag", steps=["complete"])
    method.decide("has published in", "rejected")  # type: ignore[attr-defined]
    pyramid.build("poly_rag", steps=["complete"])
    assert {one.label: one.decision for one in method.proposals()}["has published in"] == "rejected"  # type: ignore[attr-defined]


def test_two_names_of_one_thing_are_proposed_in_a_graph_of_their_own(pyramid: KnowledgeBase) -> None:
    pyramid.build("poly_rag", steps=["complete"])
    method = pyramid.method("poly_rag")
    (alias,) = [one for one in method.proposals() if one.layer == "aliases"]  # type: ignore[attr-defined]
    assert alias.label == "Ann Lee = Ann Lee (painter)"
    same = ox.NamedNode(OWL.sameAs.value)
    graphs = "SELECT ?g WHERE { GRAPH ?g { ?s %s ?o } }" % same  # noqa: UP031
    assert len(pyramid.store.select(graphs)) == 0
    method.decide(alias.iri, "accepted")  # type: ignore[attr-defined]
    assert len(pyramid.store.select(graphs)) == 1
    method.decide(alias.iri, "open")  # type: ignore[attr-defined]
    assert len(pyramid.store.select(graphs)) == 0


def test_a_proposal_that_there_is_not_is_named(pyramid: KnowledgeBase) -> None:
    with pytest.raises(UnknownName, match="no proposal"):
        pyramid.method("poly_rag").decide("no such thing", "accepted")  # type: ignore[attr-defined]


def test_completion_without_two_layers_says_what_is_missing(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.build("poly_rag", triples=lines(tmp_path / "t.jsonl", TRIPLES))
    with pytest.raises(NotBuilt, match="two layers"):
        kb.build("poly_rag", steps=["complete"])


def test_a_step_that_there_is_not_is_refused(pyramid: KnowledgeBase) -> None:
    with pytest.raises(InvalidSettings, match="step 'grow'"):
        pyramid.build("poly_rag", steps=["grow"])


# --- condensation --------------------------------------------------------------------------------------------------


def test_no_fact_becomes_unreachable_by_condensing(pyramid: KnowledgeBase) -> None:
    report = pyramid.build("poly_rag", steps=["condense"])
    assert report.counts["condensed_from"] == len(TRIPLES)
    lost = queries.bind("poly_rag/unreachable", catalogue=pyramid.store.names.catalogue)
    assert len(pyramid.store.select(lost)) == 0
    assert conforms(pyramid)


def test_retrieval_reads_the_condensed_layer_and_cites_the_same_places(pyramid: KnowledgeBase) -> None:
    before = pyramid.ask("What has Bo Oak published in?", method="poly_rag:layers=graph")
    pyramid.build("poly_rag", steps=["condense"])
    after = pyramid.ask("What has Bo Oak published in?", method="poly_rag:layers=graph")
    assert after.sentences == before.sentences == ("Nature",)
    assert after.citations == before.citations
    assert after.hits[0].iri != before.hits[0].iri


def test_the_same_triple_of_two_files_is_condensed_to_one(pyramid: KnowledgeBase, tmp_path: Path) -> None:
    pyramid.build("poly_rag", triples=lines(tmp_path / "more.jsonl", [("BO OAK", "has published in", "Nature")]))
    report = pyramid.build("poly_rag", steps=["condense"])
    assert (report.counts["condensed_from"], report.counts["condensed"]) == (len(TRIPLES) + 1, len(TRIPLES))


def test_triples_that_come_later_are_condensed_by_the_next_build(pyramid: KnowledgeBase, tmp_path: Path) -> None:
    pyramid.build("poly_rag", steps=["condense"])
    pyramid.build("poly_rag", triples=lines(tmp_path / "more.jsonl", [("Di Fir", "has published in", "Cell")]))
    assert ask(pyramid, "What has Di Fir published in?", "graph")[0] == ["Cell"]


def test_a_forgotten_document_takes_the_condensed_layer_and_its_proposals_along(
    read: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "bo.txt").write_text("Bo Oak painted Zuron.")
    read.ingest(tmp_path / "bo.txt")
    read.build("poly_rag", steps=["complete", "condense"])
    assert ask(read, "Who painted Auron?", "graph")[0] == ["Ann Lee"]
    (done,) = read.forget("ann")
    assert not done.remains
    assert ask(read, "Who painted Auron?", "graph")[0] == []
    assert ask(read, "Who painted Zuron?", "graph")[0] == ["Bo Oak"]
    assert conforms(read)
    read.build("poly_rag", steps=["condense"])
    assert ask(read, "Who painted Zuron?", "graph")[0] == ["Bo Oak"]


def test_condensing_again_changes_nothing(pyramid: KnowledgeBase) -> None:
    pyramid.build("poly_rag", steps=["condense"])
    revision = pyramid.store.revision
    pyramid.build("poly_rag", steps=["condense"])
    assert pyramid.store.revision == revision


# --- inference -----------------------------------------------------------------------------------------------------


def test_a_question_about_a_class_is_answered_through_the_domain_of_a_property(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    instances = lines(tmp_path / "i.jsonl", [("Ann Lee", "birthPlace", "Bath")])
    kb.build("poly_rag", schema=[tmp_path / "staff.ttl"], instances=instances)
    assert ask(kb, "Which person has birth place Bath?", "ontology")[0] == []
    report = kb.build("poly_rag", steps=["infer"])
    assert report.counts["inferred"] > 0
    assert ask(kb, "Which person has birth place Bath?", "ontology")[0] == ["Ann Lee"]
    assert conforms(kb)


# --- the command line ----------------------------------------------------------------------------------------------


def test_a_pyramid_is_built_completed_and_decided_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from kgrag.cli import app

    (tmp_path / "staff.ttl").write_text(SCHEMA)
    triples = lines(tmp_path / "t.jsonl", TRIPLES)
    kb = ["--kb", str(tmp_path / "pyramid.kb")]
    run = CliRunner().invoke
    built = run(
        app,
        ["build", "poly_rag", *kb, "--schema", str(tmp_path / "staff.ttl"), "--triples", str(triples), "--complete"],
    )
    assert built.exit_code == 0, built.output
    picture = tmp_path / "figure.png"
    done = run(app, ["proposals", *kb, "--accept", "has published in", "--picture", str(picture), "--format", "json"])
    assert done.exit_code == 0, done.output
    assert {one["label"]: one["decision"] for one in json.loads(done.stdout)}["has published in"] == "accepted"
    assert picture.read_bytes().startswith(b"\x89PNG")
