"""Templates to pages: all that is printed is escaped, and a page may load nothing but this server's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from kgrag.server.problems import Problem, problem_json, problem_of

__all__ = ["STATIC", "check_visited", "guarded", "headers_of", "page", "rendered"]

_HERE = Path(__file__).parent
STATIC = _HERE / "static"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' {styles}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
    "Vary": "Accept",
}
_NAVIGATION = (("/", "Ask"), ("/catalogue", "Graphs"), ("/editor", "SPARQL"), ("/report", "Audit"))

Endpoint = Callable[[Request], Awaitable[Response]]


def page(request: Request, template: str, status: int = 200, *, styles: str = "", **values: Any) -> HTMLResponse:
    """Render a template of ``templates/``; ``styles`` are hashes of style sheets that a script puts into the page."""
    return HTMLResponse(rendered(request, template, **values), status, headers_of(styles))


def rendered(request: Request, template: str, **values: Any) -> str:
    """Give the text of a page."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    shared = {
        "root": root,
        "here": request.url.path.removeprefix(root),
        "navigation": _NAVIGATION,
        "static": lambda name: f"{root}/static/{name}?v={_version(name)}",
    }
    return _environment().get_template(template).render({**shared, **values})


def headers_of(styles: str = "") -> dict[str, str]:
    """Give the headers of every page."""
    return {**_HEADERS, "Content-Security-Policy": _POLICY.format(styles=styles).replace(" ;", ";")}


def guarded(endpoint: Endpoint) -> Endpoint:
    """Let an endpoint show what goes wrong as a page."""

    @wraps(endpoint)
    async def guard(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:
            problem = problem_of(error)
            response = page(request, "problem.html", problem.status, problem=problem_json(problem))
            response.headers.update(problem.headers)
            return response

    return guard


def check_visited(request: Request) -> None:
    """Let a request pass whose work may cost something, unless a page of another site embeds it unseen.

    Raises:
        Problem: 403: a browser says that it does.
    """
    if request.headers.get("sec-fetch-site") == "cross-site" and request.headers.get("sec-fetch-mode") != "navigate":
        raise Problem(403, "another site asks for this page without showing it. Open it by a link.")


@cache
def _version(name: str) -> str:
    """Give a short digest of a static file, so that a browser asks again when it changed."""
    return hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda number: f"{int(number):,}"
    return environment
