"""Answers from evidence: asks the model for sentences with quotes, and keeps those whose quotes are in the evidence.

The last step of every method (OG-RAG, section 4.2: context and question go to a language model). A quote is looked up
in the evidence and cited from the chunks behind it (``kgrag.answering.source_sentences``). A quote that is not there is
dropped, and so is a sentence without any, so that every sentence of an answer can be compared with the stored text. A
sentence with numbers, dates, units or names that are not in what it cites is not supported, is left out, and is shown
beside the answer (``kgrag.answering.support``). Whether the rest of a sentence follows from its quotes is the model's
judgement. Prompt read: ``answering/answer``. Nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kgrag import prompting
from kgrag.answering.citation_runs import in_runs
from kgrag.answering.claim_words import completed
from kgrag.answering.double_questions import values_of_halves, with_both_halves
from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk, chunk_before, evidence_of
from kgrag.answering.further_evidence import LookUp, hits_used, names_wanted, values_stated, with_looked_up
from kgrag.answering.reply_stream import ReplyStream
from kgrag.answering.reply_words import NO_REPLY, UNKNOWN, in_language_of, unknown_answer
from kgrag.answering.short_answers import LEAST_CONFIDENCE, short_answers
from kgrag.answering.shown_headings import repeating_headings
from kgrag.answering.source_sentences import Carried, Quote, cited
from kgrag.answering.support import Ground, unsupported
from kgrag.answering.whole_tables import with_tables
from kgrag.errors import ReplyUnusable, UnsupportedTask
from kgrag.late_patterns import late_re
from kgrag.llm import structured_output
from kgrag.llm.extractive.question_languages import language_to_answer_in
from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.model import Answer, AnswerSentence, Citation, Completion, Hit, Prompt, Unsupported, Value
from kgrag.ports import LanguageModel, StreamsText, TripleStore
from kgrag.text import stored_passages
from kgrag.text.quotes import locate
from kgrag.vocab import digest

__all__ = ["PROMPT", "UNKNOWN", "answer", "sentences_of", "with_unsupported"]

PROMPT = "answering/answer"

_DERIVED_KINDS = frozenset({"aggregate", "hyperedge", "summary"})
_WRITTEN_BY_A_MODEL = {
    "aggregate": "facts in the words of a model",
    "proposition": "a fact in the words of a model",
    "row": "a row that a query found, in words made for it",
    "summary": "a summary written by a model",
}
"""Kinds of evidence that are no text of a document, and how the prompt marks them."""
_MAX_SOURCE_CHARACTERS = 2400
_LEADING_IN = (":", "：")
_BETWEEN = "\n…\n"
_BETWEEN_PAIRS = "; "
_MIN_LONG_PAIR_CHARACTERS = 60
"""Characters of a pair of a fact from which it is shown once; shorter ones name what a fact is about."""
_MAX_HEADING_CHARACTERS = 300
_MAX_REPLY_CHARACTERS_SHOWN = 300
_MAX_NOT_STATED_CHARACTERS = 300
# A model's own markers would be counted along with ours.
_TRAILING_MARKERS = late_re(r"(?:\s*\[\d+\])+\s*(?=[.!?]?$)")
_TRUE_WORDS = frozenset({"true", "yes", "1"})


@dataclass(frozen=True, slots=True)
class _QuotedSentence:
    """One sentence of a reply with the quotes that the model names for it; ``computed`` by rules from what they say."""

    text: str
    quotes: tuple[Quote, ...]
    computed: bool = False


def answer(  # noqa: PLR0913 - a search is the only part that may be left out
    question: str,
    hits: Sequence[Hit],
    *,
    model: LanguageModel,
    store: TripleStore,
    method: str,
    on_sentence: Callable[[AnswerSentence], None] | None = None,
    look_up: LookUp | None = None,
    refusable: bool = True,
) -> Answer:
    """Return an answer whose every sentence cites stored text, or *unknown*.

    Args:
        question: the user's question.
        hits: the evidence, best first; without any the model is not asked.
        model: writes the sentences; its words are checked, and never followed as instructions.
        store: contains the chunks that the hits come from.
        method: name of the method that retrieved the hits.
        on_sentence: called with each sentence once it is complete and its citations are found, while the model still
            writes, if it can pass its reply on. What was called stays part of the answer.
        look_up: searches for a name that the model wants to look up, as the extractive one does; None for no such
            search. What the answer cites of it is added to its hits.
        refusable: whether a task that the model cannot do becomes *unknown*; False for who has another answer then.

    Returns:
        ``text`` has the sentences with markers ``[1]`` that number ``citations``; ``dropped`` counts quotes that are
        in no evidence (``quotes``), sentences without any other (``sentences``), and those that what they cite does not
        support (``unsupported``), which ``unsupported`` has with the reasons; ``explain`` has the reason for *unknown*,
        ``not_stated`` what of the question the reply leaves open, and ``failure`` why a reply could not be used. That
        there is no answer is said in the language of the question, where that is German or French.

    Raises:
        ServiceError: the model could not be reached or refused.
        UnsupportedTask: the model cannot do this task, and ``refusable`` is False.
    """
    unknown = unknown_answer(question, hits, method)
    if not hits:
        return replace(unknown, explain=("Nothing was found, so there is no evidence to answer from.",))
    evidence = evidence_of(hits, store)
    judge = _Judge(question, evidence, store, on_sentence)
    try:
        prompt = _prompt(question, evidence)
        completion = model.complete([prompt])[0] if on_sentence is None else _streamed(prompt, model, judge)
    except UnsupportedTask as error:
        if not refusable:
            raise
        return replace(unknown, explain=(str(error),))
    if judge.taken == 0:
        again = partial(_asked_again, question, model)
        found, evidence, completion = _looked_up(hits, evidence, completion, store, look_up, again)
        unknown = replace(unknown, hits=tuple(found))
        completion = with_both_halves(question, completion, lambda half: _asked_again(half, model, evidence))
        judge = _Judge(question, evidence, store, on_sentence)
    sentences, failure = _read_reply(completion)
    # those that were judged while the reply was written stay as they are
    for sentence in sentences[judge.taken :]:
        judge.take(sentence)
    judged = judge.judged
    confidence, nearest, stated = _read_judgement(completion)
    unknown = replace(unknown, not_stated=_not_stated(completion, question, evidence), failure=failure)
    if not judged.kept:
        unknown = replace(unknown, text=in_language_of(question, NO_REPLY)) if failure else unknown
        reason = _why_nothing_is_left(sentences, judged) or failure or stated
        reason = reason or "The model found no answer in the evidence."
        near = (one.citation for quote in nearest for one in cited(quote, quote.text, evidence, store, sentence=0))
        unknown = replace(unknown, usage=completion.usage, dropped=judged.dropped, confidence=confidence)
        return replace(
            unknown, explain=(reason,), unsupported=tuple(judged.unsupported), nearest=tuple(dict.fromkeys(near))
        )
    known = replace(unknown, unknown=False, usage=completion.usage, dropped=judged.dropped, confidence=confidence)
    reason = failure or (stated if is_by_rules(completion.model) else "")  # how many of the rows counted are cited
    known = replace(known, hits=tuple(piece.hit for piece in evidence), explain=(reason,) if reason else ())
    return hits_used(_known(known, judged, completion), hits)


def _asked_again(question: str, model: LanguageModel, evidence: Sequence[EvidencePiece], **prompted: Any) -> Completion:
    """Return the reply to more evidence, or to whole tables."""
    return model.complete([_prompt(question, evidence, **prompted)])[0]


def _looked_up(
    hits: Sequence[Hit],
    evidence: list[EvidencePiece],
    completion: Completion,
    store: TripleStore,
    look_up: LookUp | None,
    ask: Callable[..., Completion],
) -> tuple[Sequence[Hit], list[EvidencePiece], Completion]:
    """Return hits, evidence and reply with what a model of rules wants to look up: names, and tables as a whole."""
    further, first = None, len(hits)
    if look_up is not None and names_wanted(completion):
        further = with_looked_up(hits, completion, look_up, lambda more: ask(evidence_of(more, store), first=first))
    if further is not None:
        hits, completion = further
        evidence = evidence_of(hits, store)
    whole = with_tables(evidence, completion, store, lambda pieces: ask(pieces, in_order=True))
    return hits, *(whole or (evidence, completion))


def _known(answer: Answer, judged: _Judged, completion: Completion) -> Answer:
    """Return an answer with the sentences that are kept."""
    texts = tuple(text for text, _ in judged.kept)
    citations = tuple(citation for _, citations in judged.kept for citation in citations)
    return replace(
        answer,
        text=_marked(judged.kept),
        sentences=texts,
        citations=citations,
        unsupported=tuple(judged.unsupported),
        values=_values(answer, texts, citations, completion),
    )


def _values(
    answer: Answer, sentences: Sequence[str], citations: Sequence[Citation], completion: Completion
) -> tuple[Value, ...]:
    """Return the short answers; none is cut out of an answer that is probably not the one asked for."""
    if stated := values_stated(completion, answer.question, sentences, citations):
        return stated
    if answer.confidence is not None and answer.confidence < LEAST_CONFIDENCE:
        return ()
    data = completion.data if isinstance(completion.data, Mapping) else {}
    if is_by_rules(completion.model) and data.get("values") == []:  # rules that know of none
        return ()
    # a sentence may be too short to tell its language, and "Was" begins an English question as well
    language = language_to_answer_in(answer.question, [hit.text for hit in answer.hits])
    around = _headings_above(answer, citations)

    def cut(question: str, sentences: Sequence[str], citations: Sequence[Citation]) -> Sequence[Value]:
        return short_answers(question, sentences, citations, around, language)

    halved = values_of_halves(completion, sentences, citations, cut)
    return tuple(cut(answer.question, sentences, citations)) if halved is None else halved


def _headings_above(answer: Answer, citations: Sequence[Citation]) -> list[str]:
    """Return titles and headings of the hits that are cited."""
    documents = {citation.document for citation in citations}
    hits = (hit for hit in answer.hits if any(span.document in documents for span in hit.sources))
    return [str(hit.attributes.get(name) or "") for hit in hits for name in ("title", "heading")]


def _streamed(prompt: Prompt, model: LanguageModel, judge: _Judge) -> Completion:
    """Return the reply of a model; its sentences are judged while it writes, if it can pass them on."""
    if not isinstance(model, StreamsText):
        return model.complete([prompt])[0]
    reply = ReplyStream()

    def read(piece: str) -> None:
        for item in reply.feed(piece):
            for sentence in _read_sentences([item]):
                judge.take(sentence)

    return model.complete_streamed(prompt, read)


def sentences_of(answer: Answer) -> Iterator[AnswerSentence]:
    """Yield the sentences of an answer that is whole, as they would have come while it was written."""
    first = 1
    for number, text in enumerate(answer.sentences):
        citations = tuple(one for one in answer.citations if one.sentence == number)
        yield AnswerSentence(number, text, citations, first)
        first += len(citations)


def with_unsupported(answer: Answer) -> Answer:
    """Return an answer whose text has the sentences that are not supported too, at their places and marked as such."""
    kept = [
        (text, [citation for citation in answer.citations if citation.sentence == place])
        for place, text in enumerate(answer.sentences)
    ]
    return replace(answer, text=_marked(kept, answer.unsupported)) if answer.unsupported else answer


def _prompt(
    question: str, evidence: Sequence[EvidencePiece], *, first: int | None = None, in_order: bool = False
) -> Prompt:
    pieces: list[dict[str, object]] = []
    pairs: set[str] = set()
    shown = {piece.text for piece in evidence if piece.hit.kind not in _DERIVED_KINDS}
    for piece in evidence:
        heading = " ".join(piece.sections.split())[:_MAX_HEADING_CHARACTERS]
        row = {"number": piece.number, "kind": piece.hit.kind, "heading": heading, "text": _shown_once(piece, pairs)}
        sources = _source_texts(piece)
        unseen = [text for text in (*sources, *_led_to(piece)) if text not in shown]
        shown.update(unseen)
        pieces.append(row | {"source": _BETWEEN.join(sources), "unseen": _BETWEEN.join(unseen)})
    # Made from the evidence, so that no text can contain the boundary that closes its own fence; and from nothing else,
    # so that another question about the same evidence has the same prefix, which a service may keep.
    boundary = f"=== {digest(*(str(piece) for piece in pieces))[:12]} ==="
    for row, piece in zip(pieces, evidence, strict=True):
        row |= {"before": piece.before, "following": piece.following}
        row |= {
            "title": str(piece.hit.attributes.get("title") or ""),
            "looked_up": first is not None and piece.number > first,
            "in_order": in_order,
        }
        row["written"] = _WRITTEN_BY_A_MODEL.get(piece.hit.kind, "")
    return prompting.render(PROMPT, question=question, evidence=pieces, boundary=boundary)


def _led_to(piece: EvidencePiece) -> list[str]:
    """Return the chunk behind one that ends in a colon: the list that its last line introduces begins there."""
    return [piece.following] if piece.following and piece.text.rstrip().endswith(_LEADING_IN) else []


def _shown_once(piece: EvidencePiece, pairs: set[str]) -> str:
    """Return what is shown of a piece: of a fact not the long pairs in ``pairs``, which gets those that it has.

    Facts of one thing share what the thing is described with; a quote of it may still name each of them.
    """
    if not piece.is_fact:
        return piece.text
    parts = piece.text.split(_BETWEEN_PAIRS)
    fresh = [part for part in parts if part not in pairs]
    pairs.update(part for part in parts if len(part) >= _MIN_LONG_PAIR_CHARACTERS)
    return _BETWEEN_PAIRS.join(fresh) if fresh else piece.text


def _source_texts(piece: EvidencePiece) -> list[str]:
    """Return the chunks behind a fact, an aggregate or a summary where they add to its own text; cut to a limit.

    An extraction may read many chunks at once: those that contain most of the hyperedge's values come first.
    """
    if piece.hit.kind not in _DERIVED_KINDS:
        return []
    values = [pair.partition(": ")[2] or pair for pair in piece.hit.text.split("; ")]
    sources = [source for source in piece.sources if locate(piece.hit.text, source.text) is None]
    sources.sort(key=lambda source: -sum(value in source.text for value in values))
    shown, characters_left = [], _MAX_SOURCE_CHARACTERS
    for source in sources:
        if characters_left > 0:
            shown.append(source.text[:characters_left])
            characters_left -= len(source.text)
    return shown


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
    if sentences := list(_read_sentences(data, by_rules=is_by_rules(completion.model))):
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


def _not_stated(completion: Completion, question: str, evidence: Sequence[EvidencePiece]) -> str:
    """Return what a reply says is left open; "" where it has figures or names from nowhere, which nothing cites."""
    try:
        data = structured_output.json_of(completion, checked=False)
    except ReplyUnusable:
        return ""
    stated = data.get("not_stated") if isinstance(data, Mapping) else ""
    line = _encodable(stated)[:_MAX_NOT_STATED_CHARACTERS] if isinstance(stated, str) else ""
    if not line:
        return ""
    return "" if unsupported(line, Ground((_all_text(evidence),), question=question)) else line


def _all_text(evidence: Sequence[EvidencePiece]) -> str:
    return "\n".join(text for piece in evidence for text in (piece.text, *(source.text for source in piece.sources)))


def _encodable(text: str) -> str:
    """Return a text on one line; a lone surrogate, which cannot be printed or stored, becomes a question mark."""
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


def _read_sentences(data: object, *, by_rules: bool = False) -> Iterator[_QuotedSentence]:
    for item in data if isinstance(data, list) else []:
        text, citations = (item.get("text"), item.get("citations")) if isinstance(item, Mapping) else (item, [])
        computed = by_rules and isinstance(item, Mapping) and item.get("computed") is True
        if not isinstance(text, str):
            continue
        if line := _TRAILING_MARKERS.sub("", _encodable(text)):
            yield _QuotedSentence(line, tuple(_read_quotes(citations)), computed)


def _read_quotes(data: object) -> Iterator[Quote]:
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, str):
            yield Quote(item)
        elif isinstance(item, Mapping) and isinstance(item.get("quote"), str):
            digits = re.search(r"\d{1,6}", str(item.get("evidence")))
            yield Quote(item["quote"], int(digits[0]) if digits else 0)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The sentences of a reply that are kept, with their citations; those not supported; counts of what was dropped."""

    kept: list[tuple[str, tuple[Citation, ...]]]
    unsupported: list[Unsupported]
    dropped: dict[str, int]


