"""From a conversation to an answer in OpenAI's terms: text, annotations, our evidence, usage.

Tokens are words and marks, as everywhere here, unless a language model counted its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from kgrag.answering import conversation
from kgrag.answering.conversation import Turn
from kgrag.answering.json_forms import citation_json
from kgrag.answering.opening_places import page_url
from kgrag.late_patterns import late_re
from kgrag.model import Answer, AnswerSentence, Citation, Usage
from kgrag.server.api.json_endpoints import budget_of, teller
from kgrag.server.filter_reading import filter_of
from kgrag.server.openai_api.model_list import method_of
from kgrag.server.openai_api.request_bodies import AnswerOptions, refusal
from kgrag.server.openai_api.side_tasks import is_side_task, side_task
from kgrag.server.server_state import address, state_of, workers_of

__all__ = ["WrittenAnswer", "limited", "pieces", "written_answer"]

_TOKEN = late_re(r"\w+|[^\w\s]")
_PIECE = late_re(r"(?:\s*\S+){1,6}\s*")
_WEB = late_re(r"https?://")


@dataclass(frozen=True)
class WrittenAnswer:
    """An answer in OpenAI's terms.

    Attributes:
        text: the answer, with a marker ``[n]`` for the nth citation.
        annotations: of each marker: where it is in the text, and the address of what is cited.
        evidence: what is ours: method, question, citations with document, span, quote and score.
        tokens_in: of the conversation.
        tokens_out: of the text.
        finish: why the text ends: "stop" or "length".
    """

    text: str
    annotations: Sequence[dict[str, Any]]
    evidence: dict[str, Any]
    tokens_in: int
    tokens_out: int
    finish: str = "stop"


async def written_answer(
    request: Request,
    model: str,
    turns: Sequence[Turn],
    options: AnswerOptions,
    *,
    as_json: bool,
    sentences: asyncio.Queue[AnswerSentence] | None = None,
) -> WrittenAnswer:
    """Answer the last message of a conversation; ``sentences`` gets each sentence once its citations are found.

    Raises:
        Problem: 401, 403: asking costs money here; 400, 404: there is no such model, or no question.
        KgragError: what ``KnowledgeBase.ask`` raises.
    """
    state, workers = state_of(request), workers_of(request)
    state.rules.paid_access.check(request, state.rules.keys)
    method, where = await method_of(request, model), await filter_of(request, options.where)
    if not any(turn.role == "user" and turn.text.strip() for turn in turns):
        raise refusal("there is no message of the user. Ask something.", "messages")
    counted = sum(len(_TOKEN.findall(turn.text)) for turn in turns)
    language_model = await workers.run(lambda: workers.alone(lambda: workers.within_limit().model))
    if is_side_task(turns[-1].text):
        text, usage = await workers.run(lambda: side_task(turns[-1].text, language_model))
        return _written(text, [], {}, usage, counted)
    history, message = conversation.last_question(turns)
    tell = None if sentences is None or as_json else teller(sentences)
    answer = await workers.run(
        lambda: workers.ask(
            message,
            history=history,
            budget=budget_of(options, workers.kb.price()),
            method=method,
            k=options.k,
            where=where,
            on_hits=lambda _: None,
            on_sentence=tell,
        )
    )
    evidence, usage = _evidence(answer), answer.usage
    if as_json:
        cited = {"answer": answer.text, "unknown": answer.unknown, "citations": evidence["citations"]}
        cited |= {"not_stated": answer.not_stated} if answer.not_stated else {}
        return _written(json.dumps(cited, ensure_ascii=False), [], evidence, usage, counted)
    text = f"{answer.text}\n\nNot in the evidence: {answer.not_stated}" if answer.not_stated else answer.text
    return _written(text, _annotations(request, answer), evidence, usage, counted)


def _written(
    text: str, annotations: Sequence[dict[str, Any]], evidence: dict[str, Any], usage: Usage, counted: int
) -> WrittenAnswer:
    tokens_out = usage.output_tokens or len(_TOKEN.findall(text))
    return WrittenAnswer(text, annotations, evidence, usage.input_tokens or counted, tokens_out)


def _annotations(request: Request, answer: Answer) -> list[dict[str, Any]]:
    found, behind = [], 0
    for number, citation in enumerate(answer.citations, 1):
        marker = f"[{number}]"
        start = answer.text.find(marker, behind)
        if start >= 0:
            behind = start + len(marker)
            title = str(citation.place or "") or citation.document
            url = _address(request, citation)
            found.append({"start_index": start, "end_index": behind, "url": url, "title": title})
    return found


def _address(request: Request, citation: Citation) -> str:
    """Return the web address of what is cited, at its page in a PDF; else that of our page with the span marked."""
    if citation.place is not None and _WEB.match(citation.place.url):
        return page_url(citation.place)
    span = f"&start={citation.start}&end={citation.end}#marked"
    return address(request, f"/resource?iri={quote(citation.document, safe='')}{span}")


def _evidence(answer: Answer) -> dict[str, Any]:
    best: dict[str, float] = {}
    for hit in answer.hits:
        for span in hit.sources:
            best[span.chunk] = max(hit.score, best.get(span.chunk, hit.score))
    citations = [{**citation_json(each), "score": best.get(each.chunk)} for each in answer.citations]
    found = {"method": answer.method, "question": answer.question, "unknown": answer.unknown, "citations": citations}
    more = {"asked": answer.asked, "unresolved": answer.unresolved, "sparql": answer.sparql}
    return found | {name: value for name, value in more.items() if value}


def limited(written: WrittenAnswer, *, tokens: int | None, stops: Sequence[str] = ()) -> WrittenAnswer:
    """Return an answer that ends before the first of some texts, and after so many tokens."""
    places = [place for stop in stops if stop and (place := written.text.find(stop)) >= 0]
    text = written.text[: min(places, default=len(written.text))]
    ends = [match.end() for match in _TOKEN.finditer(text)]
    finish = "length" if tokens is not None and len(ends) > tokens else "stop"
    if finish == "length":
        text = text[: ends[(tokens or 1) - 1]]
    if text == written.text:
        return written
    left = [each for each in written.annotations if each["end_index"] <= len(text)]
    return WrittenAnswer(text, left, written.evidence, written.tokens_in, min(len(ends), tokens or len(ends)), finish)


def pieces(text: str) -> list[str]:
    """Return a text in pieces of a few words, as a stream has it.

    >>> pieces("In the Hill Zone, chickpea is sown in March. [1]")
    ['In the Hill Zone, chickpea is ', 'sown in March. [1]']
    """
    return _PIECE.findall(text) or ([text] if text else [])
