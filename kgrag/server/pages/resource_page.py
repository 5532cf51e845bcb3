"""The page of every IRI: its statements, what leads to it, its text with a place marked; or all that as RDF."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any
from urllib.parse import quote, urlsplit

import pyoxigraph as ox
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from kgrag.model import plain
from kgrag.server.media_types import RDF as FORMATS
from kgrag.server.media_types import choose
from kgrag.server.pages.catalogue_page import place
from kgrag.server.pages.class_expressions_shown import class_expressions
from kgrag.server.pages.iri_links import Naming, Shown, naming_for, shown_value, vocabulary
from kgrag.server.pages.marked_text import Mark, Piece, pieces
from kgrag.server.pages.page_rendering import error_page, guarded, page
from kgrag.server.pages.shape_words import shape_words
from kgrag.server.pages.term_inferences import Inference, inferences
from kgrag.server.pages.term_uses import Uses, uses_of
from kgrag.server.pages.vocabulary_page import example_of, is_vocabulary, vocabulary_page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.server_state import state_of
from kgrag.server.stored_rows import bound, kept, rows
from kgrag.server.streaming import stream_result
from kgrag.vocab import KG, RDF, SH

__all__ = ["elsewhere", "resource"]

_HTML = "text/html"
_FORMATS = {"turtle": "text/turtle", "jsonld": "application/ld+json", "ntriples": "application/n-triples"}
_MAX_STATEMENTS_SHOWN, _LINKS_PER_PAGE, _MAX_STATEMENTS_AS_RDF = 300, 50, 10_000
_MAX_TEXT_CHARACTERS = 20_000
_FOLLOWING_NAMED_FIRST, _MAX_TEXTS_OPEN = 30, 3
_MAX_EXPRESSION_STATEMENTS, _MAX_SHAPE_STATEMENTS, _MAX_FAILURES_SHOWN = 1000, 1000, 5
_TEXT_PROPERTIES = (KG.text, KG.quote, KG.content)

Rows = Sequence[tuple[Any, ...]]
_Reason = tuple[Shown, Shown, bool]
"""A value that follows, the graph or term that it follows from or through, and whether that is a graph."""


@dataclass(frozen=True)
class _Value:
    """A value; of a blank node also its own statements, one level deep."""

    shown: Shown
    nested: tuple[tuple[Shown, tuple[Shown, ...]], ...] = ()


@dataclass(frozen=True)
class _Text:
    """A stretch of a resource's text: ``before`` and ``after`` characters are not shown."""

    pieces: tuple[Piece, ...] = ()
    before: int = 0
    after: int = 0
    earlier: int = 0
    later: int = 0


@dataclass(frozen=True)
class _Page:
    """One page of a longer list; ``following`` is the offset of the next, 0 at the end."""

    name: str
    offset: int = 0
    following: int = 0
    groups: Sequence[tuple[Shown, Sequence[Shown]]] = field(default_factory=list)


@guarded
async def resource(request: Request) -> Response:
    """Show ``?iri=``: as a page, or in the format of RDF that the client prefers or ``&format=`` names."""
    node = iri(request.query_params.get("iri", ""))
    wanted = request.query_params.get("format", "")
    if wanted and wanted not in _FORMATS:
        raise Problem(400, f"the format {wanted[:50]!r} is not known. Use one of {', '.join(_FORMATS)}.")
    media = _FORMATS.get(wanted) or choose(request.headers.get("accept", ""), (_HTML, *FORMATS))
    if not media:
        raise Problem(406, f"a resource is described as {_HTML} or as RDF: {', '.join(FORMATS)}.")
    if media == _HTML:
        return await _shown(request, node)
    task = bound("pages/description", rdf=media, thing=node, limit=_MAX_STATEMENTS_AS_RDF)
    return await stream_result(request, state_of(request).pool, task, {"Vary": "Accept"})


