"""Answers a question with what stands in the evidence, or says *unknown*.

Terms are weighed by how rare they are in the evidence; a term that is nowhere in it weighs most. The answer is unknown
when its sentences, with their headings, cover too little of that weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgrag.adapters.extractive.claims import Claim, Piece, read_piece
from kgrag.adapters.extractive.facts import Fact, fact_claims, is_fact, read_fact
from kgrag.adapters.extractive.prose import Sentence, prose_claims, read_sentences
from kgrag.adapters.extractive.wording import Question, read_question

__all__ = ["LEAST_COVERAGE", "LEAST_FIRST", "STITCHED", "reply"]

LEAST_COVERAGE = 0.42
"""Share of the question (by weight) that the sentences of an answer cover together, at least."""

STITCHED = 0.06
"""What each further sentence of prose adds to that, since words that stand far apart cover a question by chance."""

LEAST_FIRST = 0.28
"""Share of the question that the first sentence alone covers, at least."""

_MOST_SENTENCES = 3
_LEAST_GAIN = 0.12
_LINK = 0.1
_AS_GOOD = 0.95


def reply(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give the reply to ``answering/answer``: at most three sentences, each quoted word by word.

    Args:
        variables: ``question`` (text) and ``evidence`` (list of number, kind, heading, text, source).
    """
    pieces = [read_piece(piece) for piece in variables["evidence"]]
    facts = [read_fact(piece) for piece in pieces if is_fact(piece)]
    sentences = [sentence for piece in pieces for sentence in _sentences(piece)]
    question = read_question(str(variables["question"]), _units(facts, sentences))
    claims = [*fact_claims(question, facts), *prose_claims(question, sentences)]
    chosen = _choose(question, claims)
    if not _enough(question, chosen):
        return {"unknown": True, "sentences": []}
    return {"unknown": False, "sentences": [_sentence(claim) for claim in chosen]}


def _enough(question: Question, chosen: Sequence[Claim]) -> bool:
    """Say whether what was chosen covers the question well enough to be given as an answer."""
    if not chosen or question.coverage(chosen[0].found) < LEAST_FIRST:
        return False
    stitched = sum(not claim.fact for claim in chosen[1:])
    covered = question.coverage(frozenset().union(*(claim.found for claim in chosen)))
    return covered >= LEAST_COVERAGE + STITCHED * stitched


def _sentences(piece: Piece) -> list[Sentence]:
    if is_fact(piece):
        return list(read_sentences(piece)) if piece.source else []
    return list(read_sentences(piece))


def _units(facts: Sequence[Fact], sentences: Sequence[Sentence]) -> list[frozenset[str]]:
    pairs = dict.fromkeys(pair for fact in facts for pair in fact.pairs if not pair.says_nothing)
    return [pair.key_terms | pair.value_terms for pair in pairs] + [
        sentence.own | sentence.around for sentence in sentences
    ]


def _choose(question: Question, claims: Sequence[Claim]) -> list[Claim]:
    """Take the best claim, then those that add to it."""
    chosen: list[Claim] = []
    rest = list(claims)
    while rest and len(chosen) < _MOST_SENTENCES:
        gains = [_gain(question, claim, chosen) for claim in rest]
        best = max(range(len(rest)), key=gains.__getitem__)
        if chosen and gains[best] < _LEAST_GAIN:
            break
        chosen.append(rest.pop(best))
    return chosen


def _gain(question: Question, claim: Claim, chosen: Sequence[Claim]) -> float:
    """Say what a claim adds: nothing when it says the same again or has nothing to do with what was taken."""
    if not chosen:
        return claim.score
    said = {quote for taken in chosen for _, quote in taken.quotes}
    if all(quote in said for _, quote in claim.quotes):
        return 0.0
    if claim.fact:
        return _LEAST_GAIN + claim.score if claim.score >= _AS_GOOD * chosen[0].score else 0.0
    covered = frozenset().union(*(taken.found for taken in chosen))
    new = claim.found - covered
    names = frozenset().union(*(taken.links for taken in chosen)) - question.weights.keys()
    linked = bool(names & claim.found)
    if not linked and not question.names & new:
        return 0.0
    return question.coverage(new) + (_LINK if linked else 0.0)


def _sentence(claim: Claim) -> dict[str, Any]:
    citations = [{"evidence": number, "quote": quote} for number, quote in claim.quotes]
    return {"text": claim.text, "citations": citations}
