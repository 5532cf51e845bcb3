"""Follows a plan through the evidence: what a passage states of the thing that it is about, then of what that names.

A passage is about the thing that its title names. Each step keeps the sentence that states it, so that an answer over
two passages cites both. What the patterns find may be wrong; ``certainty`` orders findings and is no probability.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

import regex

from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.named_relations import NAME, RELATIONS, Relation, date_key
from kgrag.llm.extractive.nationalities import PEOPLES, countries_in, country_of
from kgrag.llm.extractive.question_plans import Plan, Thing, key_of
from kgrag.text.sentences import split, word_set

__all__ = ["Finding", "Passage", "Step", "follow", "passages_of", "stated"]

_BEAM = 3
_LATER_PATTERN = 0.92
_LATER_SENTENCE = 0.97
_MIN_ALIKE = 0.86
_ELSEWHERE = 0.4
_SUBJECT = "SUBJECT"
_MIN_ABOUT = 0.55
_MAX_BRACKET_CHARACTERS = 300
_PARTS_OF_TITLE = regex.compile(r"\s*(?:\(| / ).*")
_NO_VALUES = word_set(
    """he she it they his her the a an this that in on at after before during while when who as king queen film i
    ii iii"""
)
_BY_NAME = {relation.name: relation for relation in RELATIONS}
_ORIGIN = regex.compile(r"[\p{Lu}][\p{L}]+-\s?born\b")
_VERB = regex.compile(r"\s(?:is|was|were|are|has|had)\s")
_IS_A = regex.compile(r"\b(?:is|was|were|are)\s+(?:an?|the|one)\b")


@dataclass(frozen=True)
class Passage:
    """A piece of evidence with the thing that it is about and its sentences as they are written."""

    number: int
    title: str
    sentences: tuple[str, ...]

    @cached_property
    def key(self) -> str:
        """Its title as names are compared."""
        return key_of(self.title)

    @cached_property
    def opening(self) -> str:
        """What its first sentence calls it, up to the verb, as names are compared."""
        first = self.sentences[0][:200] if self.sentences else ""
        return key_of(_VERB.split(first.replace("(", " ").replace(")", " "))[0])

    def about(self, name: str) -> float:
        """Return how surely it is about a name, 0 to 1."""
        wanted = key_of(name)
        if not wanted or not self.key:
            return 0.0
        if wanted == self.key:
            return 1.0
        ours, theirs = self.key.split(), wanted.split()
        shared = len(set(ours) & set(theirs))
        if shared == min(len(set(ours)), len(set(theirs))) and shared > 1:
            return 0.85 if ours[-1] == theirs[-1] or ours[0] == theirs[0] else 0.7
        if f" {wanted} " in f" {self.opening} " and len(theirs) > 1:
            return 0.6
        alike = ours[-1] == theirs[-1] or ours[0] == theirs[0]
        return 0.56 if alike and SequenceMatcher(None, self.key, wanted).ratio() > _MIN_ALIKE else 0.0


@dataclass(frozen=True, slots=True)
class Step:
    """A value that a sentence of a piece of evidence states."""

    value: str
    number: int
    sentence: str
    relation: str
    certainty: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The value at the end of a plan and the steps to it; ``country`` is that of a nationality."""

    value: str
    steps: tuple[Step, ...]
    certainty: float

    @property
    def country(self) -> str:
        """The country that the value names."""
        return country_of(self.value)


def passages_of(texts: Sequence[EvidenceText]) -> list[Passage]:
    """Return the pieces of evidence as passages."""
    found = []
    for one in texts:
        body = one.source or one.text
        title = one.heading.split(" / ")[0]
        found.append(Passage(one.number, title, tuple(_sentences(body))))
    return found


def _sentences(body: str) -> Iterator[str]:
    """Yield the sentences of a text; one that ends inside a bracket ("b. March 1953") goes on in the next."""
    start = None
    for first, end in split(body):
        start = first if start is None else start
        piece = body[start:end]
        if piece.count("(") <= piece.count(")") or len(piece) > _MAX_BRACKET_CHARACTERS:
            yield piece
            start = None
    if start is not None:
        yield body[start:].rstrip()


def follow(
    thing: Thing, plan: Plan, passages: Sequence[Passage], *, attribute: Relation | None = None
) -> list[Finding]:
    """Return what a plan finds for a thing, best first; [] where a step finds nothing."""
    beam = [Finding(thing.text, (), 1.0)]
    last = attribute or plan.attribute
    for relation in (*plan.links, *([last] if last else ())):
        following = [
            Finding(step.value, (*one.steps, step), one.certainty * step.certainty)
            for one in beam
            for step in stated(relation, one.value, passages)[:_BEAM]
            if key_of(step.value) != thing.key
        ]
        beam = sorted(following, key=lambda one: -one.certainty)[:_BEAM]
    return [one for one in beam if one.steps]


