"""What one retrieval is worth on one question: every metric that its gold allows.

=============================  ==================================================================
``hit@k`` ``recall@k``          documents, by identifier, each counted at its best hit
``all@k`` ``mrr`` ``ndcg@10``
``answer in context@k``        a right answer of at most ten words stands in the text or title of the first k hits
``gold fact hit@k``            one of the first k hits holds every pair of a fact that would do
``answer-node recall@k``       share of the pairs that carry the answer, held by the first k hits
``exact match`` ``token F1``   the answer's text, when answers are measured
``answered``                   1 unless the answer is *unknown*
=============================  ==================================================================

A hit holds a pair when its attributes (a hyperedge) or its text (a fact as text) have it as ``key: value``. The key may
have more words in front, since facts can be flattened with or without the names of what is around them; "" is any key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgrag.evaluation import metrics
from kgrag.evaluation.datasets import Fact, Pair, Question
from kgrag.model import Answer, Hit

__all__ = ["Retrieved", "pairs_held", "phrases", "score"]

_CUTOFFS = (1, 2, 3, 5, 10)
_DEPTH_NDCG = 10
_PHRASE_WORDS = 10
_NOT_TEXT = frozenset({"yes", "no", "maybe", "na"})


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What came back: hits best first, the identifiers of their documents in that order, and the answer, if any."""

    hits: Sequence[Hit]
    documents: Sequence[str]
    answer: Answer | None = None


def score(question: Question, retrieved: Retrieved, k: int) -> dict[str, float]:
    """Return every metric that the question's gold allows; cutoffs are 1, 2, 3, 5, 10 and k."""
    return {
        **_of_documents(question, retrieved.documents, k),
        **_of_facts(question, retrieved.hits, k),
        **_of_context(question, retrieved.hits, k),
        **_of_answer(question, retrieved.answer),
    }


def _of_documents(question: Question, documents: Sequence[str], k: int) -> dict[str, float]:
    relevant = question.relevant
    if not relevant:
        return {}
    values = {f"hit@{cut}": metrics.hit(documents, relevant, cut) for cut in _cutoffs(k)}
    values |= {f"recall@{cut}": metrics.recall(documents, relevant, cut) for cut in _cutoffs(k)}
    values[f"all@{k}"] = metrics.all_found(documents, relevant, k)
    values["mrr"] = metrics.reciprocal_rank(documents, relevant)
    values[f"ndcg@{_DEPTH_NDCG}"] = metrics.ndcg(documents, relevant, _DEPTH_NDCG)
    return values


def _of_facts(question: Question, hits: Sequence[Hit], k: int) -> dict[str, float]:
    values: dict[str, float] = {}
    if question.gold_facts:
        gold = [any(pairs_held(hit, fact) == fact for fact in question.gold_facts) for hit in hits[: max(_cutoffs(k))]]
        values |= {f"gold fact hit@{cut}": float(any(gold[:cut])) for cut in _cutoffs(k)}
    if wanted := question.answer_nodes:
        for cut in _cutoffs(k):
            held = frozenset[Pair]().union(*(pairs_held(hit, wanted) for hit in hits[:cut]))
            values[f"answer-node recall@{cut}"] = len(held) / len(wanted)
    return values


def _of_context(question: Question, hits: Sequence[Hit], k: int) -> dict[str, float]:
    texts = [f"{hit.attributes.get('title', '')}\n{hit.text}" for hit in hits[:k]]
    values = {"context words": float(sum(len(hit.text.split()) for hit in hits[:k]))}
    if answers := phrases(question):
        values[f"answer in context@{k}"] = metrics.contains_answer("\n".join(texts), answers)
    return values


def phrases(question: Question) -> list[str]:
    """Return the right answers that can be looked for word by word."""
    return [answer for answer in question.answers if _is_phrase(metrics.normalised(answer))]


def _is_phrase(answer: str) -> bool:
    """Return whether an answer (normalised) can be looked for word by word: not yes or no, and no sentence."""
    return answer not in _NOT_TEXT and len(answer.split()) <= _PHRASE_WORDS


def _of_answer(question: Question, answer: Answer | None) -> dict[str, float]:
    if answer is None:
        return {}
    values = {"answered": float(not answer.unknown)}
    if question.answers:
        text = "" if answer.unknown else answer.text
        values["exact match"] = metrics.exact_match(text, question.answers)
        values["token F1"] = metrics.token_f1(text, question.answers)
    return values


def pairs_held(hit: Hit, pairs: Fact) -> Fact:
    """Return those of the pairs that a hit holds.

    >>> fact = Hit("urn:f", "passage", "Crop name: Soybean; Crop zone: Central", 1.0)
    >>> pairs_held(fact, frozenset({("zone", "Central"), ("one", "Central"), ("Crop zone", "Centra")}))
    frozenset({('zone', 'Central')})
    """
    line = _line(hit.attributes) if hit.kind == "hyperedge" else f" {_spaced(hit.text)};"
    return frozenset(pair for pair in pairs if _written(*pair) in line)


def _written(key: str, value: str) -> str:
    """Write a pair as it ends in a fact, whatever words stand before its key."""
    before = f" {_spaced(key)}" if key.strip() else ""
    return f"{before}: {_spaced(value)};"


def _line(attributes: Mapping[str, Any]) -> str:
    """Write attributes as a fact is written as text; a key with several values holds a list of them."""
    pairs = (
        (key, value)
        for key, values in attributes.items()
        for value in (values if isinstance(values, list | tuple) else (values,))
    )
    return "".join(f" {_spaced(key)}: {_spaced(str(value))};" for key, value in pairs)


def _spaced(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())


def _cutoffs(k: int) -> list[int]:
    return sorted({*_CUTOFFS, k})
