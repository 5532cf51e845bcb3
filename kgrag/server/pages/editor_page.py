"""The SPARQL editor: a form, a script that makes more of it (``static/editor``), stored queries as examples."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag import plugins, queries
from kgrag.errors import InputError, UnknownName
from kgrag.querying import saved_queries
from kgrag.querying.saved_queries import SavedQuery
from kgrag.resources import folder
from kgrag.server.media_types import choose
from kgrag.server.pages.iri_links import naming_for, vocabulary
from kgrag.server.pages.page_rendering import PAGE_HEADERS, guarded, page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.readers.reader_request import TookTooLong
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.stored_rows import kept
from kgrag.sparql.query_parameters import KINDS, term_of
from kgrag.vocab import PREFIXES, Names, local_name

__all__ = ["editor", "terms"]

_MAX_QUERY_CHARACTERS = 100_000
_MAX_TERMS_PER_KIND = 2000
_SECONDS_PER_QUERY = 5.0
_FIRST_QUERY = "pages/example"
_SEARCHES = {
    "fused": "Search by words and meaning (kgv:fused)",
    "matches": "Search by words (kgv:matches)",
    "near": "Search by meaning (kgv:near)",
    "similarity": "Rank by meaning (kgv:similarity)",
}
_EXAMPLE_OF = "http://www.w3.org/2004/02/skos/core#example"
_EXAMPLE_NUMBER = 20
"""The value of every parameter of an example that is a number, until another is given."""
_SAVED = "saved:"
_OWN = {"catalogue": "catalogue"}
"""Parameters that have one value in a knowledge base, and the name that it is known by."""
_FILL_IN = "this query takes parameters. Fill them in, and press Use."

_AREAS_WITHOUT_EXAMPLES = {"obqc", "obqc_data", "pages", "shacl"}
"""Queries of these areas read graphs that exist only during a check, or serve these pages."""

_HTML, _SPARQL = "text/html", "application/sparql-query"


@dataclass(frozen=True)
class _Example:
    """A stored or saved query that the editor offers; ``has_form``: its parameters are asked for."""

    name: str
    title: str
    has_form: bool = False


@dataclass(frozen=True)
class _Field:
    """A parameter as a field of a form; ``several``: a value per line."""

    name: str
    kind: str
    about: str = ""
    value: str = ""
    several: bool = False


@dataclass(frozen=True)
class _Opened:
    """What the editor shows: the query, and where it takes parameters, its title and their fields."""

    text: str
    title: str = ""
    fields: tuple[_Field, ...] = ()
    problem: str = ""


@guarded
async def editor(request: Request) -> Response:
    """Return the editor with ``?query=``, a stored or saved query by ``?example=``, or a graph by ``?graph=``.

    Parameters of the query are ``p.NAME=``. A client that wants ``application/sparql-query`` gets only that query.

    Raises:
        Problem: 400: it wants the query alone, and a parameter has no value.
    """
    saved = await _saved(request)
    opened = await _opened(request, saved)
    if choose(request.headers.get("accept", ""), (_HTML, _SPARQL)) == _SPARQL:
        if opened.problem:
            raise Problem(400, opened.problem)
        return Response(opened.text, headers=PAGE_HEADERS, media_type=_SPARQL)
    examples = {**_grouped(saved), **await asyncio.to_thread(_examples)}
    values: dict[str, Any] = {"examples": examples, "chosen": request.query_params.get("example", "")}
    values |= {"opened": opened, "needs_key": state_of(request).rules.keys.needed_for_writing, "kinds": KINDS}
    return page(request, "editor.html", methods=sorted(plugins.methods()), **values)


async def _saved(request: Request) -> list[SavedQuery]:
    store = workers_of(request).kb.store
    return await asyncio.to_thread(saved_queries.listed, store)


def _grouped(saved: Sequence[SavedQuery]) -> dict[str, list[_Example]]:
    """Return the saved queries by topic."""
    found: dict[str, list[_Example]] = {}
    for query in saved:
        title = f"{query.title or query.name}{f' ({query.method})' if query.method else ''}"
        group = f"saved: {query.topic}" if query.topic else "saved"
        found.setdefault(group, []).append(_Example(f"{_SAVED}{query.name}", title, bool(query.parameters)))
    return found


async def _opened(request: Request, saved: Sequence[SavedQuery]) -> _Opened:
    parameters, names = request.query_params, state_of(request).dataset.names
    if query := parameters.get("query", ""):
        if len(query) > _MAX_QUERY_CHARACTERS:
            raise Problem(
                400,
                f"the query has {len(query):,} characters; by address, at most {_MAX_QUERY_CHARACTERS:,} are taken.",
            )
        return _Opened(query)
    if not (name := parameters.get("example", "")):
        graph = iri(parameters["graph"]) if parameters.get("graph") else names.catalogue
        lines = queries.bind(_FIRST_QUERY, graph=graph, limit=100).splitlines()
        return _Opened("\n".join(line for line in lines if not line.startswith("#")).strip())
    given = {key.removeprefix("p."): value for key, value in parameters.items() if key.startswith("p.")}
    if name.startswith(_SAVED):
        found = next((each for each in saved if each.name == name.removeprefix(_SAVED)), None)
        if found is None:
            raise UnknownName(f"there is no saved query '{name[:100]}'. /editor lists them.")
        return _opened_saved(found, given, state_of(request).dataset.prefixes)
    if name in _searches():
        return _Opened(_searches()[name][1])
    if name not in {each.name for area in _examples().values() for each in area}:
        raise UnknownName(f"there is no example '{name[:100]}'. /editor lists them.")
    return _opened_stored(name, given, names, state_of(request).dataset.prefixes)


def _opened_saved(query: SavedQuery, given: Mapping[str, str], prefixes: Mapping[str, str]) -> _Opened:
    shown = tuple(
        _Field(each.name, each.kind, each.about, given.get(each.name) or each.default) for each in query.parameters
    )
    try:
        return _Opened(saved_queries.bound(query, given, prefixes), query.title or query.name, shown)
    except InputError as error:
        return _Opened(query.sparql, query.title or query.name, shown, str(error) if given else _FILL_IN)


def _opened_stored(name: str, given: Mapping[str, str], names: Names, prefixes: Mapping[str, str]) -> _Opened:
    query = queries.describe(name)
    shown, values, missing = [], {}, []
    for key, kind in query.parameters.items():
        if key in _OWN:
            values[key] = getattr(names, _OWN[key])
            continue
        text = given.get(key, str(_EXAMPLE_NUMBER) if kind in ("integer", "number") else "")
        shown.append(_Field(key, kind.removesuffix(" list"), _about(query.header, key), text, kind.endswith("list")))
        if not text.strip():
            missing.append(key)
            continue
        try:
            lines = [line for line in text.splitlines() if line.strip()] if kind.endswith("list") else [text]
            terms = [_value(kind.removesuffix(" list"), line, prefixes) for line in lines]
            values[key] = terms if kind.endswith("list") else terms[0]
        except InputError as error:
            return _Opened("", query.title, tuple(shown), f"{key}: {error}")
    fields = tuple(shown) if any(each.kind not in ("integer", "number") or each.several for each in shown) else ()
    if missing:
        return _Opened("", query.title, fields, _FILL_IN)
    return _Opened(queries.bind(name, **values), query.title, fields)


def _about(header: str, parameter: str) -> str:
    """Return what the header of a stored query says of a parameter."""
    found = re.search(rf"^param {parameter}: \S+(?: list)?\s*(.*)$", header, flags=re.MULTILINE)
    return found[1] if found else ""


def _value(kind: str, text: str, prefixes: Mapping[str, str]) -> ox.NamedNode | ox.Literal | float:
    """Return a value of a stored query as a person wrote it."""
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise InputError(f"{text[:100]!r} is no {kind}.") from None
    if kind == "term":
        kind = "IRI" if text.startswith("<") or text.partition(":")[0] in prefixes else "literal"
    return term_of("IRI" if kind == "IRI" else "text", text, prefixes)


@cache
def _examples() -> Mapping[str, Sequence[_Example]]:
    """Return area -> the stored queries that read."""
    by_area: dict[str, list[_Example]] = {}
    for name in queries.names():
        area = name.partition("/")[0]
        query = queries.describe(name)
        if area in _AREAS_WITHOUT_EXAMPLES or query.writes:
            continue
        has_form = any(key not in _OWN and kind != "integer" for key, kind in query.parameters.items())
        by_area.setdefault(area, []).append(_Example(name, query.title, has_form))
    return {"search": [_Example(name, title) for name, (title, _) in _searches().items()], **by_area}


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
