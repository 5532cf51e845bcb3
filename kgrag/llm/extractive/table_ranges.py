"""Rows that are ranges: "25-64", "under 6", "beyond 30 km", by a figure of the question that is in one of them.

"What does a ticket cost for a 20-year-old?" is read as the question about the row "16-24". Of a table without another
row of a range, or where two have the figure, nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_rows import Table

__all__ = ["Range", "question_in_range", "range_of"]

_NAMES_AT = 2
_N = r"\p{N}+(?:[.,]\p{N}+)?"
_FROM_TO = late_regex(rf"(?<![\w.-])(?P<low>{_N})\s*(?:[-–]|\bto\b|\bbis\b|\bà\b)\s*(?P<high>{_N})(?![\w.-]*\p{{N}})")
_UP_TO = late_regex(
    rf"\b(?:(?P<open>under|below|less than|unter|weniger als|moins de)|up to|within|until|at most|bis(?: zu)?|höchstens"
    rf"|innerhalb von|jusqu['’]à)\s+(?P<high>{_N})",
    flags=regex.IGNORECASE,
)
_OVER = late_regex(
    rf"\b(?:(?P<open>over|above|more than|beyond|über|mehr als|plus de|au-delà de)|from|at least|ab|mindestens|dès"
    rf"|à partir de)\s+(?P<low>{_N})"
    rf"|(?<![\w.-])(?P<low>{_N})(?:\s*\+|\s+(?:and|or|und|oder|et) (?:over|above|more|older|mehr|älter|plus)\b)",
    flags=regex.IGNORECASE,
)
_FIGURE = late_regex(
    rf"(?<![\w.,-])(?P<figure>{_N})(?:[ -]?(?:years?|Jahren?|ans?)\b(?:[ -]old\b| alt\b)?|-?jährige\p{{L}}*"
    rf"|\s?(?P<unit>[\p{{L}}%°²³]{{1,3}})\b)?(?: away| entfernt)?(?![\w-])",
    flags=regex.IGNORECASE,
)


@dataclass(frozen=True)
class Range:
    """Figures from one to another, with the ends or (``is_open``) without that which a word excludes."""

    low: float
    high: float
    is_open: bool = False

    def holds(self, value: float) -> bool:
        """Return whether a figure is in it."""
        return self.low < value < self.high if self.is_open else self.low <= value <= self.high


def range_of(text: str) -> tuple[Range, str] | None:
    """Return the range that a cell states, and the rest of its text; None where it states none.

    >>> range_of("25-64"), range_of("visit beyond 30 km"), range_of("LT 7")
    ((Range(low=25.0, high=64.0, is_open=False), ''), (Range(low=30.0, high=inf, is_open=True), 'visit  km'), None)
    """
    for pattern in (_FROM_TO, _UP_TO, _OVER):
        found = pattern.search(text)
        if found:
            said = found.groupdict()
            low = float((said.get("low") or "-inf").replace(",", "."))
            high = float((said.get("high") or "inf").replace(",", "."))
            rest = f"{text[: found.start()]}{text[found.end() :]}".strip()
            return Range(low, high, said.get("open") is not None), rest
    return None


def question_in_range(asked: TableQuestion, table: Table) -> TableQuestion | None:
    """Return a question with the range of the one row that has its figure in place of that; None where none has.

    Words of the cell beside the range have to be in the question, or are the unit of its figure.
    """
    said = [match.span() for pattern in (_FROM_TO, _UP_TO, _OVER) for match in pattern.finditer(asked.text)]
    for figure in _FIGURE.finditer(asked.text):
        if any(first <= figure.start() < last for first, last in said):  # "under 6" is a range itself
            continue
        value = float(figure["figure"].replace(",", "."))
        for at in range(min(_NAMES_AT, len(table.labels))):
            ranges = [(row.cells[at].text, found) for row in table.rows if (found := range_of(row.cells[at].text))]
            holding = [
                text for text, (one, rest) in ranges if one.holds(value) and _is_said(asked, rest, figure["unit"])
            ]
            if len(ranges) > 1 and len(holding) == 1:
                return TableQuestion.read(f"{asked.text[: figure.start()]}{holding[0]}{asked.text[figure.end() :]}")
    return None


def _is_said(asked: TableQuestion, rest: str, unit: str | None) -> bool:
    return all(one in asked.terms for one in _words(asked, rest, unit))


def _words(asked: TableQuestion, rest: str, unit: str | None) -> Iterator[str]:
    for word in rest.split():
        if word.casefold() != (unit or "").casefold():
            yield from terms(word, asked.language)
