"""The picture of an IRI: what leads to it, and what it leads to, by property; filtered by graph, a property opened.

Ten thousand neighbours are one group with a count, and pages of one property. Of a hyperedge, its pairs of key and
value are on the right. Queries read: ``pages/around_counts``, ``pages/around_outgoing``, ``pages/around_incoming``,
``pages/pairs``, ``cg_rag/around``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.drawing.column_picture import ColumnBox, ColumnGroup, ColumnsView, columns_svg
from kgrag.model import Table
from kgrag.server.pages.catalogue_page import place
from kgrag.server.pages.iri_links import Naming, naming_for, shown_value
from kgrag.server.pages.page_rendering import guarded, page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.stored_rows import rows
from kgrag.vocab import KG

__all__ = ["around"]

_MAX_GROUPS_PER_SIDE = 8
_BOXES_PER_GROUP, _BOXES_OF_OPENED = 4, 40
_MAX_STATEMENTS_READ = 300
_CITATION_WORDS = {
    ("AdjacencyEdge", True): "followed by", ("AdjacencyEdge", False): "follows",
    ("CrossReferenceEdge", True): "refers to", ("CrossReferenceEdge", False): "referred to by",
    ("CitationEdge", True): "cites", ("CitationEdge", False): "cited by",
    ("HyperlinkEdge", True): "links to", ("HyperlinkEdge", False): "linked from",
}  # fmt: skip

_ENDS_OF_CITATIONS = (KG.fromChunk, KG.toChunk)
"""Citations are drawn by kind, with the chunk at the other end, in place of their edge."""
Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class _Side:
    """A property in one direction, and how many it links; ``others`` are those shown."""

    incoming: bool
    property: ox.NamedNode
    count: int
    others: Rows = ()


@guarded
async def around(request: Request) -> Response:
    """Draw ``?iri=``; ``?property=`` and ``?direction=`` open one group, ``?graph=`` takes one graph's statements."""
    node = iri(request.query_params.get("iri", ""))
    chosen = request.query_params.get("graph", "")
    graphs = [iri(chosen)] if chosen else []
    opened = request.query_params.get("property", "")
    offset = place(request, "offset", 0)
    table = await rows(request, "pages/around_counts", thing=node, graphs=graphs)
    sides = [s for s in _counted(table) if opened or not (s.incoming and s.property in _ENDS_OF_CITATIONS)]
    pairs, linked = await asyncio.gather(
        rows(request, "pages/pairs", edges=[node]), rows(request, "cg_rag/around", chunks=[node])
    )
    if not sides and not len(pairs):
        raise Problem(404, f"nothing is known about <{node.value[:500]}>.")
    size, offset = (_BOXES_OF_OPENED, offset) if opened else (_BOXES_PER_GROUP, 0)
    shown = _chosen(sides, opened, incoming=request.query_params.get("direction") == "in")
    shown = list(await asyncio.gather(*(_read(request, node, side, graphs, size, offset) for side in shown)))
    terms = [node, *(side.property for side in shown), *(row[0] for side in shown for row in side.others)]
    terms += [ox.NamedNode(name) for row in linked.values() for name in (row[2], row[3])]
    naming = await naming_for(request, terms)
    view = _view(node, shown, pairs.rows, naming, given={"iri": node.value, **({"graph": chosen} if chosen else {})})
    if not opened:
        view = _with_citations(view, node, linked.values(), naming)
    stated = await rows(request, "pages/statements", thing=node, limit=_MAX_STATEMENTS_READ, offset=0)
    total = next((side.count for side in shown), 0)
    return page(
        request,
        "around.html",
        thing=naming.link(node.value),
        picture=columns_svg(view),
        groups=(*view.left, *view.right),
        graphs=[naming.link(name) for name in sorted({row[2] for row in stated.values()})],
        graph=chosen,
        opened=naming.property(opened) if opened else None,
        direction=request.query_params.get("direction", ""),
        earlier=max(offset - size, 0) if offset else None,
        later=offset + size if opened and offset + size < total else None,
        left_out=max(len(sides) - len(shown), 0) if not opened else 0,
    )


