"""The workbench: forms that write, each of which works without a script.

=========================  =================================================================
page                       what it is for
=========================  =================================================================
``/workbench``             upload documents, forget or erase one
``/workbench/build``       build a method: what it would cost, with a budget, as a job
``/workbench/proposals``   accept or reject what a method proposes for the ontology
``/workbench/jobs``        how far jobs are, and the end of one; the log of writes
=========================  =================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints
from urllib.parse import parse_qsl, urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response

from kgrag import plugins
from kgrag.capabilities import Proposes, having
from kgrag.errors import InputError, NotBuilt
from kgrag.model import Document
from kgrag.server import health_endpoints, query_list
from kgrag.server.api import document_endpoints, job_endpoints, proposal_endpoints
from kgrag.server.pages.iri_links import naming_for
from kgrag.server.pages.page_rendering import guarded
from kgrag.server.pages.workbench_forms import Fields, Sent, form_of, json_of, reply_to, to_job, work_page
from kgrag.server.problems import Problem, over_http, problem_of
from kgrag.server.server_state import state_of, workers_of
from kgrag.text import metadata
from kgrag.text.json_documents import document_json
from kgrag.text.readers import suffixes

__all__ = ["build", "documents", "jobs", "proposals"]

_MAX_LINES_OF_LOG = 50
_TYPES: Mapping[str, tuple[type, str]] = {"int": (int, "number"), "float": (float, "number"), "str": (str, "text")}


# --- documents ----------------------------------------------------------------------------------------------------


@guarded
async def documents(request: Request) -> Response:
    """Show the forms, or take in or forget documents."""
    values: dict[str, Any] = {"suffixes": suffixes(), "form": Fields(), "forgotten": ()}
    if request.method == "GET":
        return work_page(request, "workbench_documents.html", **values)
    sent = await form_of(request)
    values["form"] = sent.fields
    try:
        if sent.get("what") == "forget":
            return await _forget(request, sent, values)
        return await _add(request, sent, values)
    except Exception as error:
        problem = problem_of(error)
        return work_page(request, "workbench_documents.html", problem.status, **values, problem=str(problem))


async def _add(request: Request, sent: Sent, values: dict[str, Any]) -> Response:
    fields_ = _metadata(sent.get("metadata"))
    query = urlencode({"feed": sent.get("feed") or "api"})
    files = sent.files.get("files", [])
    if not files and not sent.get("text"):
        raise Problem(400, "there is neither a file nor a text. Choose files, or paste a text.")
    if files:
        body, media = _multipart(files, {"title": sent.get("title"), "metadata": json.dumps(fields_)})
        reply = await reply_to(request, document_endpoints.post, sent, body, media=media, query=query)
        return to_job(request, json_of(reply))
    document = {"text": sent.get("text"), "title": sent.get("title"), "id": sent.get("id"), "metadata": fields_}
    reply = await reply_to(request, document_endpoints.post, sent, json.dumps(document).encode(), query=query)
    report = json_of(reply)
    done = "It was there already." if report["unchanged"] else f"Taken in, as {report['chunks']} passages."
    return work_page(request, "workbench_documents.html", **{**values, "form": Fields()}, done=done)


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


async def _forget(request: Request, sent: Sent, values: dict[str, Any]) -> Response:
    name, erases = sent.get("document"), bool(sent.get("erase"))
    if not name:
        raise Problem(400, "no document is named. Give its id, title, location or IRI.")
    query = urlencode({"all": str(bool(sent.get("all"))).lower(), "erase": str(erases).lower()})
    reply = await reply_to(request, document_endpoints.delete, sent, method="DELETE", path={"id": name}, query=query)
    if erases:
        return to_job(request, json_of(reply))
    return work_page(request, "workbench_documents.html", **{**values, "form": Fields(), "forgotten": json_of(reply)})


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
    sent = Sent(Fields()) if request.method == "GET" else await form_of(request)
    chosen = sent.get("method") or request.query_params.get("method", "")
    form = sent.fields or Fields(request.query_params)
    if chosen and chosen not in methods:
        raise Problem(404, f"there is no method {chosen[:100]!r}.")
    options = _options(chosen) if chosen else []
    price = workers_of(request).kb.price()
    values: dict[str, Any] = {
        "methods": {name: declared.label for name, declared in sorted(methods.items()) if name != "auto"},
        "chosen": chosen,
        "options": options,
        "price": price,
        "form": form if form.keys() - {"method"} else Fields(),
    }
    if request.method == "GET":
        return work_page(request, "workbench_build.html", **values)
    try:
        body: dict[str, Any] = {"options": _given(chosen, options, sent), "dry_run": sent.get("step") == "dry run"}
        for name, read in (("max_tokens", int), ("max_cost", float)):
            if sent.get(name):
                body[name] = _number(read, name, sent.get(name))
        reply = await reply_to(request, job_endpoints.build, sent, json.dumps(body).encode(), path={"method": chosen})
        asked = {name: text for name, text in sent.fields.items() if text and name not in ("key", "step")}
        return to_job(request, json_of(reply), asked=urlencode(asked) if body["dry_run"] else "")
    except Exception as error:
        problem = problem_of(error)
        return work_page(request, "workbench_build.html", problem.status, **values, problem=str(problem))


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


def _given(method: str, options: list[_Option], sent: Sent) -> dict[str, Any]:
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
    """Show what a method proposes for the ontology, decide about it, or propose anew with a picture of both layers."""
    sent = Sent(Fields()) if request.method == "GET" else await form_of(request)
    method = sent.get("method") or request.query_params.get("method", "poly_rag")
    values: dict[str, Any] = {
        "method": method,
        "methods": having(Proposes),
        "proposals": [],
        "naming": None,
        "picture": "",
    }
    status, done = 200, ""
    try:
        if sent.get("step") == "draw":
            values["picture"] = await _drawn(request, sent, method)
        if request.method == "POST" and not values["picture"]:
            body = {"method": method, **_decisions(sent)}
            listed = json_of(await reply_to(request, proposal_endpoints.decide, sent, json.dumps(body).encode()))
            count = sum(len(each) for name, each in body.items() if name != "method")
            done = f"{count} {'decision is' if count == 1 else 'decisions are'} kept."
        else:
            query = urlencode({"method": method})
            listed = json_of(await reply_to(request, proposal_endpoints.listed, sent, method="GET", query=query))
    except NotBuilt as error:
        listed, values["problem"] = [], over_http(error)
    except (Problem, InputError) as error:
        problem = problem_of(error)
        status, values["problem"], listed = problem.status, str(problem), []
    terms = [ox.NamedNode(each[name]) for each in listed for name in ("subject", "object") if _is_iri(each[name])]
    naming = await naming_for(request, terms)
    for each in listed:
        each["links"] = {name: naming.link(each[name]) for name in ("subject", "object") if _is_iri(each[name])}
    return work_page(request, "workbench_proposals.html", status, **{**values, "proposals": listed, "done": done})


async def _drawn(request: Request, sent: Sent, method: str) -> str:
    reply = await reply_to(request, proposal_endpoints.draw, sent, json.dumps({"method": method}).encode())
    return bytes(reply.body).decode()


def _is_iri(text: str) -> bool:
    try:
        ox.NamedNode(text)
    except ValueError:
        return False
    return not text.startswith("_:")


def _decisions(sent: Sent) -> dict[str, list[str]]:
    """Return the decisions of a form that are other than what was decided."""
    found: dict[str, list[str]] = {"accept": [], "reject": [], "reopen": []}
    verbs = {"accepted": "accept", "rejected": "reject", "open": "reopen"}
    for name, decision in sent.fields.items():
        iri = name.removeprefix("decision ")
        if iri != name and decision in verbs and decision != sent.get(f"was {iri}"):
            found[verbs[decision]].append(iri)
    return found


# --- jobs ---------------------------------------------------------------------------------------------------------


@guarded
async def jobs(request: Request) -> Response:
    """Show a job, all of them, or the log of writes; or cancel one."""
    values: dict[str, Any] = {"job": None, "jobs": None, "writes": None, "queries": None, "asked": ""}
    if request.method == "GET":
        name = request.query_params.get("job", "")
        values["asked"] = urlencode(parse_qsl(request.query_params.get("asked", "")))
        found = state_of(request).jobs.find(name) if name else None
        if name and found is None:
            raise Problem(404, "there is no such job; it is long over, or of a server before this one.")
        return work_page(request, "workbench_jobs.html", **{**values, "job": found and found.to_json()})
    sent = await form_of(request)
    try:
        if sent.get("what") == "cancel":
            await reply_to(request, job_endpoints.cancel, sent, method="DELETE", path={"id": sent.get("job")})
            return to_job(request, {"id": sent.get("job")})
        if sent.get("what") in ("queries", "end"):
            if sent.get("what") == "end":
                await reply_to(request, query_list.cancel, sent, method="DELETE", path={"id": sent.get("query")})
                values["done"] = "The query is ended."
            values["queries"] = json_of(await reply_to(request, query_list.listed, sent, method="GET"))
            return work_page(request, "workbench_jobs.html", **values)
        values["jobs"] = json_of(await reply_to(request, job_endpoints.listed, sent, method="GET"))
        if sent.get("what") == "history":
            query = urlencode({"last": _MAX_LINES_OF_LOG})
            reply = await reply_to(request, health_endpoints.writes, sent, method="GET", query=query)
            values["writes"] = [json.loads(line) for line in reversed(bytes(reply.body).splitlines())]
        return work_page(request, "workbench_jobs.html", **values)
    except Exception as error:
        problem = problem_of(error)
        return work_page(request, "workbench_jobs.html", problem.status, **values, problem=str(problem))
