"""Short answers that no plan leads to: the names, dates and numbers of the evidence, ranked by what speaks for each.

A span is described by features of itself (is it of the kind that is asked for, is it in the question), of its sentence
(words shared with the question, how near they are) and of its passage: whether the question names the passage, or a
passage that it names mentions it, so that an answer two passages away is reached. ``benchmarks/reader_routes.py`` fits
the weights.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import regex

from kgrag.llm.extractive.linked_facts import Passage
from kgrag.llm.extractive.named_relations import DATE, NAME
from kgrag.llm.extractive.nationalities import PEOPLES
from kgrag.llm.extractive.question_plans import key_of
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import WeighedQuestion, read_question, term, terms
from kgrag.text.sentences import word_set

__all__ = ["SPAN_FEATURES", "Span", "best_spans", "spans_of"]

SPAN_FEATURES = (
    "person, person-like",
    "person, place-like",
    "person, people",
    "place, place-like",
    "place, person-like",
    "thing, person-like",
    "thing, people",
    "sentence",
    "neighbours",
    "passage",
    "named",
    "linked",
    "links on",
    "own title",
    "other title",
    "often",
    "near",
    "head near",
    "head of title",
    "first sentence",
    "rank",
    "words",
    "partly asked",
    "in brackets",
    "chain",
    "opens sentence",
)
_PERSONS = word_set(
    """actor actress singer author writer man woman person director musician artist player footballer politician
    president king queen emperor scientist painter poet composer producer rapper guitarist drummer comedian
    driver boxer wrestler novelist playwright philosopher general leader founder owner host coach star
    character brother sister wife husband father mother son daughter child sibling spouse friend lady designer
    architect lawyer senator governor mayor cyclist physicist historian model dancer journalist photographer
    DJ celebrity who whom whose"""
)
_PLACES = word_set(
    """city town village country state county province region district place island river continent location
    borough nation municipality suburb area where capital birthplace"""
)
_NUMBER_WORD = "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = regex.compile(
    rf"(?<![\w.,-])(?:over |about |around |nearly |approximately |more than )?(?P<value>[$£€]?\d+(?:[.,]\d+)*(?:\s?"
    rf"%|\s(?:million|billion|thousand|percent))?|{_NUMBER_WORD})(?![\w])",
    flags=regex.IGNORECASE,
)
_NAMES = regex.compile(NAME)
_DATES = regex.compile(DATE)
_YEARS = regex.compile(r"(?<!\d)(?:1[0-9]\d\d|20\d\d)(?!\d)")
_QUOTED = regex.compile(r"[\"“]\s*([^\"”]{2,60}?)\s*[\"”]")
_WORD = regex.compile(r"[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*")
_HEAD = regex.compile(
    r"\b(?:what|which)(?:\s+(?:is|was|are|were)\s+the)?(?:\s+name\s+of\s+the)?\s+((?:[\p{L}\p{N}'’.-]+\s+){0,5}?["
    r"\p{L}-]+)(?=\s+(?:is|was|are|were|did|does|do|has|had|have|can|that|who|which|in|of|at|for|from|by|on|with|wh"
    r"ere|to)\b|\s*\?|$)",
    flags=regex.IGNORECASE,
)
_NEAR_WORDS = 6
_MAX_SPANS = 400


@dataclass(frozen=True, slots=True)
class Span:
    """A possible answer: its words, the sentence that has it, its passage, and its features (``SPAN_FEATURES``)."""

    text: str
    kind: str
    number: int
    sentence: str
    place: int
    features: tuple[float, ...]
    bridge: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    kind: str
    head: frozenset[str]
    wants_year: bool
    key: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A passage as it is compared: terms of title and sentences, and how it hangs together with the question."""

    passage: Passage
    title: frozenset[str]
    rows: tuple[frozenset[str], ...]
    whole: frozenset[str]
    named: float


@dataclass(frozen=True, slots=True)
class _About:
    """The question, keys of the titles, and in how many passages each name is."""

    asked: _Asked
    weighed: WeighedQuestion
    keys: set[str]
    count: Counter[str]


