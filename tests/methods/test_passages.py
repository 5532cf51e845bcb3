import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, toy_documents
from kgrag.text import ingestion


@pytest.fixture
def fields(kb: KnowledgeBase) -> KnowledgeBase:
    ingestion.ingest(toy_documents(), store=kb.store, chunk_tokens=30)
    return kb


@pytest.mark.parametrize("signal", ["fusion", "rrf", "dense", "bm25"])
def test_every_signal_finds_the_passage_that_answers(fields, signal):
    method = fields.method(f"passages:signal={signal}")
    hits = method.retrieve("How much nitrogen does maize need?", 3)
    assert "120 kg of nitrogen" in hits[0].text
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_hit_shows_its_document_and_cites_the_exact_span(fields):
    (hit,) = fields.method("passages").retrieve("girdle beetle", 1)
    (span,) = hit.sources
    assert hit.kind == "passage"
    assert hit.attributes["title"] == "Growing soybean"
    assert span.chunk == hit.iri
    document = next(document for document in toy_documents() if document.title == "Growing soybean")
    assert document.text[span.start : span.end] == hit.text


def test_a_passage_is_found_by_the_title_of_its_document(fields):
    ingestion.ingest([Document("It is cut before it flowers.", title="Lucerne hay")], store=fields.store)
    for signal in ("dense", "bm25"):
        (hit,) = fields.method(f"passages:signal={signal}").retrieve("lucerne", 1)
        assert hit.attributes["title"] == "Lucerne hay"


def test_a_document_ingested_later_is_found_without_building(fields):
    method = fields.method("passages")
    method.retrieve("maize", 1)
    ingestion.ingest([Document("Quinoa wants sand.")], store=fields.store)
    assert method.retrieve("quinoa", 1)[0].text == "Quinoa wants sand."


def test_an_empty_knowledge_base_is_refused_with_what_to_do(kb):
    for signal in ("fusion", "dense", "bm25"):
        with pytest.raises(NotBuilt, match="kgrag ingest PATH"):
            kb.method(f"passages:signal={signal}").retrieve("anything", 1)


def test_building_counts_chunks_and_vectors(fields):
    counts = fields.build("passages").counts
    assert counts["chunks"] == counts["vectors"] == len(fields.method("passages").retrieve("maize", 100))


def test_a_word_that_no_passage_has_still_finds_the_nearest(fields):
    assert fields.method("passages:signal=bm25").retrieve("zebra", 5) == []
    assert len(fields.method("passages").retrieve("zebra", 5)) == 5


@pytest.mark.parametrize("spec", ["signal=sparse", "weight=1.5", "weight=-0.1", "depth=0"])
def test_a_value_outside_its_range_is_refused(kb, spec):
    with pytest.raises(InvalidSettings, match="passages"):
        kb.method(f"passages:{spec}")


def test_fewer_than_one_passage_is_refused(fields):
    with pytest.raises(InvalidSettings, match="at least 1"):
        fields.method("passages").retrieve("maize", 0)


def test_a_weight_of_one_ranks_as_dense_alone_does(fields):
    question = "Which soil does soybean want?"
    dense = [hit.iri for hit in fields.method("passages:signal=dense").retrieve(question, 3)]
    assert [hit.iri for hit in fields.method("passages:weight=1.0").retrieve(question, 3)] == dense


def test_read_only_use_leaves_the_folder_as_it_is(tmp_path):
    folder = tmp_path / "fields.kb"
    with KnowledgeBase(folder, settings=Settings(), embedder=HashEmbedder()) as kb:
        ingestion.ingest(toy_documents(), store=kb.store)
    with KnowledgeBase(folder, settings=Settings(), embedder=HashEmbedder(), read_only=True) as kb:
        assert kb.method("passages").retrieve("maize", 1)
    assert not (folder / "lexical").exists()
    assert not list((folder / "vectors").glob("*/*"))
