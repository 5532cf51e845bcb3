"""The tools ``graphs``, ``schema``, ``document`` and ``cite``: what is there, and where it is written.

Queries read: ``pages/kinds``, ``pages/graphs``, ``pages/titles``, ``schema/usage``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyoxigraph as ox
from starlette.requests import Request

from kgrag.answering.json_forms import place_json
from kgrag.answering.opening_places import placed_hits
from kgrag.errors import InputError, ServiceUnavailable, UnknownName
from kgrag.index import vector_spaces
from kgrag.knowledge_base import KnowledgeBase, forgetting
from kgrag.model import Hit
from kgrag.querying.text_to_sparql import schema_slices
from kgrag.resources import closest
from kgrag.server.mcp.tool_arguments import CiteArguments, DocumentArguments, GraphsArguments, SchemaArguments
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.stored_rows import kept, rows
from kgrag.store.graph_kinds import kinds
from kgrag.text import documents
from kgrag.vocab import KG, local_name

__all__ = ["cite", "document", "graphs", "schema"]

_SECONDS_TO_COUNT = 5.0


async def graphs(request: Request, given: GraphsArguments) -> dict[str, Any]:
    """Return how many named graphs of each kind there are, and a stretch of those of one kind, latest first.

    Raises:
        UnknownName: there is no such kind.
    """
    catalogue = state_of(request).dataset.names.catalogue
    known = {local_name(iri): kind for iri, kind in kinds().items()}
    if given.kind and given.kind not in known:
        raise UnknownName(f"there is no kind of graph {given.kind!r}. {closest(given.kind, known)}")
    wanted = [known[given.kind].iri] if given.kind else [KG.OntologyGraph, KG.DataGraph]
    counted = await kept(request, "pages/kinds", catalogue=catalogue)
    listed: list[tuple[str, ...]] = []
    for kind in wanted:
        page = {"catalogue": catalogue, "kind": kind, "limit": given.limit, "offset": given.offset}
        table = await rows(request, "pages/graphs", seconds=_SECONDS_TO_COUNT, **page)
        listed += [(local_name(kind.value), *row) for row in table.values()]
    nodes = [ox.NamedNode(row[1]) for row in listed]
    titles = await rows(request, "pages/titles", graphs=nodes, catalogue=catalogue) if nodes else None
    titled = {row[0]: row[1] for row in titles.values()} if titles else {}
    return {
        "kinds": {local_name(kind): int(count) for kind, count, _ in counted.values()},
        "graphs": [
            {"iri": iri, "kind": kind, "title": titled.get(iri, ""), "method": method, "triples": int(size or 0)}
            for kind, iri, method, size, _ in listed
        ],
    }


async def schema(request: Request, given: SchemaArguments) -> dict[str, Any]:
    """Return classes and properties near a question, one per line, with prefixes and how often the data use them.

    Raises:
        Problem: 401, 403: a search costs money here.
        ServiceUnavailable: too much is asked at once.
    """
    state, workers = state_of(request), workers_of(request)
    if state.rules.paid_access.searches_cost:
        state.rules.paid_access.check(request, state.rules.keys)
    found = await workers.run(lambda: workers.alone(lambda: _slice(workers.kb, given.about or "things and properties")))
    if not found.text:
        return {"terms": "", "note": "no ontology is loaded; the tool `graphs` lists what there is."}
    nodes = [ox.NamedNode(term) for term in found.terms]
    try:
        used = (await rows(request, "schema/usage", terms=nodes, seconds=_SECONDS_TO_COUNT)).values()
    except ServiceUnavailable:  # too much data to count while somebody waits
        used = []
    return {
        "prefixes": found.declarations,
        "terms": found.text,
        "whole": found.whole,
        "uses": {term: int(count) for term, count in used},
    }


def _slice(kb: KnowledgeBase, about: str) -> schema_slices.Slice:
    space = schema_slices.SPACE
    index = vector_spaces.fresh(space, store=kb.store, spaces=kb.spaces, embedder=kb.embedder, progress=None)
    return schema_slices.schema_slice(about, kb.embedder.embed([about], "query")[0], store=kb.store, index=index)


async def document(request: Request, given: DocumentArguments) -> dict[str, Any]:
    """Return a stretch of a document's text.

    Raises:
        UnknownName: there is no such document.
        InputError: several documents have this name.
    """
    workers = workers_of(request)
    return await workers.run(lambda: workers.alone(lambda: _stretch(workers.kb, given)))


def _stretch(kb: KnowledgeBase, given: DocumentArguments) -> dict[str, Any]:
    (iri,) = forgetting.named(kb.store, given.name)
    text = documents.document_text(kb.store, iri)
    end = given.start + given.length
    return {
        "document": iri,
        "title": documents.titles(kb.store, [iri]).get(iri, ""),
        "start": given.start,
        "text": text[given.start : end],
        "length": len(text),
        "truncated": end < len(text),
    }


async def cite(request: Request, given: CiteArguments) -> dict[str, Any]:
    """Return the words of a span, those around it, and where a person can open it.

    Raises:
        UnknownName: there is no such chunk.
        InputError: the span is none of the document.
    """
    workers = workers_of(request)
    return await workers.run(lambda: workers.alone(lambda: _quoted(workers.kb, given)))


def _quoted(kb: KnowledgeBase, given: CiteArguments) -> dict[str, Any]:
    span = documents.spans(kb.store, [given.chunk]).get(given.chunk)
    if span is None:
        raise UnknownName(f"there is no chunk <{given.chunk}>. Hits and citations name the chunks that they are from.")
    text = documents.document_text(kb.store, span.document)
    start = span.start if given.start is None else given.start
    end = span.end if given.end is None else given.end
    if not start < end <= len(text):
        raise InputError(f"{start} to {end} is no span: the document has {len(text)} characters. Take the citation's.")
    (placed,) = placed_hits([Hit(given.chunk, "", "", 0.0, (replace(span, start=start),))], kb.store)
    place = placed.sources[0].place
    return {
        "quote": text[start:end],
        "before": text[max(0, start - given.context) : start],
        "after": text[end : end + given.context],
        "document": span.document,
        "chunk": given.chunk,
        "start": start,
        "end": end,
        "place": place_json(place) if place else {},
    }
