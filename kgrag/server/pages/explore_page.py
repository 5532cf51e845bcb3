"""Pictures to look around in: the tree of classes with counts, the layers of a pyramid, a summary tree to walk down.

Drawn by the server, so that they need no script. Queries read: ``pages/class_tree``, ``pages/class_counts``,
``pages/pyramid``, ``pages/shapes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.capabilities import Traverses, capable, having
from kgrag.drawing.class_tree import ClassNode, class_tree
from kgrag.drawing.pyramid_picture import PyramidLayer, pyramid_svg
from kgrag.drawing.tree_picture import TreeNodeView
from kgrag.server.pages.catalogue_page import place
from kgrag.server.pages.iri_links import Naming, Shown, naming_for
from kgrag.server.pages.page_rendering import check_visited, guarded, page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.readers.reader_request import TookTooLong
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.stored_rows import kept
from kgrag.vocab import KG

__all__ = ["explore", "pyramid", "shapes", "summary_tree"]

_MAX_CLASSES_SHOWN = 150
_MAX_CLASSES_READ = 20_000
_SECONDS_TO_COUNT = 8.0
_MAX_QUESTION_CHARACTERS = 4000
_CHILDREN_SHOWN, _SHAPES_PER_PAGE = 5, 100
_LAYERS = ("ontology", "condensed", "graph")
"""Of a pyramid, the most exact first; text is below them all."""


@dataclass(frozen=True)
class _ClassRow:
    """A class as the tree shows it; ``share`` is how many of the most things it has, in percent."""

    shown: Shown
    own: int
    total: int
    share: int
    children: tuple[_ClassRow, ...]
    hidden: int
    below: str


@dataclass(frozen=True)
class _Summary:
    """A node of a summary tree; ``below`` is the address of the tree that begins there."""

    kind: str
    text: str
    href: str
    below: str
    score: float | None
    children: tuple[_Summary, ...]
    hidden: int


@guarded
async def explore(request: Request) -> Response:
    """Show the tree of classes: of ``?graph=`` or all ontologies, from ``?class=`` or the top."""
    catalogue = state_of(request).dataset.names.catalogue
    chosen = [
        iri(request.query_params[name]) if request.query_params.get(name) else None for name in ("graph", "class")
    ]
    graph, top = chosen
    graphs = [graph] if graph else []
    pairs = await kept(request, "pages/class_tree", catalogue=catalogue, graphs=graphs, limit=_MAX_CLASSES_READ)
    try:
        table = await kept(request, "pages/class_counts", seconds=_SECONDS_TO_COUNT, catalogue=catalogue)
        counts = {row[0]: int(row[1]) for row in table.values()}
    except TookTooLong:  # the store is too large to count in while somebody waits
        counts = {}
    known = [(row[0], row[1]) for row in pairs.values()]
    nodes = class_tree(known, counts, top=top.value if top else "", max_nodes=_MAX_CLASSES_SHOWN)
    ontologies = await kept(request, "schema/ontologies", catalogue=catalogue)
    terms = [ox.NamedNode(name) for name in _names(nodes)]
    naming = await naming_for(request, [*dict.fromkeys(row[0] for row in ontologies), *terms])
    most = max((node.total for node in nodes), default=0)
    return page(
        request,
        "explore.html",
        tabs=await _tabs(request),
        rows=[_class_row(node, naming, most, graph) for node in nodes],
        graphs=[naming.link(name) for name in dict.fromkeys(row[0] for row in ontologies.values())],
        graph=graph.value if graph else "",
        top=naming.link(top.value) if top else None,
        cut=len(known) == _MAX_CLASSES_READ,
        classes=len({name for name, _ in known}),
    )


def _names(nodes: Sequence[ClassNode]) -> Iterator[str]:
    """Yield the IRIs of classes level by level: labels are read of the first few hundred."""
    level = list(nodes)
    while level:
        yield from (node.iri for node in level)
        level = [child for node in level for child in node.children]


def _class_row(node: ClassNode, naming: Naming, most: int, graph: ox.NamedNode | None) -> _ClassRow:
    below = {"class": node.iri, **({"graph": graph.value} if graph else {})}
    return _ClassRow(
        naming.property(node.iri),
        node.own,
        node.total,
        round(100 * node.total / most) if most else 0,
        tuple(_class_row(child, naming, most, graph) for child in node.children),
        node.hidden,
        f"{naming.root}/explore?{urlencode(below)}",
    )


async def _tabs(request: Request) -> list[tuple[str, str]]:
    """Return path and name of the pictures that there is something for."""
    catalogue = state_of(request).dataset.names.catalogue
    kinds = {row[0] for row in (await kept(request, "pages/kinds", catalogue=catalogue)).values()}
    layers = await kept(request, "pages/pyramid", catalogue=catalogue)
    tabs = [("/explore", "Classes")]
    if len(layers):
        tabs.append(("/explore/pyramid", "Pyramid"))
    if KG.TreeGraph.value in kinds and having(Traverses):
        tabs.append(("/explore/tree", "Summary tree"))
    if len(await kept(request, "pages/shapes", limit=1, offset=0)):
        tabs.append(("/explore/shapes", "Shapes"))
    return tabs


@guarded
async def shapes(request: Request) -> Response:
    """List the shapes of the loaded graphs, a page at a time; each has a page that says what it asks."""
    number = place(request, "page", 1)
    offset = (number - 1) * _SHAPES_PER_PAGE
    table = await kept(request, "pages/shapes", limit=_SHAPES_PER_PAGE + 1, offset=offset)
    listed = table.rows[:_SHAPES_PER_PAGE]
    naming = await naming_for(request, [term for row in listed for term in row])
    groups = [
        (naming.term(graph), [naming.term(row[0]) for row in group])
        for graph, group in groupby(listed, key=lambda row: row[1])
    ]
    more = len(table.rows) > _SHAPES_PER_PAGE
    return page(request, "shapes.html", tabs=await _tabs(request), groups=groups, number=number, more=more)


@guarded
async def pyramid(request: Request) -> Response:
    """Show the layers of a pyramid with what each contains; ``?layer=`` is marked as the one that answered."""
    catalogue = state_of(request).dataset.names.catalogue
    table = await kept(request, "pages/pyramid", catalogue=catalogue)
    if not len(table):
        raise Problem(404, "there is no pyramid here. `POST /build/poly_rag` makes one, or /workbench/build.")
    kinds = {row[0]: row[1] for row in (await kept(request, "pages/kinds", catalogue=catalogue)).values()}
    answered = request.query_params.get("layer", "")[:40]
    found = {row[0]: (int(row[1]), int(row[2] or 0)) for row in table.values()}
    order = [name for name in _LAYERS if name in found] + sorted(found.keys() - set(_LAYERS))
    layers = [
        PyramidLayer(name, f"{found[name][1]:,} triples in {found[name][0]:,} graphs", answered=name == answered)
        for name in order
    ]
    documents = int(kinds.get(KG.DocumentGraph.value, 0))
    root = str(request.scope.get("root_path", "")).rstrip("/")
    href = f"{root}/catalogue?{urlencode({'kind': KG.DocumentGraph.value})}"
    layers.append(PyramidLayer("text", f"{documents:,} documents", href, answered=answered == "text"))
    return page(request, "pyramid.html", tabs=await _tabs(request), picture=pyramid_svg(layers))


@guarded
async def summary_tree(request: Request) -> Response:
    """Show part of a summary tree: from ``?node=`` or the top, towards ``?question=`` where there is one."""
    parameters = request.query_params
    question, spec = parameters.get("question", "").strip(), parameters.get("method", "")[:100]
    if len(question) > _MAX_QUESTION_CHARACTERS:
        raise Problem(400, f"the question has more than {_MAX_QUESTION_CHARACTERS:,} characters.")
    names = having(Traverses)
    spec = spec or (names[0] if names else "")
    node = iri(parameters["node"]).value if parameters.get("node") else ""
    if question:
        check_visited(request)
        rules = state_of(request).rules
        if rules.paid_access.searches_cost:
            rules.paid_access.check(request, rules.keys)
    workers = workers_of(request)

    def traverse() -> Any:
        method = capable(workers.kb.method(spec), Traverses, spec)
        return method.traverse(question, node=node, width=_CHILDREN_SHOWN)

    view = await workers.run(lambda: workers.alone(traverse))
    naming = await naming_for(request)
    given = {name: value for name, value in (("question", question), ("method", parameters.get("method", ""))) if value}
    return page(
        request,
        "summary_tree.html",
        tabs=await _tabs(request),
        title=view.title,
        nodes=[_summary(each, naming, given) for each in view.roots],
        hidden=view.hidden,
        question=question,
        node=node,
        method=parameters.get("method", ""),
    )


def _summary(node: TreeNodeView, naming: Naming, given: dict[str, str]) -> _Summary:
    return _Summary(
        node.kind,
        node.text,
        naming.href(node.iri),
        f"{naming.root}/explore/tree?{urlencode({**given, 'node': node.iri})}",
        node.score,
        tuple(_summary(child, naming, given) for child in node.children),
        node.hidden,
    )