class _Judge:
    """Keeps the sentences that have a quote which is in the evidence, and state nothing that it does not.

    A citation counts its sentence among those kept.
    """

    def __init__(
        self,
        question: str,
        evidence: Sequence[EvidencePiece],
        store: TripleStore,
        on_sentence: Callable[[AnswerSentence], None] | None,
    ) -> None:
        self.judged = _Judged([], [], {"quotes": 0, "sentences": 0, "unsupported": 0})
        self.taken = 0
        self._question, self._evidence, self._store, self._on_sentence = question, evidence, store, on_sentence
        self._shown = _all_text(evidence)
        self._sources = {source.span.chunk: source for piece in evidence for source in piece.sources}
        texts = {source.span.chunk for piece in evidence if not piece.is_fact for source in piece.sources}
        self._of_facts = frozenset(self._sources) - texts
        self._chunks_before: dict[str, SourceChunk | None] = {}
        self._known_titles: dict[str, str] | None = None

    def take(self, sentence: _QuotedSentence) -> None:
        """Judge one sentence, and pass it on if it is kept."""
        self.taken += 1
        judged, place = self.judged, len(self.judged.kept)
        by_quote = [
            cited(quote, sentence.text, self._evidence, self._store, sentence=place) for quote in sentence.quotes
        ]
        judged.dropped["quotes"] += by_quote.count([])
        carried = [one for found in by_quote for one in found]
        if not carried:
            judged.dropped["sentences"] += 1
        elif missing := self._missing(sentence, carried):
            judged.dropped["unsupported"] += 1
            judged.unsupported.append(Unsupported(sentence.text, tuple(missing), place))
        else:
            first = 1 + sum(len(citations) for _, citations in judged.kept)
            repeated = repeating_headings(sentence.quotes, by_quote, self._sources)
            telling = [one for one in carried if one.citation not in repeated] or carried
            whole = completed(
                sentence.text, self._question, telling, self._evidence, before=self._before, titles=self._titles()
            )
            citations = in_runs([one.citation for one in whole], self._sources, of_facts=self._of_facts)
            judged.kept.append((sentence.text, citations))
            if self._on_sentence is not None:
                self._on_sentence(AnswerSentence(place, sentence.text, citations, first))

    def _missing(self, sentence: _QuotedSentence, carried: Sequence[Carried]) -> list[str]:
        """Return what a sentence states and does not cite; a count or sum that rules made of what it cites is cited."""
        return [] if sentence.computed else unsupported(sentence.text, _ground(carried, self._question, self._shown))

    def _titles(self) -> dict[str, str]:
        """Return the titles of the documents behind evidence that shows none, as facts do; looked up once."""
        if self._known_titles is None:
            untitled = (piece for piece in self._evidence if not piece.hit.attributes.get("title"))
            behind = [source.span.chunk for piece in untitled for source in piece.sources]
            stored = stored_passages.passages(self._store, behind).values()
            self._known_titles = {each.span.document: each.place.title for each in stored if each.place.title}
        return self._known_titles

    def _before(self, chunk: str) -> SourceChunk | None:
        """Return the chunk before a cited one, which is looked up once."""
        if chunk not in self._chunks_before:
            self._chunks_before[chunk] = chunk_before(chunk, self._store)
        return self._chunks_before[chunk]


