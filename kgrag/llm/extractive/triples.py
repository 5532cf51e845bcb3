"""Triples between the names of a sentence, by the words between them: a part of ``poly_rag/facts``.

Names that are joined by "and" share subject and relation; a preposition after a triple continues its verb; "which" and
"who" refer to the name before them. No relation are more than a few words between two names, words without a content
word, and words without a verb or a preposition ("Marlow valley"); a date or a number is the object of a triple and
never its subject.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import pairwise

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.sentence_facts import mentions, rewrite
from kgrag.text.sentences import STOP_WORDS, entity_key

__all__ = ["triples"]

_MAX_RELATION_WORDS = 6
_JOINED = late_regex(r"\s*(?:,|,?\s*(?:and|or|&|as well as))\s*")
_OPENING = late_regex(r"^(?:,\s*)?(?:(?:and|but|which|who|that|where|whose)\s+)+", flags=regex.IGNORECASE)
_GOES_ON = late_regex(r"(?:,\s*)?(?:and|but)\s+\p{Ll}", flags=regex.IGNORECASE)
_DETERMINER = late_regex(r"\s+(?:the|a|an|its|his|her|their)\b.*$", flags=regex.IGNORECASE)
_PREPOSITION = late_regex(r"^(?:in|on|at|by|from|with|for|to|of|near|since|until|as)$", flags=regex.IGNORECASE)
_WORDS = late_regex(r"[\p{L}\p{M}\p{N}'’ -]+")
_JOINS = late_regex(
    r"\b(?:is|was|are|were|be|been|has|have|had|does|did|can|will|by|of|in|on|at|with|for|from|to|as|near|into|than|wrote|led"
    r"|made|met|won|built|gave|took|born|sang|drew|flew|ran|saw|\p{L}+(?:ed|es|ing|[^s]s))\b",
    flags=regex.IGNORECASE,
)
_COPULA = late_regex(r"^(?:is|was|are|were|include|includes|included)$", flags=regex.IGNORECASE)
_NOUN_OF = late_regex(r"(?:\bthe|^)\s+((?:[\p{Ll}-]+\s+){1,4}?)(?:of|for|in)\s+(?:the\s+)?$", flags=regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _NameTriple:
    """Two names of a sentence, and the words that join them."""

    subject: str
    relation: str
    object: str


def triples(title: str, text: str) -> list[dict[str, str]]:
    """Return the triples of a text, each once, relations of the same words in the words of the first.

    A pronoun at the beginning of a sentence stands for the title.

    >>> triples("Auron", "It was made by Ann Lee and Bo Oak.")[1]
    {'subject': 'Auron', 'relation': 'was made by', 'object': 'Bo Oak'}
    """
    wording: dict[frozenset[str], str] = {}
    kept: dict[tuple[str, str, str], dict[str, str]] = {}
    for sentence in rewrite({"title": title, "text": text}).splitlines():
        for triple in _triples(sentence):
            relation = wording.setdefault(frozenset(terms(triple.relation)), triple.relation)
            key = (entity_key(triple.subject), relation, entity_key(triple.object))
            if key[0] != key[2]:
                kept.setdefault(key, {**asdict(triple), "relation": relation})
    return list(kept.values())


def _triples(sentence: str) -> list[_NameTriple]:
    """Return the triples of a sentence, in order."""
    places = mentions(sentence)
    figures = {place.text for place in places if place.kind in ("date", "number")}
    triples: list[_NameTriple] = []
    waiting: list[str] = []  # subjects that "and" joins to the next one
    for first, second in pairwise(places):
        gap = sentence[first.end : second.start]
        if _JOINED.fullmatch(gap):
            if triples and triples[-1].object == first.text:
                triples.append(replace(triples[-1], object=second.text))
            else:
                waiting.append(first.text)
            continue
        last = triples[-1] if triples and triples[-1].object == first.text else None
        relation = _relation(gap.strip(), sentence[: first.start], last, first.text)
        if relation is not None and relation[0] not in figures:
            subject, words = relation
            subjects = [*waiting, subject] if subject == first.text else [subject]
            triples += [_NameTriple(name, words, second.text) for name in subjects]
        waiting = []
    return triples


def _relation(gap: str, before: str, last: _NameTriple | None, name: str) -> tuple[str, str] | None:
    """Return subject and words of the relation in a gap; None when there is none.

    Args:
        gap: the words between two names.
        before: the sentence before the first name.
        last: the triple whose object is the first name, if there is one.
        name: the first name.
    """
    words = _OPENING.sub("", gap).strip(" ,;:")
    if last and _PREPOSITION.match(words):
        verb = " ".join(word for word in last.relation.split() if not _PREPOSITION.match(word))
        return (last.subject, f"{verb} {words}") if verb else None
    if _COPULA.match(words):
        noun = _NOUN_OF.search(before)
        return (name, noun[1].strip()) if noun else None
    subject = last.subject if last and _GOES_ON.match(gap) else name
    for relation in (_DETERMINER.sub("", words), words):
        is_short = 0 < len(relation.split()) <= _MAX_RELATION_WORDS and bool(_WORDS.fullmatch(relation))
        if is_short and any(word.casefold() not in STOP_WORDS for word in relation.split()):
            return (subject, relation) if _JOINS.search(relation) else None
    return None
