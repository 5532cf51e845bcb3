"""Summaries that copy, and whether triples answer a question.

Fulfils ``sire_rag/summary``, ``cg_rag/neighbourhood`` and ``poly_rag/sufficient``.

For a summary each sentence is a vector of its terms, weighed by how rare they are among the sentences. The one nearest
to the mean of all is taken, then the next nearest that does not repeat one (maximal marginal relevance). Of linked
passages only sentences count that share a term with the question and that the passage itself does not have.

A triple answers when the question names one of its ends and the words that are left are those of its relation; the
other end is the answer. A word more or less is not enough: the judgement rather errs towards "insufficient".
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import attribute_words, split

__all__ = ["neighbourhood_summary", "sufficiency", "summary"]

_MAX_SUMMARY_WORDS = 120
_MAX_RANKED_SENTENCES = 400
_MAX_NEIGHBOUR_SENTENCES = 60
_SAME_SENTENCE_COSINE = 0.6
_WHICH_KIND = late_regex(
    r"^\s*(?:in|on|at|from)\s+(?:what|which)\s+\w+(?=\s+(?:is|was|are|were|did|do|does)\b)", regex.I
)
_FREE_WORDS = frozenset({"list", "mani", "name", "show"})

_Vector = Mapping[str, float]


def summary(variables: Mapping[str, Any]) -> str:
    """Return at most 120 words of the texts, in their order; one sentence in any case.

    Args:
        variables: ``texts``, a list.

    >>> summary({"texts": ["Barley is a cereal.", "Barley is a cereal.", "Oats are a cereal too."]})
    'Barley is a cereal. Oats are a cereal too.'
    """
    sentences = list(dict.fromkeys(sentence for text in variables["texts"] for sentence in _sentences(str(text))))
    vectors = _unit_vectors([Counter(terms(sentence)) for sentence in sentences])
    total: dict[str, float] = defaultdict(float)
    for vector in vectors:
        for term, value in vector.items():
            total[term] += value
    ranked = sorted(range(len(vectors)), key=lambda number: (-_product(vectors[number], total), number))
    chosen: list[int] = []
    words_left = _MAX_SUMMARY_WORDS
    for number in ranked[:_MAX_RANKED_SENTENCES]:
        length = len(sentences[number].split())
        repeats = any(_product(vectors[number], vectors[other]) > _SAME_SENTENCE_COSINE for other in chosen)
        if chosen and (length > words_left or repeats):
            continue
        chosen.append(number)
        words_left -= length
        if words_left <= 0:
            break
    return " ".join(sentences[number] for number in sorted(chosen))


def _sentences(text: str) -> list[str]:
    return [" ".join(text[start:end].split()) for start, end in split(text)]


def _unit_vectors(counts: Sequence[Counter[str]]) -> list[_Vector]:
    frequency = Counter(term for count in counts for term in count)
    vectors: list[_Vector] = []
    for count in counts:
        weighed = {term: times * math.log(1 + len(counts) / frequency[term]) for term, times in count.items()}
        length = math.sqrt(sum(value * value for value in weighed.values())) or 1.0
        vectors.append({term: value / length for term, value in weighed.items()})
    return vectors


def _product(first: _Vector, second: _Vector) -> float:
    return sum(value * second.get(term, 0.0) for term, value in first.items())


def neighbourhood_summary(variables: Mapping[str, Any]) -> str:
    """Return at most 120 words of the neighbours; "" when none shares a term with the question.

    Args:
        variables: ``question``, ``text`` and ``around``, a list of objects with ``text``.

    >>> around = [{"text": "Barley needs lime. Rain fell."}]
    >>> neighbourhood_summary({"question": "What does barley need?", "text": "On soils.", "around": around})
    'Barley needs lime.'
    """
    asked = frozenset(terms(str(variables["question"])))
    known = _sentences(str(variables["text"]))
    new = [
        sentence
        for neighbour in variables["around"]
        for sentence in _sentences(str(neighbour["text"]))
        if sentence not in known and asked.intersection(terms(sentence))
    ]
    return summary({"texts": list(dict.fromkeys(new))[:_MAX_NEIGHBOUR_SENTENCES]})


def sufficiency(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to ``poly_rag/sufficient``.

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
        {"triple": triple["number"], "text": end}
        for triple in variables["triples"]
        if (end := _answering_end(question, triple))
    ]
    return {"sufficient": bool(answers), "answers": answers}


def _answering_end(question: str, triple: Mapping[str, Any]) -> str:
    """Return the other end of a triple that answers the question, else ""."""
    relation = attribute_words(str(triple["relation"]))
    for end, other in (("subject", "object"), ("object", "subject")):
        name = str(triple[end])
        if not name.strip() or not relation:
            continue
        whole_words = rf"(?<![\p{{L}}\p{{N}}]){regex.escape(name, literal_spaces=True)}(?![\p{{L}}\p{{N}}])"
        owned = rf"{whole_words}(?:['’]s?(?!\p{{L}}))?"
        rest, count = regex.subn(owned, " ", question, count=1, flags=regex.IGNORECASE)
        wordings = (attribute_words(rest), attribute_words(_WHICH_KIND.sub(" ", rest)))
        if count and any(words - _FREE_WORDS == relation - _FREE_WORDS for words in wordings):
            return str(triple[other])
    return ""
