"""Searches in a query over HTTP: run by the knowledge base beside the event loop, before a reader is asked."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request as HttpRequest

import kgrag
from kgrag.querying.searches import Resolved, names_search
from kgrag.server.site import site_of
from kgrag.server.worker_threads import Desk

__all__ = ["Searched", "searched"]


@dataclass(frozen=True, slots=True)
class Searched:
    """A query without searches, and what a reader needs to compute ``kgv:similarity`` (None: it is not called)."""

    text: str
    similar: dict[str, Any] | None = None


async def searched(request: HttpRequest, text: str) -> Searched:
    """Run the searches of a query; one without, or to a plain dataset, comes back as it is.

    Raises:
        Problem: 401, 403: a search costs money here.
        InvalidSPARQL: a search of another form, or of an unknown space; with line and column.
        ServiceUnavailable: too many questions are being worked on.
    """
    desk: Desk | None = request.app.state.desk
    if desk is None or not names_search(text):
        return Searched(text)
    site = site_of(request)
    if site.spending.embeds:
        site.spending.admit(request, site.keys)
    found = await desk.do(lambda: desk.alone(lambda: desk.kb.search.resolve(text)))
    return Searched(found.text, await desk.do(lambda: _similar(desk, found)) if found.compares else None)


def _similar(desk: Desk, found: Resolved) -> dict[str, Any]:
    """Say where the vectors are, and give those of the texts; loads the embedder, for its name and dimension."""
    kb = desk.kb
    texts = {text: base64.b64encode(vector.tobytes()).decode() for text, vector in found.similar.items()}
    return {
        "root": str(Path(kgrag.__file__).parents[1]),
        "folder": str(kb.vectors),
        "identity": kb.embedder.identity,
        "dimension": kb.embedder.dimension,
        "revision": kb.store.revision,
        "texts": texts,
    }
