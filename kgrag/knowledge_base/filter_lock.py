"""The second lock of a filter: whatever a method or reranker returns, nothing of another document goes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgrag.errors import StateError
from kgrag.model import Allowed, Answer, Hit

__all__ = ["checked", "only_allowed"]


def only_allowed(hits: Sequence[Hit], allowed: Allowed) -> list[Hit]:
    """Return the hits that name a source and only allowed ones."""
    return [
        hit
        for hit in hits
        if hit.sources
        and all(span.document in allowed.documents and span.chunk in allowed.chunks for span in hit.sources)
    ]


def checked(answer: Answer, allowed: Allowed) -> Answer:
    """Return an answer with those hits alone that are allowed.

    Raises:
        StateError: it cites another document, or was written from a hit of another one; it is not shown.
    """
    hits = only_allowed(answer.hits, allowed)
    outside = [citation for citation in answer.citations if citation.document not in allowed.documents]
    if outside or len(hits) < len(answer.hits):
        raise StateError(
            f"method '{answer.method}' wrote its answer from a document that the filter does not allow, so it is not "
            "shown. This is a fault of the method: `kgrag.testing.check_method` names it. Ask another method."
        )
    return replace(answer, hits=tuple(hits))
