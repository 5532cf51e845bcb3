"""The SPARQL editor: a form, a script that makes more of it (``static/editor``), stored queries as examples."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import cache

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag import queries
from kgrag.errors import UnknownName
from kgrag.resources import folder
from kgrag.server.media_types import choose
from kgrag.server.pages.iri_links import naming_for, vocabulary
from kgrag.server.pages.page_queries import kept
from kgrag.server.pages.page_rendering import PAGE_HEADERS, guarded, page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.readers.reader_request import TookTooLong
from kgrag.server.server_state import state_of
from kgrag.vocab import PREFIXES, local_name

__all__ = ["editor", "terms"]

_MAX_QUERY_CHARACTERS = 100_000
_MAX_TERMS_PER_KIND = 2000
_SECONDS_PER_QUERY = 5.0
_FIRST_QUERY = "pages/example"
_SEARCHES = {
    "matches": "Search by words (kgv:matches)",
    "near": "Search by meaning (kgv:near)",
    "similarity": "Rank by meaning (kgv:similarity)",
}
_EXAMPLE_OF = "http://www.w3.org/2004/02/skos/core#example"
_EXAMPLE_NUMBER = 20
"""The value of every parameter of an example that is a number."""

_AREAS_WITHOUT_EXAMPLES = {"obqc", "obqc_data", "pages", "shacl"}
"""Queries of these areas read graphs that exist only during a check, or serve these pages."""

_HTML, _SPARQL = "text/html", "application/sparql-query"


@guarded
async def editor(request: Request) -> Response:
    """Return the editor with ``?query=``, a stored query by ``?example=`` or a graph by ``?graph=``.

    A client that wants ``application/sparql-query`` gets only that query.
    """
    if choose(request.headers.get("accept", ""), (_HTML, _SPARQL)) == _SPARQL:
        return Response(_text(request), headers=PAGE_HEADERS, media_type=_SPARQL)
    example = request.query_params.get("example", "")
    examples = await asyncio.to_thread(_examples)
    return page(request, "editor.html", text=_text(request), examples=examples, chosen=example)


def _text(request: Request) -> str:
    parameters, names = request.query_params, state_of(request).dataset.names
    if query := parameters.get("query", ""):
        if len(query) > _MAX_QUERY_CHARACTERS:
            raise Problem(
                400,
                f"the query has {len(query):,} characters; by address, at most {_MAX_QUERY_CHARACTERS:,} are taken.",
            )
        return query
    graph = iri(parameters["graph"]) if parameters.get("graph") else names.catalogue
    if not (name := parameters.get("example", "")):
        lines = queries.bind(_FIRST_QUERY, graph=graph, limit=100).splitlines()
        return "\n".join(line for line in lines if not line.startswith("#")).strip()
    if name in _searches():
        return _searches()[name][1]
    if name not in {each for area in _examples().values() for each in area}:
        raise UnknownName(f"there is no example '{name[:100]}'. /editor lists them.")
    values = {"catalogue": names.catalogue, "integer": _EXAMPLE_NUMBER}
    kinds = queries.describe(name).parameters
    return queries.bind(name, **{key: values[key if key == "catalogue" else kind] for key, kind in kinds.items()})


@cache
def _examples() -> Mapping[str, Mapping[str, str]]:
    """Return area -> name -> title of the stored queries that read and take nothing but the catalogue and numbers."""
    by_area: dict[str, dict[str, str]] = {}
    for name in queries.names():
        if name.partition("/")[0] in _AREAS_WITHOUT_EXAMPLES:
            continue
        query = queries.describe(name)
        simple = all(key == "catalogue" or kind == "integer" for key, kind in query.parameters.items())
        if simple and not query.writes:
            by_area.setdefault(name.partition("/")[0], {})[name] = query.title
    return {"search": {name: title for name, (title, _) in _searches().items()}, **by_area}


@cache
def _searches() -> Mapping[str, tuple[str, str]]:
    """Return name -> (title, query) of the examples in the vocabulary of searching, by meaning and by words."""
    found = {}
    for quad in ox.parse(path=folder("ontologies") / "vector.ttl"):
        if quad.predicate.value != _EXAMPLE_OF or not isinstance(quad.subject, ox.NamedNode):
            continue
        name, query = local_name(quad.subject.value), str(getattr(quad.object, "value", ""))
        declared = [f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in PREFIXES.items() if f"{prefix}:" in query]
        # the vocabulary has a query on one line; the editor shows it over several
        query = re.sub(r"^(SELECT[^{]*?) ?\{ (.*) \}", r"\1\nWHERE {\n  \2\n}", query).replace(" . ", " .\n  ")
        query = re.sub(r" (?=ORDER BY|LIMIT)", "\n", query)
        found[f"search/{name}"] = (_SEARCHES.get(name, f"kgv:{name}"), "".join(declared) + query)
    return dict(sorted(found.items()))


async def terms(request: Request) -> Response:
    """Return what the editor completes: prefixes, and up to 2,000 classes and properties each, with labels.

    What the facts have comes from the data profile where it is kept, the most used terms first.

    ``declared`` are the prefixes that the endpoint knows without a declaration.

    Raises:
        ServiceUnavailable: no reader was free.
    """
    dataset = state_of(request).dataset
    naming = await naming_for(request)
    stated = await kept(request, "pages/terms", catalogue=dataset.names.catalogue, limit=2 * _MAX_TERMS_PER_KIND)
    profiled = await kept(request, "profile/terms", graph=dataset.names.profile_graph)
    uses = {term: int(count) for term, _, count in profiled.values()}
    known: dict[str, set[str]] = {"class": set(), "property": set()}
    for term, kind, _ in profiled.values():
        known[kind].add(term)
    if not uses:
        known["class"], known["property"] = await asyncio.gather(
            _used(request, "pages/used_classes"), _used(request, "pages/used_properties")
        )
    labels = {term: label for term, (label, _) in vocabulary().items()}
    for term, kind, label in stated.values():
        known[kind].add(term)
        if label:
            labels.setdefault(term, label)
    for term in vocabulary():
        if "#" in term:
            known["class" if term.rpartition("#")[2][:1].isupper() else "property"].add(term)
    listed = {
        kind: sorted(terms, key=lambda term: (-uses.get(term, 0), term))[:_MAX_TERMS_PER_KIND]
        for kind, terms in known.items()
    }
    document = {
        "prefixes": dict(sorted(naming.prefixes.items())),
        "declared": dict(sorted(dataset.prefixes.items())),
        "classes": listed["class"],
        "properties": listed["property"],
        "labels": {term: labels[term] for terms in listed.values() for term in terms if term in labels},
    }
    return JSONResponse(document, headers={"Cache-Control": "no-cache"})


async def _used(request: Request, query: str) -> set[str]:
    """Return the IRIs that a query finds in time, none of a store too large to read for a completion."""
    try:
        table = await kept(request, query, seconds=_SECONDS_PER_QUERY, limit=_MAX_TERMS_PER_KIND)
    except TookTooLong:
        return set()
    return {row[0].value for row in table if isinstance(row[0], ox.NamedNode)}
