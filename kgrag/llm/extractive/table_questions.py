"""What a question asks of a table: the names by which it says a row, and the labels that its words may mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_languages import asked_in
from kgrag.llm.extractive.question_types import Asked
from kgrag.llm.extractive.question_words import term, terms
from kgrag.llm.extractive.table_vocabulary import TableWords
from kgrag.llm.extractive.table_words import table_language, table_words

__all__ = ["TableQuestion", "alike"]

_MIN_SHARED_LETTERS = 4
_MIN_SHARED_BEHIND = 4
_SHARE_ALIKE = 0.9
"""What a term counts in a label that has one like it: "Bestand" is more of "Bestand" than of "Mindestbestand"."""
_DEGREE = late_regex(r"^wie\s+(?:hoch|lang|groß|alt|schwer|tief|breit|teuer|viele?)\b", flags=regex.IGNORECASE)
"""A question word of German that is no part of a name: "Regal Hoch"."""
_OPENS = frozenset({term("open")})


def alike(one: str, other: str) -> bool:
    """Return whether two stems begin alike: "weight" and "weigh"."""
    if one == other:
        return True
    shorter = min(len(one), len(other))
    shared = max(_MIN_SHARED_LETTERS, shorter - 1)
    return shorter >= shared and one[:shared] == other[:shared]


def _alike_in(language: str) -> Callable[[str, str], bool]:
    """Return how stems of a language are compared: a compound of German is what its last part is, too."""
    if language != "de":
        return alike

    def compared(one: str, other: str) -> bool:
        shorter, longer = sorted((one, other), key=len)
        return alike(one, other) or (len(shorter) >= _MIN_SHARED_BEHIND and longer.endswith(shorter))

    return compared


@dataclass(frozen=True)
class TableQuestion:
    """A question: its terms, the names and numbers in it, what it asks for, the labels that it may mean.

    ``aside`` are terms that a table need not have: those that such a label stands for, and verbs that say little.
    """

    text: str
    terms: frozenset[str]
    names: tuple[str, ...]
    asked: Asked
    synonyms: frozenset[str]
    aside: frozenset[str]
    words: TableWords

    @property
    def language(self) -> str:
        """Code of the language that it is compared in."""
        return self.words.language

    @cached_property
    def alike(self) -> Callable[[str, str], bool]:
        """How two stems are compared."""
        return _alike_in(self.language)

    def has(self, one: str, among: Iterable[str]) -> bool:
        """Return whether a stem is like one of some."""
        return any(self.alike(one, other) for other in among)

    @cached_property
    def _agents(self) -> frozenset[str]:
        """Terms of German words for who does something: the "fahr" of "Fahrer" is not that of "Fahrzeug"."""
        words = self.text.split() if self.language == "de" else []
        agents = [word for word in words if word.casefold().endswith(("er", "ern", "erin", "erinnen"))]
        return frozenset(terms(" ".join(agents), self.language))

    def is_same(self, one: str, among: Iterable[str]) -> bool:
        """Return whether a term of the question is one of some, or in German part of the same compound."""
        others = set(among)
        if one in others or self.language != "de" or one in self._agents:
            return one in others
        return any(
            min(len(one), len(other)) >= _MIN_SHARED_BEHIND
            and (one.endswith(other) or other.endswith(one) or other.startswith(one))
            for other in others
        )

    @property
    def is_extreme(self) -> bool:
        """Whether it asks for the largest or smallest of something."""
        return (self.words.most.search(self.text) or self.words.least.search(self.text)) is not None

    @cached_property
    def of_extremes(self) -> frozenset[str]:
        """Terms of the words that ask for an extreme, and for which place from it."""
        said = (self.words.most, self.words.least, *self.words.ordinals.values())
        found = [match[0] for pattern in said for match in pattern.finditer(self.text)]
        found += [word for word in self.text.split() if any(one.search(word) for one in self.words.ordinals.values())]
        return frozenset(terms(" ".join(found), self.language))

    @property
    def place(self) -> int:
        """Which place from an extreme it asks for: 2 for the second highest, else 1."""
        return next((at for at, pattern in self.words.ordinals.items() if pattern.search(self.text)), 1)

    def standing_for(self, labels: Iterable[str]) -> frozenset[str]:
        """Return the terms of its words that stand for one of some labels ("weigh": weight)."""
        own = frozenset(labels)
        stands = [
            match[0]
            for asks, meant in self.words.synonyms
            if any(one in meant or self.has(one, meant) for one in own)
            for match in asks.finditer(self.text)
        ]
        return frozenset(terms(" ".join(stands), self.language))

    @classmethod
    def read(cls, question: str) -> TableQuestion:
        """Return a question as it is compared with tables, in English, German or French."""
        language = table_language(question)
        said = table_words(language)
        plain = " ".join(question.split()).rstrip(" ?.!")
        names = [found[0].removesuffix("'s").removesuffix("’s").rstrip(".,:") for found in said.names.finditer(plain)]
        meant = [(found[0], labels) for asks, labels in said.synonyms for found in asks.finditer(plain)]
        which = said.which.search(plain)
        aside = " ".join(
            [
                *(found for found, _ in meant),
                *said.most.findall(plain),
                *said.least.findall(plain),
                which["noun"].split()[0] if which else "",
            ]
        )
        return cls(
            plain,
            frozenset(terms(_DEGREE.sub("", plain), language)),
            tuple(name for name in names if name != "I"),
            asked_in(question, language),
            frozenset[str]().union(*(labels for _, labels in meant)),
            frozenset(terms(aside, language)) | said.vague,
            said,
        )

    def label_fit(self, cell_terms: frozenset[str], anchored: frozenset[str]) -> float:
        """Return how well a label fits what is asked: the share of its terms that the question has, or means."""
        if not cell_terms:
            return 0.0
        free = self.terms - anchored - (_OPENS if self.words.until.search(self.text) else frozenset())
        named = sum(1.0 if one in free else _SHARE_ALIKE * self.has(one, free) for one in cell_terms)
        meant = sum(self.means(one) for one in cell_terms)
        # "How long is the power lead?" asks for no power
        if self.synonyms and self.asked.kind == "number" and not meant and named <= len(cell_terms) - 1:
            return 0.0
        return max(named, 0.6 * min(meant, 1)) / math.sqrt(len(cell_terms))

    def means(self, one: str) -> bool:
        """Return whether a term of a label is one that the question stands for ("heavy": weight)."""
        return one in self.synonyms or (self.language == "de" and self.has(one, self.synonyms))
