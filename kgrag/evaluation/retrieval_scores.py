"""What one retrieval is worth on one question: every metric that its gold allows.

=============================  ==================================================================
``hit@k`` ``recall@k``          documents, by identifier, each counted at its best hit
``all@k`` ``mrr`` ``ndcg@10``
``answer in context@k``        a right answer of at most ten words is in the text or title of the first k hits
``gold fact hit@k``            one of the first k hits has every pair of a fact that is enough
``answer-node recall@k``       share of the pairs that carry the answer, in the first k hits
``exact match`` ``token F1``   the answer's text, when answers are measured
``answered``                   1 unless the answer is *unknown*
=============================  ==================================================================

A hit has a pair when its attributes (a hyperedge) or its text (a fact as text) contain ``key: value``. The key may
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
_NDCG_DEPTH = 10
_MAX_PHRASE_WORDS = 10
_NO_PHRASES = frozenset({"yes", "no", "maybe", "na"})


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
    values[f"ndcg@{_NDCG_DEPTH}"] = metrics.ndcg(documents, relevant, _NDCG_DEPTH)
    return values


def _of_facts(question: Question, hits: Sequence[Hit], k: int) -> dict[str, float]:
    values: dict[str, float] = {}
    if question.gold_facts:
        gold = [any(pairs_held(hit, fact) == fact for fact in question.gold_facts) for hit in hits[: max(_cutoffs(k))]]
        values |= {f"gold fact hit@{cut}": float(any(gold[:cut])) for cut in _cutoffs(k)}
    if wanted := question.answer_nodes:
        for cut in _cutoffs(k):
            covered = frozenset[Pair]().union(*(pairs_held(hit, wanted) for hit in hits[:cut]))
            values[f"answer-node recall@{cut}"] = len(covered) / len(wanted)
    return values


def _of_context(question: Question, hits: Sequence[Hit], k: int) -> dict[str, float]:
    texts = [f"{hit.attributes.get('title', '')}\n{hit.text}" for hit in hits[:k]]
    values = {"context words": float(sum(len(hit.text.split()) for hit in hits[:k]))}
    if answers := phrases(question):
        values[f"answer in context@{k}"] = metrics.contains_answer("\n".join(texts), answers)
    return values


def phrases(question: Question) -> list[str]:
    """Return the right answers that can be looked for word by word: not yes or no, and no sentence."""
    bare = ((answer, metrics.normalised(answer)) for answer in question.answers)
    return [answer for answer, text in bare if text not in _NO_PHRASES and len(text.split()) <= _MAX_PHRASE_WORDS]


def _of_answer(question: Question, answer: Answer | None) -> dict[str, float]:
    if answer is None:
        return {}
    values = {"answered": float(not answer.unknown)}
    if question.answers:
        text = "" if answer.unknown else answer.values[0].text if answer.values else answer.text
        values["exact match"] = metrics.exact_match(text, question.answers)
        values["token F1"] = metrics.token_f1(text, question.answers)
    return values


def pairs_held(hit: Hit, pairs: Fact) -> Fact:
    """Return those of the pairs that a hit has.

    >>> fact = Hit("urn:f", "passage", "Crop name: Soybean; Crop zone: Central", 1.0)
    >>> pairs_held(fact, frozenset({("zone", "Central"), ("one", "Central"), ("Crop zone", "Centra")}))
    frozenset({('zone', 'Central')})
    """
    line = _line(hit.attributes) if hit.kind == "hyperedge" else f" {_spaced(hit.text)};"
    present = set()
    for key, value in pairs:
        # as a pair ends in a fact, whatever words come before its key
        last_words = f" {_spaced(key)}" if key.strip() else ""
        if f"{last_words}: {_spaced(value)};" in line:
            present.add((key, value))
    return frozenset(present)


def _line(attributes: Mapping[str, Any]) -> str:
    """Return attributes as a fact is written as text; a key with several values has a list of them."""
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