async def elsewhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer at an address that no route has: redirect from the address of one of our IRIs to its description (303).

    Raises:
        HTTPException: 404, to become JSON, where the client does not prefer a page.
    """
    request = Request(scope, receive)
    response = _redirection(request)
    if response is None:
        if choose(request.headers.get("accept", ""), ("application/json", _HTML)) != _HTML:
            raise HTTPException(404)
        response = error_page(request, HTTPException(404))
    await response(scope, receive, send)


def _redirection(request: Request) -> Response | None:
    base = state_of(request).dataset.names.base
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or request.method not in ("GET", "HEAD"):
        return None
    root = str(request.scope.get("root_path", "")).rstrip("/")
    path = request.scope["raw_path"].decode("ascii").removeprefix(root)
    name = path.removeprefix(parts.path.rstrip("/")).lstrip("/")
    return RedirectResponse(f"{root}/resource?iri={quote(base + name, safe='')}", 303, {"Vary": "Accept"})


async def _shown(request: Request, node: ox.NamedNode) -> Response:
    if is_vocabulary(node.value):
        return await vocabulary_page(request, node.value)
    (statements, nested, contained, described), listed = await _read(request, node)
    (inferred, inferred_rows), (_, incoming_rows), (_, used_rows) = listed
    label, comment = vocabulary().get(node.value, ("", ""))
    if not (statements or inferred_rows or incoming_rows or used_rows or label):
        raise Problem(404, f"nothing is known about <{node.value[:500]}>.")
    (content, content_rows), (following, more_follows), uses = await asyncio.gather(
        _content(request, node, statements),
        inferences(request, node, statements),
        uses_of(request, node, statements),
    )
    first = (inferred_rows, uses.graphs, following[:_FOLLOWING_NAMED_FIRST])  # the labels that are read are limited
    stale = await _stale(request) if inferred_rows or content else frozenset()
    shape = await _shape(request, node, statements)
    tables = (*first, statements, *shape, incoming_rows, used_rows, nested, content_rows, described, following)
    naming = await naming_for(request, [node, *(term for table in tables for row in table for term in row)])
    return page(
        request,
        "resource.html",
        thing=naming.link(node.value),
        named_by=_named_by(node, statements, naming),
        comment=comment,
        example=example_of(node.value),
        pairs=[(row[2].value, naming.link(row[1].value)) for row in contained],
        expressions=class_expressions(described, naming),
        **_stale_shown(node, stale, inferred_rows, naming),
        **_shape_shown(node, *shape, naming=naming),
        kinds=_kinds(statements, naming),
        text=_text(request, statements),
        properties=_properties(statements, nested, naming),
        cut=len(statements) == _MAX_STATEMENTS_SHOWN,
        graphs=[naming.link(graph) for graph in sorted({row[2].value for row in statements})],
        inferred=_inferred(inferred, inferred_rows, following, naming),
        more_follows=more_follows,
        uses=_uses(uses, naming),
        **_links_shown(listed[1:], (content, content_rows), naming),
        formats=[(name, f"{naming.href(node.value)}&format={name}") for name in _FORMATS],
    )


async def _read(
    request: Request, node: ox.NamedNode
) -> tuple[list[Rows], tuple[tuple[_Page, Rows], tuple[_Page, Rows], tuple[_Page, Rows]]]:
    """Return statements, those of blank nodes, pairs, class expressions; and what follows, leads here, is used."""
    catalogue = state_of(request).dataset.names.catalogue
    tables, listed = await asyncio.gather(
        asyncio.gather(
            rows(request, "pages/asserted", thing=node, catalogue=catalogue, limit=_MAX_STATEMENTS_SHOWN),
            rows(request, "pages/nested", thing=node, limit=_MAX_STATEMENTS_SHOWN),
            rows(request, "pages/pairs", edges=[node]),
            rows(request, "pages/expressions", thing=node, limit=_MAX_EXPRESSION_STATEMENTS),
        ),
        asyncio.gather(
            _part(request, "inferred", thing=node, catalogue=catalogue),
            _part(request, "incoming", thing=node, catalogue=catalogue),
            _part(request, "used", thing=node),
        ),
    )
    stated = [(row[0], shown_value(row[0], row[1]), *row[2:]) for row in tables[0].rows]
    return [stated, *(table.rows for table in tables[1:])], listed


async def _stale(request: Request) -> frozenset[Any]:
    """Return the graphs of inferences that are older than what they were derived from."""
    table = await kept(request, "inference/stale", catalogue=state_of(request).dataset.names.catalogue)
    return frozenset(row[0] for row in table.rows)


async def _shape(request: Request, node: ox.NamedNode, statements: Rows) -> tuple[Rows, Rows]:
    """Return what a shape states with its blank nodes, and some nodes that depart from it; else no rows."""
    if not any(row[0].value.startswith(SH.prefix) or row[1] in (SH.NodeShape, SH.PropertyShape) for row in statements):
        return [], []
    stated, failures = await asyncio.gather(
        rows(request, "pages/shape", thing=node, limit=_MAX_SHAPE_STATEMENTS),
        rows(request, "pages/shape_failures", thing=node, limit=_MAX_FAILURES_SHOWN),
    )
    return stated.rows, failures.rows


async def _content(request: Request, node: ox.NamedNode, statements: Rows) -> tuple[_Page | None, Rows]:
    """Return the page of what a graph holds, and its rows; of anything else, None and no rows."""
    catalogue = state_of(request).dataset.names.catalogue
    is_graph = any(row[2] == catalogue and row[0] == KG.publication for row in statements)
    return await _part(request, "content", graph=node) if is_graph else (None, [])


def _by_class(content: Rows) -> list[tuple[Any, ...]]:
    """Return (class, resource) by class; resources without a class come first, under None."""
    return sorted({(row[1], row[0]) for row in content}, key=lambda pair: (pair[0] is not None, *map(str, pair)))


def _named_by(node: ox.NamedNode, statements: Rows, naming: Naming) -> Shown | None:
    """Return the graph that the label of a thing comes from, where more than one speaks of it."""
    graph = naming.sources.get(node.value)
    return naming.link(graph) if graph and len({row[2] for row in statements}) > 1 else None


async def _part(request: Request, name: str, **node: Any) -> tuple[_Page, Rows]:
    """Return the page of a longer list that starts at the parameter of its name, and its rows."""
    offset = place(request, name, 0)
    end = offset + _LINKS_PER_PAGE
    listed: Rows = (await rows(request, f"pages/{name}", limit=_LINKS_PER_PAGE, offset=offset, **node)).rows
    more = await rows(request, f"pages/{name}", limit=1, offset=end, **node) if listed else ()
    return _Page(name, offset, end if len(more) else 0), listed


def _text(request: Request, statements: Rows) -> _Text | None:
    """Return the resource's text around ``start`` to ``end`` of the request, which count from its document's start."""
    text = next((row[1].value for name in _TEXT_PROPERTIES for row in statements if row[0] == name), None)
    if text is None:
        return None
    origin = next((int(row[1].value) for row in statements if row[0] == KG.start), 0)
    start, end = (place(request, name, 0) - origin for name in ("start", "end"))
    marked = [Mark("marked", start, end)] if 0 <= start < end <= len(text) else []
    first = min(place(request, "from", 0), max(len(text) - 1, 0))
    if marked and "from" not in request.query_params:
        first = max(0, start - _MAX_TEXT_CHARACTERS // 2)
    last = min(len(text), first + _MAX_TEXT_CHARACTERS)
    moved = [Mark(mark.name, mark.start - first, mark.end - first) for mark in marked]
    return _Text(
        tuple(pieces(text[first:last], moved)), first, len(text) - last, max(0, first - _MAX_TEXT_CHARACTERS), last
    )


def _properties(statements: Rows, nested: Rows, naming: Naming) -> list[tuple[Shown, list[_Value]]]:
    inner: dict[str, list[tuple[Any, ...]]] = {}
    for blank, *pair in nested:
        inner.setdefault(getattr(blank, "value", ""), []).append(tuple(pair))
    plain = [row for row in statements if row[0] not in (RDF.type, *_TEXT_PROPERTIES)]
    return [
        (naming.property(name), [_value(value, inner, naming) for value in dict.fromkeys(row[1] for row in group)])
        for name, group in groupby(plain, key=lambda row: row[0].value)
    ]


def _kinds(statements: Rows, naming: Naming) -> list[Shown]:
    kinds = dict.fromkeys(row[1] for row in statements if row[0] == RDF.type and isinstance(row[1], ox.NamedNode))
    return [naming.link(kind.value) for kind in kinds]


def _links_shown(
    listed: Sequence[tuple[_Page, Rows]], held: tuple[_Page | None, Rows], naming: Naming
) -> dict[str, Any]:
    """Return what leads to a thing, what it is used for as a property, and what it holds as a graph."""
    (incoming, incoming_rows), (used, used_rows) = listed
    content, content_rows = held
    return {
        "incoming": _grouped(incoming, ((row[0], row[1]) for row in incoming_rows), naming),
        "used": _grouped(used, used_rows, naming),
        "content": content and _grouped(content, _by_class(content_rows), naming),
    }


def _stale_shown(node: ox.NamedNode, stale: frozenset[Any], inferred: Rows, naming: Naming) -> dict[str, Any]:
    old = sorted(stale & {row[2] for row in inferred}, key=str)
    return {"is_stale": node in stale, "stale": [naming.link(graph.value) for graph in old]}


def _shape_shown(node: ox.NamedNode, stated: Rows, failures: Rows, *, naming: Naming) -> dict[str, Any]:
    words = shape_words(node, stated, naming, limit=_MAX_SHAPE_STATEMENTS) if stated else None
    return {
        "shape": words,
        "failures": [(naming.term(row[0]), plain(row[1]), naming.term(row[2])) for row in failures],
    }


def _inferred(part: _Page, inferred: Rows, following: Sequence[Inference], naming: Naming) -> _Page:
    """Return what follows, by property: values with the graph of inferences, or the term below, that they are from."""
    known = {(row[0], row[1]) for row in inferred}
    reasons = [(*row, True) for row in inferred]
    if not part.offset:
        reasons += [(*each, False) for each in following if (each.property, each.value) not in known]
    ordered = sorted(reasons, key=lambda reason: reason[0].value)
    groups: list[Any] = [
        (naming.property(name), *_folded([(naming.term(row[1]), naming.link(row[2].value), row[3]) for row in group]))
        for name, group in groupby(ordered, key=lambda reason: reason[0].value)
    ]
    return replace(part, groups=groups)


def _folded(values: list[_Reason]) -> tuple[list[_Reason], list[_Reason]]:
    """Return the values that are shown at once, and the texts that are folded where there are many."""
    texts = [value for value in values if not (value[0].iri or value[0].blank)]
    if len(texts) <= _MAX_TEXTS_OPEN:
        return values, []
    return [value for value in values if value[0].iri or value[0].blank], texts


def _uses(uses: Uses, naming: Naming) -> dict[str, Any]:
    shown = {
        name: [(naming.link(graph.value), count) for graph, count in getattr(uses, name)]
        for name in ("declaring", "others")
    }
    return {**shown, "is_cut": uses.is_cut}


def _value(value: Any, inner: dict[str, list[tuple[Any, ...]]], naming: Naming) -> _Value:
    if not isinstance(value, ox.BlankNode):
        return _Value(naming.term(value))
    pairs = inner.get(value.value, [])
    grouped = groupby(pairs, key=lambda pair: pair[0].value)
    return _Value(
        naming.term(value),
        tuple((naming.property(name), tuple(naming.term(pair[1]) for pair in group)) for name, group in grouped),
    )


def _grouped(part: _Page, pairs: Iterable[tuple[Any, ...]], naming: Naming) -> _Page:
    """Return the page with its pairs grouped by their first terms, each pair once."""
    groups = [
        (
            Shown("without a class") if head is None else naming.property(head.value),
            [naming.term(pair[1]) for pair in group],
        )
        for head, group in groupby(dict.fromkeys(tuple(pair) for pair in pairs), key=lambda pair: pair[0])
    ]
    return replace(part, groups=groups)
