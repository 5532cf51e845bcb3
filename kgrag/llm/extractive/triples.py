"""Triples between the names of a sentence, by the words between them: fulfils the four steps of ``poly_rag``'s cascade.

Names that are joined by "and" share subject and relation; a preposition after a triple goes on with its verb; "which",
"who" speak of the name before them. What stands between two names in more than a few words, without a telling word, or
without anything like a verb or a preposition ("Marlow valley"), is no relation; a date or a number is the object of a
triple and never its subject.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import regex

from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.sentence_facts import mentions, rewrite
from kgrag.text.sentences import STOP_WORDS, entity_key

__all__ = ["Between", "disambiguate", "entities", "paraphrase", "relations", "triples_in"]

_LONGEST = 6
_JOINED = regex.compile(r"\s*(?:,|,?\s*(?:and|or|&|as well as))\s*")
_OPENING = regex.compile(r"^(?:,\s*)?(?:(?:and|but|which|who|that|where|whose)\s+)+", flags=regex.IGNORECASE)
_GOES_ON = regex.compile(r"(?:,\s*)?(?:and|but)\s+\p{Ll}", flags=regex.IGNORECASE)
_DETERMINER = regex.compile(r"\s+(?:the|a|an|its|his|her|their)\b.*$", flags=regex.IGNORECASE)
_PREPOSITION = regex.compile(r"^(?:in|on|at|by|from|with|for|to|of|near|since|until|as)$", flags=regex.IGNORECASE)
_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}'’ -]+")
_JOINS = regex.compile(
    r"\b(?:is|was|are|were|be|been|has|have|had|does|did|can|will|by|of|in|on|at|with|for|from|to|as|near|into|than|wrote|led"
    r"|made|met|won|built|gave|took|born|sang|drew|flew|ran|saw|\p{L}+(?:ed|es|ing|[^s]s))\b",
    flags=regex.IGNORECASE,
)
_COPULA = regex.compile(r"^(?:is|was|are|were|include|includes|included)$", flags=regex.IGNORECASE)
_NOUN_OF = regex.compile(r"(?:\bthe|^)\s+((?:[\p{Ll}-]+\s+){1,4}?)(?:of|for|in)\s+(?:the\s+)?$", flags=regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Between:
    """Two names of a sentence, and the words that join them."""

    subject: str
    relation: str
    object: str

    def reply(self) -> dict[str, str]:
        """Give it as the reply to a prompt has it."""
        return {"subject": self.subject, "relation": self.relation, "object": self.object}


def paraphrase(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Fulfil f_par: the sentences, each with the title in the place of a pronoun."""
    text = rewrite({"title": variables["title"], "text": variables["text"]})
    return {"statements": [line for line in text.splitlines() if line.strip()]}


def entities(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Fulfil f_ent: names, numbers and dates, each once; a comma within one ends it."""
    found = (place.text for sentence in variables["statements"] for place in mentions(sentence))
    return {"entities": list(dict.fromkeys(found))}


def relations(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Fulfil f_rel: the words between names that follow each other.

    >>> relations({"statements": ["Auron was made by Ann Lee and Bo Oak."], "entities": []})["triples"][1]
    {'subject': 'Auron', 'relation': 'was made by', 'object': 'Bo Oak'}
    """
    return {"triples": [one.reply() for sentence in variables["statements"] for one in triples_in(sentence)]}


def disambiguate(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Fulfil f_dis: the same triple once, and relations of the same words in the words of the first."""
    wording: dict[frozenset[str], str] = {}
    kept: dict[tuple[str, str, str], dict[str, str]] = {}
    for triple in variables["triples"]:
        relation = wording.setdefault(frozenset(terms(triple["relation"])), triple["relation"])
        key = (entity_key(triple["subject"]), relation, entity_key(triple["object"]))
        if key[0] != key[2]:
            kept.setdefault(key, {**triple, "relation": relation})
    return {"triples": list(kept.values())}


def triples_in(sentence: str) -> list[Between]:
    """Give the triples of a sentence, in order."""
    places = mentions(sentence)
    figures = {place.text for place in places if place.kind in ("date", "number")}
    found: list[Between] = []
    waiting: list[str] = []
    for first, second in pairwise(places):
        one, other, gap = first.text, second.text, sentence[first.end : second.start].strip()
        if _JOINED.fullmatch(sentence[first.end : second.start]):
            if found and found[-1].object == one:
                found.append(Between(found[-1].subject, found[-1].relation, other))
            else:
                waiting.append(one)
            continue
        relation = _relation(gap, sentence[: first.start], found, one)
        if relation is not None and relation[0] not in figures:
            subject, words = relation
            subjects = [*waiting, subject] if subject == one else [subject]
            found += [Between(each, words, other) for each in subjects]
        waiting = []
    return found


def _relation(gap: str, before: str, found: Sequence[Between], one: str) -> tuple[str, str] | None:
    """Give subject and words of what a gap says; None when it says nothing."""
    words = _OPENING.sub("", gap).strip(" ,;:")
    about = found[-1].subject if _GOES_ON.match(gap) and found and found[-1].object == one else one
    if _PREPOSITION.match(words) and found and found[-1].object == one:
        verb = " ".join(word for word in found[-1].relation.split() if not _PREPOSITION.match(word))
        return (found[-1].subject, f"{verb} {words}") if verb else None
    if _COPULA.match(words):
        noun = _NOUN_OF.search(before)
        return (one, noun[1].strip()) if noun else None
    shorter = _DETERMINER.sub("", words)
    for said in (shorter, words):
        if not _WORDS.fullmatch(said):
            continue
        if 0 < len(said.split()) <= _LONGEST and any(word.casefold() not in STOP_WORDS for word in said.split()):
            return (about, said) if _JOINS.search(said) else None
    return None
