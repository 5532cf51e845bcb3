"""Terms (stems of content words) in which two wordings are compared, and how much each matters in a question."""

from __future__ import annotations

import math
import unicodedata
from calendar import month_name
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex

from kgrag.languages import ENGLISH, STOP_WORDS, stems
from kgrag.late_patterns import late_regex
from kgrag.text.sentences import content_words, stem, word_set, words
from kgrag.vocab import words_of

__all__ = ["WeighedQuestion", "name_terms", "read_question", "term", "terms"]


# Forms that the stemmer leaves apart. Twenty more changed no answer to 167 questions about soybean and 300 of
# 2WikiMultiHopQA, and no triple of the 4,933 test sentences of Text2KGBench.
_SAME_TERM = {
    "sown": "sow",
    "storag": "store",
    "growth": "grow",
    "born": "birth",
    "death": "die",
    "led": "lead",
    "won": "win",
    "requir": "need",
    "fed": "feed",
    "kept": "keep",
    "sent": "send",
    "held": "hold",
    "built": "build",
    "written": "write",
    "wrote": "write",
    "chosen": "choos",
    "chose": "choos",
    "found": "find",
    "taken": "take",
    "took": "take",
    "given": "give",
    "gave": "give",
    "made": "make",
    "ran": "run",
    "began": "begin",
    "begun": "begin",
    "broken": "break",
    "broke": "break",
    "lost": "lose",
    "left": "leav",
    "sold": "sell",
    "taught": "teach",
    "bought": "buy",
    "brought": "bring",
    "caught": "catch",
    "driven": "drive",
    "drove": "drive",
    "grown": "grow",
    "grew": "grow",
    "hidden": "hide",
    "hid": "hide",
    "shown": "show",
    "spent": "spend",
    "stolen": "steal",
    "thrown": "throw",
    "threw": "throw",
    "went": "go",
    "gone": "go",
}
# Words that do not narrow down what is asked.
_GENERAL_TERMS = word_set(
    """accord call condit consid describ detail explain general guidelin import inform kind mention name need provid
    recommend relat signific specif suitabl term type use various way"""
)
_GENERAL_TERM_WEIGHT = 0.3
_MAX_FOCUS_TERMS = 4
_DATE = late_regex(r"\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:[Tt][\d:.]+(?:[Zz]|[+-][\d:]+)?)?")
_CAPITALISED = late_regex(r"(?<!^)(?<![.!?:]\s)\b(?:\p{Lu}|\p{N})[\p{L}\p{M}\p{N}'’-]*")


@dataclass(frozen=True, slots=True)
class WeighedQuestion:
    """A question as terms, with the weight of each (from how rare it is in the evidence; above 0).

    ``focus`` are the first terms after the question word, nearest first; ``names`` those of names and numbers in it.
    """

    weights: Mapping[str, float]
    focus: tuple[str, ...]
    names: frozenset[str]

    def weight(self, found: Collection[str]) -> float:
        """Return the weight of the question's terms that are among ``found``."""
        return sum(weight for term, weight in self.weights.items() if term in found)

    def coverage(self, found: Collection[str]) -> float:
        """Return the share of the question that ``found`` covers, 0 to 1."""
        total = sum(self.weights.values())
        return self.weight(found) / total if total else 0.0


def terms(text: str, language: str = ENGLISH) -> list[str]:
    """Return the terms of a text: stems without accents; in English dates spelled out, a few irregular forms made one.

    >>> terms("Where is soybean sown?") == terms("Sowing soybean")[::-1]
    True
    >>> terms("Wo liegen die Verzeichnisse?", "de")
    ['lieg', 'verzeichnis']
    """
    if language != ENGLISH:
        return stems([word for word in words(text) if _counts(word) and word not in STOP_WORDS[language]], language)
    spelled = _DATE.sub(lambda date: f" {month_name[int(date[2])]} {int(date[3])} {date[1]} ", text)
    return [_SAME_TERM.get(term, term) for term in map(without_accents, content_words(spelled))]


def _counts(word: str) -> bool:
    """Return whether a word is more than a letter, such as what is left of an article: "l'option"."""
    return len(word) > 1 or word.isdigit()


def term(word: str) -> str:
    """Return the term of one word, stop word or not.

    >>> term("Varieties") == term("variety")
    True
    """
    stemmed = stem(without_accents(word.casefold()))
    return _SAME_TERM.get(stemmed, stemmed)


def name_terms(name: str) -> list[str]:
    """Return the terms of an identifier or label.

    >>> name_terms("has_fertilizerRequirements")
    ['fertil', 'requir']
    """
    return [term for term in map(without_accents, content_words(words_of(name))) if term not in {"list", "n"}]


def without_accents(word: str) -> str:
    """Return a word with its letters only, as they are without accents."""
    if word.isascii():
        return word
    return "".join(mark for mark in unicodedata.normalize("NFKD", word) if not unicodedata.combining(mark)) or word


def read_question(
    question: str,
    units: Sequence[Iterable[str]],
    *,
    language: str = ENGLISH,
    names: regex.Pattern[str] = _CAPITALISED,
) -> WeighedQuestion:
    """Return a question, its terms weighed by how rare they are in the units (sentences, pairs) of the evidence.

    ``names`` are what names look like in the question's language.
    """
    frequency = Counter(term for unit in units for term in set(unit))
    weights = {}
    for term in dict.fromkeys(terms(question, language)):
        rarity = math.log(1 + (len(units) - frequency[term] + 0.5) / (frequency[term] + 0.5))
        weights[term] = rarity * (_GENERAL_TERM_WEIGHT if term in _GENERAL_TERMS else 1.0)
    return WeighedQuestion(
        weights=weights,
        focus=tuple(weights)[:_MAX_FOCUS_TERMS],
        names=frozenset(term for name in names.findall(question) for term in terms(name, language)),
    )
