"""What two wordings share: terms (stems of content words) and how much each tells about a question."""

from __future__ import annotations

import math
import unicodedata
from calendar import month_name
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from kgrag.text.sentences import content_words, stem, words
from kgrag.vocab import words_of

__all__ = ["Question", "name_terms", "read_question", "term", "terms"]


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SAME = {
    "sown": "sow",
    "storag": "store",
    "grown": "grow",
    "grew": "grow",
    "growth": "grow",
    "born": "birth",
    "death": "die",
    "dead": "die",
    "wrote": "write",
    "written": "write",
    "built": "build",
    "led": "lead",
    "leader": "lead",
    "won": "win",
    "winner": "win",
    "made": "make",
    "sold": "sell",
    "gave": "give",
    "given": "give",
    "taken": "take",
    "took": "take",
    "kept": "keep",
    "began": "begin",
    "begun": "begin",
    "held": "hold",
    "treatment": "treat",
    "requir": "need",
    "necessari": "need",
}
_ASKED = {
    "when": "date day month year time start end stage publish creat period schedul season",
    "where": "place locat region zone countri citi area site",
    "who": "author person agent organ leader director",
    "much": "quantiti amount rate valu dose number",
    "many": "quantiti amount rate valu number count popul",
    "long": "durat day period length",
    "far": "distanc space",
    "deep": "depth",
}
# Say little about what is asked, wherever they stand.
_GENERAL = _listed(
    "accord call condit consid describ detail explain general guidelin import inform kind mention name need provid "
    "recommend relat signific specif suitabl term type use various way"
)
_GENERAL_SHARE = 0.3
_FOCUS = 4
_DATE = regex.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:[Tt][\d:.]+(?:[Zz]|[+-][\d:]+)?)?")
_CAPITALISED = regex.compile(r"(?<!^)(?<![.!?:]\s)\b(?:\p{Lu}|\p{N})[\p{L}\p{M}\p{N}'’-]*")
_YES_NO = _listed("are can could did do does had has have is may must shall should was were will would")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as terms, with the weight of each (from how rare it is in the evidence; above 0).

    ``focus`` are the first terms after the question word, nearest first; ``names`` those of names and numbers in it;
    ``kinds`` what a fitting attribute may be called ("when" asks for a date or a stage).
    """

    weights: Mapping[str, float]
    focus: tuple[str, ...]
    names: frozenset[str]
    kinds: frozenset[str]
    yes_no: bool

    def weight(self, found: Collection[str]) -> float:
        """Add up the weights of the question's terms that are among ``found``."""
        return sum(weight for term, weight in self.weights.items() if term in found)

    def coverage(self, found: Collection[str]) -> float:
        """Give the share of the question that ``found`` covers, 0 to 1."""
        total = sum(self.weights.values())
        return self.weight(found) / total if total else 0.0


def terms(text: str) -> list[str]:
    """Give the terms of a text: stems without accents, irregular forms and a few near synonyms made one.

    >>> terms("Where is soybean sown?") == terms("Sowing soybean")[::-1]
    True
    """
    return [_SAME.get(term, term) for term in (_plain(word) for word in content_words(_DATE.sub(_spelled, text)))]


def _spelled(date: regex.Match[str]) -> str:
    return f" {month_name[int(date[2])]} {int(date[3])} {date[1]} "


def term(word: str) -> str:
    """Give the term of one word, stop word or not.

    >>> term("Varieties") == term("variety")
    True
    """
    stemmed = stem(_plain(word.casefold()))
    return _SAME.get(stemmed, stemmed)


def name_terms(name: str) -> list[str]:
    """Give the terms of an identifier or label.

    >>> name_terms("has_fertilizerRequirements")
    ['fertil', 'requir']
    """
    return [term for term in (_plain(word) for word in content_words(words_of(name))) if term not in {"list", "n"}]


def _plain(word: str) -> str:
    if word.isascii():
        return word
    return "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark)) or word


def read_question(question: str, units: Sequence[Iterable[str]]) -> Question:
    """Weigh the terms of a question by how rare they are in the units (sentences, attributes) of the evidence."""
    frequency = Counter(term for unit in units for term in set(unit))
    total = len(units)
    weights = {}
    for term in dict.fromkeys(terms(question)):
        rarity = math.log(1 + (total - frequency[term] + 0.5) / (frequency[term] + 0.5))
        weights[term] = rarity * (_GENERAL_SHARE if term in _GENERAL else 1.0)
    asked = words(question)
    return Question(
        weights=weights,
        focus=tuple(weights)[:_FOCUS],
        names=frozenset(term for name in _CAPITALISED.findall(question) for term in terms(name)),
        kinds=frozenset(term for word in asked for term in _ASKED.get(word, "").split()),
        yes_no=next(iter(asked), "") in _YES_NO,
    )
