"""The workbench: forms that write, each of which works without a script.

=========================  =================================================================
page                       what it is for
=========================  =================================================================
``/workbench``             upload documents, forget or erase one
``/workbench/graphs``      load RDF into a graph, remove a graph
``/workbench/build``       build a method: what it would cost, with a budget, as a job
``/workbench/proposals``   accept or reject what a method proposes for the ontology
``/workbench/update``      what an update would do, and then the update
``/workbench/jobs``        how far jobs are, and the end of one; the log of writes
=========================  =================================================================

A form brings the key with it, since a browser sends no Bearer header by itself; a script keeps the key for its tab.
What a form of another site sends is refused. Each form becomes a request to the endpoint of the API that does the work.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import unquote, urlencode

import pyoxigraph as ox
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kgrag import plugins
from kgrag.capabilities import Proposes, having
from kgrag.errors import InputError, NotBuilt
from kgrag.model import Document
from kgrag.server import graph_store, health_endpoints, query_list, sparql_endpoints
from kgrag.server.api import document_endpoints, job_endpoints, proposal_endpoints
from kgrag.server.inner_requests import Endpoint, reply_of
from kgrag.server.pages.iri_links import naming_for
from kgrag.server.pages.page_queries import rows
from kgrag.server.pages.page_rendering import guarded, page
from kgrag.server.paid_access import is_cross_site
from kgrag.server.problems import Problem, problem_of
from kgrag.server.protocol_requests import body_of
from kgrag.server.server_state import address, state_of, workers_of
from kgrag.text import metadata
from kgrag.text.json_documents import document_json
from kgrag.text.readers import suffixes
from kgrag.vocab import KG, OWL, RDF

__all__ = ["build", "documents", "graphs", "jobs", "proposals", "update"]

_TABS = (
    ("/workbench", "Documents"),
    ("/workbench/graphs", "RDF"),
    ("/workbench/build", "Build"),
    ("/workbench/proposals", "Proposals"),
    ("/workbench/jobs", "Jobs and history"),
)
_MAX_FILES = 100
_MAX_GRAPHS_LISTED = 200
_MAX_LINES_OF_LOG = 50
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
_TYPES: Mapping[str, tuple[type, str]] = {"int": (int, "number"), "float": (float, "number"), "str": (str, "text")}


class _Fields(dict[str, str]):
    """The fields of a form for its template; one that was not sent is ""."""

    def __missing__(self, _: str) -> str:
        return ""


@dataclass(frozen=True)
class _Sent:
    """A form: its fields, and its files that are not empty, by field."""

    fields: _Fields
    files: Mapping[str, list[tuple[str, bytes]]] = field(default_factory=dict)

    def get(self, name: str) -> str:
        """Return a field, "" where there is none."""
        return self.fields.get(name, "").strip()


async def _form(request: Request) -> _Sent:
    """Return what a form of this server sent.

    Raises:
        Problem: 403: a page of another site sent it; 413.
    """
    if is_cross_site(request):
        raise Problem(403, "a page of another site sent this form. Use the workbench of this server.")
    body = await body_of(request, state_of(request).pool.limits.body)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    texts = _Fields()
    files: dict[str, list[tuple[str, bytes]]] = {}
    # the body is read already, to limit its size, and given to starlette's parser from here
    async with Request(request.scope, receive).form(max_files=_MAX_FILES, max_fields=1000) as form:
        for name, part in form.multi_items():
            if not isinstance(part, UploadFile):
                texts[name] = part
            elif part.filename:
                files.setdefault(name, []).append((part.filename, await part.read()))
    return _Sent(texts, files)


async def _done(request: Request, endpoint: Endpoint, sent: _Sent, body: bytes = b"", **options: Any) -> Response:
    """Return what an endpoint answers with the key of a form."""
    return await reply_of(endpoint, request, body, key=sent.get("key"), **options)


def _json(reply: Response) -> Any:
    return json.loads(bytes(reply.body))


def _page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    needed = state_of(request).rules.keys.needed_for_writing
    shared = {"tabs": _TABS, "needs_key": needed, "problem": "", "done": ""}
    return page(request, template, status, **{**shared, **values})


def _to_job(request: Request, job: Mapping[str, Any]) -> Response:
    """Lead to the page of a job, as 303, so that a reload does not send the form again."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return RedirectResponse(f"{root}/workbench/jobs?{urlencode({'job': job['id']})}", 303)


# --- documents ----------------------------------------------------------------------------------------------------


@guarded
async def documents(request: Request) -> Response:
    """Show the forms, or take in or forget documents."""
    values: dict[str, Any] = {"suffixes": suffixes(), "form": _Fields(), "forgotten": ()}
    if request.method == "GET":
        return _page(request, "workbench_documents.html", **values)
    sent = await _form(request)
    values["form"] = sent.fields
    try:
        if sent.get("what") == "forget":
            return await _forget(request, sent, values)
        return await _add(request, sent, values)
    except Exception as error:
        problem = problem_of(error)
        return _page(request, "workbench_documents.html", problem.status, **values, problem=str(problem))