def _ground(carried: Sequence[Carried], question: str, shown: str) -> Ground:
    cited_texts = dict.fromkeys(one.sentences for one in carried)
    about = dict.fromkeys(text for one in carried for text in one.about)
    facts = dict.fromkeys(one.fact for one in carried if one.fact)
    return Ground(tuple(cited_texts), tuple(about), question, shown, tuple(facts))


def _why_nothing_is_left(sentences: Sequence[_QuotedSentence], judged: _Judged) -> str:
    """Return why no sentence of a reply is kept; "" where it has none."""
    if judged.unsupported:
        missing = "; ".join(f"{', '.join(one.missing)} in {one.sentence!r}" for one in judged.unsupported)
        return f"What the reply says is not in what it cites: {missing}."
    if sentences:
        return f"None of the {len(sentences)} sentences of the reply quotes text that is in the evidence."
    return ""


def _marked(kept: Sequence[tuple[str, Sequence[Citation]]], left_out: Sequence[Unsupported] = ()) -> str:
    """Return the sentences, each followed by ``[1]`` markers that count the citations from 1.

    Sentences that were left out have a mark that says what they do not cite.
    """
    parts = []
    number = 0
    for place in range(len(kept) + 1):
        parts += [f"{one.sentence} [not supported: {', '.join(one.missing)}]" for one in left_out if one.place == place]
        if place < len(kept):
            text, citations = kept[place]
            parts += [text, *(f"[{number + at}]" for at in range(1, len(citations) + 1))]
            number += len(citations)
    return " ".join(parts)
