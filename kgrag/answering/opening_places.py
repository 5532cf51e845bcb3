"""Where a person can open what was retrieved and cited: filled in once per result, whatever method it is of.

Queries read: ``documents/opening_places``, ``documents/metadata_of``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Answer, AnswerSentence, Citation, Hit, Place, Span, plain
from kgrag.ports import TripleStore
from kgrag.text import metadata

__all__ = ["page_url", "placed_answer", "placed_hits", "placed_sentence"]


def page_url(place: Place) -> str:
    """Return the web address of a place, with the page behind where it is that of a PDF; "" where there is none."""
    in_pdf = place.page and place.url.lower().endswith(".pdf")
    return f"{place.url}#page={place.page}" if in_pdf else place.url


def placed_hits(hits: Sequence[Hit], store: TripleStore) -> list[Hit]:
    """Return the hits with the place of each span; a chunk that is not stored has none."""
    return _with_places(hits, _places((span.chunk for hit in hits for span in hit.sources), store))


def placed_answer(answer: Answer, store: TripleStore) -> Answer:
    """Return an answer with the place of each citation, each nearest sentence, and each span of its hits."""
    spans = (span.chunk for hit in answer.hits for span in hit.sources)
    places = _places((*spans, *(citation.chunk for citation in (*answer.citations, *answer.nearest))), store)
    citations, nearest = (
        tuple(replace(citation, place=_place_of(citation, places)) for citation in cited)
        for cited in (answer.citations, answer.nearest)
    )
    return replace(answer, citations=citations, nearest=nearest, hits=tuple(_with_places(answer.hits, places)))


def placed_sentence(sentence: AnswerSentence, store: TripleStore) -> AnswerSentence:
    """Return a sentence with the place of each citation."""
    places = _places((citation.chunk for citation in sentence.citations), store)
    return replace(sentence, citations=tuple(replace(one, place=_place_of(one, places)) for one in sentence.citations))


@dataclass(frozen=True, slots=True)
class _PassagePlace:
    """Where a passage can be opened, and the characters at which later pages begin in it, with their numbers."""

    place: Place
    page_breaks: tuple[tuple[int, int], ...]


def _with_places(hits: Sequence[Hit], places: Mapping[str, _PassagePlace]) -> list[Hit]:
    return [
        replace(hit, sources=tuple(replace(span, place=_place_of(span, places)) for span in hit.sources))
        for hit in hits
    ]


def _place_of(span: Span | Citation, places: Mapping[str, _PassagePlace]) -> Place | None:
    """Return where a span can be opened: at the page that it begins on, which may be a later one of its passage."""
    found = places.get(span.chunk)
    if found is None:
        return None
    page = max((each for each in found.page_breaks if each[0] <= span.start), default=(0, found.place.page))[1]
    return found.place if page == found.place.page else replace(found.place, page=page)


def _places(chunks: Iterable[str], store: TripleStore) -> dict[str, _PassagePlace]:
    wanted = [ox.NamedNode(chunk) for chunk in dict.fromkeys(chunks)]
    if not wanted:
        return {}
    query = queries.bind("documents/opening_places", catalogue=store.names.catalogue, chunks=wanted)
    rows: dict[str, list[tuple[str, ...]]] = {}
    for chunk, *row in store.select(query).values():
        rows.setdefault(chunk, []).append(tuple(row))
    fields = _metadata({rows_of_chunk[0][0] for rows_of_chunk in rows.values()}, store)
    return {chunk: _passage_place(found, fields) for chunk, found in rows.items()}


def _passage_place(rows: Sequence[tuple[str, ...]], fields: Mapping[str, Mapping[str, Any]]) -> _PassagePlace:
    document, title, identifier, url, page, heading, _, _ = rows[0]
    locations = tuple(dict.fromkeys(row[-2] for row in rows if row[-2]))
    breaks = (row[-1].partition(" ") for row in rows if row[-1])
    place = Place(title, identifier, locations, url, int(page or 0), heading, fields.get(document, {}))
    return _PassagePlace(place, tuple(sorted({(int(at), int(number)) for at, _, number in breaks})))


def _metadata(documents: Iterable[str], store: TripleStore) -> dict[str, dict[str, Any]]:
    query = queries.bind("documents/metadata_of", documents=[ox.NamedNode(iri) for iri in sorted(documents)])
    rows: dict[str, list[tuple[str, Any]]] = {}
    for document, predicate, value in store.select(query):
        rows.setdefault(plain(document), []).append((plain(predicate), value))
    return {document: metadata.fields_of(found) for document, found in rows.items()}
