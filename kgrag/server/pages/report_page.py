"""The audit page: which checks an ontology of the store fails, by check, worst first; or the report as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag.audit import Audit, AuditFinding, AuditOptions, profile_names
from kgrag.audit.reports import written
from kgrag.audit.reports.text_reports import shortened
from kgrag.server.api.json_endpoints import audited
from kgrag.server.pages.iri_links import Naming, Shown, naming_for
from kgrag.server.pages.page_queries import rows
from kgrag.server.pages.page_rendering import check_visited, guarded, page
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import iri
from kgrag.server.server_state import state_of
from kgrag.vocab import KG

__all__ = ["report"]

_LIMIT = 100
_GRAPHS = 200
_ENDINGS = {
    "html": ("html", "text/html"),
    "json": ("json", "application/json"),
    "markdown": ("md", "text/markdown"),
    "sarif": ("sarif", "application/sarif+json"),
    "junit": ("xml", "application/xml"),
    "shacl": ("ttl", "text/turtle"),
    "dqv": ("dqv.ttl", "text/turtle"),
}


@dataclass(frozen=True)
class _Finding:
    focus: Shown
    message: str
    path: Shown | None


@dataclass(frozen=True)
class _Group:
    """The findings of one check; ``total`` counts those that are not shown too."""

    check: str
    label: str
    severity: str
    total: int
    rationale: str
    mend: str
    findings: tuple[_Finding, ...]


@guarded
async def report(request: Request) -> Response:
    """Show the form, and the report where a profile is asked for; ``&form=`` gives it as a file."""
    given = request.query_params
    graph, profile, form = (given.get(name, "").strip() for name in ("graph", "profile", "form"))
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
    audit = await audited(request, target, AuditOptions(profile=profile, limit=_LIMIT, metrics=form == "dqv"))
    if form:
        return _file(audit, form)
    naming = await naming_for(request, _terms(audit))
    files = [
        (name, f"{naming.root}/report?{urlencode({**_chosen(graph, profile), 'form': name})}") for name in _ENDINGS
    ]
    groups = _groups(audit, naming)
    return page(request, "report.html", **shared, audit=audit, groups=groups, files=files)


def _chosen(graph: str, profile: str) -> dict[str, str]:
    return {"graph": graph, "profile": profile} if graph else {"profile": profile}


async def _graphs(request: Request) -> dict[str, str]:
    """Give the ontology graphs, with their titles."""
    names = state_of(request).dataset.names
    table = await rows(
        request, "pages/graphs", catalogue=names.catalogue, kind=KG.OntologyGraph, limit=_GRAPHS, offset=0
    )
    found = [ox.NamedNode(row[0]) for row in table.values()]
    titles = {row[0]: row[1] for row in (await rows(request, "pages/titles", graphs=found)).values()}
    naming = await naming_for(request)
    return {graph.value: titles.get(graph.value, naming.short(graph.value)) for graph in found}


def _file(audit: Audit, form: str) -> Response:
    """Give the report as a file, which a browser keeps and does not open: it has scripts of its own."""
    if form not in _ENDINGS:
        raise Problem(400, f"the form {form[:50]!r} is not known. Use one of {', '.join(_ENDINGS)}.")
    ending, media = _ENDINGS[form]
    headers = {
        "Content-Disposition": f'attachment; filename="audit.{ending}"',
        "Content-Type": f"{media}; charset=utf-8",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(written(audit, form), headers=headers)


def _terms(audit: Audit) -> list[ox.NamedNode]:
    return [ox.NamedNode(finding.focus) for finding in audit.findings if _is_iri(finding.focus)]


def _is_iri(text: str) -> bool:
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return not text.startswith("_:")


def _groups(audit: Audit, naming: Naming) -> list[_Group]:
    short = shortened(audit)
    return [
        _group(audit, severity, check, [_finding(each, naming, short) for each in found])
        for (severity, check), found in groupby(audit.findings, key=lambda each: (each.severity, each.check))
    ]


def _group(audit: Audit, severity: str, check: str, findings: list[_Finding]) -> _Group:
    known = audit.checks.get(check)
    label, rationale, mend = (known.label, known.rationale, known.mend) if known else ("", "", "")
    return _Group(check, label, severity, audit.totals[check], rationale, mend, tuple(findings))


def _finding(finding: AuditFinding, naming: Naming, short: Callable[[str], str]) -> _Finding:
    focus = naming.link(finding.focus) if _is_iri(finding.focus) else Shown(finding.focus)
    path = naming.property(finding.path) if finding.path and _is_iri(finding.path) else None
    return _Finding(focus, short(finding.message), path)
