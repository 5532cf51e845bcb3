"""Descriptions of the service and its content: SPARQL 1.1 Service Description, and VoID.

Queries read: ``catalogue/void``, ``catalogue/void_size``.
"""

from __future__ import annotations

import math
from functools import cache

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from kgrag import queries
from kgrag.http_api.write_schemas import VoidParameters
from kgrag.resources import folder
from kgrag.server.api.request_parameters import read_parameters
from kgrag.server.media_types import RDF as FORMATS
from kgrag.server.media_types import choose, content_type
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_request import ReaderRequest
from kgrag.server.server_state import ServerState, address, state_of
from kgrag.server.streaming import collect_result, stream_result
from kgrag.vocab import KGV, RDF, SD

__all__ = ["service", "void"]

_GRAPHS_PER_PAGE = 1000
_FORMAT_IRIS = "http://www.w3.org/ns/formats/"
_RESULT_FORMATS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPH_FORMATS = ("Turtle", "N-Triples", "TriG", "N-Quads", "JSON-LD", "RDF_XML")
_SEARCHES = (KGV.near, KGV.matches, KGV.fused, KGV.similarity)
_UPLOAD_FORMATS = ("Turtle", "N-Triples", "JSON-LD", "RDF_XML", "N3")


def service(request: HttpRequest) -> Response:
    """Describe the service.

    Raises:
        Problem: 406: the client accepts no RDF.
    """
    media = _chosen_format(request)
    triples = _description(address(request, "/sparql"), state_of(request))
    body = ox.serialize(triples, format=ox.RdfFormat.from_media_type(media), prefixes={"sd": SD.prefix})
    return Response(body, headers={"Content-Type": content_type(media), "Vary": "Accept"})


def _chosen_format(request: HttpRequest) -> str:
    accept = request.headers.get("accept", "")
    media = choose(accept, FORMATS)
    if not media:
        raise Problem(406, f"RDF has no format of Accept: {accept[:200]}. Known: {', '.join(FORMATS)}.")
    return media


def _description(endpoint: str, state: ServerState) -> list[ox.Triple]:
    service_, dataset, default = ox.NamedNode(endpoint), ox.BlankNode("dataset"), ox.BlankNode("default")
    feature = SD.UnionDefaultGraph if state.dataset.union else SD.EmptyGraphs
    pairs: list[tuple[ox.NamedNode, ox.NamedNode | ox.BlankNode]] = [
        (RDF.type, SD.Service),
        (SD.endpoint, service_),
        *((SD.supportedLanguage, language) for language in (SD.SPARQL11Query, SD.SPARQL11Update, SD.SPARQL12Query)),
        (SD.feature, feature),
        *((SD.resultFormat, ox.NamedNode(_FORMAT_IRIS + name)) for name in (*_RESULT_FORMATS, *_GRAPH_FORMATS)),
        *((SD.inputFormat, ox.NamedNode(_FORMAT_IRIS + name)) for name in _UPLOAD_FORMATS),
        (SD.defaultDataset, dataset),
        *((SD.extensionFunction, function) for function in (_SEARCHES if state.workers is not None else ())),
    ]
    return [
        *(_searches_described() if state.workers is not None else ()),
        *(ox.Triple(service_, predicate, value) for predicate, value in pairs),
        ox.Triple(dataset, RDF.type, SD.Dataset),
        ox.Triple(dataset, SD.defaultGraph, default),
        ox.Triple(default, RDF.type, SD.Graph),
    ]


@cache
def _searches_described() -> tuple[ox.Triple, ...]:
    """Return what the vocabulary says of the searches, examples included."""
    quads = ox.parse(path=folder("ontologies") / "vector.ttl")
    return tuple(quad.triple for quad in quads if quad.subject in _SEARCHES)


async def void(request: HttpRequest) -> Response:
    """Describe the named graphs of the catalogue, a thousand per page; Link leads to the other pages.

    Raises:
        Problem: 400; 404: there is no such page; 406: the client accepts no RDF.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    state, media, number = state_of(request), _chosen_format(request), read_parameters(request, VoidParameters).page
    catalogue, endpoint = state.dataset.names.catalogue, ox.NamedNode(address(request, "/sparql"))
    seconds = state.pool.limits.seconds
    header = {"base": "", "prefixes": {}, "results": "text/csv", "rdf": media, "union": False, "dataset": None}
    size = queries.bind("catalogue/void_size", catalogue=catalogue).encode()
    counted = await collect_result(state.pool, ReaderRequest("query", header, size, seconds))
    pages = max(math.ceil(int(counted.split()[1]) / _GRAPHS_PER_PAGE), 1)
    if number > pages:
        raise Problem(404, f"there are {pages} pages, and this would be number {number}.")
    offset = (number - 1) * _GRAPHS_PER_PAGE
    query = queries.bind(
        "catalogue/void", catalogue=catalogue, endpoint=endpoint, limit=_GRAPHS_PER_PAGE, offset=offset
    )
    others = {"first": 1, "prev": number - 1, "next": number + 1, "last": pages}
    links = [
        f'<{address(request, "/void")}?page={other}>; rel="{name}"'
        for name, other in others.items()
        if 0 < other <= pages and pages > 1
    ]
    headers = {"Vary": "Accept", **({"Link": ", ".join(links)} if links else {})}
    return await stream_result(request, state.pool, ReaderRequest("query", header, query.encode(), seconds), headers)
