"""Haystack: a retriever and a writer of documents, as components of a pipeline."""

from __future__ import annotations

import asyncio
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import InvalidSettings
from kgrag.integrations.evidence_fields import hit_fields
from kgrag.knowledge_base import KnowledgeBase
from kgrag.model import Document as KgragDocument

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("Haystack is not installed: pip install 'kgrag[haystack]'", name=error.name) from error

__all__ = ["KgragRetriever", "KgragWriter"]


@component
class KgragRetriever:
    """Retrieves from a knowledge base; arguments as of ``KnowledgeBase.retrieve``.

    A knowledge base that is named by its folder is opened for reading at the first question; only such a component can
    be written into a file of a pipeline.
    """

    def __init__(
        self,
        kb: KnowledgeBase | str,
        *,
        method: str = DEFAULT_METHOD,
        top_k: int = 5,
        where: Any = None,
        rerank: str | None = None,
    ) -> None:
        self._given = kb
        self._method, self._top_k, self._where, self._rerank = method, top_k, where, rerank

    @cached_property
    def _kb(self) -> KnowledgeBase:
        return KnowledgeBase(self._given, read_only=True) if isinstance(self._given, str) else self._given

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int | None = None, where: Any = None) -> dict[str, Any]:
        """Return documents, best first."""
        hits = self._kb.retrieve(
            query,
            method=self._method,
            k=top_k or self._top_k,
            rerank=self._rerank,
            where=self._where if where is None else where,
        )
        found = [
            Document(id=hit.iri, content=hit.text, meta=hit_fields(hit, self._kb), score=hit.score) for hit in hits
        ]
        return {"documents": found}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None, where: Any = None) -> dict[str, Any]:
        """Return documents, best first."""
        return await asyncio.to_thread(self.run, query, top_k, where)

    def to_dict(self) -> dict[str, Any]:
        """Return the component as a pipeline is written.

        Raises:
            InvalidSettings: the knowledge base was not named by its folder.
        """
        if not isinstance(self._given, str):
            raise InvalidSettings("a pipeline can be written whose knowledge base is named by its folder, as a text.")
        options = {"method": self._method, "top_k": self._top_k, "where": self._where, "rerank": self._rerank}
        written: dict[str, Any] = default_to_dict(self, kb=self._given, **options)
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the component of a pipeline that was read."""
        read: Self = default_from_dict(cls, data)
        return read


@component
class KgragWriter:
    """Adds documents to a knowledge base; one with the id of an earlier one of its feed replaces it.

    ``title`` and ``url`` of a document's ``meta`` are those of the document, the rest is its metadata.
    """

    def __init__(self, kb: KnowledgeBase, *, feed: str = "haystack") -> None:
        self._kb = kb
        self._feed = feed

    @component.output_types(documents_written=int)
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Return how many documents are in the knowledge base that were not before."""
        report = self._kb.add_many([_document(each) for each in documents if each.content], feed=self._feed)
        return {"documents_written": report.documents}

    @component.output_types(documents_written=int)
    async def run_async(self, documents: list[Document]) -> dict[str, Any]:
        """Return how many documents are in the knowledge base that were not before."""
        return await asyncio.to_thread(self.run, documents)


def _document(given: Document) -> KgragDocument:
    meta = {field: _value(value) for field, value in given.meta.items() if value is not None}
    title, url = str(meta.pop("title", "")), str(meta.pop("url", ""))
    return KgragDocument(given.content or "", title=title, id=given.id, url=url, metadata=meta)


def _value(value: object) -> object:
    return str(value) if isinstance(value, Path) else value
