"""Where a person can open what was retrieved and cited: filled in once per result, whatever method it is of.

Queries read: ``documents/opening_places``, ``documents/metadata_of``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Answer, AnswerSentence, Hit, Place, plain
from kgrag.ports import TripleStore
from kgrag.text import metadata

__all__ = ["placed_answer", "placed_hits", "placed_sentence"]


def placed_hits(hits: Sequence[Hit], store: TripleStore) -> list[Hit]:
    """Return the hits with the place of each span; a chunk that is not stored has none."""
    return _with_places(hits, _places((span.chunk for hit in hits for span in hit.sources), store))


def placed_answer(answer: Answer, store: TripleStore) -> Answer:
    """Return an answer with the place of each citation, each nearest sentence, and each span of its hits."""
    spans = (span.chunk for hit in answer.hits for span in hit.sources)
    places = _places((*spans, *(citation.chunk for citation in (*answer.citations, *answer.nearest))), store)
    citations, nearest = (
        tuple(replace(citation, place=places.get(citation.chunk)) for citation in cited)
        for cited in (answer.citations, answer.nearest)
    )
    return replace(answer, citations=citations, nearest=nearest, hits=tuple(_with_places(answer.hits, places)))


def placed_sentence(sentence: AnswerSentence, store: TripleStore) -> AnswerSentence:
    """Return a sentence with the place of each citation."""
    places = _places((citation.chunk for citation in sentence.citations), store)
    return replace(sentence, citations=tuple(replace(one, place=places.get(one.chunk)) for one in sentence.citations))


def _with_places(hits: Sequence[Hit], places: Mapping[str, Place]) -> list[Hit]:
    return [
        replace(hit, sources=tuple(replace(span, place=places.get(span.chunk)) for span in hit.sources)) for hit in hits
    ]


def _places(chunks: Iterable[str], store: TripleStore) -> dict[str, Place]:
    wanted = [ox.NamedNode(chunk) for chunk in dict.fromkeys(chunks)]
    if not wanted:
        return {}
    query = queries.bind("documents/opening_places", catalogue=store.names.catalogue, chunks=wanted)
    rows: dict[str, list[tuple[str, ...]]] = {}
    for chunk, *row in store.select(query).values():
        rows.setdefault(chunk, []).append(tuple(row))
    fields = _metadata({rows_of_chunk[0][0] for rows_of_chunk in rows.values()}, store)
    return {chunk: _place(found, fields) for chunk, found in rows.items()}


def _place(rows: Sequence[tuple[str, ...]], fields: Mapping[str, Mapping[str, Any]]) -> Place:
    document, title, identifier, url, page, heading, _ = rows[0]
    locations = tuple(dict.fromkeys(row[-1] for row in rows if row[-1]))
    return Place(title, identifier, locations, url, int(page or 0), heading, fields.get(document, {}))


def _metadata(documents: Iterable[str], store: TripleStore) -> dict[str, dict[str, Any]]:
    query = queries.bind("documents/metadata_of", documents=[ox.NamedNode(iri) for iri in sorted(documents)])
    rows: dict[str, list[tuple[str, Any]]] = {}
    for document, predicate, value in store.select(query):
        rows.setdefault(plain(document), []).append((plain(predicate), value))
    return {document: metadata.fields_of(found) for document, found in rows.items()}
