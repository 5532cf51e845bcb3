"""A summary that copies: the sentences nearest to the middle of a cluster, none twice; fulfils ``sire_rag/summary``.

Each sentence is a vector of its terms, weighed by how rare they are among the sentences. The one nearest to the mean of
all is taken, then the one that is nearest to what of the mean is not yet said (maximal marginal relevance).

What stands around a chunk in the citation graph, copied; fulfils ``cg_rag/neighbourhood``.

Of the linked passages those sentences are kept that share a term with the question and that the passage itself does not
have; of these, the ones in the middle make the summary.

Whether triples answer a question, by their words: fulfils ``poly_rag/sufficient``.

A triple answers when the question names one of its ends and the words that are left are those of its relation; the
other end is the answer. What has a word more or less is not enough: this judgement rather says no.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import regex

from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import attribute_words, split

__all__ = [
    "neighbourhood_summary",
    "sufficiency",
    "summary",
]

_WORDS = 120
_MOST = 400
_SAME = 0.6

_Vector = Mapping[str, float]


def summary(variables: Mapping[str, Any]) -> str:
    """Give at most 120 words of the texts, in their order; the first sentence in any case.

    Args:
        variables: ``texts``, a list.

    >>> summary({"texts": ["Barley is a cereal.", "Barley is a cereal.", "Oats are a cereal too."]})
    'Barley is a cereal. Oats are a cereal too.'
    """
    said = [" ".join(text[start:end].split()) for text in map(str, variables["texts"]) for start, end in split(text)]
    sentences = list(dict.fromkeys(said))
    vectors = _weighed([Counter(terms(sentence)) for sentence in sentences])
    chosen = _chosen(sentences, vectors)
    return " ".join(sentences[number] for number in sorted(chosen))


def _weighed(counts: Sequence[Counter[str]]) -> list[_Vector]:
    """Give unit vectors of terms."""
    frequency = Counter(term for count in counts for term in count)
    vectors: list[_Vector] = []
    for count in counts:
        raw = {term: times * math.log(1 + len(counts) / frequency[term]) for term, times in count.items()}
        length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        vectors.append({term: value / length for term, value in raw.items()})
    return vectors


def _chosen(sentences: Sequence[str], vectors: Sequence[_Vector]) -> list[int]:
    middle: dict[str, float] = defaultdict(float)
    for vector in vectors:
        for term, value in vector.items():
            middle[term] += value
    ranked = sorted(range(len(vectors)), key=lambda number: (-_product(vectors[number], middle), number))
    chosen: list[int] = []
    left = _WORDS
    for number in ranked[:_MOST]:
        length = len(sentences[number].split())
        if chosen and (length > left or any(_product(vectors[number], vectors[other]) > _SAME for other in chosen)):
            continue
        chosen.append(number)
        left -= length
        if left <= 0:
            break
    return chosen


def _product(first: _Vector, second: _Vector) -> float:
    return sum(value * second.get(term, 0.0) for term, value in first.items())


_NEIGHBOURHOODS_MOST = 60


def neighbourhood_summary(variables: Mapping[str, Any]) -> str:
    """Give at most 120 words of the neighbours; "" when none shares a term with the question.

    Args:
        variables: ``question``, ``text`` and ``around``, a list of objects with ``text``.

    >>> around = [{"text": "Barley needs lime. Rain fell."}]
    >>> neighbourhood_summary({"question": "What does barley need?", "text": "On soils.", "around": around})
    'Barley needs lime.'
    """
    wanted = frozenset(terms(str(variables["question"])))
    known = _sentences(str(variables["text"]))
    said = [
        sentence
        for each in variables["around"]
        for sentence in _sentences(str(each["text"]))
        if sentence not in known and wanted.intersection(terms(sentence))
    ]
    chosen = list(dict.fromkeys(said))[:_NEIGHBOURHOODS_MOST]
    return summary({"texts": chosen}) if chosen else ""


def _sentences(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in split(text)]


_KIND = regex.compile(r"^\s*(?:in|on|at|from)\s+(?:what|which)\s+\w+(?=\s+(?:is|was|are|were|did|do|does)\b)", regex.I)
_FREE = frozenset({"list", "mani", "name", "show"})


def sufficiency(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give the reply to ``poly_rag/sufficient``.

    Args:
        variables: ``question`` (text) and ``triples`` (list of number, subject, relation, object).

    >>> triple = {"number": 1, "subject": "Auron", "relation": "creator", "object": "Marv Wolfman"}
    >>> sufficiency({"question": "Who is the creator of Auron?", "triples": [triple]})["answers"]
    [{'triple': 1, 'text': 'Marv Wolfman'}]
    >>> sufficiency({"question": "Who is the wife of the creator of Auron?", "triples": [triple]})["sufficient"]
    False
    """
    question = str(variables["question"])
    answers = [
        {"triple": triple["number"], "text": found}
        for triple in variables["triples"]
        if (found := _other_end(question, triple))
    ]
    return {"sufficient": bool(answers), "answers": answers}


def _other_end(question: str, triple: Mapping[str, Any]) -> str:
    relation = attribute_words(str(triple["relation"]))
    for end, other in (("subject", "object"), ("object", "subject")):
        rest = _without(question, str(triple[end]))
        if rest is None or not relation:
            continue
        if relation - _FREE in (attribute_words(rest) - _FREE, attribute_words(_KIND.sub(" ", rest)) - _FREE):
            return str(triple[other])
    return ""


def _without(question: str, name: str) -> str | None:
    """Give a question without a name that stands in it as whole words; None when it does not."""
    if not name.strip():
        return None
    pattern = (
        rf"(?<![\p{{L}}\p{{N}}]){regex.escape(name, literal_spaces=True)}(?![\p{{L}}\p{{N}}])(?:['’]s?(?!\p{{L}}))?"
    )
    left, found = regex.subn(pattern, " ", question, count=1, flags=regex.IGNORECASE)
    return left if found else None
