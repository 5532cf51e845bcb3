"""The audit page: which checks an ontology of the store fails, by check, worst first; or the report as a file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.audit import Audit, AuditOptions, profile_names
from kgrag.audit.reports import written
from kgrag.server.api.json_endpoints import audited
from kgrag.server.pages.findings_shown import FindingShown, FindingWriter, terms_of
from kgrag.server.pages.iri_links import Naming, naming_for
from kgrag.server.pages.page_rendering import check_visited, guarded, page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.server_state import state_of
from kgrag.server.stored_rows import rows
from kgrag.vocab import KG

__all__ = ["report"]

_MAX_FINDINGS_PER_CHECK = 100
_MAX_GRAPHS_LISTED = 200
_FILE_TYPES = {
    "html": ("html", "text/html"),
    "json": ("json", "application/json"),
    "markdown": ("md", "text/markdown"),
    "sarif": ("sarif", "application/sarif+json"),
    "junit": ("xml", "application/xml"),
    "shacl": ("ttl", "text/turtle"),
    "dqv": ("dqv.ttl", "text/turtle"),
}


@dataclass(frozen=True)
class _Group:
    """The findings of one check; ``total`` counts those that are not shown too."""

    check: str
    label: str
    severity: str
    total: int
    rationale: str
    mend: str
    findings: tuple[FindingShown, ...]


@guarded
async def report(request: Request) -> Response:
    """Show the form, and the report where a profile is asked for; ``&form=`` returns it as a file."""
    graph, profile, form = (request.query_params.get(name, "").strip() for name in ("graph", "profile", "form"))
    graphs = await _graphs(request)
    shared: dict[str, Any] = {
        "graphs": graphs,
        "graph": graph,
        "profiles": profile_names(),
        "profile": profile or "default",
    }
    if not profile:
        return page(request, "report.html", **shared, audit=None)
    check_visited(request)
    target = iri(graph).value if graph else ""
    audit = await audited(
        request, target, AuditOptions(profile=profile, limit=_MAX_FINDINGS_PER_CHECK, metrics=form == "dqv")
    )
    if form:
        return _file(audit, form)
    naming = await naming_for(request, map(ox.NamedNode, terms_of(each.focus for each in audit.findings)))
    parameters = {"graph": graph, "profile": profile} if graph else {"profile": profile}
    files = [(name, f"{naming.root}/report?{urlencode({**parameters, 'form': name})}") for name in _FILE_TYPES]
    groups = _groups(audit, naming)
    return page(request, "report.html", **shared, audit=audit, groups=groups, files=files)


async def _graphs(request: Request) -> dict[str, str]:
    """Return the titles of the ontology graphs by IRI."""
    names = state_of(request).dataset.names
    table = await rows(
        request, "pages/graphs", catalogue=names.catalogue, kind=KG.OntologyGraph, limit=_MAX_GRAPHS_LISTED, offset=0
    )
    graphs = [ox.NamedNode(row[0]) for row in table.values()]
    listed = await rows(request, "pages/titles", graphs=graphs, catalogue=names.catalogue)
    titles = {row[0]: row[1] for row in listed.values()}
    naming = await naming_for(request)
    return {graph.value: titles.get(graph.value, naming.short(graph.value)) for graph in graphs}


def _file(audit: Audit, form: str) -> Response:
    """Return the report as a download: opened in the browser, its own scripts would run on this site."""
    if form not in _FILE_TYPES:
        raise Problem(400, f"the form {form[:50]!r} is not known. Use one of {', '.join(_FILE_TYPES)}.")
    ending, media = _FILE_TYPES[form]
    headers = {
        "Content-Disposition": f'attachment; filename="audit.{ending}"',
        "Content-Type": f"{media}; charset=utf-8",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(written(audit, form), headers=headers)


def _groups(audit: Audit, naming: Naming) -> list[_Group]:
    writer = FindingWriter(naming, audit.labels, audit.namespaces)
    groups = []
    for (severity, check), findings in groupby(audit.findings, key=lambda each: (each.severity, each.check)):
        known = audit.checks.get(check)
        label, rationale, mend = (known.label, known.rationale, known.mend) if known else ("", "", "")
        listed = tuple(writer.shown(each.focus, each.message, path=each.path) for each in findings)
        groups.append(_Group(check, label, severity, audit.totals[check], rationale, mend, listed))
    return groups
