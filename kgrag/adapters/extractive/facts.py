"""Answers from facts: lines ``key: value; key: value``, of which the fewest pairs are quoted that carry an answer.

A pair whose value the question already holds says what the fact is about; a pair whose key the question speaks of, and
whose value it does not hold, is what was asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from kgrag.adapters.extractive.claims import Claim, Piece
from kgrag.adapters.extractive.wording import Question, name_terms, terms
from kgrag.vocab import words_of

__all__ = ["Fact", "Pair", "fact_claims", "is_fact", "read_fact"]

_NOTHING = frozenset({"", "n/a", "na", "none", "null", "nil", "unknown", "not available", "not specified", "-"})
_KEY = regex.compile(r"[\p{L}\p{N}_][^:;\n]{0,160}: ")
_NEAR_BEST = 0.75
_PAIRS = 4
_PAIR_SHARE = 0.6
_ECHO = 0.6
_LEAST_ECHO = 0.05
_NAMES = frozenset({"label", "name", "title"})
_FOCUS = 1.0
_LONG = 25
_SAME_THING = 0.97
_PLACEHOLDER = 0.9


@dataclass(frozen=True)
class Pair:
    """One ``key: value`` of a fact, exactly as it stands in the evidence."""

    key: str
    value: str

    @property
    def quote(self) -> str:
        """The words to be quoted."""
        return f"{self.key}: {self.value}"

    @cached_property
    def says_nothing(self) -> bool:
        """Whether the value is a placeholder."""
        return self.value.strip().casefold() in _NOTHING

    @cached_property
    def value_terms(self) -> frozenset[str]:
        """Terms of the value."""
        return frozenset(terms(self.value))

    @cached_property
    def near_terms(self) -> frozenset[str]:
        """Terms of the attribute itself and of the type that has it: the last two words of the key."""
        return frozenset(term for name in self.key.split()[-2:] for term in name_terms(name))

    @cached_property
    def key_terms(self) -> frozenset[str]:
        """Terms of the whole key."""
        return frozenset(term for name in self.key.split() for term in name_terms(name))

    @property
    def label(self) -> str:
        """The key for a reader: its last two words, without verbs of having and being."""
        spelled = " ".join(words_of(name) for name in self.key.split()[-2:]).split()
        return " ".join(word for word in dict.fromkeys(spelled) if word not in {"has", "have", "are", "is", "list"})


@dataclass(frozen=True)
class Fact:
    """One line of pairs, and the number of the evidence that it is."""

    number: int
    pairs: tuple[Pair, ...]

    @cached_property
    def all_terms(self) -> frozenset[str]:
        """Terms of every key and of every value that says something."""
        values = (pair.value_terms for pair in self.pairs if not pair.says_nothing)
        return frozenset().union(*(pair.key_terms for pair in self.pairs), *values)


def is_fact(piece: Piece) -> bool:
    """Say whether a piece of evidence is a fact: a hyperedge, or one line of several pairs (a mapped record)."""
    if piece.kind == "hyperedge":
        return True
    line = piece.text.strip()
    return "\n" not in line and len(_pieces(line)) > 1 and all(_KEY.match(part) for part in line.split("; "))


def read_fact(piece: Piece) -> Fact:
    """Read the pairs of a line; a semicolon inside a value does not end it where keys begin alike."""
    pairs = (part.strip().partition(": ") for part in _pieces(piece.text))
    return Fact(piece.number, tuple(Pair(key, value) for key, colon, value in pairs if colon))


def _pieces(line: str) -> list[str]:
    parts = line.strip().split("; ")
    first = parts[0].split(" ", 1)[0]
    alike = sum(part.startswith(f"{first} ") for part in parts) * 2 > len(parts)
    joined: list[str] = []
    for part in parts:
        if joined and not (part.startswith(f"{first} ") if alike else _KEY.match(part)):
            joined[-1] += f"; {part}"
        else:
            joined.append(part)
    return joined


def fact_claims(question: Question, facts: Sequence[Fact]) -> Iterator[Claim]:
    """Yield what the facts that come near to the best one say in answer, best first.

    A fact may know of the attribute asked for and hold a placeholder there: then facts about other things, which cover
    less of the question, do not answer in its place.
    """
    ranked = sorted(
        ((question.coverage(fact.all_terms), fact) for fact in facts), key=lambda row: (-row[0], row[1].number)
    )
    floor = _NEAR_BEST * ranked[0][0] if ranked else 0.0
    for share, fact in ranked:
        if share <= 0 or share < floor:
            return
        about = [pair for pair in fact.pairs if not pair.says_nothing and _is_about(question, pair)]
        asked = _asked(question, [pair for pair in fact.pairs if pair not in about], about)
        if any(pair.says_nothing for pair in asked):
            floor = max(floor, _SAME_THING * share)
        elif asked or (question.yes_no and about):
            yield _claim(fact, share, about, asked)


def _claim(fact: Fact, share: float, about: Sequence[Pair], asked: Sequence[Pair]) -> Claim:
    telling = [pair for pair in fact.pairs if not pair.says_nothing]
    named = [pair for pair in telling if pair in about or (pair not in asked and _names_one(pair, asked))]
    chosen = [*named, *asked]
    return Claim(
        text=_sentence(named, asked),
        quotes=tuple((fact.number, pair.quote) for pair in chosen),
        found=frozenset().union(*(pair.key_terms | pair.value_terms for pair in chosen)),
        score=share - 0.01 * fact.number,
        fact=True,
    )


def _is_about(question: Question, pair: Pair) -> bool:
    """Say whether the question already holds a value, or most of one where the attribute is not what it asks for."""
    held = [term for term in pair.value_terms if term in question.weights]
    if question.coverage(held) < _LEAST_ECHO:
        return False
    missing = pair.value_terms.difference(held)
    if (question.kinds.union(question.focus[:2]) & pair.near_terms) or any(
        regex.search(r"\p{N}", term) for term in missing
    ):
        return not missing
    return len(held) >= _ECHO * len(pair.value_terms)


def _names_one(pair: Pair, asked: Sequence[Pair]) -> bool:
    """Say whether a pair names the thing that an asked pair is of, or something around that thing."""
    if not _NAMES & set(words_of(pair.key.split()[-1]).split()):
        return False
    owner = pair.key.rsplit(" ", 1)[0] + " "
    return len(pair.value.split()) <= _LONG and any(other.key.startswith(owner) for other in asked)


def _asked(question: Question, pairs: Sequence[Pair], about: Sequence[Pair]) -> list[Pair]:
    """Give the pairs that the question asks for, in the order of the fact; placeholders only when they fit best."""
    spoken = frozenset().union(*(pair.value_terms for pair in about))
    fits = {pair: fit for pair in pairs if (fit := _fit(question, pair, spoken)) > 0}
    best = max(fits.values(), default=0.0)
    kept = sorted((pair for pair in fits if fits[pair] >= _PAIR_SHARE * best), key=lambda pair: -fits[pair])
    telling = [pair for pair in kept if not pair.says_nothing]
    if kept and max((fits[pair] for pair in telling), default=0.0) < _PLACEHOLDER * best:
        return kept[:1]
    return [pair for pair in pairs if pair in telling[:_PAIRS]]


def _fit(question: Question, pair: Pair, spoken: frozenset[str]) -> float:
    """Say how well a pair fits what was asked: by its attribute, its value, and the kind of value asked for."""
    near = pair.near_terms - spoken
    matched = question.weight(near)
    matched += sum(_FOCUS / (1 + place) for place, term in enumerate(question.focus) if term in near)
    if near:
        matched *= 0.5 + 0.5 * sum(term in question.weights for term in near) / len(near)
    kind = 1.0 if question.kinds & near else 0.0
    path = 0.3 * question.weight(pair.key_terms - near - spoken)
    return matched + kind + path + 0.5 * question.weight(pair.value_terms - spoken - near)


def _sentence(about: Sequence[Pair], asked: Sequence[Pair]) -> str:
    """Write the pairs for a reader: what the fact is about, then what was asked for."""
    subject = ", ".join(dict.fromkeys(pair.value for pair in about if len(pair.value.split()) <= _LONG))
    said = "; ".join(f"{pair.label}: {pair.value}" for pair in asked) or "; ".join(
        f"{pair.label}: {pair.value}" for pair in about
    )
    text = f"{subject} – {said}" if subject and asked else said
    return text if text.endswith((".", "!", "?")) else f"{text}."
