"""The second lock of a filter: whatever a method or reranker returns, nothing of another document goes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgrag.errors import StateError
from kgrag.model import Allowed, Answer, Citation, Hit

__all__ = ["check_citations", "checked", "only_allowed"]


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
    if len(hits) < len(answer.hits):
        raise _outside(answer.method)
    check_citations(answer.citations, allowed, answer.method)
    return replace(answer, hits=tuple(hits))


def check_citations(citations: Sequence[Citation], allowed: Allowed, method: str) -> None:
    """Check that citations are of allowed documents alone.

    Raises:
        StateError: one is of another document.
    """
    if any(citation.document not in allowed.documents for citation in citations):
        raise _outside(method)


def _outside(method: str) -> StateError:
    return StateError(
        f"method '{method}' wrote its answer from a document that the filter does not allow, so it is not shown. This "
        "is a fault of the method: `kgrag.testing.check_method` names it. Ask another method."
    )