def stated(relation: Relation, name: str, passages: Sequence[Passage]) -> list[Step]:
    """Return the values of a relation of a named thing, the most certain first, each once."""
    steps: dict[str, Step] = {}
    for passage in passages:
        about = passage.about(name)
        found = _of_subject(relation, passage, about) if about >= _MIN_ABOUT else _of_mention(relation, name, passage)
        for step in found:
            key = key_of(step.value)
            if key and key != key_of(name) and (key not in steps or steps[key].certainty < step.certainty):
                steps[key] = step
    return sorted(steps.values(), key=lambda step: -step.certainty)


def _of_subject(relation: Relation, passage: Passage, about: float) -> Iterator[Step]:
    if relation.name == "country":
        yield from _countries(passage, about)
        return
    for place, sentence in enumerate(passage.sentences):
        for rank, pattern in enumerate(relation.says):
            for match in pattern.finditer(sentence):
                value = _clean(match["value"] or "", relation)
                if value and not (relation.link and passage.about(value) > _MIN_ABOUT + 0.1):
                    certainty = about * _LATER_PATTERN**rank * _LATER_SENTENCE**place
                    yield Step(value, passage.number, sentence, relation.name, certainty)
                    break


def _of_mention(relation: Relation, name: str, passage: Passage) -> Iterator[Step]:
    """Yield what passages about other things state of a thing: they are its value, or a sentence names it."""
    wanted = key_of(name)
    for sentence in passage.sentences:
        key = key_of(sentence)
        if not wanted or f" {wanted} " not in f" {key} ":
            continue
        written = _as_written(name, sentence)
        for pattern in relation.inverse:
            if written and regex.search(pattern.replace(_SUBJECT, regex.escape(written)), sentence):
                title = _PARTS_OF_TITLE.sub("", passage.title)
                yield Step(title, passage.number, sentence, relation.name, _ELSEWHERE)
                break
        start = sentence.find(written) if written else -1
        if start < 0:
            continue
        for rank, pattern in enumerate(relation.says):
            match = pattern.search(sentence, start + len(written))
            if match and match.start() - start - len(written) < 40:
                value = _clean(match["value"] or "", relation)
                if value:
                    certainty = _ELSEWHERE * _LATER_PATTERN**rank
                    yield Step(value, passage.number, sentence, relation.name, certainty)
                    break


def _as_written(name: str, sentence: str) -> str:
    """Return a name as a sentence has it; "" where it writes it otherwise."""
    parts = [regex.escape(part) for part in key_of(name).split()]
    match = regex.search(r"[^\p{L}\p{N}]{1,3}".join(parts), sentence, flags=regex.IGNORECASE)
    return match[0] if match else ""


def _clean(value: str, relation: Relation) -> str:
    """Return a value without what is no part of it; "" for none."""
    value = value.strip(" ,;.") if not regex.search(r"\b(?:Jr|Sr)\.$", value) else value.strip(" ,;")
    if relation.name == "occupation":
        return value
    if relation.kind in ("person", "place", "name") and (value in PEOPLES and relation.kind == "person"):
        return ""
    if key_of(value) in _NO_VALUES or (
        relation.kind == "place"
        and regex.fullmatch(
            r"(?:January|February|March|April|May|June|July|August|September|October|November|December)", value
        )
    ):
        return ""
    return value


def _countries(passage: Passage, about: float) -> Iterator[Step]:
    """Yield the country that a passage's first sentences name: of a people behind "is a", of a place at the end."""
    for place, sentence in enumerate(passage.sentences[:3]):
        is_a = _IS_A.search(sentence) or _VERB.search(sentence)
        forms = countries_in(_ORIGIN.sub("", sentence[is_a.start() :])) if is_a else []
        for rank, form in enumerate(forms):
            certainty = about * _LATER_PATTERN**rank * _LATER_SENTENCE ** (3 * place)
            yield Step(form, passage.number, sentence, "country", certainty)


def first_name(text: str) -> str:
    """Return the first name in a text, "" for none."""
    match = regex.search(NAME, text)
    return match[0] if match else ""


def order_of(finding: Finding) -> tuple[int, int, int]:
    """Return the date that a finding is, to compare it."""
    return date_key(finding.value)
