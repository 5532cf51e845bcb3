"""Triples between the names of a sentence, by the words between them: fulfils the four steps of ``poly_rag``'s cascade.

Names that are joined by "and" share subject and relation; a preposition after a triple goes on with its verb; "which",
"who" speak of the name before them. What stands between two names in more than a few words, or without a telling word,
is no relation. ``poly_rag/instances`` takes of such triples those whose relation has the words of an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import regex

from kgrag.adapters.extractive.propositions import names_at, rewrite
from kgrag.adapters.extractive.wording import name_terms, terms
from kgrag.stages.entity_names import entity_key
from kgrag.stages.sentences import STOP_WORDS, split

__all__ = ["Between", "disambiguate", "entities", "instances", "paraphrase", "relations", "triples_in"]

_LONGEST = 6
_JOINED = regex.compile(r"\s*(?:,|,?\s*(?:and|or|&|as well as))\s*")
_OPENING = regex.compile(r"^(?:,\s*)?(?:(?:and|but|which|who|that|where|whose)\s+)+", flags=regex.IGNORECASE)
_GOES_ON = regex.compile(r"(?:,\s*)?(?:and|but)\s+\p{Ll}", flags=regex.IGNORECASE)
_DETERMINER = regex.compile(r"\s+(?:the|a|an|its|his|her|their)\b.*$", flags=regex.IGNORECASE)
_PREPOSITION = regex.compile(r"^(?:in|on|at|by|from|with|for|to|of|near|since|until|as)$", flags=regex.IGNORECASE)
_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}'’ -]+")
_COPULA = regex.compile(r"^(?:is|was|are|were|include|includes|included)$", flags=regex.IGNORECASE)
_NOUN_OF = regex.compile(r"(?:\bthe|^)\s+((?:[\p{Ll}-]+\s+){1,4}?)(?:of|for|in)\s+(?:the\s+)?$", flags=regex.IGNORECASE)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_FIGURE = regex.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th)?\s+(?:{_MONTHS}),?\s+\d{{4}}|(?:{_MONTHS})\s+\d{{1,2}},?\s*\d{{4}}"
    rf"|(?:{_MONTHS})\s+\d{{4}}|\d{{4}}-\d\d-\d\d|(?<![\p{{L}}\d])\d[\d.,]*(?<=\d)(?![\p{{L}}\d])"
)
_AGENT = regex.compile(r"(?:or|er|ist)$")
_PLACES, _TIMES = frozenset({"place", "locat"}), frozenset({"date", "year", "time"})
_GENERIC = frozenset({"place", "date", "name", "year", "has", "person"})
_SAME_START = 4


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
    found = (sentence[start:end] for sentence in variables["statements"] for start, end in _ends(sentence))
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


def instances(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Fulfil f_ins: triples whose relation has the words of an attribute, turned where an active verb asks for it.

    >>> creator = {"label": "creator", "range": "Person"}
    >>> said = {"concept": "Comic", "attributes": [creator], "text": "Marv Wolfman created Auron."}
    >>> instances(said)["instances"]
    [{'subject': 'Auron', 'attribute': 'creator', 'value': 'Marv Wolfman'}]
    """
    text = str(variables["text"])
    sentences = (" ".join(text[start:end].split()) for start, end in split(text))
    found: dict[tuple[str, str, str], None] = {}
    for one in (triple for sentence in sentences for triple in triples_in(sentence)):
        for attribute in variables["attributes"]:
            if ends := _as_attribute(one, str(attribute["label"])):
                found.setdefault((ends[0], str(attribute["label"]), ends[1]))
    return {"instances": [{"subject": one, "attribute": label, "value": value} for one, label, value in found]}


def triples_in(sentence: str) -> list[Between]:
    """Give the triples of a sentence, in order."""
    places = _ends(sentence)
    found: list[Between] = []
    waiting: list[str] = []
    for (start, end), (following, stop) in pairwise(places):
        one, other, gap = sentence[start:end], sentence[following:stop], sentence[end:following].strip()
        if _JOINED.fullmatch(sentence[end:following]):
            if found and found[-1].object == one:
                found.append(Between(found[-1].subject, found[-1].relation, other))
            else:
                waiting.append(one)
            continue
        relation = _relation(gap, sentence[:start], found, one)
        if relation is not None:
            subject, words = relation
            subjects = [*waiting, subject] if subject == one else [subject]
            found += [Between(each, words, other) for each in subjects]
        waiting = []
    return found


def _ends(sentence: str) -> list[tuple[int, int]]:
    """Give where names, numbers and dates stand, without overlap."""
    figures = [match.span() for match in _FIGURE.finditer(sentence)]
    names = [span for span in names_at(sentence) if all(span[1] <= start or span[0] >= end for start, end in figures)]
    return sorted([*figures, *names])


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
            return about, said
    return None


def _as_attribute(one: Between, label: str) -> tuple[str, str] | None:
    """Give subject and value when a triple states an attribute; None when its words are others."""
    wanted, said = set(name_terms(label)), set(terms(one.relation))
    telling = wanted - _GENERIC or wanted
    if not telling or not all(any(_alike(term, other) for other in said) for term in telling):
        return None
    timed = _FIGURE.fullmatch(one.object) is not None
    if (wanted & _TIMES and not timed) or (wanted & _PLACES and timed):
        return None
    active = not regex.search(r"\bby\b", one.relation) and not set(one.relation.casefold().split()) & {"is", "was"}
    agent = any(_AGENT.search(word) for word in label.casefold().split()[-1:])
    nominal = bool(wanted & set(terms(one.relation))) and one.relation.casefold() == label.casefold()
    if agent and active and not nominal and not wanted <= said:
        return one.object, one.subject
    return one.subject, one.object


def _alike(term: str, other: str) -> bool:
    """Say whether two stems begin alike: "creator" and "creat"."""
    if term == other:
        return True
    shared = next((place for place, pair in enumerate(zip(term, other, strict=False)) if pair[0] != pair[1]), None)
    length = min(len(term), len(other)) if shared is None else shared
    return length >= max(_SAME_START, min(len(term), len(other)) - 1)
