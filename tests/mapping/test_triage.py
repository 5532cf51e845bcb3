"""Triage: a graph method is built of the chunks that speak most of the ontologies, and of no others."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase, shacl
from kgrag.cli import app, maintenance_commands
from kgrag.errors import InvalidSettings, StateError
from kgrag.mapping import Choice, Triage
from kgrag.model import BuildReport, Document, Prompt
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel
from kgrag.text import ingestion

ONTOLOGY = """
@prefix : <https://example.org/farm#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .

<https://example.org/farm> a owl:Ontology .
:Crop a owl:Class ; rdfs:label "crop" ; skos:altLabel "Feldfrucht"@de .
:name a owl:DatatypeProperty ; rdfs:label "name" ; rdfs:domain :Crop .
:seedingRate a owl:DatatypeProperty ; rdfs:domain :Crop .
"""
SPEAKING = ["The seeding rate of rye, a crop, is 120 kg.", "Roggen ist eine Feldfrucht im Norden."]
OTHERS = [f"The train number {number} was late again today." for number in range(18)]


def said_of(prompt: Prompt) -> str:
    return json.dumps({"@graph": [{"@type": "crop", "name": prompt.variables["text"].split(" ")[-2]}]})


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    """20 documents of a chunk each, of which two speak of the ontology, one of them in another language."""
    facts = json.dumps({"things": [], "triples": []})
    model = ScriptedModel({"og_rag/map": said_of, "poly_rag/facts": facts})
    (tmp_path / "farm.ttl").write_text(ONTOLOGY, encoding="utf-8")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as made:
        made.load(tmp_path / "farm.ttl")
        texts = [Document(text, f"Text {number}") for number, text in enumerate([*OTHERS, *SPEAKING])]
        ingestion.ingest(texts, store=made.store)
        yield made


def chunks_of(kb: KnowledgeBase, document: str) -> list[tuple[str, str]]:
    sparql = "SELECT ?c ?t { ?c <http://purl.org/dc/terms/isPartOf> <%s> ; <https://w3id.org/kgrag/ns#text> ?t }"
    table = kb.query(sparql % document)
    return [(chunk, text) for chunk, text in table.values()]  # type: ignore[union-attr]


def mapped(kb: KnowledgeBase) -> list[str]:
    """Return the texts that the model was asked to map."""
    asked: list[Prompt] = kb.model.inner.prompts  # type: ignore[attr-defined]
    return [prompt.variables["text"] for prompt in asked if prompt.name == "og_rag/map"]


def test_a_share_is_built_of_the_chunks_that_speak_of_the_ontology_in_any_of_its_words(kb: KnowledgeBase) -> None:
    report = kb.build("og_rag", share=0.1)
    assert sorted(mapped(kb)) == sorted(SPEAKING)
    assert report.counts["chunks_left_out"] == 18
    assert report.left_out == "18 of 20 chunks were left out by triage (share 0.1)"
    assert report.left_out in report.notes
    assert report.pending == ()


def test_a_larger_share_builds_the_rest_only_and_a_smaller_one_throws_nothing_away(kb: KnowledgeBase) -> None:
    kb.build("og_rag", share=0.1)
    facts = kb.stats("og_rag")["hyperedges"]
    kb.build("og_rag", share=0.05)
    assert (len(mapped(kb)), kb.stats("og_rag")["hyperedges"]) == (2, facts)
    kb.build("og_rag", share=0.25)
    assert len(mapped(kb)) == len(set(mapped(kb))) == 5
    report = kb.build("og_rag")
    assert sorted(mapped(kb)) == sorted([*OTHERS, *SPEAKING])
    assert (report.left_out, kb.status()["left_out"]) == ("", {})


def test_what_was_left_out_is_named_by_status_and_is_neither_pending_nor_a_fault(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "18 of 20 chunks were left out by triage (share 0.1)"
    kb.build("og_rag", share=0.1)
    assert kb.status() == {"unfinished": {}, "pending": {}, "left_out": {"og_rag": line}, "stale": []}
    assert shacl.validate(kb.store, shacl.graph_shapes()) == []
    monkeypatch.setattr(maintenance_commands, "open_kb", lambda *_, **__: nullcontext(kb))
    done = CliRunner().invoke(app, ["status"])
    assert (done.exit_code, done.stdout) == (0, f"og_rag: {line}\nnothing is pending\n")


@pytest.mark.parametrize("method", ["og_rag", "poly_rag"])
def test_a_dry_run_of_a_share_counts_what_the_build_of_it_asks(kb: KnowledgeBase, method: str) -> None:
    whole, planned = kb.build(method, dry_run=True), kb.build(method, dry_run=True, share=0.1)
    assert planned.counts["completions"] == 2 < whole.counts["completions"]
    assert planned.counts["chunks_left_out"] == 18
    revision = kb.store.revision
    report = kb.build(method, share=0.1)
    assert kb.store.revision > revision
    assert report.usage.completions == 2
    assert kb.status()["left_out"] == {method: report.left_out}


def test_poly_rag_asks_about_the_rest_only_when_the_share_grows(kb: KnowledgeBase) -> None:
    kb.build("poly_rag", share=0.1)
    assert kb.build("poly_rag", share=0.1).usage.completions == 0
    assert kb.build("poly_rag").usage.completions == 18
    assert kb.status()["left_out"] == {}


def test_a_chunk_between_chosen_ones_is_not_part_of_their_window(kb: KnowledgeBase) -> None:
    whole = f"{SPEAKING[0]}\n\n{OTHERS[0]}\n\n{SPEAKING[1]}"
    ingestion.ingest([Document(whole, "Mixed")], store=kb.store, chunk_tokens=14)
    kb.build("og_rag", share=4 / 23)
    assert not any("train" in text for text in mapped(kb))
    assert len(mapped(kb)) == 4


def test_a_share_that_is_none_or_has_nothing_to_go_by_is_refused_before_anything_is_asked(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    for share in (0, -1, 1.1, float("nan")):
        with pytest.raises(InvalidSettings, match="share"):
            kb.build("og_rag", share=share)
    with pytest.raises(InvalidSettings, match="mapped data"):
        kb.build("og_rag", share=0.5, mapped=tmp_path)
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=ScriptedModel({})) as other:
        ingestion.ingest([Document(text, text) for text in OTHERS], store=other.store)
        with pytest.raises(StateError, match="kgrag load ONTOLOGY"):
            other.build("poly_rag", share=0.5)


def test_what_is_built_counts_towards_the_share_also_where_it_speaks_of_nothing(kb: KnowledgeBase) -> None:
    triage = Triage(kb.store, kb.spaces, kb.embedder, None, 0.1)
    of = {chunk: text for document in kb.documents() for chunk, text in chunks_of(kb, document.iri)}
    trains = sorted(chunk for chunk, text in of.items() if "train" in text)
    assert triage.choose([*of], trains[:2]).chunks == {*trains[:2]}
    chosen = triage.choose([*of], trains[:1]).chunks
    assert trains[0] in chosen
    assert [of[chunk] for chunk in chosen if chunk not in trains] == SPEAKING[:1]


def test_a_plan_goes_by_the_share_that_was_built_and_says_so(kb: KnowledgeBase) -> None:
    kb.build("poly_rag", share=0.1)
    graphs = next(one for one in kb.plan(documents=200).amounts if (one.part, one.quantity) == ("poly_rag", "graphs"))
    assert graphs.note == "of the same share: 18 of 20 chunks were left out by triage (share 0.1) here"


def test_a_choice_of_all_leaves_a_report_as_it_is() -> None:
    report = BuildReport("og_rag")
    assert Choice(frozenset({"urn:a"}), 1, 0.9).noted(report) is report
