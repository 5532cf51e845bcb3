"""The start page: a question, and its answer with each citation marked in the passage that carries it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from kgrag import plugins
from kgrag.answering.opening_places import page_url
from kgrag.declarations import DEFAULT_METHOD
from kgrag.late_patterns import late_re
from kgrag.model import Answer, Citation, Hit, Place
from kgrag.server.filter_reading import filter_of
from kgrag.server.pages.iri_links import Naming, naming_for
from kgrag.server.pages.marked_text import Mark, Piece, pieces
from kgrag.server.pages.page_rendering import PAGE_HEADERS, check_visited, guarded, page, rendered
from kgrag.server.paid_access import is_cross_site
from kgrag.server.problems import Problem, problem_of
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.stored_rows import kept, rows
from kgrag.server.worker_threads import WorkerThreads

__all__ = ["ask", "methods_offered"]

_MAX_QUESTION_CHARACTERS, _MAX_HITS = 4000, 50
_MAX_FILTER_CHARACTERS = 4000
_MAX_EARLIER_QUESTIONS = 6
_SECONDS_BEFORE_STREAMING = 1.0
"""A page whose answer takes longer is sent in two parts, so that the browser shows that work goes on."""
_SECONDS_BETWEEN_SPACES = 15.0
"""Proxies close a connection that is silent for longer, many after 30 or 60 seconds."""
_ANSWER_MARKER = "<!-- the answer -->"
"""The comment in the template where the answer begins."""
_CROSS_SITE_PROBLEM = "A link on another site asks this, and an answer costs money here. Press Ask if you want to know."
_EMPTY_LINES = late_re(r"\n\s*\n")
_WEB_ADDRESS = late_re(r"https?://", flags=re.IGNORECASE)
_ROW_KIND = "row"
"""Kind of a hit that is a row of a query: it is not stored, so it has no page, but the query has one."""


@dataclass(frozen=True)
class _Form:
    question: str
    method: str
    k: int
    where: str = ""
    """Which documents may be found: a condition or pattern as ``--where`` takes it; "" = all."""


@dataclass(frozen=True)
class _Sentence:
    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Passage:
    """A stored chunk with marks named after the numbers of the citations, and what a model wrote from it, by number.

    ``pages`` are those on which what is cited begins. ``url`` is its document's web address, at its page where that is
    a PDF; "" where there is none that can be opened.
    """

    numbers: tuple[int, ...]
    title: str
    heading: str
    pages: tuple[int, ...]
    url: str
    text: tuple[Piece, ...]
    derived: tuple[tuple[int, str], ...]
    document: str
    chunk: str
    why: str


@dataclass(frozen=True)
class _Evidence:
    """A hit; without ``href`` it has no page."""

    title: str
    href: str
    kind: str
    text: str
    share: int
    """Score as a percentage of the best."""
    why: str
    """Its picture: what it is linked to; of a node of a summary tree that tree; of a row why the query has it."""


@guarded
async def ask(request: Request) -> Response:
    """Show the form, and the answer where a question is asked; if that takes long, the beginning of the page first."""
    form = _read(request)
    kinds = await kept(request, "pages/kinds", catalogue=state_of(request).dataset.names.catalogue)
    earlier = await kept(request, "pages/questions", limit=_MAX_EARLIER_QUESTIONS)
    values: dict[str, Any] = {
        "form": form,
        "methods": methods_offered(form.method),
        "graphs": sum(int(row[1]) for row in kinds.values()),
        "asked": earlier.values(),
        "answer": None,
        "problem": "",
        "waiting": False,
    }
    workers = workers_of(request)
    if not form.question:
        workers.warm()
        return page(request, "ask.html", **values)
    check_visited(request)
    state = state_of(request)
    if state.rules.paid_access.answers_cost and is_cross_site(request):
        return page(request, "ask.html", **{**values, "problem": _CROSS_SITE_PROBLEM})
    state.rules.paid_access.check(request, state.rules.keys)
    working = asyncio.create_task(_answered(request, workers, form))
    if (await asyncio.wait({working}, timeout=_SECONDS_BEFORE_STREAMING))[0]:
        status, answered = working.result()
        return page(request, "ask.html", status, **{**values, **answered})

    async def in_two_parts() -> AsyncIterator[str]:
        yield rendered(request, "ask.html", **{**values, "waiting": True}).partition(_ANSWER_MARKER)[0]
        while not (await asyncio.wait({working}, timeout=_SECONDS_BETWEEN_SPACES))[0]:
            yield " "
        yield rendered(request, "ask.html", **{**values, **working.result()[1]}).partition(_ANSWER_MARKER)[2]

    headers = {**PAGE_HEADERS, "Content-Encoding": "identity"}  # a compressor would wait for more before it sends
    return StreamingResponse(in_two_parts(), 200, headers, "text/html")


async def _answered(request: Request, workers: WorkerThreads, form: _Form) -> tuple[int, dict[str, Any]]:
    """Return the status and the template values of the page: those of the answer, or what went wrong."""
    try:
        where = await filter_of(request, form.where or None)
        answer = await workers.run(
            lambda: workers.ask(form.question, method=form.method, k=form.k, where=where, on_hits=lambda _: None)
        )
        return 200, await _answer_values(request, answer)
    except Exception as error:
        problem = problem_of(error)
        return problem.status, {"problem": str(problem)}


def _read(request: Request) -> _Form:
    parameters = request.query_params
    question, k = parameters.get("question", "").strip(), parameters.get("k", "5").strip() or "5"
    if len(question) > _MAX_QUESTION_CHARACTERS:
        raise Problem(
            400, f"the question has {len(question):,} characters; at most {_MAX_QUESTION_CHARACTERS:,} are taken."
        )
    if not k.isdecimal() or not 1 <= int(k) <= _MAX_HITS:
        raise Problem(400, f"{k[:20]!r} hits were asked for; a number from 1 to {_MAX_HITS} is expected.")
    where = parameters.get("where", "").strip()
    if len(where) > _MAX_FILTER_CHARACTERS:
        raise Problem(400, f"the filter has {len(where):,} characters; at most {_MAX_FILTER_CHARACTERS:,} are taken.")
    return _Form(question, parameters.get("method", "").strip()[:500] or DEFAULT_METHOD, int(k), where)


def methods_offered(chosen: str) -> dict[str, str]:
    """Return the methods on offer with their descriptions, the default first; one that the user typed is added."""
    declared = plugins.methods()
    names = sorted(declared, key=lambda name: (name != DEFAULT_METHOD, name))
    offered = {name: f"{name} – {declared[name].label}" for name in names}
    return offered if chosen in offered else {**offered, chosen: chosen}


async def _answer_values(request: Request, answer: Answer) -> dict[str, Any]:
    cited = answer.citations or answer.nearest
    chunks = list(dict.fromkeys(citation.chunk for citation in cited))
    stored: dict[str, dict[str, str]] = {}
    if chunks:
        table = await rows(request, "passages/evidence", chunks=[ox.NamedNode(chunk) for chunk in chunks])
        stored = {row[0]: dict(zip(table.variables, row, strict=True)) for row in table.values()}
    linked = [ox.NamedNode(iri) for iri in (*chunks, *(hit.iri for hit in answer.hits)) if not iri.startswith("_:")]
    naming = await naming_for(request, linked)
    best = max((hit.score for hit in answer.hits), default=0.0)
    return {
        "answer": answer,
        "sentences": _sentences(answer),
        "passages": [_passage(chunk, stored.get(chunk, {}), cited, naming) for chunk in chunks],
        "evidence": [
            _evidence(hit, naming, best, answer.sparql, number=number)
            for number, hit in enumerate(answer.hits, start=1)
        ],
    }


def _sentences(answer: Answer) -> list[_Sentence]:
    numbered = list(enumerate(answer.citations, 1))
    return [
        _Sentence(text, tuple(number for number, citation in numbered if citation.sentence == place))
        for place, text in enumerate(answer.sentences)
    ]


def _passage(chunk: str, row: Mapping[str, str], citations: Sequence[Citation], naming: Naming) -> _Passage:
    own = [(number, citation) for number, citation in enumerate(citations, 1) if citation.chunk == chunk]
    first = own[0][1]
    main = max((citation for _, citation in own), key=lambda citation: citation.end - citation.start)
    start = int(row.get("start", first.start))
    marks = [Mark(str(number), citation.start - start, citation.end - start) for number, citation in own]
    page_numbers = sorted({citation.place.page for _, citation in own if citation.place and citation.place.page})
    text = pieces(row.get("text", first.quote), marks)
    return _Passage(
        tuple(number for number, _ in own),
        row.get("title") or row.get("identifier") or naming.short(first.document),
        row.get("heading", ""),
        tuple(page_numbers),
        _address(main.place or Place()),
        tuple(replace(piece, text=_EMPTY_LINES.sub("\n", piece.text)) for piece in text),
        tuple((number, citation.derived) for number, citation in own if citation.derived),
        f"{naming.href(main.document)}&start={main.start}&end={main.end}#marked",  # not at a line that only names it
        naming.href(chunk),
        naming.picture(chunk),
    )


def _address(place: Place) -> str:
    if not _WEB_ADDRESS.match(place.url):  # the metadata of a document may have a script there
        return ""
    return page_url(place)


def _evidence(hit: Hit, naming: Naming, best: float, sparql: str, *, number: int) -> _Evidence:
    is_row = hit.kind == _ROW_KIND
    name = f"row {number}" if is_row else naming.short(hit.iri)
    title = hit.attributes.get("title") or hit.attributes.get("identifier") or name
    href = "" if is_row else naming.href(hit.iri)
    share = round(100 * max(hit.score, 0) / best) if best > 0 else 0
    why = naming.picture(hit.iri) if href else naming.why_rows(sparql) if sparql else ""
    return _Evidence(str(title), href, hit.kind, hit.text, share, why)
