"""Parts for DSPy, met by a program of its own whose language model is scripted."""

import asyncio

import pytest

from kgrag import KnowledgeBase

pytest.importorskip("dspy", reason="DSPy is not installed: pip install '.[dspy]'")

import dspy
from dspy.utils import DummyLM

from kgrag.integrations.dspy import KgragRetriever, KgragRM

QUESTION = "When was the mill of Ostrel built?"
TEXT = "The mill of Ostrel was built in 1820."


def test_the_retriever_returns_passages_that_name_their_source(mills: KnowledgeBase) -> None:
    retriever = KgragRetriever(mills, k=1)
    for found in (retriever(QUESTION), asyncio.run(retriever.acall(QUESTION))):
        assert found.passages == [TEXT]
        assert (found.hits[0]["id"], found.hits[0]["url"]) == ("mill", "https://ostrel.example/mill")
    assert len(retriever(QUESTION, k=3).passages) == 3


def test_the_retriever_keeps_to_method_and_filter(mills: KnowledgeBase) -> None:
    (hit,) = KgragRetriever(mills, method="passages:signal=bm25", where={"tenant": "b"})("Ostrel").hits
    assert hit["id"] == "quarry"


def test_a_program_answers_from_what_was_retrieved(mills: KnowledgeBase) -> None:
    class Program(dspy.Module):
        def __init__(self) -> None:
            self.retrieve = KgragRetriever(mills, k=2)
            self.answer = dspy.Predict("context: list[str], question -> answer")

        def forward(self, question: str) -> dspy.Prediction:
            return self.answer(context=self.retrieve(question).passages, question=question)

    model = DummyLM([{"answer": "1820"}])
    with dspy.context(lm=model):
        assert Program()(question=QUESTION).answer == "1820"
    assert TEXT in str(model.history[0]["messages"])


def test_programs_find_the_knowledge_base_as_their_retrieval_model(mills: KnowledgeBase) -> None:
    with dspy.context(rm=KgragRM(mills)):
        assert dspy.Retrieve(k=1)(QUESTION).passages == [TEXT]
    (hit,) = KgragRM(mills)(QUESTION, k=1)
    assert (hit.long_text, hit.title) == (TEXT, "Mill")
