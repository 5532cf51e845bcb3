"""Tools for pydantic-ai, met by an agent whose model is scripted."""

import asyncio

import pytest

from kgrag import KnowledgeBase

pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed: pip install '.[pydantic-ai]'")

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kgrag.integrations.pydantic_ai import knowledge_tools

QUESTION = "When was the mill of Ostrel built?"


def _agent(kb: KnowledgeBase, *calls: ToolCallPart, **options: object) -> tuple[Agent, list[object]]:
    """An agent that calls tools one after the other, and what came back."""
    left, returned = list(calls), []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert {tool.name for tool in info.function_tools} == {"ask_knowledge_base", "find_evidence"}
        returned.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        return ModelResponse(parts=[left.pop(0) if left else TextPart("done")])

    return Agent(FunctionModel(reply), toolsets=[knowledge_tools(kb, **options)]), returned  # type: ignore[arg-type]


def test_an_agent_gets_a_cited_answer(mills: KnowledgeBase) -> None:
    agent, returned = _agent(mills, ToolCallPart("ask_knowledge_base", {"question": QUESTION}))
    assert asyncio.run(agent.run("Ask.")).output == "done"
    answer = returned[0].content  # type: ignore[attr-defined]
    assert answer["citations"][0]["quote"] == "The mill of Ostrel was built in 1820."
    assert answer["unknown"] is False


def test_an_agent_finds_evidence_within_a_filter_that_it_cannot_change(mills: KnowledgeBase) -> None:
    call = ToolCallPart("find_evidence", {"question": QUESTION})
    agent, returned = _agent(mills, call, method="passages", where={"tenant": "a"})
    asyncio.run(agent.run("Find."))
    assert [(hit["id"], hit["title"]) for hit in returned[0].content] == [("bridge", "Bridge")]  # type: ignore[attr-defined]


def test_a_question_that_cannot_be_asked_comes_back_with_the_reason(mills: KnowledgeBase) -> None:
    calls = [ToolCallPart("ask_knowledge_base", {"question": text}) for text in (" ", QUESTION)]
    agent, returned = _agent(mills, *calls)
    asyncio.run(agent.run("Ask."))
    assert (returned[0].outcome, returned[0].retry.attempt) == ("retried", 1)  # type: ignore[attr-defined]
    assert "the question is empty" in str(returned[0].content)  # type: ignore[attr-defined]
    assert "1820" in str(returned[1].content)  # type: ignore[attr-defined]
