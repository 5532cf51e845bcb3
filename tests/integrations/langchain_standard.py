"""LangChain's standard tests of retrievers and tools; run in a process of their own, since they bring plug-ins of pytest."""

from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from kgrag import KnowledgeBase
from kgrag.integrations.langchain import KgragRetriever, KgragTool
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

KB = KnowledgeBase(settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder())
KB.add_many([Document(f"Mill {number} of Ostrel was built in 18{number}.", id=str(number)) for number in range(20, 30)])


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return KgragRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, object]:
        return {"kb": KB}

    @property
    def retriever_query_example(self) -> str:
        return "When was mill 21 of Ostrel built?"


class _Tool:
    @property
    def tool_constructor(self) -> type[BaseTool]:
        return KgragTool

    @property
    def tool_constructor_params(self) -> dict[str, object]:
        return {"kb": KB}

    @property
    def tool_invoke_params_example(self) -> dict[str, str]:
        return {"question": "When was mill 21 of Ostrel built?"}


class TestToolUnit(_Tool, ToolsUnitTests):
    pass


class TestToolIntegration(_Tool, ToolsIntegrationTests):
    pass
