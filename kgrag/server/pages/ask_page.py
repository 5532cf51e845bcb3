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
from kgrag.model import Answer, Citation, Hit
from kgrag.server.pages.iri_links import Naming, naming_for
from kgrag.server.pages.marked_text import Mark, Piece, pieces
from kgrag.server.pages.page_queries import kept, rows
from kgrag.server.pages.page_rendering import PAGE_HEADERS, check_visited, guarded, page, rendered
from kgrag.server.paid_access import is_cross_site
from kgrag.server.problems import Problem, problem_of
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.worker_threads import WorkerThreads

__all__ = ["ask"]

_LONGEST, _MOST = 4000, 50
_EXAMPLES = 6
_PATIENCE, _SILENCE = 1.0, 15.0
"""Seconds that a page may wait for its answer, and that a connection may be silent."""
_REST = "<!-- the answer -->"
"""Stands in the template where the answer begins."""
_LED_HERE = "A link on another site asks this, and an answer costs money here. Press Ask if you want to know."
_ROW = "row"
"""A row of a query is made when it is asked for, and has no page."""


@dataclass(frozen=True)
class _Form:
    question: str
    method: str
    k: int


@dataclass(frozen=True)
class _Sentence:
    text: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class _Passage:
    """A stored chunk with marks named after the numbers of the citations, and what a model wrote from it, by number."""

    numbers: tuple[int, ...]
    title: str
    place: str
    text: tuple[Piece, ...]
    derived: tuple[tuple[int, str], ...]
    document: str
    chunk: str


@dataclass(frozen=True)
class _Evidence:
    """A hit; without ``href`` it has no page."""

    title: str
    href: str
    kind: str
    text: str
    share: int
    """Score as a percentage of the best."""


@guarded
async def ask(request: Request) -> Response:
    """Show the form, and the answer where a question is asked; if that takes long, the beginning of the page first."""
    form = _read(request)
    values: dict[str, Any] = {
        "form": form,
        "methods": _methods(form.method),
        "answer": None,
        "problem": "",
        "waiting": False,
    }
    values |= await _welcome(request)
    workers = workers_of(request)
    if not form.question:
        workers.warm()
        return page(request, "ask.html", **values)
    check_visited(request)
    state = state_of(request)
    if state.rules.paid_access.answers_cost and is_cross_site(request):
        return page(request, "ask.html", **{**values, "problem": _LED_HERE})
    state.rules.paid_access.check(request, state.rules.keys)
    working = asyncio.create_task(_answered(request, workers, form))
    if (await asyncio.wait({working}, timeout=_PATIENCE))[0]:
        status, found = working.result()
        return page(request, "ask.html", status, **{**values, **found})
    headers = {**PAGE_HEADERS, "Content-Encoding": "identity"}  # compressed, the beginning would be held back
    return StreamingResponse(_in_two(request, values, working), 200, headers, "text/html")


async def _answered(request: Request, workers: WorkerThreads, form: _Form) -> tuple[int, dict[str, Any]]:
    """Give status and values of the page: those of the answer, or what went wrong."""
    try:
        answer = await workers.run(
            lambda: workers.ask(form.question, method=form.method, k=form.k, on_hits=lambda _: None)
        )
        return 200, await _told(request, answer)
    except Exception as error:
        problem = problem_of(error)
        return problem.status, {"problem": str(problem)}


async def _in_two(
    request: Request, values: dict[str, Any], working: asyncio.Task[tuple[int, dict[str, Any]]]
) -> AsyncIterator[str]:
    """Yield the page up to the answer, and the rest when it is there; a space now and then keeps the connection."""
    yield rendered(request, "ask.html", **{**values, "waiting": True}).partition(_REST)[0]
    while not (await asyncio.wait({working}, timeout=_SILENCE))[0]:
        yield " "
    yield rendered(request, "ask.html", **{**values, **working.result()[1]}).partition(_REST)[2]


