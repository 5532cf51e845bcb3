"""What the service is and holds: SPARQL 1.1 Service Description, and VoID."""

from __future__ import annotations

import pyoxigraph as ox
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from kgrag import queries
from kgrag.server.media_types import RDF as FORMATS
from kgrag.server.media_types import choose, content_type
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_request import Request
from kgrag.server.site import Site, address, site_of
from kgrag.server.streaming import streamed
from kgrag.vocab import RDF, SD

__all__ = ["service", "void"]

_W3C = "http://www.w3.org/ns/formats/"
_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPHS = ("Turtle", "N-Triples", "TriG", "N-Quads", "JSON-LD", "RDF_XML")
_UPLOADS = ("Turtle", "N-Triples", "JSON-LD", "RDF_XML", "N3")


def service(request: HttpRequest) -> Response:
    """Describe the service.

    Raises:
        Problem: 406: the client takes no RDF. 400: it takes anything, and so most likely forgot its query.
    """
    media = _format(request)
    triples = _described(address(request, "/sparql"), site_of(request))
    body = ox.serialize(triples, format=ox.RdfFormat.from_media_type(media), prefixes={"sd": SD.prefix})
    return Response(body, headers={"Content-Type": content_type(media), "Vary": "Accept"})


def _format(request: HttpRequest) -> str:
    accept = request.headers.get("accept", "")
    media = choose(accept, FORMATS)
    if not media:
        raise Problem(406, f"RDF has no format of Accept: {accept[:200]}. Known: {', '.join(FORMATS)}.")
    return media


def _described(endpoint: str, site: Site) -> list[ox.Triple]:
    here, dataset, default = ox.NamedNode(endpoint), ox.BlankNode("dataset"), ox.BlankNode("default")
    features = [SD.UnionDefaultGraph] if site.dataset.union else [SD.EmptyGraphs]
    pairs: list[tuple[ox.NamedNode, ox.NamedNode | ox.BlankNode]] = [
        (RDF.type, SD.Service),
        (SD.endpoint, here),
        *((SD.supportedLanguage, language) for language in (SD.SPARQL11Query, SD.SPARQL11Update, SD.SPARQL12Query)),
        *((SD.feature, feature) for feature in features),
        *((SD.resultFormat, ox.NamedNode(_W3C + name)) for name in (*_RESULTS, *_GRAPHS)),
        *((SD.inputFormat, ox.NamedNode(_W3C + name)) for name in _UPLOADS),
        (SD.defaultDataset, dataset),
    ]
    return [
        *(ox.Triple(here, predicate, value) for predicate, value in pairs),
        ox.Triple(dataset, RDF.type, SD.Dataset),
        ox.Triple(dataset, SD.defaultGraph, default),
        ox.Triple(default, RDF.type, SD.Graph),
    ]


async def void(request: HttpRequest) -> Response:
    """Describe every named graph of the catalogue.

    Raises:
        Problem: 406: the client takes no RDF.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    site, media = site_of(request), _format(request)
    endpoint = ox.NamedNode(address(request, "/sparql"))
    query = queries.bind("catalogue/void", catalogue=site.dataset.names.catalogue, endpoint=endpoint)
    header = {"base": "", "prefixes": {}, "results": "", "rdf": media, "union": False, "dataset": None}
    task = Request("query", header, query.encode(), site.pool.limits.seconds)
    return await streamed(request, site.pool, task, {"Vary": "Accept"})