def _counted(table: Table) -> list[_Side]:
    return [
        _Side(row[0].value == "in", row[1], int(row[2].value))
        for row in table.rows
        if isinstance(row[0], ox.Literal) and isinstance(row[1], ox.NamedNode) and isinstance(row[2], ox.Literal)
    ]


def _chosen(sides: Sequence[_Side], opened: str, *, incoming: bool) -> list[_Side]:
    """Return the group that is opened, else the first groups of each side."""
    if opened:
        return [side for side in sides if (side.property, side.incoming) == (iri(opened), incoming)]
    return [side for way in (True, False) for side in [s for s in sides if s.incoming is way][:_MAX_GROUPS_PER_SIDE]]


async def _read(
    request: Request, node: ox.NamedNode, side: _Side, graphs: Sequence[ox.NamedNode], size: int, offset: int
) -> _Side:
    name = "pages/around_incoming" if side.incoming else "pages/around_outgoing"
    found = await rows(request, name, thing=node, property=side.property, graphs=graphs, limit=size, offset=offset)
    others = [(shown_value(side.property, row[0]), *row[1:]) for row in found.rows]
    return _Side(side.incoming, side.property, side.count, others)


def _view(
    node: ox.NamedNode, sides: Sequence[_Side], pairs: Rows, naming: Naming, given: dict[str, str]
) -> ColumnsView:
    thing = naming.link(node.value)
    groups = {
        incoming: tuple(_group(side, naming, given) for side in sides if side.incoming is incoming)
        for incoming in (True, False)
    }
    right = groups[False]
    if pairs:
        chips = [(row[2].value, ColumnBox(row[3].value, _href(naming, row[1].value))) for row in pairs]
        right = (*(ColumnGroup(key, (box,)) for key, box in chips), *right)
    title = f"What is linked to {thing.name}"
    return ColumnsView(title, ColumnBox(thing.name, thing.href, thing.iri), groups[True], right)


def _group(side: _Side, naming: Naming, given: dict[str, str]) -> ColumnGroup:
    name = naming.property(side.property.value).name
    direction = "in" if side.incoming else "out"
    opened = {**given, "property": side.property.value, "direction": direction}
    return ColumnGroup(
        f"← {name}" if side.incoming else name,
        tuple(_box(row[0], naming) for row in side.others),
        side.count - len(side.others),
        f"{naming.root}/explore/around?{urlencode(opened)}",
    )


def _box(term: object, naming: Naming) -> ColumnBox:
    shown = naming.term(term)
    if shown.href:
        return ColumnBox(shown.name, _href(naming, shown.iri), shown.iri)
    return ColumnBox(shown.text, "", shown.text[:600])


def _href(naming: Naming, name: str) -> str:
    return f"{naming.root}/explore/around?{urlencode({'iri': name})}"


def _with_citations(
    view: ColumnsView, node: ox.NamedNode, linked: list[tuple[str, ...]], naming: Naming
) -> ColumnsView:
    """Add the chunks that citation edges link, by kind, the line as thick as the edge is heavy."""
    found: dict[tuple[str, bool], list[tuple[float, str]]] = {}
    for _, kind, origin, target, weight in linked:
        outgoing = origin == node.value
        words = found.setdefault((kind.removeprefix(KG.prefix), outgoing), [])
        words.append((float(weight), target if outgoing else origin))
    sides: dict[bool, list[ColumnGroup]] = {True: [], False: []}
    for key, others in found.items():
        shown = [name for _, name in others[:_BOXES_PER_GROUP]]
        boxes = tuple(ColumnBox(naming.link(name).name, _href(naming, name), name) for name in shown)
        heading = f"{_CITATION_WORDS.get(key, key[0])} ({others[0][0]:.2f})"
        more = len(others) - len(shown)
        more_href = f"{naming.root}/resource?{urlencode({'iri': node.value})}#incoming-list"
        sides[key[1]].append(ColumnGroup(heading, boxes, more, more_href, others[0][0]))
    return ColumnsView(view.title, view.centre, (*sides[False], *view.left), (*sides[True], *view.right))
