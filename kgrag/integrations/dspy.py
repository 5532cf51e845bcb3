"""DSPy: a retriever for programs, and one that programs find by ``dspy.configure(rm=…)``."""

from __future__ import annotations

import asyncio
from typing import Any

from kgrag.declarations import DEFAULT_METHOD
from kgrag.integrations.evidence_fields import hit_fields
from kgrag.knowledge_base import KnowledgeBase
from kgrag.model import Hit

try:
    import dspy
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("DSPy is not installed: pip install 'kgrag[dspy]'", name=error.name) from error

__all__ = ["KgragRM", "KgragRetriever"]


class KgragRM:
    """Retrieves for ``dspy.configure(rm=…)``, where ``dspy.Retrieve`` asks; arguments as of ``KnowledgeBase.retrieve``.

    A call returns a ``dspy.Prediction`` per hit, best first: ``long_text``, and what the hit says of itself.
    """

    def __init__(
        self, kb: KnowledgeBase, *, method: str = DEFAULT_METHOD, k: int = 5, where: Any = None, rerank: str = ""
    ) -> None:
        self._kb, self._k = kb, k
        self._options: dict[str, Any] = {"method": method, "where": where, "rerank": rerank}

    def __call__(self, query: str, k: int | None = None, **_: Any) -> list[dspy.Prediction]:
        """Return the hits of a question."""
        return [dspy.Prediction(long_text=hit.text, **self.fields(hit)) for hit in self.hits(query, k)]

    def hits(self, query: str, k: int | None = None) -> list[Hit]:
        """Return the hits of a question as ``KnowledgeBase.retrieve`` does."""
        return self._kb.retrieve(query, k=k or self._k, **self._options)

    def fields(self, hit: Hit) -> dict[str, Any]:
        """Return what a hit says of itself."""
        return hit_fields(hit, self._kb)


class KgragRetriever(dspy.Retrieve):
    """Retrieves within a program; a call returns ``passages`` (texts) and ``hits`` (what each says of itself).

    Arguments as of ``KnowledgeBase.retrieve``.
    """

    def __init__(
        self, kb: KnowledgeBase, *, method: str = DEFAULT_METHOD, k: int = 5, where: Any = None, rerank: str = ""
    ) -> None:
        super().__init__(k=k)
        self._rm = KgragRM(kb, method=method, k=k, where=where, rerank=rerank)

    def forward(self, query: str, k: int | None = None, **_: Any) -> dspy.Prediction:
        """Return the passages of a question."""
        hits = self._rm.hits(query, k or self.k)
        return dspy.Prediction(passages=[hit.text for hit in hits], hits=[self._rm.fields(hit) for hit in hits])

    async def acall(self, query: str, k: int | None = None) -> dspy.Prediction:
        """Return the passages of a question."""
        return await asyncio.to_thread(self, query, k)
