"""LangChain: a retriever, a tool that answers with citations, and a loader of stored documents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, Field, SkipValidation

from kgrag.answering.json_forms import answer_json
from kgrag.declarations import DEFAULT_METHOD
from kgrag.integrations.evidence_fields import document_fields, hit_fields
from kgrag.knowledge_base import KnowledgeBase
from kgrag.text import documents

try:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        AsyncCallbackManagerForToolRun,
        CallbackManagerForRetrieverRun,
        CallbackManagerForToolRun,
    )
    from langchain_core.document_loaders import BaseLoader
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("LangChain is not installed: pip install 'kgrag[langchain]'", name=error.name) from error

__all__ = ["KgragLoader", "KgragRetriever", "KgragTool"]


class KgragRetriever(BaseRetriever):
    """Retrieves from a knowledge base by any of its methods.

    Attributes:
        kb: the knowledge base.
        method: a method by name, with hyper-parameters where wanted: ``"og_rag:nodes=5"``.
        k: how many documents at most.
        where: which documents may be found, as of ``KnowledgeBase.retrieve``.
        rerank: a reranker, as of ``KnowledgeBase.retrieve``.
    """

    kb: SkipValidation[KnowledgeBase]
    method: str = DEFAULT_METHOD
    k: int = 5
    where: Any = None
    rerank: str | None = None

    def similarity_search_with_score(self, query: str, k: int | None = None) -> list[tuple[Document, float]]:
        """Return documents with scores, which compare within one result; larger is better."""
        hits = self.kb.retrieve(query, method=self.method, k=k or self.k, rerank=self.rerank, where=self.where)
        return [
            (Document(id=hit.iri, page_content=hit.text, metadata=hit_fields(hit, self.kb)), hit.score) for hit in hits
        ]

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the form of LangChain
        k: int | None = None,
    ) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        found = await asyncio.to_thread(self.similarity_search_with_score, query, k)
        return [document for document, _ in found]


class AskInput(BaseModel):
    """What the tool is called with."""

    question: str = Field(description="A question in words.")


class KgragTool(BaseTool):
    """Answers a question with citations; the artifact is the whole answer as ``kgrag ask --format json`` prints it."""

    name: str = "kgrag_ask"
    description: str = (
        "Answers a question from a knowledge base. Each sentence has markers [n]; the lines below the answer have the "
        "words that are cited and where they stand. Says so when the knowledge base has no answer."
    )
    args_schema: Any = AskInput
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    kb: SkipValidation[KnowledgeBase]
    method: str = DEFAULT_METHOD
    k: int = 5
    where: Any = None

    def _run(
        self,
        question: str,
        run_manager: CallbackManagerForToolRun | None = None,  # noqa: ARG002
    ) -> tuple[str, dict[str, Any]]:
        answer = self.kb.ask(question, method=self.method, k=self.k, where=self.where)
        lines = [
            f'[{number}] "{citation.quote}" ({citation.place or citation.document})'
            for number, citation in enumerate(answer.citations, 1)
        ]
        return "\n".join([answer.text, *lines]), answer_json(answer)

    async def _arun(
        self,
        question: str,
        run_manager: AsyncCallbackManagerForToolRun | None = None,  # noqa: ARG002
    ) -> tuple[str, dict[str, Any]]:
        return await asyncio.to_thread(self._run, question)


class KgragLoader(BaseLoader):
    """Loads the documents of a knowledge base, whole; ``where`` is as of ``KnowledgeBase.documents``."""

    def __init__(self, kb: KnowledgeBase, *, where: Any = None) -> None:
        self._kb = kb
        self._where = where

    def lazy_load(self) -> Iterator[Document]:
        """Yield one document after the other, by title."""
        for stored in self._kb.documents(self._where):
            text = documents.document_text(self._kb.store, stored.iri)
            yield Document(id=stored.iri, page_content=text, metadata=document_fields(stored, self._kb))
