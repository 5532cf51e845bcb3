"""Ranked chunks as hits, for every method that retrieves passages.

Queries read: those of ``kgrag.text.stored_passages``. Nothing is written.
"""

from __future__ import annotations

from kgrag.answering.fusion import Ranking
from kgrag.model import Hit
from kgrag.ports import TripleStore
from kgrag.text.stored_passages import StoredPassage, passages

__all__ = ["passage_hits"]


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
    stored = passages(store, [iri for iri, _ in ranking])
    return [
        Hit(iri, "passage", found.text, score, (found.span,), _attributes(found))
        for iri, score in ranking
        if (found := stored.get(iri)) is not None
    ]


def _attributes(passage: StoredPassage) -> dict[str, str | int]:
    place = passage.place
    every = {"title": place.title, "identifier": place.id, "heading": place.heading, "page": str(place.page or "")}
    return {name: value for name, value in every.items() if value}
