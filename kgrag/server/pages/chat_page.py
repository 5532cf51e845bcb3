"""The chat page: a conversation, whose sentences are sent as they are verified; it works without a script.

A question is posted, and the page that follows is the conversation so far; while a model writes, the rest of that page
comes sentence by sentence. Conversations are in memory under names that nobody can guess; where the server keeps
chats, they and the feedback of their readers are graphs.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlencode

import pyoxigraph as ox
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from kgrag.answering.feedback import VERDICTS
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import KgragError
from kgrag.late_patterns import late_re
from kgrag.model import Answer, AnswerSentence, Citation
from kgrag.server.api.json_endpoints import teller
from kgrag.server.filter_reading import filter_of
from kgrag.server.pages.ask_page import methods_offered
from kgrag.server.pages.iri_links import Naming, naming_for
from kgrag.server.pages.page_rendering import PAGE_HEADERS, check_visited, guarded, page, rendered
from kgrag.server.paid_access import is_cross_site
from kgrag.server.problems import Problem, problem_of
from kgrag.server.protocol_requests import body_of
from kgrag.server.request_log import record_of
from kgrag.server.server_state import state_of, workers_of
from kgrag.server.stored_rows import kept
from kgrag.text import metadata
from kgrag.vocab import PREFIXES

__all__ = ["Chats", "chat", "feedback", "post"]

_MAX_BODY_BYTES = 64 << 10
_MAX_QUESTION_CHARACTERS = 4000
_MAX_CHATS, _MAX_TURNS = 500, 100
_HITS = 5
_SECONDS_BEFORE_STREAMING = 0.5
_SECONDS_BETWEEN_LOOKS = 0.2
_LOOKS_BETWEEN_SPACES = 75  # proxies close a connection that is silent for long
_MAX_FACET_ROWS, _MAX_FACET_VALUES, _MAX_FACETS = 400, 20, 4
_SENTENCES_BEGIN, _SENTENCES_END = "<!-- sentences -->", "<!-- behind sentences -->"
_MAX_DRAFTS = 20
_MOMENT = late_re(r"\d{4}-\d\d-\d\d[T ]\d\d:.*")
_PROGRAMS = frozenset({"openpyxl", "python-docx", "apache poi", "xlsxwriter", "(anonymous)", "anonymous", "unknown"})
"""What programs write as the author of a file; nobody looks for that."""
_FOUND_BY = {"passages": "words and meaning", "aggregates": "joined statements", "names": "names that texts share"}


@dataclass(eq=False)
class _Pending:
    """A question that is being answered, with the sentences that are known."""

    asked: str
    method: str
    sentences: asyncio.Queue[AnswerSentence] = field(default_factory=asyncio.Queue)
    known: list[AnswerSentence] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


@dataclass(eq=False)
class _Chat:
    """A conversation of the page; ``verdicts`` are those that were given here, by turn.

    ``problem`` is why the last question, ``failed``, was not answered; "" where it was. ``drafts`` were sent while one
    before them was being answered: they were not asked, and are kept for the form.
    """

    name: str
    answers: list[Answer] = field(default_factory=list)
    verdicts: dict[int, str] = field(default_factory=dict)
    pending: _Pending | None = None
    failed: str = ""
    problem: str = ""
    drafts: list[str] = field(default_factory=list)
    method: str = DEFAULT_METHOD
    where: dict[str, str] = field(default_factory=dict)


class Chats:
    """The conversations in memory, the 500 that were used last."""

    def __init__(self) -> None:
        self._chats: OrderedDict[str, _Chat] = OrderedDict()

    def begin(self) -> _Chat:
        """Return a new conversation; its name cannot be guessed."""
        return self.put(_Chat(secrets.token_urlsafe(16)))

    def put(self, chat: _Chat) -> _Chat:
        """Hold a conversation, and forget the one that was not used for longest."""
        self._chats[chat.name] = chat
        self._chats.move_to_end(chat.name)
        while len(self._chats) > _MAX_CHATS:
            self._chats.popitem(last=False)
        return chat

    def clear(self) -> None:
        """Forget every conversation in memory."""
        self._chats.clear()

    def get(self, name: str) -> _Chat | None:
        """Return a conversation; None where it is not in memory."""
        found = self._chats.get(name)
        return None if found is None else self.put(found)


@dataclass(frozen=True)
class _Cited:
    number: int
    quote: str
    title: str
    href: str


@dataclass(frozen=True)
class _Turn:
    """A turn as the page shows it; ``sentences`` have the numbers of their citations."""

    answer: Answer
    sentences: tuple[tuple[str, tuple[int, ...]], ...]
    citations: tuple[_Cited, ...]
    why: str
    verdict: str


@guarded
async def chat(request: Request) -> Response:
    """Show a conversation; while its last question is being answered, the sentences as they come."""
    check_visited(request)
    found = await _chat_of(request, request.query_params.get("chat", ""))
    if found.pending is None or found.pending.task is None:
        workers_of(request).warm()
        return page(request, "chat.html", **await _values(request, found))
    pending = found.pending
    if (await asyncio.wait({found.pending.task}, timeout=_SECONDS_BEFORE_STREAMING))[0]:
        return page(request, "chat.html", **await _values(request, found))
    begun = rendered(request, "chat.html", **await _values(request, found))

    async def in_parts() -> AsyncIterator[str]:
        yield begun.partition(_SENTENCES_BEGIN)[0]
        async for piece in _sentences(request, pending):
            yield piece
        whole = rendered(request, "chat.html", **await _values(request, found))
        yield whole.rpartition(_SENTENCES_END)[2] if pending.known else whole.rpartition(_SENTENCES_BEGIN)[2]

    return StreamingResponse(in_parts(), 200, {**PAGE_HEADERS, "Content-Encoding": "identity"}, "text/html")


async def _sentences(request: Request, pending: _Pending) -> AsyncIterator[str]:
    """Yield each sentence as HTML once it is known, and now and then a space, until the answer is whole."""
    shown, looks = 0, 0
    assert pending.task is not None
    while True:
        is_done = pending.task.done()
        while not pending.sentences.empty():
            pending.known.append(pending.sentences.get_nowait())
        for sentence in pending.known[shown:]:
            numbers = tuple(range(sentence.first, sentence.first + len(sentence.citations)))
            yield rendered(request, "chat_sentence.html", sentence=(sentence.text, numbers), turn="now")
        shown, looks = len(pending.known), looks + 1
        if is_done:
            return
        if looks % _LOOKS_BETWEEN_SPACES == 0:
            yield " "
        await asyncio.wait({pending.task}, timeout=_SECONDS_BETWEEN_LOOKS)


@guarded
async def post(request: Request) -> Response:
    """Begin to answer a question of a conversation, and lead to its page."""
    form = await _form(request)
    question = form.get("question", "").strip()
    if not question or len(question) > _MAX_QUESTION_CHARACTERS:
        raise Problem(
            400, f"the question has {len(question):,} characters; 1 to {_MAX_QUESTION_CHARACTERS:,} are taken."
        )
    state = state_of(request)
    state.rules.paid_access.check(request, state.rules.keys)
    found = await _chat_of(request, form.get("chat", ""), begin=True)
    if len(found.answers) >= _MAX_TURNS:
        raise Problem(400, f"this conversation has {_MAX_TURNS} questions. Begin a new one.")
    found.method = form.get("method", "").strip()[:500] or DEFAULT_METHOD
    facets = await _facets(request)
    found.where = {name: form[f"where.{name}"] for name, _ in facets if form.get(f"where.{name}")}
    if found.pending is not None:
        _keep_draft(found, question)
    else:
        found.problem = ""
        found.drafts = [draft for draft in found.drafts if draft != question]
        pending = found.pending = _Pending(question, found.method)
        pending.task = asyncio.create_task(_answer(request, found, pending))
    return RedirectResponse(_address(request, found, "now"), 303)


def _keep_draft(found: _Chat, question: str) -> None:
    """Keep a question that came too early for the form.

    Raises:
        Problem: many are kept already.
    """
    asked = found.pending.asked if found.pending else ""
    if question in (*found.drafts, asked):  # sent twice
        return
    if len(found.drafts) >= _MAX_DRAFTS:
        raise Problem(
            429, f"{_MAX_DRAFTS} questions are waiting in this conversation. Ask one when the last is answered."
        )
    found.drafts.append(question)


async def _answer(request: Request, found: _Chat, pending: _Pending) -> None:
    """Answer a question as the next turn of a conversation; what goes wrong is shown in its place."""
    state, workers = state_of(request), workers_of(request)
    try:
        chosen = {name: metadata.typed(value) for name, value in found.where.items()}
        where = await filter_of(request, chosen or None)
        tell, history = teller(pending.sentences), tuple(found.answers)
        answer = await workers.run(
            lambda: workers.ask(
                pending.asked,
                history=history,
                method=pending.method,
                k=_HITS,
                where=where,
                on_hits=lambda _: None,
                on_sentence=tell,
            )
        )
        answer = replace(answer, turn=max((one.turn for one in history), default=0) + 1)
        if state.rules.keep_chats:
            answer = replace(answer, conversation=found.name)
            await _write(request, lambda: workers.kb.keep(answer, after=history[-4:] if answer.asked else ()))
        found.answers.append(answer)
    except Exception as error:
        found.failed, found.problem = pending.asked, str(problem_of(error))
    finally:
        found.pending = None


@guarded
async def feedback(request: Request) -> Response:
    """Keep what a reader found an answer to be, and lead back to it."""
    form = await _form(request)
    state = state_of(request)
    if not state.rules.keep_chats:
        raise Problem(403, "this server keeps no feedback. It does when it is started with --keep-chats.")
    found = await _chat_of(request, form.get("chat", ""))
    verdict = next((one for one in VERDICTS if one == form.get("verdict")), None)
    answer = next((one for one in found.answers if str(one.turn) == form.get("turn")), None)
    if verdict is None or answer is None:
        raise Problem(400, "there is no such answer or verdict. Go back to the conversation, and press a button there.")
    judged, given, comment = answer, verdict, form.get("comment", "")
    await _write(request, lambda: workers_of(request).kb.feedback(judged, given, comment))
    found.verdicts[judged.turn] = given
    return RedirectResponse(_address(request, found, str(judged.turn)), 303)


async def _write(request: Request, work: Callable[[], None]) -> None:
    state = state_of(request)
    record = record_of(request)
    record.key, record.operation = record.key or "chat page", "keep"
    async with state.turn_to_write():
        await state.write(record, work, status=200)


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form that a page of this server sent."""
    if is_cross_site(request):
        raise Problem(403, "a page of another site sent this form. Use the chat page of this server.")
    body = await body_of(request, _MAX_BODY_BYTES)
    return {name: values[-1] for name, values in parse_qs(body.decode("utf-8", "replace"), max_num_fields=50).items()}


