"""Where a person can open what was retrieved and cited: filled in once per result, whatever method it is of.

Queries read: those of ``kgrag.text.stored_passages``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgrag.model import Answer, AnswerSentence, Citation, Hit, Place, Span
from kgrag.ports import TripleStore
from kgrag.text.stored_passages import StoredPassage, passages

__all__ = ["page_url", "placed_answer", "placed_hits", "placed_sentence"]


def page_url(place: Place) -> str:
    """Return the web address of a place, with the page behind where it is that of a PDF; "" where there is none."""
    in_pdf = place.page and place.url.lower().endswith(".pdf")
    return f"{place.url}#page={place.page}" if in_pdf else place.url


def placed_hits(hits: Sequence[Hit], store: TripleStore) -> list[Hit]:
    """Return the hits with the place of each span; a chunk that is not stored has none."""
    return _with_places(hits, passages(store, (span.chunk for hit in hits for span in hit.sources)))


def placed_answer(answer: Answer, store: TripleStore) -> Answer:
    """Return an answer with the place of each citation, each nearest sentence, and each span of its hits."""
    spans = (span.chunk for hit in answer.hits for span in hit.sources)
    places = passages(store, (*spans, *(citation.chunk for citation in (*answer.citations, *answer.nearest))))
    citations, nearest = (
        tuple(replace(citation, place=_place_of(citation, places)) for citation in cited)
        for cited in (answer.citations, answer.nearest)
    )
    return replace(answer, citations=citations, nearest=nearest, hits=tuple(_with_places(answer.hits, places)))


def placed_sentence(sentence: AnswerSentence, store: TripleStore) -> AnswerSentence:
    """Return a sentence with the place of each citation."""
    places = passages(store, (citation.chunk for citation in sentence.citations))
    return replace(sentence, citations=tuple(replace(one, place=_place_of(one, places)) for one in sentence.citations))


def _with_places(hits: Sequence[Hit], places: Mapping[str, StoredPassage]) -> list[Hit]:
    return [
        replace(hit, sources=tuple(replace(span, place=_place_of(span, places)) for span in hit.sources))
        for hit in hits
    ]


def _place_of(span: Span | Citation, places: Mapping[str, StoredPassage]) -> Place | None:
    """Return where a span can be opened: page and section that it begins in may be later ones of its passage."""
    found = places.get(span.chunk)
    if found is None:
        return None
    page = max((each for each in found.page_breaks if each[0] <= span.start), default=(0, found.place.page))[1]
    is_whole = (span.start, span.end) == (found.span.start, found.span.end)
    begun = [] if is_whole else [each for each in found.heading_breaks if each[0] <= span.start]
    heading = max(begun, default=(0, found.place.heading))[1]
    if (page, heading) == (found.place.page, found.place.heading):
        return found.place
    return replace(found.place, page=page, heading=heading)
