"""Answers from evidence: asks the model for sentences with quotes, and keeps those whose quotes are in it.

The last step of every method (OG-RAG, section 4.2: context and question go to a language model). A quote is looked up
in the evidence and cited from the chunks behind it (``kgrag.answering.source_sentences``); one that is not there is
dropped, and a sentence without a quote is dropped with it, so every sentence that is left can be held against the
stored text. Whether the quote carries the sentence is the model's judgement. Prompt read: ``answering/answer``.
Nothing is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgrag import prompting
from kgrag.answering.source_sentences import Evidence, Quote, cited, evidence_of
from kgrag.errors import ReplyUnusable, UnsupportedTask
from kgrag.llm import structured_output
from kgrag.model import Answer, Citation, Completion, Hit, Prompt, Usage
from kgrag.ports import LanguageModel, TripleStore
from kgrag.text.quotes import locate
from kgrag.vocab import digest

__all__ = ["PROMPT", "UNKNOWN", "answer"]

PROMPT = "answering/answer"
UNKNOWN = "The evidence found does not carry an answer."

_DERIVED = frozenset({"aggregate", "hyperedge", "summary"})
_LONGEST_SOURCE = 2400
_SHOWN = 300
_MARKERS = re.compile(r"(?:\s*\[\d+\])+\s*(?=[.!?]?$)")
_TRUE = frozenset({"true", "yes", "1"})


@dataclass(frozen=True, slots=True)
class _Claim:
    """One sentence of a reply with its quotes."""

    text: str
    quotes: tuple[Quote, ...]


def answer(question: str, hits: Sequence[Hit], *, model: LanguageModel, store: TripleStore, method: str) -> Answer:
    """Give an answer whose every sentence cites text that stands in the store, or *unknown*.

    Args:
        question: what was asked.
        hits: the evidence, best first; without any the model is not asked.
        model: writes the sentences; what it says is checked and never followed.
        store: holds the chunks that the hits come from.
        method: name of the method that found the hits.

    Returns:
        ``text`` has the sentences with markers ``[1]`` that number ``citations``; ``dropped`` counts quotes that are
        in no evidence (``quotes``) and sentences left without one (``sentences``); ``explain`` says why it is unknown.

    Raises:
        ServiceError: the model could not be reached or refused. A task that it cannot do gives *unknown*.
    """
    if not hits:
        return _unknown(question, hits, method, reason="Nothing was found, so there is no evidence to answer from.")
    evidence = evidence_of(hits, store)
    try:
        completion = model.complete([_prompt(question, evidence)])[0]
    except UnsupportedTask as error:
        return _unknown(question, hits, method, reason=str(error))
    claims, reason = _claims(completion)
    kept, dropped = _checked(claims, evidence, store)
    if not kept:
        reason = reason or _why_nothing(claims)
        return _unknown(question, hits, method, reason=reason, usage=completion.usage, dropped=dropped)
    citations = tuple(citation for _, found in kept for citation in found)
    return Answer(
        question=question,
        text=_marked(kept),
        method=method,
        sentences=tuple(text for text, _ in kept),
        citations=citations,
        hits=tuple(hits),
        usage=completion.usage,
        dropped=dropped,
    )


def _unknown(
    question: str,
    hits: Sequence[Hit],
    method: str,
    *,
    reason: str,
    usage: Usage = Usage(),  # noqa: B008 - frozen
    dropped: Mapping[str, int] | None = None,
) -> Answer:
    return Answer(
        question=question,
        text=UNKNOWN,
        method=method,
        unknown=True,
        hits=tuple(hits),
        usage=usage,
        dropped=dropped or {"quotes": 0, "sentences": 0},
        explain=(reason,),
    )


def _why_nothing(claims: Sequence[_Claim]) -> str:
    if not claims:
        return "The model found no answer in the evidence."
    return f"None of the {len(claims)} sentences of the reply quotes text that stands in the evidence."


def _prompt(question: str, evidence: Sequence[Evidence]) -> Prompt:
    pieces = [
        {
            "number": piece.number,
            "kind": piece.hit.kind,
            "heading": _heading(piece.hit),
            "text": piece.text,
            "source": _source_text(piece),
        }
        for piece in evidence
    ]
    boundary = f"=== {digest(question, *(str(piece) for piece in pieces))[:12]} ==="
    return prompting.render(PROMPT, question=question, evidence=pieces, boundary=boundary)


def _heading(hit: Hit) -> str:
    parts = (str(hit.attributes.get(name) or "") for name in ("title", "heading"))
    return " ".join(" / ".join(part for part in parts if part).split())[:_SHOWN]


def _source_text(piece: Evidence) -> str:
    """Give the text behind a fact, an aggregate or a summary, as far as it says more than that itself; bounded.

    An extraction may read many chunks at once: those that hold most of the hyperedge's values come first.
    """
    if piece.hit.kind not in _DERIVED:
        return ""
    parts = [part.partition(": ")[2] or part for part in piece.hit.text.split("; ")]
    telling = [source for source in piece.sources if locate(piece.hit.text, source.text) is None]
    ranked = sorted(telling, key=lambda source: -sum(part in source.text for part in parts))
    kept, room = [], _LONGEST_SOURCE
    for source in ranked:
        if room > 0:
            kept.append(source.text[:room])
            room -= len(source.text)
    return "\n…\n".join(kept)


def _claims(completion: Completion) -> tuple[list[_Claim], str]:
    """Read the sentences of a reply, also of one off its schema; the reason is "" when there is nothing to say."""
    try:
        data = structured_output.json_of(completion, checked=False)
    except ReplyUnusable as error:
        return [], f"The model's reply could not be used: {error}"
    claims = list(_read(data))
    if not claims and not _says_unknown(data):
        said = completion.problem or f"no sentences in {completion.text[:_SHOWN]!r}"
        return [], f"The model's reply could not be used: {said}"
    return claims, ""


def _says_unknown(data: Any) -> bool:
    if not isinstance(data, Mapping):
        return False
    return data.get("sentences") == [] or str(data.get("unknown")).strip().casefold() in _TRUE


def _read(data: Any) -> Iterator[_Claim]:
    """Yield the sentences of a reply of about the right shape; none when it says unknown."""
    if isinstance(data, Mapping):
        if str(data.get("unknown")).strip().casefold() in _TRUE:
            return
        data = data.get("sentences", [data] if "text" in data else [])
    for item in data if isinstance(data, list) else []:
        if isinstance(item, Mapping) and (text := _clean(item.get("text"))):
            yield _Claim(text, tuple(_read_quotes(item.get("citations"))))
        elif isinstance(item, str) and (text := _clean(item)):
            yield _Claim(text, ())


def _clean(text: Any) -> str:
    """Give a sentence on one line, without markers of the model's own and without halves of characters."""
    if not isinstance(text, str):
        return ""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return _MARKERS.sub("", " ".join(whole.split()))


