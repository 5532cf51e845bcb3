"""Answers from evidence: asks the model for sentences with quotes, and keeps those whose quotes are in the evidence.

The last step of every method (OG-RAG, section 4.2: context and question go to a language model). A quote is looked up
in the evidence and cited from the chunks behind it (``kgrag.answering.source_sentences``). A quote that is not there is
dropped, and so is a sentence without any, so that every sentence of an answer can be compared with the stored text.
Whether a quote supports its sentence is the model's judgement. Prompt read: ``answering/answer``. Nothing is written.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgrag import prompting
from kgrag.answering.short_answers import short_answers
from kgrag.answering.source_sentences import EvidencePiece, Quote, cited, evidence_of
from kgrag.errors import ReplyUnusable, UnsupportedTask
from kgrag.llm import structured_output
from kgrag.model import Answer, Citation, Completion, Hit, Prompt
from kgrag.ports import LanguageModel, TripleStore
from kgrag.text.quotes import locate
from kgrag.vocab import digest

__all__ = ["PROMPT", "UNKNOWN", "answer"]

PROMPT = "answering/answer"
UNKNOWN = "The evidence found does not carry an answer."

_DERIVED_KINDS = frozenset({"aggregate", "hyperedge", "summary"})
_MAX_SOURCE_CHARACTERS = 2400
_MAX_HEADING_CHARACTERS = 300
_MAX_REPLY_CHARACTERS_SHOWN = 300
# A model's own markers would be counted along with ours.
_TRAILING_MARKERS = re.compile(r"(?:\s*\[\d+\])+\s*(?=[.!?]?$)")
_TRUE_WORDS = frozenset({"true", "yes", "1"})


@dataclass(frozen=True, slots=True)
class _QuotedSentence:
    """One sentence of a reply with the quotes that the model names for it."""

    text: str
    quotes: tuple[Quote, ...]


def answer(question: str, hits: Sequence[Hit], *, model: LanguageModel, store: TripleStore, method: str) -> Answer:
    """Return an answer whose every sentence cites stored text, or *unknown*.

    Args:
        question: the user's question.
        hits: the evidence, best first; without any the model is not asked.
        model: writes the sentences; its words are checked, and never followed as instructions.
        store: contains the chunks that the hits come from.
        method: name of the method that retrieved the hits.

    Returns:
        ``text`` has the sentences with markers ``[1]`` that number ``citations``; ``dropped`` counts quotes that are
        in no evidence (``quotes``) and sentences without any other (``sentences``); ``explain`` has the reason for
        *unknown*.

    Raises:
        ServiceError: the model could not be reached or refused. A task that it cannot do becomes *unknown*.
    """
    unknown = Answer(question, UNKNOWN, method, unknown=True, hits=tuple(hits), dropped={"quotes": 0, "sentences": 0})
    if not hits:
        return replace(unknown, explain=("Nothing was found, so there is no evidence to answer from.",))
    evidence = evidence_of(hits, store)
    try:
        completion = model.complete([_prompt(question, evidence)])[0]
    except UnsupportedTask as error:
        return replace(unknown, explain=(str(error),))
    sentences, reason = _read_reply(completion)
    kept, dropped = _with_citations(sentences, evidence, store)
    confidence, nearest, stated = _read_judgement(completion)
    if not kept:
        if sentences:
            reason = f"None of the {len(sentences)} sentences of the reply quotes text that is in the evidence."
        reason = reason or stated or "The model found no answer in the evidence."
        near = (citation for quote in nearest for citation in cited(quote, quote.text, evidence, store, sentence=0))
        unknown = replace(unknown, explain=(reason,), nearest=tuple(near), confidence=confidence)
        return replace(unknown, usage=completion.usage, dropped=dropped)
    citations = tuple(citation for _, citations in kept for citation in citations)
    texts = tuple(text for text, _ in kept)
    return Answer(
        question=question,
        text=_marked(kept),
        method=method,
        sentences=texts,
        citations=citations,
        hits=tuple(hits),
        usage=completion.usage,
        dropped=dropped,
        values=short_answers(question, texts, citations),
        confidence=confidence,
    )


def _prompt(question: str, evidence: Sequence[EvidencePiece]) -> Prompt:
    pieces: list[dict[str, object]] = []
    for piece in evidence:
        titles = (str(piece.hit.attributes.get(name) or "") for name in ("title", "heading"))
        heading = " ".join(" / ".join(filter(None, titles)).split())[:_MAX_HEADING_CHARACTERS]
        row = {"number": piece.number, "kind": piece.hit.kind, "heading": heading, "text": piece.text}
        pieces.append(row | {"source": _source_text(piece)})
    # Made from the content, so that no text can contain the boundary that closes its own fence.
    boundary = f"=== {digest(question, *(str(piece) for piece in pieces))[:12]} ==="
    for row, piece in zip(pieces, evidence, strict=True):
        row |= {"before": piece.before, "following": piece.following}
    return prompting.render(PROMPT, question=question, evidence=pieces, boundary=boundary)


def _source_text(piece: EvidencePiece) -> str:
    """Return the chunks behind a fact, an aggregate or a summary where they add to its own text; cut to a limit.

    An extraction may read many chunks at once: those that contain most of the hyperedge's values come first.
    """
    if piece.hit.kind not in _DERIVED_KINDS:
        return ""
    values = [pair.partition(": ")[2] or pair for pair in piece.hit.text.split("; ")]
    sources = [source for source in piece.sources if locate(piece.hit.text, source.text) is None]
    sources.sort(key=lambda source: -sum(value in source.text for value in values))
    shown, characters_left = [], _MAX_SOURCE_CHARACTERS
    for source in sources:
        if characters_left > 0:
            shown.append(source.text[:characters_left])
            characters_left -= len(source.text)
    return "\n…\n".join(shown)


def _read_reply(completion: Completion) -> tuple[list[_QuotedSentence], str]:
    """Return the sentences of a reply, also of one off its schema, and why it could not be read ("" if it could)."""
    try:
        data = structured_output.json_of(completion, checked=False)
    except ReplyUnusable as error:
        return [], f"The model's reply could not be used: {error}"
    if isinstance(data, Mapping):
        if data.get("sentences") == [] or str(data.get("unknown")).strip().casefold() in _TRUE_WORDS:
            return [], ""
        data = data.get("sentences", [data] if "text" in data else [])
    if sentences := list(_read_sentences(data)):
        return sentences, ""
    problem = completion.problem or f"no sentences in {completion.text[:_MAX_REPLY_CHARACTERS_SHOWN]!r}"
    return [], f"The model's reply could not be used: {problem}"


def _read_judgement(completion: Completion) -> tuple[float | None, list[Quote], str]:
    """Return what only some models add: the probability of an answer, the nearest sentences, why there is no answer."""
    data = completion.data if isinstance(completion.data, Mapping) else {}
    confidence, reason = data.get("confidence"), data.get("reason")
    return (
        float(confidence) if isinstance(confidence, int | float) and 0 <= confidence <= 1 else None,
        list(_read_quotes(data.get("nearest", []))),
        reason if isinstance(reason, str) else "",
    )


def _read_sentences(data: object) -> Iterator[_QuotedSentence]:
    for item in data if isinstance(data, list) else []:
        text, citations = (item.get("text"), item.get("citations")) if isinstance(item, Mapping) else (item, [])
        if not isinstance(text, str):
            continue
        encodable = text.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate cannot be printed or stored
        if line := _TRAILING_MARKERS.sub("", " ".join(encodable.split())):
            yield _QuotedSentence(line, tuple(_read_quotes(citations)))


def _read_quotes(data: object) -> Iterator[Quote]:
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, str):
            yield Quote(item)
        elif isinstance(item, Mapping) and isinstance(item.get("quote"), str):
            digits = re.search(r"\d{1,6}", str(item.get("evidence")))
            yield Quote(item["quote"], int(digits[0]) if digits else 0)


def _with_citations(
    sentences: Sequence[_QuotedSentence], evidence: Sequence[EvidencePiece], store: TripleStore
) -> tuple[list[tuple[str, tuple[Citation, ...]]], dict[str, int]]:
    """Return the sentences of which a quote is in the evidence, with their citations, and counts of what was dropped.

    A citation counts its sentence among those kept.
    """
    kept: list[tuple[str, tuple[Citation, ...]]] = []
    dropped = Counter(quotes=0, sentences=0)
    for sentence in sentences:
        by_quote = [cited(quote, sentence.text, evidence, store, sentence=len(kept)) for quote in sentence.quotes]
        dropped["quotes"] += by_quote.count([])
        if citations := tuple(dict.fromkeys(citation for citations in by_quote for citation in citations)):
            kept.append((sentence.text, citations))
        else:
            dropped["sentences"] += 1
    return kept, dict(dropped)


def _marked(sentences: Sequence[tuple[str, Sequence[Citation]]]) -> str:
    """Return the sentences, each followed by ``[1]`` markers that count the citations from 1."""
    parts = []
    number = 0
    for text, citations in sentences:
        parts.append(text)
        for _ in citations:
            number += 1
            parts.append(f"[{number}]")
    return " ".join(parts)
