"""Two questions in one sentence, of which the model of rules answers one: the other is asked too, or named as open.

"How much does the hall cost and how many seats does it have?" is read as one question, and the best sentence or row has
one of the two. Each is asked by itself of the same evidence: what both answers have is the answer, and a question that
has none is what is not stated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import regex

from kgrag.answering.follow_ups import Exchange, resolve
from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.value_vetoes import value_lacking
from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.model import Citation, Completion, Value

__all__ = ["halves_of", "values_of_halves", "with_both_halves"]

_WITH: Final = r"(?:(?:in|on|at|by|for|from|to|under|with|until|since|an|bis|seit|von|zu|à|de|en|pour|depuis)\s+)?"
_NEXT_QUESTION: Final = MappingProxyType(
    {
        ENGLISH: late_regex(
            rf",?\s+and\s+(?={_WITH}(?:what|which|who|whom|where|when|why|how)\b)", flags=regex.IGNORECASE
        ),
        "de": late_regex(
            rf",?\s+und\s+(?={_WITH}(?:wer|wen|wem|was|wann|wo|wohin|wie|warum|welche[mnrs]?)\b)",
            flags=regex.IGNORECASE,
        ),
        "fr": late_regex(
            rf",?\s+et\s+(?={_WITH}(?:qui|quand|où|comment|combien|pourquoi|quel(?:le)?s?)\b)", flags=regex.IGNORECASE
        ),
    }
)
_MIN_WORDS = 3


def halves_of(question: str) -> tuple[str, str] | None:
    """Return the two questions of a sentence, each as it can be understood alone; None where it is one.

    >>> halves_of("How much does the Lecture Hall cost and how many seats does it have?")
    ('How much does the Lecture Hall cost?', 'How many seats does the Lecture Hall have?')
    >>> halves_of("Who wrote and directed the film?") is None
    True
    """
    plain = " ".join(question.split())
    pattern = _NEXT_QUESTION.get(language_of(plain))
    parts = pattern.split(plain, maxsplit=1) if pattern else []
    if len(parts) < 2 or any(len(part.split()) < _MIN_WORDS for part in parts):
        return None
    first, second = f"{parts[0].rstrip(' ,?')}?", parts[1][:1].upper() + parts[1][1:]
    return first, resolve(second, [Exchange(first)]).text


def with_both_halves(question: str, completion: Completion, ask: Callable[[str], Completion]) -> Completion:
    """Return the reply to two questions in one as the replies to both; with one of them, the other is not stated.

    A reply that has both, or to one question, or of a language model, is returned as it is.

    Args:
        question: as it was asked.
        completion: the reply to it.
        ask: asks the same model with the same evidence.
    """
    data = completion.data if isinstance(completion.data, Mapping) else {}
    if not is_by_rules(completion.model) or data.get("not_stated") or (halves := halves_of(question)) is None:
        return completion
    replies = [ask(half) for half in halves]
    known = [one.data for one in replies if isinstance(one.data, Mapping) and one.data.get("sentences")]
    said = _said(data)
    if len(known) == len(halves):
        is_whole = all(_said(one) <= said for one in known)
        return completion if is_whole else replace(completion, data=_joined(known, halves))
    if not known:
        return completion
    open_half = next(half for half, one in zip(halves, replies, strict=True) if one.data not in known)
    if said > _said(known[0]) and not value_lacking(open_half, " ".join(said)):
        return completion  # the sentence beside it may well answer the other half
    closed = [half for half in halves if half != open_half]
    return replace(completion, data={**_joined(known, closed), "not_stated": open_half.rstrip("? ")})


def values_of_halves(
    completion: Completion,
    sentences: Sequence[str],
    citations: Sequence[Citation],
    cut: Callable[[str, Sequence[str], Sequence[Citation]], Sequence[Value]],
) -> tuple[Value, ...] | None:
    """Return the short answers to the questions that a reply was joined of; () where one has none, None for no such.

    Args:
        completion: the reply.
        sentences: those of the answer.
        citations: of the answer.
        cut: returns the short answers to a question from its sentences and citations.
    """
    data = completion.data if isinstance(completion.data, Mapping) else {}
    halves = data.get("halves", ()) if is_by_rules(completion.model) else ()
    if not halves or sum(count for _, count in halves) != len(sentences):
        return () if halves else None
    values: list[Value] = []
    first = 0
    for question, count in halves:
        own = [place for place, one in enumerate(citations) if first <= one.sentence < first + count]
        cited = [replace(citations[place], sentence=citations[place].sentence - first) for place in own]
        found = cut(question, sentences[first : first + count], cited)
        if not found:
            return ()
        values += [replace(one, citation=own[one.citation]) if one.citation >= 0 else one for one in found]
        first += count
    return tuple(values)


def _joined(replies: Sequence[Mapping[str, Any]], questions: Sequence[str]) -> dict[str, Any]:
    """Return replies as one: their sentences, and their values where each states its own; the least sure counts.

    ``halves`` has each question with the number of its sentences.
    """
    sentences: list[Any] = []
    values: list[Any] = []
    for one in replies:
        values += [{**value, "sentence": value.get("sentence", 0) + len(sentences)} for value in one.get("values", ())]
        sentences += one["sentences"]
    halves = [(question, len(one["sentences"])) for question, one in zip(questions, replies, strict=True)]
    joined: dict[str, Any] = {"unknown": False, "sentences": sentences, "halves": halves}
    if all(one.get("values") for one in replies):
        joined["values"] = values
    sure = [one["confidence"] for one in replies if isinstance(one.get("confidence"), float)]
    return joined | ({"confidence": min(sure)} if len(sure) == len(replies) else {})


def _said(reply: Mapping[str, Any]) -> set[str]:
    """Return the sentences of a reply: two of one row have the same quote."""
    return {str(row.get("text", "")) for row in reply.get("sentences", ())}
