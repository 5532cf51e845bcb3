"""Whether a column is what a question asks for, and not another of the same kind: no due date is read from a *Date*.

Each word of the thing that is asked for ("the due date of INV-2005", "le prix de vente") has to be one of the label, of
what is around the table, or of the cells that name the row; of a German compound the part before the label, too. A
word that stands for the label ("the cost": price) is one of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_questions import TableQuestion

__all__ = ["foreign_qualifiers", "group_lacking", "thing_asked_for"]

_IN_BRACKETS = late_regex(r"\([^()]*\)")
_YEAR = late_regex(r"(?<![\w./-])(?:19|20)\p{N}{2}(?![\w/-]|[.,]\p{N})")
_MIN_PART = 3
"""Letters of the part of a compound before a label, at least."""
_OF_ANY_STOCK = ("gesamt", "lager")
"""Parts of German compounds that say nothing of which figure it is; whether it is a sum is decided elsewhere."""


def thing_asked_for(asked: TableQuestion) -> str:
    """Return the words for what a question asks for, "due date" of "What is the due date of …"; "" for none."""
    found = asked.words.asked_thing.match(asked.text)
    return found["phrase"] if found else ""


def foreign_qualifiers(asked: TableQuestion, label: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return the words of what is asked for that neither a label nor what is known of its cell has.

    Args:
        asked: a question.
        label: terms of the label.
        known: terms of what is around the table, and of the cells and labels that name the row.
    """
    own, others = frozenset(label), frozenset(known)
    free = asked.words.generic | asked.standing_for(own | others) | asked.of_extremes
    foreign = []
    whole = asked.words.total, asked.words.average  # whether it is a sum is decided elsewhere
    for word in _IN_BRACKETS.sub(" ", thing_asked_for(asked)).split():
        for one in terms(word, asked.language):
            if one in free or asked.has(one, others) or any(said.fullmatch(word) for said in whole):
                continue
            if not asked.has(one, own) or _says_more(asked, one, own, others):
                foreign.append(word.strip(",;:"))
    return foreign + _other_years(asked, own, others) + _opposites(asked, own)


def group_lacking(asked: TableQuestion, known: frozenset[str]) -> str:
    """Return for whom a question asks ("for trainees"), where terms that are known of a row and its table lack that."""
    for found in asked.words.for_whom.finditer(asked.text):
        own = terms(found["group"], asked.language)
        if own and not own[-1].isdigit() and not asked.is_same(own[-1], known | asked.synonyms | asked.words.generic):
            return " ".join(found["group"].split())
    return ""


def _opposites(asked: TableQuestion, label: frozenset[str]) -> list[str]:
    """Return the words of a question of which a label has the opposite: the "last inspection" is none of the next."""
    found = []
    for one, other in asked.words.opposites:
        for said, turned in ((one, other), (other, one)):
            match = said.search(asked.text)
            if match and not turned.search(asked.text) and any(turned.match(term) for term in label):
                found.append(match[0])
    return found


def _other_years(asked: TableQuestion, label: frozenset[str], known: frozenset[str]) -> list[str]:
    """Return the years of a question of which a label has another: the "price 2025" is none of 2024."""
    said = {one[0] for one in _YEAR.finditer(asked.text)}
    of_label = {one for one in label if _YEAR.fullmatch(one)}
    return sorted(said - of_label - known) if of_label and not said & of_label else []


def _says_more(asked: TableQuestion, one: str, label: frozenset[str], known: frozenset[str]) -> bool:
    """Return whether a German compound says more than the label that it ends with: "Großhandelspreis" of "Preis"."""
    if asked.language != "de" or one in label:
        return False
    parts = [one.removesuffix(other) for other in label if one.endswith(other) and one != other]
    return any(
        len(part) >= _MIN_PART and not part.startswith(_OF_ANY_STOCK) and not asked.has(part, known | label)
        for part in parts
    )
