"""A reranker that asks the language model: all candidates in one request, answered by their numbers.

Prompt read: ``reranking/order``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from kgrag import prompting
from kgrag.errors import ReplyUnusable, UnsupportedTask
from kgrag.llm import structured_output
from kgrag.model import Hit, Prompt, Reranking, Usage
from kgrag.ports import LanguageModel
from kgrag.vocab import digest

__all__ = ["ModelReranker"]

_PROMPT = "reranking/order"
_MAX_CHARACTERS_SHOWN = 1200
"""Of a candidate: what it is about is said early, and twenty are to have room in one prompt."""


@dataclass(frozen=True, slots=True)
class ModelReranker:
    """Puts hits into the order that a language model names; those that it leaves out follow in their old order.

    A reply that is cut, or names a candidate that there is not or one twice, is no order: then the hits stay as they
    were, and the problem is reported.
    """

    model: LanguageModel

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, best first, scored 1, 1/2, 1/3 …; with their own scores where no order was given.

        Raises:
            ServiceError: the model could not be reached or refused.
        """
        return list(self.reranking(question, hits).hits)

    def reranking(self, question: str, hits: Sequence[Hit]) -> Reranking:
        """Return the hits in their new order with what it cost, or as they were with the reason. Raises as above."""
        if len(hits) < 2:
            return Reranking(tuple(hits))
        try:
            completion = self.model.complete([_prompt(question, hits)])[0]
        except UnsupportedTask as error:
            return _as_they_were(hits, str(error))
        try:
            numbers = _numbers(structured_output.json_of(completion), len(hits))
        except ReplyUnusable as error:
            return _as_they_were(hits, str(error), completion.usage)
        places = [*numbers, *(place for place in range(len(hits)) if place not in numbers)]
        ranked = enumerate((hits[place] for place in places), start=1)
        return Reranking(tuple(replace(hit, score=1 / rank) for rank, hit in ranked), completion.usage)


def _as_they_were(hits: Sequence[Hit], problem: str, usage: Usage | None = None) -> Reranking:
    return Reranking(tuple(hits), usage or Usage(), f"the hits were not reranked: {problem}")


def _prompt(question: str, hits: Sequence[Hit]) -> Prompt:
    passages = [
        {
            "number": number,
            "heading": " / ".join(filter(None, (str(hit.attributes.get(name) or "") for name in ("title", "heading")))),
            "text": hit.text[:_MAX_CHARACTERS_SHOWN],
        }
        for number, hit in enumerate(hits, start=1)
    ]
    boundary = f"=== {digest(question, *map(str, passages))[:12]} ==="
    return prompting.render(_PROMPT, question=question, passages=passages, boundary=boundary)


def _numbers(data: Any, count: int) -> list[int]:
    """Return the places that a reply names, from 0.

    Raises:
        ReplyUnusable: a number is of no candidate, or is there twice.
    """
    numbers = [number - 1 for number in data["order"]]
    wrong = sorted({number + 1 for number in numbers if not 0 <= number < count})
    if wrong or len(set(numbers)) < len(numbers):
        what = f"there is no candidate {wrong[0]}" if wrong else "a candidate is named twice"
        raise ReplyUnusable(f"the reply is no order of {count} candidates: {what}")
    return numbers
