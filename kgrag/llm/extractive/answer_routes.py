"""Four ways to an answer from prose, each with a fitted probability that it is right; the most probable one is taken.

=========  =====================================================================================================
sentence   the best sentences as they are (``sentence_ranking``)
linked     the value at the end of a plan, with the sentence of each step (``linked_answers``)
span       a name, date or number that no plan leads to, with its sentence and the one that leads there
           (``short_spans``)
verdict    yes, no or maybe, of a study that was made for the question (``study_verdicts``)
=========  =====================================================================================================

``benchmarks/reader_routes.py`` fits the weights, on the development thirds of its sets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.fitted_weights import fitted
from kgrag.llm.extractive.linked_answers import LINKED_FEATURES, LinkedAnswer, linked_answer
from kgrag.llm.extractive.linked_facts import Passage, passages_of
from kgrag.llm.extractive.named_relations import iso_of
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import WeighedQuestion, terms
from kgrag.llm.extractive.sentence_ranking import RankedSentence, certainty, probability
from kgrag.llm.extractive.short_spans import SPAN_FEATURES, Span, best_spans, spans_of
from kgrag.llm.extractive.study_verdicts import FINDINGS, is_closed, is_study, verdict, verdict_features

__all__ = ["ROUTE_FEATURES", "RoutedAnswer", "probability_of", "routed"]

Route = Literal["linked", "sentence", "span", "verdict"]

ROUTE_FEATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "linked": (*LINKED_FEATURES, "vetoed"),
    "sentence": (
        "one",
        "score",
        "lead",
        "cosine",
        "coverage",
        "coverage anywhere",
        "name missing",
        "person",
        "place",
        "date",
        "number",
        "closed",
        "linked",
        "words",
        "agreed",
        "share",
    ),
    "span": (
        "one",
        "share",
        "rival",
        "many",
        "coverage",
        "names missing",
        "person",
        "place",
        "date",
        "number",
        "same sentence",
        "linked",
        "words",
    ),
}
_MANY_WORDS = 20


@dataclass(frozen=True, slots=True)
class RoutedAnswer:
    """An answer by one route: sentences with the numbers of their pieces, short values, what speaks for it.

    ``sentences`` is () for the route "sentence", whose sentences are chosen when it is taken.
    """

    route: Route
    sentences: tuple[tuple[int, str], ...]
    values: tuple[Mapping[str, Any], ...]
    features: tuple[float, ...]
    ceiling: float = 1.0
    """What another estimate allows: that of a verdict, and that of a sentence from reference documentation, where the
    fit over all sets is too sure of itself (of 60 unseen questions 21 were answered wrongly, and 15 by this one)."""

    @property
    def probability(self) -> float:
        """The probability that it is right, 0 to 1."""
        return self.ceiling if self.route == "verdict" else min(self.ceiling, probability_of(self.route, self.features))


def probability_of(route: Route, features: Sequence[float]) -> float:
    """Return the probability that an answer with such features is right."""
    weighed = math.fsum(a * b for a, b in zip(features, fitted(route, ROUTE_FEATURES[route]), strict=True))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, weighed))))


def routed(
    asked: str,
    question: WeighedQuestion,
    texts: Sequence[EvidenceText],
    rows: Sequence[RankedSentence],
    lacking: set[int],
) -> list[RoutedAnswer]:
    """Return the answers of the routes that find one, the most probable first.

    Args:
        asked: the question as it was asked.
        question: its weighed terms.
        texts: the pieces of evidence.
        rows: their sentences, ranked, those that a veto took out left out.
        lacking: numbers of the pieces that a veto took out.
    """
    passages = passages_of(texts)
    if is_closed(asked) and passages and is_study(" ".join(passages[0].sentences)):
        return [_verdict(asked, passages[0])]
    linked = linked_answer(asked, passages)
    found = []
    if linked is not None:
        found.append(_linked(linked, lacking))
    kind = asked_for(asked).kind
    best: list[tuple[float, Span]] = []
    if kind not in ("boolean", "choice"):
        best = best_spans(spans_of(asked, passages), fitted("spans", SPAN_FEATURES))
        if best:
            found.append(_span(asked, question, best, rows, linked, passages))
    if rows:
        found.append(_sentence(asked, question, rows, linked, best))
    return sorted(found, key=lambda one: -one.probability)


def _linked(answer: LinkedAnswer, lacking: set[int]) -> RoutedAnswer:
    sentences = tuple(dict.fromkeys((step.number, step.sentence) for step in answer.steps))
    number, quote = sentences[-1]
    value = {"kind": answer.kind, "text": answer.text, "value": answer.value, "evidence": number, "quote": quote}
    vetoed = float(any(step.number in lacking for step in answer.steps))
    return RoutedAnswer("linked", sentences, (value,), (*answer.features, vetoed))


def _verdict(asked: str, study: Passage) -> RoutedAnswer:
    """Return the verdict of a study, with the one of its last sentences that has most of the question."""
    wanted = frozenset(terms(asked))
    stems = [frozenset(terms(sentence)) for sentence in study.sentences]
    features = verdict_features(asked, study.sentences, wanted, stems)
    share, said = verdict(features)[0]
    first = max(0, len(stems) - FINDINGS)
    quote = study.sentences[max(range(first, len(stems)), key=lambda at: len(stems[at] & wanted))]
    truth = {"yes": "true", "no": "false"}.get(said, "")
    kind = "boolean" if truth else "choice"
    value = {"kind": kind, "text": said, "value": truth, "evidence": study.number, "quote": quote}
    return RoutedAnswer("verdict", ((study.number, quote),), (value,), features, share)


def _kinds(asked: str) -> tuple[float, float, float, float]:
    kind = asked_for(asked).kind
    return float(kind == "person"), float(kind == "place"), float(kind == "date"), float(kind in ("number", "version"))


def _sentence(
    asked: str,
    question: WeighedQuestion,
    rows: Sequence[RankedSentence],
    linked: LinkedAnswer | None,
    best: Sequence[tuple[float, Span]],
) -> RoutedAnswer:
    closed = float(asked_for(asked).kind in ("boolean", "choice"))
    words = min(len(asked.split()) / _MANY_WORDS, 2.0)
    first = rows[0].sentence.text
    agreed = float(bool(best) and best[0][1].text in first)
    share = max((share for share, span in best[:10] if span.text in first), default=0.0)
    features = (*certainty(question, rows), *_kinds(asked), closed, float(linked is not None), words, agreed, share)
    return RoutedAnswer("sentence", (), (), features, probability(question, rows))


def _span(
    asked: str,
    question: WeighedQuestion,
    best: Sequence[tuple[float, Span]],
    rows: Sequence[RankedSentence],
    linked: LinkedAnswer | None,
    passages: Sequence[Passage],
) -> RoutedAnswer:
    share, span = best[0]
    sentences = [
        *([span.bridge] if span.bridge and span.bridge[1] != span.sentence else []),
        (span.number, span.sentence),
    ]
    titles = {passage.number: passage.title for passage in passages}
    covered = frozenset(term for number, text in sentences for term in terms(f"{titles[number]} {text}"))
    anywhere = frozenset(term for row in rows for term in row.sentence.all_terms) or covered
    features = (
        1.0,
        math.log(max(share, 1e-4) / max(1 - share, 1e-4)),
        best[1][0] if len(best) > 1 else 0.0,
        math.log(1 + len(best)),
        question.coverage(covered),
        float(bool(question.names - anywhere)),
        *_kinds(asked),
        float(bool(rows) and rows[0].sentence.text in span.sentence),
        float(linked is not None),
        min(len(asked.split()) / _MANY_WORDS, 2.0),
    )
    kind = {"date": "date", "number": "number"}.get(span.kind, "text")
    normal = iso_of(span.text) if kind == "date" else ""
    value = {"kind": kind, "text": span.text, "value": normal, "evidence": span.number, "quote": span.sentence}
    return RoutedAnswer("span", tuple(sentences), (value,), features)
