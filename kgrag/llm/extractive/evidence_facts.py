"""Facts of the evidence, lines ``key: value; key: value``, and the pairs of them that answer a question.

Of a fact the fewest pairs are quoted that make an answer: a pair whose value the question already contains identifies
the subject of the fact; a pair whose key the question mentions, and whose value it does not contain, is the one asked
for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.asked_measures import unit_of_label, without_unit
from kgrag.llm.extractive.evidence_sentences import Candidate, EvidenceText
from kgrag.llm.extractive.question_words import WeighedQuestion, name_terms, terms
from kgrag.vocab import words_of

__all__ = ["FactLine", "fact_candidates", "is_fact", "read_fact"]

_MIN_SHARE_OF_BEST_PAIR = 0.6
_MAX_PAIRS = 4
_MIN_SHARE_OF_PLACEHOLDER = 0.9
"""How well a pair with a value fits, at least, in comparison with one that has a placeholder in its place."""
_SAME_SUBJECT_SHARE = 0.97
"""Coverage, compared with a fact that has a placeholder, from which another fact is about the same subject."""
_MIN_ECHO = 0.6
"""Share of the terms of a value that the question contains, at least, where the value is what the question is about."""
_MIN_ECHO_COVERAGE = 0.05
_MAX_SUBJECT_WORDS = 25

_PLACEHOLDERS = frozenset({"", "n/a", "na", "none", "null", "nil", "unknown", "not available", "not specified", "-"})
_NAMING_WORDS = frozenset({"label", "name", "title"})
_NAMES_IT = 1
_UNLABELLED_WORDS = frozenset({"has", "have", "are", "is", "list"})
_MAX_NEAR_WORDS = 4
_KEY = late_regex(r"(?=[^:;\n]{1,161}: )[\p{L}\p{N}_](?:[^:;\n().!?]|\([^()\n]*\)|[.!?](?!\s))*: ")
"""A key is no sentence, and closes its brackets: "Namibia (German: …; Afrikaans: …) is a country" is prose."""


@dataclass(frozen=True)
class _KeyValue:
    """One ``key: value`` of a fact, exactly as the evidence has it."""

    key: str
    value: str

    @property
    def quote(self) -> str:
        """The words to be quoted."""
        return f"{self.key}: {self.value}"

    @cached_property
    def is_placeholder(self) -> bool:
        """Whether the value states nothing."""
        return self.value.strip().casefold() in _PLACEHOLDERS

    @cached_property
    def value_terms(self) -> frozenset[str]:
        """Terms of the value."""
        return frozenset(terms(self.value))

    @cached_property
    def near_terms(self) -> frozenset[str]:
        """Terms of the attribute itself and of the type that has it."""
        return frozenset(term for name in self._near_words for term in name_terms(name))

    @cached_property
    def key_terms(self) -> frozenset[str]:
        """Terms of the whole key."""
        return frozenset(term for name in self.key.split() for term in name_terms(name))

    @property
    def label(self) -> str:
        """The key for a reader: the attribute and the type that has it, without verbs of having and being."""
        spelled = " ".join(words_of(name) for name in self._near_words).split()
        label = " ".join(word for word in dict.fromkeys(spelled) if word not in _UNLABELLED_WORDS)
        unit = unit_of_label(f"{self.key}: ")
        return f"{label} ({unit})" if unit else label

    @cached_property
    def _near_words(self) -> list[str]:
        """Words of the key behind its last verb of having, since labels have blanks; else its last two."""
        words = without_unit(self.key).split()
        verbs = [place for place, word in enumerate(words) if word.casefold() in _UNLABELLED_WORDS]
        behind = words[verbs[-1] + 1 :] if verbs else []
        return behind if 2 <= len(behind) <= _MAX_NEAR_WORDS else words[-2:]


@dataclass(frozen=True)
class FactLine:
    """One line of pairs, and the number of its piece of evidence."""

    number: int
    pairs: tuple[_KeyValue, ...]

    @cached_property
    def all_terms(self) -> frozenset[str]:
        """Terms of every key, and of every value that is no placeholder."""
        values = (pair.value_terms for pair in self.pairs if not pair.is_placeholder)
        return frozenset().union(*(pair.key_terms for pair in self.pairs), *values)


def is_fact(text: EvidenceText) -> bool:
    """Return whether a piece of evidence is a fact: a hyperedge, or one line of several pairs (a mapped record)."""
    if text.kind == "hyperedge":
        return True
    line = text.text.strip()
    return "\n" not in line and len(_pairs_of(line)) > 1 and all(_KEY.match(part) for part in line.split("; "))


def read_fact(text: EvidenceText) -> FactLine:
    """Return a piece of evidence as pairs."""
    pairs = (part.strip().partition(": ") for part in _pairs_of(text.text))
    return FactLine(text.number, tuple(_KeyValue(key, value) for key, colon, value in pairs if colon))


def _pairs_of(line: str) -> list[str]:
    """Split a line into pairs; where keys begin alike, a semicolon before anything else is part of a value."""
    parts = line.strip().split("; ")
    first = parts[0].split(" ", 1)[0]
    begin_alike = sum(part.startswith(f"{first} ") for part in parts) * 2 > len(parts)
    joined: list[str] = []
    for part in parts:
        if joined and not (part.startswith(f"{first} ") if begin_alike else _KEY.match(part)):
            joined[-1] += f"; {part}"
        else:
            joined.append(part)
    return joined


def fact_candidates(question: WeighedQuestion, facts: Sequence[FactLine]) -> Iterator[Candidate]:
    """Yield the sentences that facts make, best first.

    A fact may have the attribute asked for with a placeholder: then facts about other subjects, which cover less of the
    question, do not answer in its place.
    """
    ranked = sorted(
        ((question.coverage(fact.all_terms), fact) for fact in facts), key=lambda row: (-row[0], row[1].number)
    )
    min_coverage = 0.0
    for coverage, fact in ranked:
        if coverage <= 0 or coverage < min_coverage:
            return
        about = [pair for pair in fact.pairs if not pair.is_placeholder and _is_about(question, pair)]
        asked = _asked_pairs(question, [pair for pair in fact.pairs if pair not in about], about)
        if any(pair.is_placeholder for pair in asked):
            min_coverage = max(min_coverage, _SAME_SUBJECT_SHARE * coverage)
        elif asked:
            yield _fact_candidate(question, fact, coverage, about, asked)


def _is_about(question: WeighedQuestion, pair: _KeyValue) -> bool:
    """Return whether the question contains a value, or most of one where it does not ask for the attribute."""
    contained = [term for term in pair.value_terms if term in question.weights]
    if question.coverage(contained) < _MIN_ECHO_COVERAGE:
        return False
    missing = pair.value_terms.difference(contained)
    is_asked_for = not pair.near_terms.isdisjoint(question.focus[:2])
    if is_asked_for or any(regex.search(r"\p{N}", term) for term in missing):
        return not missing
    return len(contained) >= _MIN_ECHO * len(pair.value_terms)


def _asked_pairs(question: WeighedQuestion, pairs: Sequence[_KeyValue], about: Sequence[_KeyValue]) -> list[_KeyValue]:
    """Return the pairs that the question asks for, the best fit first; placeholders only when they fit best."""
    known = frozenset().union(*(pair.value_terms for pair in about))
    fits = {pair: fit for pair in pairs if (fit := _fit(question, pair, known)) > 0}
    best = max(fits.values(), default=0.0)
    ranked = sorted(
        (pair for pair in fits if fits[pair] >= _MIN_SHARE_OF_BEST_PAIR * best), key=lambda pair: -fits[pair]
    )
    stating = [pair for pair in ranked if not pair.is_placeholder]
    if ranked and max((fits[pair] for pair in stating), default=0.0) < _MIN_SHARE_OF_PLACEHOLDER * best:
        return ranked[:1]
    of_asked = [pair for pair in fits if not pair.is_placeholder and _order(question, pair) <= (0, _NAMES_IT)]
    first = max(of_asked, key=fits.__getitem__, default=None)
    return list(dict.fromkeys([*([first] if first else []), *stating]))[:_MAX_PAIRS]


def _fit(question: WeighedQuestion, pair: _KeyValue, known: frozenset[str]) -> float:
    """Return how well a pair fits the question: by its attribute, most of all near the question word, and its value."""
    near = pair.near_terms - known
    matched = question.weight(near)
    matched += sum(1 / (1 + place) for place, term in enumerate(question.focus) if term in near)
    if near:
        matched *= 0.5 + 0.5 * sum(term in question.weights for term in near) / len(near)
    path = 0.3 * question.weight(pair.key_terms - near - known)
    return matched + path + 0.5 * question.weight(pair.value_terms - known - near)


def _fact_candidate(
    question: WeighedQuestion, fact: FactLine, coverage: float, about: Sequence[_KeyValue], asked: Sequence[_KeyValue]
) -> Candidate:
    named = []
    for pair in fact.pairs:
        # A name of the object that has an asked attribute, or of one around it, identifies the subject as well.
        is_name = not _NAMING_WORDS.isdisjoint(words_of(" ".join(pair.key.split()[-1:])).split())
        owner = pair.key.rsplit(" ", 1)[0] + " "
        names_owner = is_name and pair not in asked and any(other.key.startswith(owner) for other in asked)
        if not pair.is_placeholder and (pair in about or names_owner):
            named.append(pair)
    subject = ", ".join(dict.fromkeys(pair.value for pair in named if len(pair.value.split()) <= _MAX_SUBJECT_WORDS))
    shown = [pair for pair in fact.pairs if pair in asked]
    values = "; ".join(f"{pair.label}: {pair.value}" for pair in shown)
    text = f"{subject} – {values}" if subject else values
    chosen = [*named, *shown]
    return Candidate(
        text=text if text.endswith((".", "!", "?")) else f"{text}.",
        quotes=tuple((fact.number, pair.quote) for pair in chosen),
        found=frozenset().union(*(pair.key_terms | pair.value_terms for pair in chosen)),
        score=coverage - 0.01 * fact.number,
        is_fact=True,
        values=tuple((pair.key, pair.value) for pair in sorted(asked, key=lambda pair: _order(question, pair))),
    )


def _order(question: WeighedQuestion, pair: _KeyValue) -> tuple[int, int]:
    """Return where a pair comes among those asked for: by the word next to the question word, then by its attribute.

    "Which pest" asks for the name of a pest, not for its symptoms; "which quantity of a pesticide" for a quantity.
    """
    place = next((at for at, term in enumerate(question.focus) if term in pair.near_terms), len(question.focus))
    attribute = pair.key.split()[-1]
    if set(name_terms(attribute)) <= set(question.focus):
        return place, 0
    return place, _NAMES_IT if not _NAMING_WORDS.isdisjoint(words_of(attribute).split()) else _NAMES_IT + 1