async def _chat_of(request: Request, name: str, *, begin: bool = False) -> _Chat:
    """Return a conversation by name: from memory, else from the store where chats are kept; else a new one."""
    chats: Chats = request.app.state.chats
    if not name:
        return chats.begin() if begin else _Chat("")
    found = chats.get(name)
    if found is None and state_of(request).rules.keep_chats:
        workers = workers_of(request)
        answers = await workers.run(lambda: workers.alone(lambda: workers.kb.conversation(name).answers))
        found = chats.put(_Chat(name, list(answers))) if answers else None
    if found is None:
        raise Problem(404, "this conversation is not here any more. Begin a new one on the chat page.")
    return found


def _address(request: Request, found: _Chat, turn: str) -> str:
    root = str(request.scope.get("root_path", "")).rstrip("/")
    return f"{root}/chat?{urlencode({'chat': found.name})}#turn-{turn}"


async def _values(request: Request, found: _Chat) -> dict[str, Any]:
    """Return what the template shows."""
    cited = [citation for answer in found.answers for citation in (answer.citations or answer.nearest)]
    naming = await naming_for(request, [ox.NamedNode(iri) for iri in dict.fromkeys(one.document for one in cited)])
    facets = await _facets(request)
    # nothing is awaited from here to the end of the page: an answer that comes meanwhile is no question any more
    return {
        "chat": found,
        "turns": [_turn(answer, naming, found.verdicts.get(answer.turn, "")) for answer in found.answers],
        "methods": methods_offered(found.method),
        "facets": [(name, _shown_name(name), rows) for name, rows in facets],
        "keeps": state_of(request).rules.keep_chats,
    }


