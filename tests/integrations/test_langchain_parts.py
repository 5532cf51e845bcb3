"""Parts for LangChain, met by langchain-core; ``langchain_standard`` has their own standard tests."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgrag import KnowledgeBase

pytest.importorskip("langchain_core", reason="LangChain is not installed: pip install '.[langchain]'")

from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from kgrag.integrations.langchain import KgragLoader, KgragRetriever, KgragTool

QUESTION = "When was the mill of Ostrel built?"


def test_the_retriever_returns_documents_that_name_their_source(mills: KnowledgeBase) -> None:
    (found,) = KgragRetriever(kb=mills, k=1).invoke(QUESTION)
    assert (found.page_content, found.id) == ("The mill of Ostrel was built in 1820.", found.metadata["iri"])
    span = mills.retrieve(QUESTION, k=1)[0].sources[0]
    fields = ("document", "chunk", "start", "end")
    assert {name: found.metadata[name] for name in fields} == {name: getattr(span, name) for name in fields}
    assert (found.metadata["id"], found.metadata["url"]) == ("mill", "https://ostrel.example/mill")
    assert mills.graph(found.metadata["graph"])


def test_the_retriever_takes_method_filter_and_count(mills: KnowledgeBase) -> None:
    retriever = KgragRetriever(kb=mills, method="passages:signal=bm25", where={"tenant": "b"})
    assert [each.metadata["id"] for each in retriever.invoke("Ostrel")] == ["quarry"]
    assert len(KgragRetriever(kb=mills).invoke("Ostrel", k=2)) == 2
    scored = KgragRetriever(kb=mills).similarity_search_with_score(QUESTION, k=2)
    assert [score for _, score in scored] == [document.metadata["score"] for document, _ in scored]


def test_the_retriever_is_awaited_and_stands_in_a_chain(mills: KnowledgeBase) -> None:
    chain = KgragRetriever(kb=mills, k=1) | RunnableLambda(lambda found: found[0].metadata["title"])
    assert asyncio.run(chain.ainvoke(QUESTION)) == "Mill"


def test_the_tool_answers_with_citations_and_has_the_whole_answer_as_its_artifact(mills: KnowledgeBase) -> None:
    tool = KgragTool(kb=mills)
    call = {"name": tool.name, "args": {"question": QUESTION}, "id": "1", "type": "tool_call"}
    for message in (tool.invoke(call), asyncio.run(tool.ainvoke(call))):
        assert message.content.splitlines()[-1] == '[1] "The mill of Ostrel was built in 1820." (Mill)'
        assert message.artifact["citations"][0]["place"]["url"] == "https://ostrel.example/mill"


def test_the_loader_yields_stored_documents(mills: KnowledgeBase) -> None:
    loaded = KgragLoader(mills, where={"tenant": "a"}).load()
    assert [each.page_content for each in loaded] == ["The bridge of Ostrel was finished in 1907."]
    assert (loaded[0].metadata["id"], loaded[0].metadata["tenant"]) == ("bridge", "a")
    assert isinstance(loaded[0], Document)


def test_langchains_own_standard_tests_pass() -> None:
    pytest.importorskip("langchain_tests", reason="langchain-tests is not installed")
    file = Path(__file__).with_name("langchain_standard.py")
    options = ["-q", "-c", "/dev/null", "--asyncio-mode=auto", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, str(file)]
    environment = {**os.environ, "LANGCHAIN_STANDARD_TESTS": "1"}
    done = subprocess.run(command, cwd=file.parents[2], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
