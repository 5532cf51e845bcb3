"""Templates to pages: all that is printed is escaped, and a page may load nothing but this server's own files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from kgrag.answering.reply_words import LOW_CONFIDENCE, in_language_of
from kgrag.server.pages.interface_language import Messages, catalogue, interface_language
from kgrag.server.problems import Problem, problem_json, problem_of

__all__ = ["PAGE_HEADERS", "StaticPages", "check_visited", "error_page", "guarded", "page", "rendered"]

_HERE = Path(__file__).parent
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, a browser says that a form comes from nowhere
    "Cache-Control": "no-cache",
    "Vary": "Accept, Accept-Language",
    "Content-Security-Policy": _POLICY,
}
_NAVIGATION = (
    ("/", "Ask"),
    ("/chat", "Chat"),
    ("/explore", "Explore"),
    ("/catalogue", "Graphs"),
    ("/editor", "SPARQL"),
    ("/workbench", "Workbench"),
    ("/report", "Audit"),
    ("/guide", "Guide"),
)


class StaticPages(StaticFiles):
    """The files of ``static/``; a browser asks each time whether they changed.

    An address with a version would not do: modules import each other by their names alone.
    """

    def __init__(self) -> None:
        super().__init__(directory=_HERE / "static")

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """Return a file, or 304 where the client has it."""
        response = super().file_response(*arguments, **options)
        response.headers["Cache-Control"] = "no-cache"
        return response


Endpoint = Callable[[Request], Awaitable[Response]]


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a template as a response with the headers of a page."""
    return HTMLResponse(rendered(request, template, **values), status, PAGE_HEADERS)


def rendered(request: Request, template: str, **values: Any) -> str:
    """Return the HTML of a template of ``templates/``."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    shared = {
        "root": root,
        "here": request.url.path.removeprefix(root),
        "navigation": _NAVIGATION,
        "static": lambda name: f"{root}/static/{name}",
    }
    return _environment(interface_language(request)).get_template(template).render({**shared, **values})


def guarded(endpoint: Endpoint) -> Endpoint:
    """Decorate an endpoint so that an error becomes a page with its status."""

    @wraps(endpoint)
    async def guard(request: Request) -> Response:
        try:
            return await endpoint(request)
        except Exception as error:
            return error_page(request, error)

    return guard


def error_page(request: Request, error: Exception) -> Response:
    """Return what went wrong as a page with its status."""
    problem = problem_of(error)
    response = page(request, "problem.html", problem.status, problem=problem_json(problem))
    response.headers.update(problem.headers)
    return response


def check_visited(request: Request) -> None:
    """Refuse a request that a page of another site embeds unseen: its work may cost something.

    Raises:
        Problem: 403: the browser's ``Sec-Fetch`` headers show that one does.
    """
    if request.headers.get("sec-fetch-site") == "cross-site" and request.headers.get("sec-fetch-mode") != "navigate":
        raise Problem(403, "another site asks for this page without showing it. Open it by a link.")


@cache
def _environment(language: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    messages = catalogue(language)
    environment.globals |= {"language": language, "_": lambda text: messages.get(text, text)}
    environment.globals["in_reply"] = lambda words, answer: in_language_of(answer.question, words)
    environment.globals["LOW_CONFIDENCE"] = LOW_CONFIDENCE
    environment.add_extension(Messages)
    mark = "." if language == "de" else ","
    environment.filters["thousands"] = lambda number: f"{int(number):,}".replace(",", mark)
    return environment