def _read_quotes(data: Any) -> Iterator[Quote]:
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, str):
            yield Quote(item)
        elif isinstance(item, Mapping) and isinstance(item.get("quote"), str):
            digits = re.search(r"\d{1,6}", str(item.get("evidence")))
            yield Quote(item["quote"], int(digits[0]) if digits else 0)


def _checked(
    claims: Sequence[_Claim], evidence: Sequence[Evidence], store: TripleStore
) -> tuple[list[tuple[str, tuple[Citation, ...]]], dict[str, int]]:
    """Keep the sentences of which a quote was found, with their citations; count what was dropped."""
    kept: list[tuple[str, tuple[Citation, ...]]] = []
    dropped = Counter(quotes=0, sentences=0)
    for claim in claims:
        found = [cited(quote, claim.text, evidence, store, sentence=len(kept)) for quote in claim.quotes]
        dropped["quotes"] += found.count([])
        citations = tuple(dict.fromkeys(citation for citations in found for citation in citations))
        if citations:
            kept.append((claim.text, citations))
        else:
            dropped["sentences"] += 1
    return kept, dict(dropped)


def _marked(kept: Sequence[tuple[str, Sequence[Citation]]]) -> str:
    """Write sentences with ``[1]`` markers that count the citations from 1."""
    parts = []
    number = 0
    for text, citations in kept:
        parts.append(text)
        for _ in citations:
            number += 1
            parts.append(f"[{number}]")
    return " ".join(parts)
