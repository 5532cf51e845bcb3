"""LlamaIndex: a retriever, a query engine that answers with citations, and a reader of stored documents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from kgrag.answering.json_forms import answer_json
from kgrag.declarations import DEFAULT_METHOD
from kgrag.integrations.evidence_fields import citation_fields, document_fields, hit_fields
from kgrag.knowledge_base import KnowledgeBase
from kgrag.text import documents

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.response.schema import Response
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "LlamaIndex is not installed: pip install 'kgrag[llama-index]'", name=error.name
    ) from error

__all__ = ["KgragQueryEngine", "KgragReader", "KgragRetriever"]


class KgragRetriever(BaseRetriever):
    """Retrieves from a knowledge base; arguments as of ``KnowledgeBase.retrieve``."""

    def __init__(
        self,
        kb: KnowledgeBase,
        *,
        method: str = DEFAULT_METHOD,
        k: int = 5,
        where: Any = None,
        rerank: str | None = None,
    ) -> None:
        self._kb = kb
        self._options: dict[str, Any] = {"method": method, "k": k, "where": where, "rerank": rerank}
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._kb.retrieve(query_bundle.query_str, **self._options)
        return [
            NodeWithScore(
                node=TextNode(id_=hit.iri, text=hit.text, metadata=hit_fields(hit, self._kb)), score=hit.score
            )
            for hit in hits
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class KgragQueryEngine(BaseQueryEngine):
    """Answers with citations: the source nodes are what is quoted, in the order of the markers in the text.

    The metadata of a response is the whole answer as ``kgrag ask --format json`` prints it.
    """

    def __init__(self, kb: KnowledgeBase, *, method: str = DEFAULT_METHOD, k: int = 5, where: Any = None) -> None:
        self._kb = kb
        self._options: dict[str, Any] = {"method": method, "k": k, "where": where}
        super().__init__(callback_manager=CallbackManager([]))

    def _query(self, query_bundle: QueryBundle) -> Response:
        answer = self._kb.ask(query_bundle.query_str, **self._options)
        scores = {span.chunk: hit.score for hit in reversed(answer.hits) for span in hit.sources}
        nodes = [
            NodeWithScore(
                node=TextNode(text=citation.quote, metadata=citation_fields(citation, self._kb)),
                score=scores.get(citation.chunk),
            )
            for citation in answer.citations
        ]
        return Response(answer.text, source_nodes=nodes, metadata=answer_json(answer))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}


class KgragReader(BaseReader):
    """Reads the documents of a knowledge base, whole; ``where`` is as of ``KnowledgeBase.documents``."""

    def __init__(self, kb: KnowledgeBase, *, where: Any = None) -> None:
        self._kb = kb
        self._where = where

    def lazy_load_data(self, *args: Any, **load_kwargs: Any) -> Iterable[Document]:  # noqa: ARG002
        """Yield one document after the other, by title."""
        for stored in self._kb.documents(self._where):
            text = documents.document_text(self._kb.store, stored.iri)
            yield Document(id_=stored.iri, text=text, metadata=document_fields(stored, self._kb))