def _read(request: Request) -> _Form:
    given = request.query_params
    question, k = given.get("question", "").strip(), given.get("k", "5").strip() or "5"
    if len(question) > _LONGEST:
        raise Problem(400, f"the question has {len(question):,} characters; at most {_LONGEST:,} are taken.")
    if not k.isdecimal() or not 1 <= int(k) <= _MOST:
        raise Problem(400, f"{k[:20]!r} hits were asked for; a number from 1 to {_MOST} is expected.")
    return _Form(question, given.get("method", "").strip()[:500] or "passages", int(k))


def _methods(chosen: str) -> dict[str, str]:
    """Give what the method can be, with a description; one with hyper-parameters of the user's is kept."""
    declared = plugins.methods()
    known = {name: f"{name} – {declared[name].label}" for name in sorted(declared, key=_first)}
    return known if chosen in known else {**known, chosen: chosen}


def _first(name: str) -> tuple[bool, str]:
    return name != "passages", name


async def _welcome(request: Request) -> dict[str, Any]:
    """Give what the knowledge base holds, and questions that were answered before."""
    names = state_of(request).dataset.names
    kinds = await kept(request, "pages/kinds", catalogue=names.catalogue)
    answered = await kept(request, "pages/questions", limit=_EXAMPLES)
    return {"graphs": sum(int(row[1]) for row in kinds.values()), "asked": answered.values()}


async def _told(request: Request, answer: Answer) -> dict[str, Any]:
    chunks = list(dict.fromkeys(citation.chunk for citation in answer.citations))
    stored = await _stored(request, chunks)
    spoken = [ox.NamedNode(iri) for iri in (*chunks, *(hit.iri for hit in answer.hits))]
    naming = await naming_for(request, [node for node in spoken if not node.value.startswith("_:")])
    return {
        "answer": answer,
        "sentences": _sentences(answer),
        "passages": [_passage(chunk, stored.get(chunk, {}), answer.citations, naming) for chunk in chunks],
        "evidence": _evidence(answer.hits, naming),
    }


async def _stored(request: Request, chunks: Sequence[str]) -> dict[str, dict[str, str]]:
    if not chunks:
        return {}
    table = await rows(request, "passages/evidence", chunks=[ox.NamedNode(chunk) for chunk in chunks])
    return {row[0]: dict(zip(table.variables, row, strict=True)) for row in table.values()}


def _sentences(answer: Answer) -> list[_Sentence]:
    numbered = list(enumerate(answer.citations, 1))
    return [
        _Sentence(text, tuple(number for number, citation in numbered if citation.sentence == place))
        for place, text in enumerate(answer.sentences)
    ]


def _passage(chunk: str, row: Mapping[str, str], citations: Sequence[Citation], naming: Naming) -> _Passage:
    own = [(number, citation) for number, citation in enumerate(citations, 1) if citation.chunk == chunk]
    first = own[0][1]
    start = int(row.get("start", first.start))
    marks = [Mark(str(number), citation.start - start, citation.end - start) for number, citation in own]
    page_ = f"page {row['page']}" if row.get("page") else ""
    place = " · ".join(filter(None, (row.get("heading", ""), page_)))
    return _Passage(
        tuple(number for number, _ in own),
        row.get("title") or row.get("identifier") or naming.short(first.document),
        place,
        tuple(_close(piece) for piece in pieces(row.get("text", first.quote), marks)),
        tuple((number, citation.derived) for number, citation in own if citation.derived),
        f"{naming.href(first.document)}&start={first.start}&end={first.end}#marked",
        naming.href(chunk),
    )


def _close(piece: Piece) -> Piece:
    """Leave out empty lines."""
    return replace(piece, text=re.sub(r"\n\s*\n", "\n", piece.text))


def _evidence(hits: Sequence[Hit], naming: Naming) -> list[_Evidence]:
    best = max((hit.score for hit in hits), default=0.0)
    return [_piece_of_evidence(hit, naming, best) for hit in hits]


def _piece_of_evidence(hit: Hit, naming: Naming, best: float) -> _Evidence:
    title = hit.attributes.get("title") or hit.attributes.get("identifier") or naming.short(hit.iri)
    href = "" if hit.kind == _ROW else naming.href(hit.iri)
    return _Evidence(str(title), href, hit.kind, hit.text, round(100 * max(hit.score, 0) / best) if best > 0 else 0)
