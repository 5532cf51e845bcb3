"""Answers a question by a stored one, without a model: the same words, or nearly the same around its names.

A stored query is human work, and answering another question with it would be worse than *unknown*. Embeddings alone
can't tell: "opened before" and "opened after" lie at cosine 0.97, "manages" and "is managed by" at 0.92, while "phone"
and "telephone" lie at 0.76. So the words must be the same apart from the parameters; or, with the names of things
replaced by the parameters, the embeddings must be near *and* the telling words the same in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag.ports import Embedder
from kgrag.stages.text_to_sparql.competency import Competency
from kgrag.stages.text_to_sparql.entities import Mention
from kgrag.vocab import local_name

__all__ = ["Match", "matching"]

_NAMING = ("label", "prefLabel", "name", "title", "altLabel")
_WORD = re.compile(r"\{\w+\}|\w+(?:[.,]\d+)*")
_FREE = frozenset(
    re.findall(
        r"\w+", "a an are did do does give has have i is list me of our please show tell that the there us was we were"
    )
)


@dataclass(frozen=True, slots=True)
class Match:
    """A stored question that answers what was asked, its query with the parameters filled; ``exact`` to the word."""

    question: Competency
    sparql: str
    exact: bool


def matching(
    question: str, found: Sequence[Mention], stored: Sequence[Competency], *, embedder: Embedder, near: float
) -> Match | None:
    """Give the stored question that answers a question, or None.

    Args:
        question: what was asked.
        found: the things that it names.
        stored: the nearest competency questions, best first.
        embedder: embeds wordings.
        near: cosine from which two wordings mean the same, 0 to 1.
    """
    for candidate in stored:
        values = _by_words(candidate, question, found)
        if values is not None:
            return Match(candidate, candidate.filled(values), exact=True)
    for candidate in stored:
        values = _by_names(candidate, found)
        if values is None:
            continue
        masked = candidate.masked(question, _spans(found)) if values else question
        if _frame(masked) != _frame(candidate.question):
            continue
        score = _cosine(masked, candidate.question, embedder)
        if score >= near:
            return Match(replace(candidate, score=score), candidate.filled(values), exact=False)
    return None


Values = Mapping[str, ox.NamedNode | ox.Literal]


def _by_words(candidate: Competency, question: str, found: Sequence[Mention]) -> Values | None:
    words = candidate.matched(question)
    if words is None:
        return None
    terms = {
        name: ox.Literal(words[name]) if text else _thing(words[name], found)
        for name, text in candidate.parameters.items()
    }
    return None if None in terms.values() else {name: term for name, term in terms.items() if term is not None}


def _by_names(candidate: Competency, found: Sequence[Mention]) -> Values | None:
    """Fill the parameters by the things that the question names, in their order; the counts must agree."""
    spans = _spans(found)
    names = list(candidate.parameters)
    if any(candidate.parameters.values()) or (names and len(names) != len(spans)):
        return None
    if not names:
        return {}
    things = [_thing(next(m.text for m in found if (m.start, m.end) == span), found) for span in spans]
    if None in things:
        return None
    return {name: thing for name, thing in zip(names, things, strict=True) if thing is not None}


def _spans(found: Sequence[Mention]) -> list[tuple[int, int]]:
    return sorted({(mention.start, mention.end) for mention in found})


def _thing(name: str, found: Sequence[Mention]) -> ox.NamedNode | None:
    """Give the one thing that bears a name; where several hold it, the one that is labelled so; else None."""
    bearing = [mention for mention in found if mention.text.lower() == name.lower()]
    labelled = {mention.entity for mention in bearing if local_name(mention.property) in _NAMING}
    things = labelled or {mention.entity for mention in bearing}
    return ox.NamedNode(things.pop()) if len(things) == 1 else None


def _frame(text: str) -> list[str]:
    """Give the stems of the words of a text that carry its meaning, and its parameters, in their order.

    >>> _frame("Which suppliers do we have in {city}?") == _frame("which supplier is in the {city}")
    True
    """
    import Stemmer

    words = [word for word in _WORD.findall(text) if word.lower() not in _FREE]
    stem = Stemmer.Stemmer("english").stemWord
    return [word if word.startswith("{") else stem(word.lower()) for word in words]


def _cosine(one: str, other: str, embedder: Embedder) -> float:
    vectors = embedder.embed([one, other], "query")
    return float(vectors[0] @ vectors[1])
