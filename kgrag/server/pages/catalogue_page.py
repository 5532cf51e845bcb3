"""The catalogue page: kinds of named graph with counts, and the graphs of one kind."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.server.pages.iri_links import Naming, Shown, naming_for, vocabulary
from kgrag.server.pages.page_rendering import guarded, page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.server_state import state_of
from kgrag.server.stored_rows import kept, rows
from kgrag.vocab import local_name, words_of

__all__ = ["catalogue", "place"]

_GRAPHS_PER_PAGE = 50


@dataclass(frozen=True)
class _Kind:
    iri: str
    label: str
    comment: str
    graphs: int
    triples: int
    href: str


@dataclass(frozen=True)
class _Graph:
    shown: Shown
    title: str
    method: str
    triples: str
    created: str
    turtle: str
    query: str


@guarded
async def catalogue(request: Request) -> Response:
    """Show the kinds, or with ``?kind=IRI`` a page of the graphs of that kind."""
    kinds = await _kinds(request)
    wanted = request.query_params.get("kind", "")
    if not wanted:
        return page(request, "catalogue.html", kinds=kinds, kind=None)
    chosen = next((kind for kind in kinds if kind.iri == iri(wanted).value), None)
    if chosen is None:
        raise Problem(404, f"the catalogue has no graph of the kind <{wanted[:200]}>. /catalogue lists the kinds.")
    number = place(request, "page", 1)
    graphs = await _graphs(request, ox.NamedNode(chosen.iri), (number - 1) * _GRAPHS_PER_PAGE)
    pages = -(-chosen.graphs // _GRAPHS_PER_PAGE)
    return page(request, "catalogue.html", kinds=kinds, kind=chosen, graphs=graphs, number=number, pages=pages)


def place(request: Request, name: str, default: int) -> int:
    """Return a parameter that is a whole number of at least ``default``, or ``default`` where it is absent.

    Raises:
        Problem: 400: it is another text or number.
    """
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or len(text) > 9 or int(text) < default:
        raise Problem(400, f"{name} is {text[:20]!r}; a number from {default} is expected.")
    return int(text)


async def _kinds(request: Request) -> list[_Kind]:
    naming = await naming_for(request)
    table = await kept(request, "pages/kinds", catalogue=state_of(request).dataset.names.catalogue)
    kinds = []
    for kind, graphs, triples in table.values():
        label, comment = vocabulary().get(kind, (words_of(local_name(kind)), ""))
        href = f"{naming.root}/catalogue?kind={quote(kind, safe='')}"
        kinds.append(_Kind(kind, label, comment, int(graphs), int(triples or 0), href))
    return kinds


async def _graphs(request: Request, kind: ox.NamedNode, offset: int) -> list[_Graph]:
    catalogue_ = state_of(request).dataset.names.catalogue
    table = await rows(request, "pages/graphs", catalogue=catalogue_, kind=kind, limit=_GRAPHS_PER_PAGE, offset=offset)
    graphs = [ox.NamedNode(row[0]) for row in table.values()]
    listed = await rows(request, "pages/titles", graphs=graphs, catalogue=catalogue_)
    titles = {row[0]: row[1] for row in listed.values()}
    naming = await naming_for(request, graphs)
    return [_graph(naming, titles, *row) for row in table.values()]


def _graph(naming: Naming, titles: dict[str, str], graph: str, *row: str) -> _Graph:
    method, triples, created = row
    name = quote(graph, safe="")
    shown = naming.link(graph)
    title = " ".join(titles.get(graph, shown.label).split())
    turtle, query = f"{naming.root}/graphs?graph={name}", f"{naming.root}/editor?graph={name}"
    return _Graph(shown, title, method, triples, created[:16].replace("T", " "), turtle, query)