def _turn(answer: Answer, naming: Naming, verdict: str) -> _Turn:
    numbered = list(enumerate(answer.citations, 1))
    sentences = tuple(
        (text, tuple(number for number, citation in numbered if citation.sentence == place))
        for place, text in enumerate(answer.sentences)
    )
    listed = numbered or list(enumerate(answer.nearest, 1))
    citations = tuple(_cited(number, citation, naming) for number, citation in listed)
    return _Turn(answer, sentences, citations, _why(answer), verdict)


def _cited(number: int, citation: Citation, naming: Naming) -> _Cited:
    title = str(citation.place or "") or naming.short(citation.document)
    href = f"{naming.href(citation.document)}&start={citation.start}&end={citation.end}#marked"
    return _Cited(number, citation.quote, title, href)


def _why(answer: Answer) -> str:
    """Return why this answer came from where it came from, in a few words."""
    notes = [note for note in answer.explain if note != answer.unresolved]
    if notes:
        return notes[0]
    cited = {citation.chunk for citation in answer.citations}
    hits = [hit for hit in answer.hits if cited & {span.chunk for span in hit.sources}]
    ways = dict.fromkeys(_FOUND_BY.get(way, way) for hit in hits for way in hit.attributes.get("found_by", ()))
    if ways:
        return f"what it cites was found by {', '.join(ways)}"
    kinds = dict.fromkeys(hit.kind for hit in answer.hits)
    return f"from {len(answer.hits)} hits ({', '.join(kinds)})" if kinds else ""