async def _add(request: Request, sent: _Sent, values: dict[str, Any]) -> Response:
    fields_ = _metadata(sent.get("metadata"))
    query = urlencode({"feed": sent.get("feed") or "api"})
    files = sent.files.get("files", [])
    if not files and not sent.get("text"):
        raise Problem(400, "there is neither a file nor a text. Choose files, or paste a text.")
    if files:
        body, media = _multipart(files, {"title": sent.get("title"), "metadata": json.dumps(fields_)})
        reply = await _done(request, document_endpoints.post, sent, body, media=media, query=query)
        return _to_job(request, _json(reply))
    document = {"text": sent.get("text"), "title": sent.get("title"), "id": sent.get("id"), "metadata": fields_}
    reply = await _done(request, document_endpoints.post, sent, json.dumps(document).encode(), query=query)
    report = _json(reply)
    done = "It was there already." if report["unchanged"] else f"Taken in, as {report['chunks']} passages."
    return _page(request, "workbench_documents.html", **{**values, "form": _Fields()}, done=done)


def _metadata(text: str) -> dict[str, Any]:
    """Return lines ``field = value`` as the JSON API has metadata.

    Raises:
        Problem: 400: a line is none.
    """
    found: dict[str, Any] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if line.strip() and (not equals or not name.strip()):
            raise Problem(400, f"the line {line[:100]!r} of the metadata is not field = value.")
        if line.strip():
            found[name.strip()] = metadata.typed(value)
    said: dict[str, Any] = document_json(Document("", metadata=found)).get("metadata", {})
    return said


