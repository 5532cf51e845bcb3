"""Parts for Haystack, met by haystack-ai in a pipeline."""

import asyncio
from pathlib import Path

import pytest

from kgrag import InputError, KnowledgeBase
from kgrag.model import Document as KgragDocument
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

pytest.importorskip("haystack", reason="Haystack is not installed: pip install '.[haystack]'")

from haystack import Document, Pipeline

from kgrag.integrations.haystack import KgragRetriever, KgragWriter

QUESTION = "When was the mill of Ostrel built?"


def test_the_retriever_returns_documents_that_name_their_source(mills: KnowledgeBase) -> None:
    pipeline = Pipeline()
    pipeline.add_component("retriever", KgragRetriever(mills, top_k=2))
    (first, _) = pipeline.run({"retriever": {"query": QUESTION}})["retriever"]["documents"]
    assert (first.content, first.id) == ("The mill of Ostrel was built in 1820.", first.meta["iri"])
    assert (first.meta["id"], first.meta["url"], first.score) == (
        "mill",
        "https://ostrel.example/mill",
        first.meta["score"],
    )
    (only,) = asyncio.run(KgragRetriever(mills).run_async(query="Ostrel", where={"tenant": "b"}))["documents"]
    assert only.meta["id"] == "quarry"


def test_the_writer_adds_documents_and_replaces_those_of_the_same_id() -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        pipeline = Pipeline()
        pipeline.add_component("writer", KgragWriter(kb))
        for year in (1820, 1821):
            meta = {"title": "Mill", "url": "https://ostrel.example/mill", "tenant": "a", "page": None}
            document = Document(id="mill", content=f"The mill of Ostrel was built in {year}.", meta=meta)
            assert pipeline.run({"writer": {"documents": [document]}})["writer"]["documents_written"] == 1
        (stored,) = kb.documents()
        assert (stored.id, stored.title, stored.url, stored.metadata) == (
            "mill",
            "Mill",
            "https://ostrel.example/mill",
            {"tenant": "a"},
        )
        assert asyncio.run(KgragWriter(kb).run_async([Document(content="Another mill.")]))["documents_written"] == 1
        assert "1821" in kb.retrieve(QUESTION)[0].text


def test_a_pipeline_with_a_folder_is_written_and_read(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "kb") as kb:
        kb.add_many([KgragDocument("The mill of Ostrel was built in 1820.", id="mill")], embed=False)
    pipeline = Pipeline()
    pipeline.add_component("retriever", KgragRetriever(str(tmp_path / "kb"), method="passages:signal=bm25"))
    read = Pipeline.loads(pipeline.dumps(), allowed_modules=[KgragRetriever.__module__])
    assert read.run({"retriever": {"query": QUESTION}})["retriever"]["documents"][0].meta["id"] == "mill"


def test_a_pipeline_with_an_open_knowledge_base_is_not_written(mills: KnowledgeBase) -> None:
    with pytest.raises(InputError, match="by its folder"):
        KgragRetriever(mills).to_dict()
