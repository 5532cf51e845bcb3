"""Parts for LlamaIndex, met by llama-index-core."""

import asyncio

import pytest

from kgrag import KnowledgeBase

pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed: pip install '.[llama-index]'")

from kgrag.integrations.llama_index import KgragQueryEngine, KgragReader, KgragRetriever

QUESTION = "When was the mill of Ostrel built?"


def test_the_retriever_returns_nodes_that_name_their_source(mills: KnowledgeBase) -> None:
    retriever = KgragRetriever(mills, k=1)
    for found in (retriever.retrieve(QUESTION), asyncio.run(retriever.aretrieve(QUESTION))):
        (node,) = found
        assert (node.text, node.node.node_id) == ("The mill of Ostrel was built in 1820.", node.metadata["iri"])
        assert (node.metadata["id"], node.metadata["url"]) == ("mill", "https://ostrel.example/mill")
        assert node.score == node.metadata["score"]


def test_the_query_engine_answers_and_its_source_nodes_are_what_is_quoted(mills: KnowledgeBase) -> None:
    engine = KgragQueryEngine(mills)
    for response in (engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))):
        assert str(response) == "The mill of Ostrel was built in 1820. [1]"
        assert response.source_nodes[0].metadata["quote"] == response.source_nodes[0].text
        assert response.source_nodes[0].score is not None
        assert response.metadata["unknown"] is False


def test_a_question_without_an_answer_has_no_source_nodes(mills: KnowledgeBase) -> None:
    response = KgragQueryEngine(mills, where={"tenant": "nobody"}).query(QUESTION)
    assert (response.source_nodes, response.metadata["unknown"]) == ([], True)


def test_the_reader_reads_stored_documents(mills: KnowledgeBase) -> None:
    read = KgragReader(mills, where={"tenant": "b"}).load_data()
    assert [(each.text, each.metadata["id"]) for each in read] == [("The quarry of Ostrel opened in 1911.", "quarry")]