def _multipart(files: list[tuple[str, bytes]], texts: Mapping[str, str]) -> tuple[bytes, str]:
    """Return files and fields as the body of a form, and its media type."""
    boundary = "kgrag-workbench-boundary-7c1f0f8f"
    while any(boundary.encode() in data for _, data in files):
        boundary += "x"
    parts = []
    for name, text in texts.items():
        parts.append(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode())
    for number, (name, data) in enumerate(files):
        shown = name.replace("\\", "_").replace('"', "%22").replace("\r", "").replace("\n", "")
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="f{number}"; filename="{shown}"\r\n\r\n'
        parts.append(head.encode() + data + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


async def _forget(request: Request, sent: _Sent, values: dict[str, Any]) -> Response:
    name, erases = sent.get("document"), bool(sent.get("erase"))
    if not name:
        raise Problem(400, "no document is named. Give its id, title, location or IRI.")
    query = urlencode({"all": str(bool(sent.get("all"))).lower(), "erase": str(erases).lower()})
    reply = await _done(request, document_endpoints.delete, sent, method="DELETE", path={"id": name}, query=query)
    if erases:
        return _to_job(request, _json(reply))
    return _page(request, "workbench_documents.html", **{**values, "form": _Fields(), "forgotten": _json(reply)})


# --- RDF ----------------------------------------------------------------------------------------------------------


@guarded
async def graphs(request: Request) -> Response:
    """Show the forms, or load RDF into a graph, or remove one."""
    values: dict[str, Any] = {
        "graphs": await _listed_graphs(request),
        "media": sorted(_MEDIA),
        "form": _Fields(),
        "loaded": (),
    }
    if request.method == "GET":
        return _page(request, "workbench_graphs.html", **values)
    sent = await _form(request)
    values["form"] = sent.fields
    try:
        if sent.get("what") == "remove":
            query = urlencode({"graph": sent.get("graph")})
            await _done(request, graph_store.graph, sent, method="DELETE", query=query)
            done = f"<{sent.get('graph')}> is removed."
        else:
            values["loaded"] = await _load(request, sent)
            done = ""
        values |= {"graphs": await _listed_graphs(request), "form": _Fields()}
        return _page(request, "workbench_graphs.html", **values, done=done)
    except Exception as error:
        problem = problem_of(error)
        findings = [each for graph in problem.more.get("graphs", ()) for each in graph["findings"]]  # type: ignore[attr-defined]
        return _page(
            request, "workbench_graphs.html", problem.status, **values, problem=str(problem), findings=findings
        )


async def _load(request: Request, sent: _Sent) -> list[tuple[str, str]]:
    """Load the files of a form, and return each with its graph."""
    files = sent.files.get("files", [])
    if sent.get("rdf"):
        files = [*files, ("text.ttl", sent.get("rdf").encode())]
    if not files:
        raise Problem(400, "there is neither a file nor a text. Choose files, or paste Turtle.")
    loaded: list[tuple[str, str]] = []
    for name, data in files:
        media = _MEDIA.get(Path(name.lower()).suffix)
        if media is None:
            raise Problem(400, f"{name[:200]}: RDF files end in {', '.join(sorted(_MEDIA))}.")
        graph = sent.get("graph") or await _declared_graph(request, media, data)
        replaces = sent.get("mode") == "replace" and graph not in {known for _, known in loaded}
        query = urlencode({"graph": graph}) if graph else ""
        method = "PUT" if replaces and graph else "POST"
        reply = await _done(request, graph_store.graph, sent, data, media=media, method=method, query=query)
        if not graph:  # the server has named it
            graph = unquote(reply.headers["location"].partition("graph=")[2])
        loaded.append((name, graph))
    return loaded


async def _declared_graph(request: Request, media: str, data: bytes) -> str:
    """Return the IRI of the one ontology that a file declares, "" without: it is loaded into a graph of that name."""
    triples = await graph_store.parsed(state_of(request), media, data, address(request, "/graphs"))
    declared = {t.subject for t in triples if t.predicate == RDF.type and t.object == OWL.Ontology}
    found = [each.value for each in declared if isinstance(each, ox.NamedNode)]
    return found[0] if len(found) == 1 else ""


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


# --- build --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Option:
    """An option of a build as a field of a form; ``kind`` is that of the input."""

    name: str
    help: str
    kind: str
    default: str


@guarded
async def build(request: Request) -> Response:
    """Show what can be built and with which options, or begin a build or its dry run."""
    methods = plugins.methods()
    sent = _Sent(_Fields()) if request.method == "GET" else await _form(request)
    chosen = sent.get("method") or request.query_params.get("method", "")
    if chosen and chosen not in methods:
        raise Problem(404, f"there is no method {chosen[:100]!r}.")
    options = _options(chosen) if chosen else []
    price = workers_of(request).kb.price()
    values: dict[str, Any] = {
        "methods": {name: declared.label for name, declared in sorted(methods.items()) if name != "auto"},
        "chosen": chosen,
        "options": options,
        "price": price,
        "form": sent.fields,
    }
    if request.method == "GET":
        return _page(request, "workbench_build.html", **values)
    try:
        body: dict[str, Any] = {"options": _given(chosen, options, sent), "dry_run": sent.get("step") == "dry run"}
        for name, read in (("max_tokens", int), ("max_cost", float)):
            if sent.get(name):
                body[name] = _number(read, name, sent.get(name))
        reply = await _done(request, job_endpoints.build, sent, json.dumps(body).encode(), path={"method": chosen})
        return _to_job(request, _json(reply))
    except Exception as error:
        problem = problem_of(error)
        return _page(request, "workbench_build.html", problem.status, **values, problem=str(problem))


def _options(method: str) -> list[_Option]:
    """Return the options of a method that can be given in a form: none that names files."""
    declared = plugins.method(method).options
    hints, found = get_type_hints(declared), []
    for each in fields(declared):
        kind, default = hints[each.name], each.default
        if "Path" in str(kind) or isinstance(default, tuple):
            continue
        shown = "" if default is None else str(default)
        if kind is bool:
            found.append(_Option(each.name, each.metadata["help"], "checkbox", "yes" if default else ""))
        else:
            words = str(getattr(kind, "__name__", kind))
            known = next((name for name in _TYPES if name in words), "str")
            found.append(_Option(each.name, each.metadata["help"], _TYPES[known][1], shown))
    return found


def _given(method: str, options: list[_Option], sent: _Sent) -> dict[str, Any]:
    """Return the options that a form sets to something else than their defaults."""
    hints, found = get_type_hints(plugins.method(method).options), dict[str, Any]()
    for each in options:
        text = sent.get(f"option.{each.name}")
        if each.kind == "checkbox":
            if bool(text) != bool(each.default):
                found[each.name] = bool(text)
        elif text and text != each.default:
            reads = int if "int" in str(hints[each.name]) else float if "float" in str(hints[each.name]) else str
            found[each.name] = _number(reads, each.name, text)
    return found


def _number(read: type, name: str, text: str) -> Any:
    try:
        return read(text)
    except ValueError:
        raise Problem(400, f"{name} is {text[:50]!r}, and a number is expected.") from None


# --- proposals ----------------------------------------------------------------------------------------------------


@guarded
async def proposals(request: Request) -> Response:
    """Show what a method proposes for the ontology, or decide about it."""
    sent = _Sent(_Fields()) if request.method == "GET" else await _form(request)
    method = sent.get("method") or request.query_params.get("method", "poly_rag")
    values: dict[str, Any] = {"method": method, "methods": having(Proposes), "proposals": [], "naming": None}
    status, done = 200, ""
    try:
        if request.method == "POST":
            body = {"method": method, **_decisions(sent)}
            listed = _json(await _done(request, proposal_endpoints.decide, sent, json.dumps(body).encode()))
            count = sum(len(each) for name, each in body.items() if name != "method")
            done = f"{count} {'decision is' if count == 1 else 'decisions are'} kept."
        else:
            query = urlencode({"method": method})
            listed = _json(await _done(request, proposal_endpoints.listed, sent, method="GET", query=query))
    except NotBuilt as error:
        listed, values["problem"] = [], str(error)
    except (Problem, InputError) as error:
        problem = problem_of(error)
        status, values["problem"], listed = problem.status, str(problem), []
    terms = [ox.NamedNode(each[name]) for each in listed for name in ("subject", "object") if _is_iri(each[name])]
    naming = await naming_for(request, terms)
    for each in listed:
        each["links"] = {name: naming.link(each[name]) for name in ("subject", "object") if _is_iri(each[name])}
    return _page(request, "workbench_proposals.html", status, **{**values, "proposals": listed, "done": done})


def _is_iri(text: str) -> bool:
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return not text.startswith("_:")


def _decisions(sent: _Sent) -> dict[str, list[str]]:
    """Return the decisions of a form that are other than what was decided."""
    found: dict[str, list[str]] = {"accept": [], "reject": [], "reopen": []}
    verbs = {"accepted": "accept", "rejected": "reject", "open": "reopen"}
    for name, decision in sent.fields.items():
        iri = name.removeprefix("decision ")
        if iri != name and decision in verbs and decision != sent.get(f"was {iri}"):
            found[verbs[decision]].append(iri)
    return found


# --- updates ------------------------------------------------------------------------------------------------------


@guarded
async def update(request: Request) -> Response:
    """Show what an update would do; run it, where that is still so."""
    if request.method == "GET":
        return _page(
            request, "workbench_update.html", text=request.query_params.get("update", ""), effect=None, etag=""
        )
    sent = await _form(request)
    text = sent.fields.get("query", "")
    values: dict[str, Any] = {"text": text, "effect": None, "etag": ""}
    if not text.strip():
        return _page(request, "workbench_update.html", 400, **values, problem="there is no update. Write one.")
    try:
        if sent.get("step") == "apply":
            headers = {"If-Match": sent.get("etag")} if sent.get("etag") else {}
            media = "application/sparql-update"
            await _done(request, sparql_endpoints.update, sent, text.encode(), media=media, headers=headers)
            revision = state_of(request).dataset.revision
            return _page(request, "workbench_update.html", **values, done=f"Done; the store is at revision {revision}.")
        if state_of(request).rules.keys.needed_for_writing and not sent.get("key"):
            return _page(request, "workbench_update.html", **values)
        reply = await _done(request, sparql_endpoints.effect, sent, text.encode(), media="application/sparql-update")
        values |= {"effect": _json(reply), "etag": reply.headers["etag"]}
        return _page(request, "workbench_update.html", **values)
    except Exception as error:
        problem = problem_of(error)
        return _page(request, "workbench_update.html", problem.status, **values, problem=str(problem))


# --- jobs ---------------------------------------------------------------------------------------------------------


@guarded
async def jobs(request: Request) -> Response:
    """Show a job, all of them, or the log of writes; or cancel one."""
    values: dict[str, Any] = {"job": None, "jobs": None, "writes": None, "queries": None}
    if request.method == "GET":
        name = request.query_params.get("job", "")
        found = state_of(request).jobs.find(name) if name else None
        if name and found is None:
            raise Problem(404, "there is no such job, or it is long over.")
        return _page(request, "workbench_jobs.html", **{**values, "job": found and found.to_json()})
    sent = await _form(request)
    try:
        if sent.get("what") == "cancel":
            await _done(request, job_endpoints.cancel, sent, method="DELETE", path={"id": sent.get("job")})
            return _to_job(request, {"id": sent.get("job")})
        if sent.get("what") in ("queries", "end"):
            if sent.get("what") == "end":
                await _done(request, query_list.cancel, sent, method="DELETE", path={"id": sent.get("query")})
                values["done"] = "The query is ended."
            values["queries"] = _json(await _done(request, query_list.listed, sent, method="GET"))
            return _page(request, "workbench_jobs.html", **values)
        values["jobs"] = _json(await _done(request, job_endpoints.listed, sent, method="GET"))
        if sent.get("what") == "history":
            query = urlencode({"last": _MAX_LINES_OF_LOG})
            reply = await _done(request, health_endpoints.writes, sent, method="GET", query=query)
            values["writes"] = [json.loads(line) for line in reversed(bytes(reply.body).splitlines())]
        return _page(request, "workbench_jobs.html", **values)
    except Exception as error:
        problem = problem_of(error)
        return _page(request, "workbench_jobs.html", problem.status, **values, problem=str(problem))