async def _facets(request: Request) -> Sequence[tuple[str, Sequence[tuple[str, int]]]]:
    """Return the fields that documents can be chosen by, each with its values and how many documents have them."""
    try:
        table = await kept(request, "pages/facets", limit=_MAX_FACET_ROWS)
    except KgragError:  # a large store may take too long for this; the page is as good without
        return ()
    values: dict[str, list[tuple[str, int]]] = {}
    for field_iri, value, count in table.values():
        values.setdefault(metadata.name_of(field_iri), []).append((value, int(count)))
    rows = {name: _chosen_by(found) for name, found in values.items()}
    by_use = sorted(filter(lambda one: one[1], rows.items()), key=lambda one: sum(count for _, count in one[1]))
    one_each = {_shown_name(name): (name, found) for name, found in by_use}  # of two with one name the more frequent
    return [one_each[shown] for shown in sorted(one_each)][:_MAX_FACETS]


def _chosen_by(rows: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the values of a field that people choose documents by; [] where there are many, or each has one document.

    No one chooses the moment at which a file was made, or the program that made it.
    """
    kept = [row for row in rows if not _MOMENT.fullmatch(row[0]) and row[0].casefold() not in _PROGRAMS]
    is_useful = 2 <= len(kept) <= _MAX_FACET_VALUES and max(count for _, count in kept) > 1
    return kept if is_useful else []


def _shown_name(name: str) -> str:
    """Return the name of a field without its prefix.

    >>> _shown_name("dcterms:language"), _shown_name("due date")
    ('language', 'due date')
    """
    prefix, colon, rest = name.partition(":")
    return rest if colon and prefix in PREFIXES else name
