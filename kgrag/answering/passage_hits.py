"""Ranked chunks as hits, for every method that retrieves passages.

Query read: ``passages/evidence``. Nothing is written.
"""

from __future__ import annotations

import pyoxigraph as ox

from kgrag import queries
from kgrag.answering.fusion import Ranking
from kgrag.model import Hit, Span, plain
from kgrag.ports import TripleStore

__all__ = ["passage_hits"]

_ATTRIBUTES = ("title", "identifier", "heading", "page")


def passage_hits(store: TripleStore, ranking: Ranking) -> list[Hit]:
    """Return ranked chunks as hits of kind "passage", in the order of the ranking.

    Args:
        store: contains the documents.
        ranking: pairs of chunk IRI and score.

    Returns:
        One hit per chunk, which cites the chunk's own span and has those attributes (title and identifier of the
        document, heading, page) that are stored. A chunk that is no longer stored is left out: an index may be older
        than the store.
    """
    table = store.select(queries.bind("passages/evidence", chunks=[ox.NamedNode(iri) for iri, _ in ranking]))
    rows = (dict(zip(table.variables, map(plain, row), strict=True)) for row in table)
    stored = {row["chunk"]: row for row in rows}
    hits = []
    for iri, score in ranking:
        if row := stored.get(iri):
            span = Span(chunk=iri, document=row["document"], start=int(row["start"]), end=int(row["end"]))
            attributes = {name: row[name] for name in _ATTRIBUTES if row[name]}
            hits.append(Hit(iri, "passage", row["text"], score, (span,), attributes))
    return hits
