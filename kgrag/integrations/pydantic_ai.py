"""Tools for agents of pydantic-ai: a cited answer, and evidence, from a knowledge base."""

from __future__ import annotations

import asyncio
from typing import Any

from kgrag.answering.json_forms import answer_json
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import InputError
from kgrag.integrations.evidence_fields import hit_fields
from kgrag.knowledge_base import KnowledgeBase

try:
    from pydantic_ai import FunctionToolset, ModelRetry
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "pydantic-ai is not installed: pip install 'kgrag[pydantic-ai]'", name=error.name
    ) from error

__all__ = ["knowledge_tools"]


def knowledge_tools(
    kb: KnowledgeBase, *, method: str = DEFAULT_METHOD, k: int = 5, where: Any = None
) -> FunctionToolset[Any]:
    """Return the tools ``ask_knowledge_base`` and ``find_evidence`` for ``Agent(toolsets=[...])``.

    A question that cannot be asked comes back to the model with the reason, so that it can ask another one.

    Args:
        kb: the knowledge base; it stays open as long as the tools are used.
        method: a method by name, with hyper-parameters where wanted.
        k: how many hits at most.
        where: which documents may be found, as of ``KnowledgeBase.retrieve``; the model cannot change it.
    """
    tools: FunctionToolset[Any] = FunctionToolset()

    @tools.tool_plain
    async def ask_knowledge_base(question: str) -> dict[str, Any]:
        """Answer a question from the knowledge base: sentences with quotes of stored documents, or `unknown`.

        Args:
            question: one whole question in words.
        """
        try:
            answer = await asyncio.to_thread(kb.ask, question, method=method, k=k, where=where)
        except InputError as error:
            raise ModelRetry(str(error)) from error
        found = answer_json(answer)
        return {name: found[name] for name in ("text", "unknown", "citations")}

    @tools.tool_plain
    async def find_evidence(question: str) -> list[dict[str, Any]]:
        """Return the passages of the knowledge base that come nearest to a question, best first.

        Args:
            question: what is looked for, in words.
        """
        try:
            hits = await asyncio.to_thread(kb.retrieve, question, method=method, k=k, where=where)
        except InputError as error:
            raise ModelRetry(str(error)) from error
        return [{"text": hit.text, **hit_fields(hit, kb)} for hit in hits]

    return tools