@lru_cache(maxsize=4096)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _read_asked(question: str) -> _Asked:
    asked = asked_for(question)
    kind: str = asked.kind
    head = frozenset(_terms(match[1])) if (match := _HEAD.search(question)) else frozenset()
    words = {word.lower() for word in (match[1].split()[-1:] if match else [])}
    if kind in ("text", "name", "choice", "boolean"):
        if words & _PERSONS:
            kind = "person"
        elif words & _PLACES:
            kind = "place"
        elif regex.search(r"\b(?:who|whom|whose)\b", question, regex.IGNORECASE) and not match:
            kind = "person"
        elif regex.search(r"\bwhere\b", question, regex.IGNORECASE) and not match:
            kind = "place"
    wants_year = regex.search(r"\b(?:what|which) year\b", question, regex.IGNORECASE) is not None
    return _Asked(kind, head, wants_year, f" {key_of(question)} ")


def spans_of(question: str, passages: Sequence[Passage]) -> list[Span]:
    """Return the spans of the evidence that may answer a question, with their features, in reading order."""
    asked = _read_asked(question)
    units = [_terms(sentence) | _terms(one.title) for one in passages for sentence in one.sentences]
    weighed = read_question(question, units)
    read = [_read(one, weighed, asked) for one in passages]
    keys = {one.passage.key for one in read if one.passage.key}
    count = Counter(
        key for one in read for key in {key_of(name) for name in _NAMES.findall(" ".join(one.passage.sentences))}
    )
    about = _About(asked, weighed, keys, count)
    found: dict[tuple[str, int], Span] = {}
    for one in read:
        linked, bridge, chain = _links(one, read, weighed)
        on = max(
            (other.named for other in read if other is not one and _mentions(one.passage, other.passage)), default=0.0
        )
        for place, sentence in enumerate(one.passage.sentences):
            for text, kind, start in _candidates(sentence, asked):
                key = key_of(text)
                if not key or f" {key} " in asked.key or (key, one.passage.number) in found:
                    continue
                features = _features(text, start, place, one, about, links=(linked, on, chain))
                found[key, one.passage.number] = Span(text, kind, one.passage.number, sentence, place, features, bridge)
                if len(found) >= _MAX_SPANS:
                    return list(found.values())
    return list(found.values())


def _read(passage: Passage, weighed: WeighedQuestion, asked: _Asked) -> _Read:
    title = _terms(passage.title)
    rows = tuple(_terms(sentence) for sentence in passage.sentences)
    named = float(bool(passage.key) and f" {passage.key} " in asked.key)
    named = named or (0.5 * len(title & weighed.weights.keys()) / len(title) if title else 0.0)
    return _Read(passage, title, rows, frozenset().union(title, *rows), named)


def _mentions(passage: Passage, other: Passage) -> bool:
    """Return whether a passage mentions what another is about."""
    return len(other.key) > 3 and f" {other.key} " in _body(passage)


@lru_cache(maxsize=256)
def _body(passage: Passage) -> str:
    return f" {key_of(' '.join(passage.sentences))} "


def _links(one: _Read, read: Sequence[_Read], weighed: WeighedQuestion) -> tuple[float, tuple[int, str] | None, float]:
    """Return how well a passage that the question names leads to one, the sentence that does, and both's coverage."""
    best, bridge, chain = 0.0, None, weighed.coverage(one.whole)
    for other in read:
        if other is one or not (_mentions(other.passage, one.passage) or _mentions(one.passage, other.passage)):
            continue
        together = weighed.coverage(one.whole | other.whole)
        chain = max(chain, together)
        if _mentions(other.passage, one.passage):
            for sentence, row in zip(other.passage.sentences, other.rows, strict=True):
                if f" {one.passage.key} " in f" {key_of(sentence)} ":
                    value = weighed.coverage(row | other.title)
                    if value > best:
                        best, bridge = value, (other.passage.number, sentence)
    return best, bridge, chain


def _candidates(sentence: str, asked: _Asked) -> Iterator[tuple[str, str, int]]:
    """Yield the spans of a sentence with their kinds and places."""
    if asked.kind == "date":
        pattern = _YEARS if asked.wants_year else _DATES
        yield from ((match[0], "date", match.start()) for match in pattern.finditer(sentence))
        return
    if asked.kind in ("number", "version"):
        yield from ((match["value"], "number", match.start("value")) for match in _NUMBER.finditer(sentence))
        return
    for match in _NAMES.finditer(sentence):
        text = match[0].strip(" .") if not regex.search(r"\b(?:Jr|Sr)\.$", match[0]) else match[0]
        if text in _OPENERS:
            continue
        yield text, "name", match.start()
        first, _, rest = text.partition(" ")
        if first in _OPENERS and rest:
            yield rest, "name", match.start() + len(first) + 1
    for match in _QUOTED.finditer(sentence):
        yield match[1].strip(), "name", match.start(1)


