"""What the forms of the workbench have in common: how one is read, sent on with its key, and answered.

A form brings the key with it, since a browser sends no Bearer header by itself; a script keeps the key for its tab.
What a form of another site sends is refused. Each form becomes a request to the endpoint of the API that does the work.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kgrag.server.inner_requests import Endpoint, reply_of
from kgrag.server.pages.page_rendering import page
from kgrag.server.paid_access import is_cross_site
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import body_of
from kgrag.server.server_state import state_of

__all__ = ["Fields", "Sent", "form_of", "json_of", "reply_to", "to_job", "work_page"]

_TABS = (
    ("/workbench", "Documents"),
    ("/workbench/graphs", "RDF"),
    ("/workbench/update", "Update"),
    ("/workbench/build", "Build"),
    ("/workbench/proposals", "Proposals"),
    ("/workbench/jobs", "Jobs and history"),
)
_MAX_FILES = 100


class Fields(dict[str, str]):
    """The fields of a form for its template; one that was not sent is ""."""

    def __missing__(self, _: str) -> str:
        return ""


@dataclass(frozen=True)
class Sent:
    """A form: its fields, and its files that are not empty, by field."""

    fields: Fields
    files: Mapping[str, list[tuple[str, bytes]]] = field(default_factory=dict)

    def get(self, name: str) -> str:
        """Return a field, "" where there is none."""
        return self.fields.get(name, "").strip()


async def form_of(request: Request) -> Sent:
    """Return what a form of this server sent.

    Raises:
        Problem: 403: a page of another site sent it; 413.
    """
    if is_cross_site(request):
        raise Problem(403, "a page of another site sent this form. Use the workbench of this server.")
    body = await body_of(request, state_of(request).pool.limits.body)

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    texts = Fields()
    files: dict[str, list[tuple[str, bytes]]] = {}
    # the body is read already, to limit its size, and given to starlette's parser from here
    async with Request(request.scope, receive).form(max_files=_MAX_FILES, max_fields=1000) as form:
        for name, part in form.multi_items():
            if not isinstance(part, UploadFile):
                texts[name] = part
            elif part.filename:
                files.setdefault(name, []).append((part.filename, await part.read()))
    return Sent(texts, files)


async def reply_to(request: Request, endpoint: Endpoint, sent: Sent, body: bytes = b"", **options: Any) -> Response:
    """Return what an endpoint answers with the key of a form."""
    return await reply_of(endpoint, request, body, key=sent.get("key"), **options)


def json_of(reply: Response) -> Any:
    """Return the JSON of an answer."""
    return json.loads(bytes(reply.body))


def work_page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """Return a page of the workbench."""
    needed = state_of(request).rules.keys.needed_for_writing
    shared = {"tabs": _TABS, "needs_key": needed, "problem": "", "done": ""}
    return page(request, template, status, **{**shared, **values})


def to_job(request: Request, job: Mapping[str, Any], **more: str) -> Response:
    """Lead to the page of a job, as 303, so that a reload does not send the form again; ``more`` goes with it."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    query = {"job": job["id"], **{name: text for name, text in more.items() if text}}
    return RedirectResponse(f"{root}/workbench/jobs?{urlencode(query)}", 303)
