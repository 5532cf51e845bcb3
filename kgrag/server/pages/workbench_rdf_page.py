"""The workbench's forms for RDF: load a graph, see what a new version changes, remove a graph, update.

=========================  =================================================================
page                       what it is for
=========================  =================================================================
``/workbench/graphs``      load RDF into a graph, or compare it with what is there; remove a graph
``/workbench/update``      what an update would do, and then the update
=========================  =================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.errors import InputError, UnknownName
from kgrag.server import graph_store, sparql_endpoints
from kgrag.server.pages.findings_shown import FindingShown, FindingWriter, triple_in_short
from kgrag.server.pages.iri_links import naming_for
from kgrag.server.pages.page_rendering import guarded
from kgrag.server.pages.workbench_forms import Fields, Sent, form_of, json_of, reply_to, work_page
from kgrag.server.problems import Problem, problem_of
from kgrag.server.server_state import address, state_of, workers_of
from kgrag.server.stored_rows import rows
from kgrag.vocab import KG, OWL, RDF

if TYPE_CHECKING:
    from kgrag.audit.change_review import ChangeReview
    from kgrag.audit.comparison import VersionDifference

__all__ = ["graphs", "update"]

_MAX_GRAPHS_LISTED = 200
_MAX_TRIPLES_COMPARED = 200_000
"""Of both versions of a graph together; comparing so many takes about two seconds of a thread for reports."""
_MAX_TRIPLES_REVIEWED = 20_000
"""What changes break is not looked for in more: what follows from both versions is derived for it."""
_MEDIA = {
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".n3": "text/n3",
    ".jsonld": "application/ld+json",
    ".json": "application/ld+json",
    ".rdf": "application/rdf+xml",
    ".owl": "application/rdf+xml",
    ".xml": "application/rdf+xml",
}


# --- graphs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Refused:
    """A graph that a write would make worse: what it is called, how many violations are new, and some of them."""

    graph: str
    new: int
    findings: tuple[FindingShown, ...]


@dataclass(frozen=True)
class _Version:
    """RDF that was sent, the graph that it is for, and what it changes there; "" for a graph that the server names.

    Attributes:
        difference: terms that differ from those of the graph before; None where there was none, or it was too large.
        review: what that breaks for those who use the graph; None where it was not looked at.
    """

    name: str
    media: str
    data: bytes
    graph: str
    triples: list[ox.Triple] = field(repr=False)
    difference: VersionDifference | None = None
    review: ChangeReview | None = None
    left_out: str = ""


@guarded
async def graphs(request: Request) -> Response:
    """Show the forms; load RDF into a graph, or compare it with what is there; remove a graph."""
    values: dict[str, Any] = {
        "graphs": await _listed_graphs(request),
        "media": sorted(_MEDIA),
        "form": Fields(),
        "loaded": (),
        "compared": (),
    }
    if request.method == "GET":
        return work_page(request, "workbench_graphs.html", **values)
    sent = await form_of(request)
    values["form"] = sent.fields
    try:
        done = ""
        if sent.get("what") == "remove":
            query = urlencode({"graph": sent.get("graph")})
            await reply_to(request, graph_store.graph, sent, method="DELETE", query=query)
            done = f"<{sent.get('graph')}> is removed."
        elif sent.get("step") == "compare":
            versions = await _versions(request, sent)
            values["compared"] = [await _compared(request, each, reviews=True) for each in versions]
            return work_page(request, "workbench_graphs.html", **values)
        else:
            values["loaded"] = await _load(request, sent)
        values |= {"graphs": await _listed_graphs(request), "form": Fields()}
        return work_page(request, "workbench_graphs.html", **values, done=done)
    except Exception as error:
        problem = problem_of(error)
        refused = await _refused(request, cast("Sequence[Mapping[str, Any]]", problem.more.get("graphs", ())))
        said = _refusal(refused, problem) if refused else str(problem)
        findings = [each for graph in refused for each in graph.findings]
        return work_page(request, "workbench_graphs.html", problem.status, **values, problem=said, findings=findings)


def _refusal(refused: Sequence[_Refused], problem: Problem) -> str:
    """Return what a page says above the findings of the gate, which name the terms."""
    new = sum(graph.new for graph in refused)
    violations = "a violation" if new == 1 else f"{new} violations"
    return f"the write would bring {violations} of '{problem.more.get('profile', '')}'. Nothing was written."


async def _versions(request: Request, sent: Sent) -> list[_Version]:
    """Return the files and the text of a form, each with the graph that it is for.

    Raises:
        Problem: 400: there is nothing, or a file of another kind.
        InputError: one does not parse.
    """
    files = sent.files.get("files", [])
    if sent.get("rdf"):
        files = [*files, ("text.ttl", sent.get("rdf").encode())]
    if not files:
        raise Problem(400, "there is neither a file nor a text. Choose files, or paste Turtle.")
    found = []
    for name, data in files:
        media = _MEDIA.get(Path(name.lower()).suffix)
        if media is None:
            raise Problem(400, f"{name[:200]}: RDF files end in {', '.join(sorted(_MEDIA))}.")
        triples = await graph_store.parsed(state_of(request), media, data, address(request, "/graphs"))
        found.append(_Version(name, media, data, sent.get("graph") or _declared_graph(triples), triples))
    return found


async def _load(request: Request, sent: Sent) -> list[_Version]:
    """Load the files of a form, and return each with its graph and, where it replaces one, what it changed there."""
    loaded: list[_Version] = []
    for version in await _versions(request, sent):
        graph = version.graph
        replaces = sent.get("mode") == "replace" and bool(graph) and graph not in {known.graph for known in loaded}
        compared = await _compared(request, version) if replaces else version
        query = urlencode({"graph": graph}) if graph else ""
        method = "PUT" if replaces else "POST"
        reply = await reply_to(
            request, graph_store.graph, sent, version.data, media=version.media, method=method, query=query
        )
        if not graph:  # the server has named it
            compared = replace(compared, graph=unquote(reply.headers["location"].partition("graph=")[2]))
        loaded.append(compared)
    return loaded


def _declared_graph(triples: Iterable[ox.Triple]) -> str:
    """Return the IRI of the one ontology that is declared, "" without: it is loaded into a graph of that name."""
    declared = {t.subject for t in triples if t.predicate == RDF.type and t.object == OWL.Ontology}
    found = [each.value for each in declared if isinstance(each, ox.NamedNode)]
    return found[0] if len(found) == 1 else ""


async def _compared(request: Request, version: _Version, *, reviews: bool = False) -> _Version:
    """Return a version with what it changes in its graph, and on demand what that breaks."""
    from kgrag.audit import AuditOptions
    from kgrag.audit.comparison import compare_versions
    from kgrag.knowledge_base.audit_runs import review_versions

    workers = workers_of(request)

    def work() -> _Version:
        try:
            old = workers.kb.graph(version.graph)
        except (UnknownName, InputError):  # it is a new graph
            return version
        if len(old) + len(version.triples) > _MAX_TRIPLES_COMPARED:
            return replace(version, left_out=f"more than {_MAX_TRIPLES_COMPARED:,} triples are not compared here")
        difference = compare_versions(old, version.triples)
        if not reviews or len(old) + len(version.triples) > _MAX_TRIPLES_REVIEWED:
            return replace(version, difference=difference)
        names = (version.graph, version.name)
        review = review_versions(old, version.triples, names=names, options=AuditOptions())
        return replace(version, difference=difference, review=review)

    return await workers.report(work) if version.graph else version


async def _listed_graphs(request: Request) -> list[tuple[str, str]]:
    """Return the graphs that can be written to, each with its title."""
    names = state_of(request).dataset.names
    found: list[str] = []
    for kind in (KG.OntologyGraph, KG.DataGraph):
        table = await rows(
            request, "pages/graphs", catalogue=names.catalogue, kind=kind, limit=_MAX_GRAPHS_LISTED, offset=0
        )
        found += [row[0] for row in table.values()]
    naming = await naming_for(request)
    return [(iri, naming.short(iri)) for iri in found]


async def _refused(request: Request, verdicts: Sequence[Mapping[str, Any]]) -> list[_Refused]:
    """Return what the gate says of graphs, by what these are called; terms of a write that is refused have no page."""
    naming = await naming_for(request, [ox.NamedNode(each["graph"]) for each in verdicts])
    writer = FindingWriter(naming, {}, linked=False)
    return [
        _Refused(
            naming.link(each["graph"]).name,
            each["new"],
            tuple(writer.shown(found["focus"], found["message"], check=found["check"]) for found in each["findings"]),
        )
        for each in verdicts
    ]


# --- updates ------------------------------------------------------------------------------------------------------


@guarded
async def update(request: Request) -> Response:
    """Show what an update would do; run it, where that is still so."""
    if request.method == "GET":
        return work_page(
            request, "workbench_update.html", text=request.query_params.get("update", ""), effect=None, etag=""
        )
    sent = await form_of(request)
    text = sent.fields.get("query", "")
    values: dict[str, Any] = {"text": text, "effect": None, "etag": "", "refused": ()}
    if not text.strip():
        return work_page(request, "workbench_update.html", 400, **values, problem="there is no update. Write one.")
    try:
        if sent.get("step") == "apply":
            headers = {"If-Match": sent.get("etag")} if sent.get("etag") else {}
            media = "application/sparql-update"
            await reply_to(request, sparql_endpoints.update, sent, text.encode(), media=media, headers=headers)
            done = f"Done; the store is at revision {state_of(request).dataset.revision}."
            return work_page(request, "workbench_update.html", **values, done=done)
        if state_of(request).rules.keys.needed_for_writing and not sent.get("key"):
            return work_page(request, "workbench_update.html", **values)
        reply = await reply_to(request, sparql_endpoints.effect, sent, text.encode(), media="application/sparql-update")
        effect = json_of(reply)
        naming = await naming_for(request)
        for graph in effect["graphs"]:
            for kind in ("added_triples", "removed_triples"):
                graph[kind] = [triple_in_short(line, naming) for line in graph[kind]]
        refused = await _refused(request, effect["refused"])
        values |= {"effect": effect, "etag": reply.headers["etag"], "refused": refused}
        return work_page(request, "workbench_update.html", **values)
    except Exception as error:
        problem = problem_of(error)
        return work_page(request, "workbench_update.html", problem.status, **values, problem=str(problem))