_OPENERS = word_set(
    """The A An In On At It He She They His Her Its Their This That These Those After Before During As From By
    With For And But Also Although When While Since However One Two Three Born Many Most Some Other Another
    Both There Here To Of Under Following Along I January February March April May June July August September
    October November December"""
)


def _features(
    text: str, start: int, place: int, one: _Read, about: _About, *, links: tuple[float, float, float]
) -> tuple[float, ...]:
    asked, weighed, keys, count = about.asked, about.weighed, about.keys, about.count
    sentence = one.passage.sentences[place]
    key, own = key_of(text), _terms(text)
    row = one.rows[place]
    around = one.rows[max(0, place - 1)] | one.rows[min(len(one.rows) - 1, place + 1)]
    words = [(match.start(), match[0]) for match in _WORD.finditer(sentence)]
    at = next((index for index, (where, _) in enumerate(words) if where >= start), 0)
    length = len(text.split())
    before, behind = words[max(0, at - _NEAR_WORDS) : at], words[at + length : at + length + _NEAR_WORDS]
    near = {term(word) for _, word in (*before, *behind)}
    head = bool(asked.head & ({term(word) for _, word in (*before[-3:], *behind[:3])} | own))
    titled = key in keys
    head_of_title = titled and bool(asked.head & _opening_of(key, one))
    linked, on, chain = links
    return (
        *_fit(text, sentence, start, asked),
        weighed.coverage(row - own),
        weighed.coverage(around - row - own),
        weighed.coverage(one.whole - own),
        one.named,
        linked,
        on,
        float(key == one.passage.key or (bool(own) and own <= one.title)),
        float(titled and key != one.passage.key),
        math.log(1 + count[key]),
        weighed.coverage(near - own),
        float(head),
        float(head_of_title),
        float(place == 0),
        (one.passage.number - 1) / 5,
        min(length, 6) / 3,
        len(own & weighed.weights.keys()) / len(own) if own else 0.0,
        float(sentence.rfind("(", 0, start) > sentence.rfind(")", 0, start)),
        chain,
        float(at == 0),
    )


def _opening_of(key: str, one: _Read) -> frozenset[str]:
    return one.rows[0] if one.passage.key == key and one.rows else frozenset()


def _fit(text: str, sentence: str, start: int, asked: _Asked) -> tuple[float, ...]:
    """Return how a span's form goes together with the kind that is asked for: the first seven features."""
    before = sentence[max(0, start - 5) : start].casefold()
    place = regex.search(r"\b(?:in|at|near|from|to)\s(?:the\s)?$", before) is not None
    people = text in PEOPLES
    is_country = people and PEOPLES[text] == text
    placed = (place and (not people or is_country)) or is_country
    person = 2 <= len(text.split()) <= 4 and not place and not people
    wants = asked.kind
    other = wants not in ("person", "place", "date", "number", "version")
    return (
        float(wants == "person" and person),
        float(wants == "person" and placed),
        float(wants == "person" and people and not placed),
        float(wants == "place" and placed),
        float(wants == "place" and person),
        float(other and person),
        float(other and people),
    )


def best_spans(spans: Sequence[Span], weights: Sequence[float]) -> list[tuple[float, Span]]:
    """Return spans by score, best first; equal ones of several passages once, their chances together."""
    if not spans:
        return []
    scores = [math.fsum(a * b for a, b in zip(one.features, weights, strict=True)) for one in spans]
    top = max(scores)
    mass: dict[str, float] = defaultdict(float)
    first: dict[str, tuple[float, Span]] = {}
    for score, one in zip(scores, spans, strict=True):
        key = key_of(one.text)
        mass[key] += math.exp(score - top)
        if key not in first or first[key][0] < score:
            first[key] = (score, one)
    whole = math.fsum(mass.values())
    return sorted(((mass[key] / whole, one) for key, (_, one) in first.items()), key=lambda row: -row[0])
