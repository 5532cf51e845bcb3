"""Months, days and years that a question says of the rows of a table: "in March 2025", "von 2021 bis 2023".

They are conditions on a column of days, or of years. Which column is meant has to be clear: one called *Date*, or one
whose label the question has. A year that the table's title has says nothing more of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_columns import Column, WholeTable
from kgrag.llm.extractive.table_days import MONTHS
from kgrag.llm.extractive.table_questions import TableQuestion

__all__ = ["Period", "column_of_periods", "read_periods", "rows_in"]

_SIGNS = MappingProxyType({">": "after|nach|après", "<": "before|vor|avant", ">=": "since|seit|ab|depuis|à partir"})
_IN = r"in|for|during|of|on|from|im|für|am|vom|en|au|de|du|pour"
_FILLED = r"(?:\s+(?:the|dem|den|le|du|de|year|month of|jahr|monat|l['’]année))*\s+"
_YEAR = r"(?<![\w./-])(?:19|20)\p{N}{2}(?![\w/-]|[.,]\p{N})"
_RANGE = late_regex(
    rf"\b(?:between|from|zwischen|von|vom|entre|de)\s+(?P<first>{_YEAR})\s+(?:and|to|und|bis|et|à)\s+(?P<last>{_YEAR})",
    flags=regex.IGNORECASE,
)
_OF_DATES = frozenset(
    one for word in ("date", "day", "Datum", "Tag", "jour") for code in ("en", "de", "fr") for one in terms(word, code)
)
_OF_YEARS = frozenset(
    one for word in ("year", "Jahr", "année") for code in ("en", "de", "fr") for one in terms(word, code)
)
_PARTICIPLE = late_regex(
    r"\b(?:were|was|been|wurden?|sind|été|sont)\b[^,]*?(?P<last>\p{Ll}+)\s*$", flags=regex.IGNORECASE
)
_A_DAY, _A_MONTH, _A_YEAR = 1, 100, 10_000


@dataclass(frozen=True)
class Period:
    """Days from one on to another, as figures of ISO 8601 ("20250331"), 0 for an unknown year; how rows are to it.

    ``said`` is how the question says it, ``behind`` the word before that.
    """

    first: int
    last: int
    sign: str
    said: str
    behind: str = ""

    @property
    def year(self) -> int:
        """Its first year; 0 where none is said."""
        return self.first // _A_YEAR

    @property
    def is_of_years(self) -> bool:
        """Whether it has whole years."""
        return self.first % _A_YEAR == 0

    def holds(self, day: int) -> bool:
        """Return whether a day is in it, or is before or after it where that is said."""
        if self.sign == ">":
            return day > self.last
        if self.sign == "<":
            return day < self.first
        return day >= self.first and (self.sign == ">=" or day <= self.last)


def read_periods(asked: TableQuestion) -> tuple[list[Period], str]:
    """Return the periods that a question names, and its text without them."""
    text, found = asked.text, []
    if between := _RANGE.search(text):
        first, last = int(between["first"]) * _A_YEAR, int(between["last"]) * _A_YEAR + _A_YEAR - 1
        return [Period(first, last, "=", between[0])], text.replace(between[0], " ")
    months = MONTHS.get(asked.language, MONTHS[ENGLISH]).split()
    names = "|".join(months)
    signs = "|".join(_SIGNS.values())
    day = rf"(?:(?P<day>\p{{N}}{{1,2}})(?:\.|st|nd|rd|th|er)?\s+)?(?P<month>{names})\b(?:,?\s+(?P<year>{_YEAR}))?"
    written = r"(?P<iso>\p{N}{4}-\p{N}\p{N}-\p{N}\p{N})|(?P<dotted>\p{N}{1,2}\.\p{N}{1,2}\.\p{N}{4})"
    pattern = rf"\b(?P<in>{signs}|{_IN}){_FILLED}(?:{day}|{written}|(?P<year>{_YEAR}))"
    while match := regex.search(pattern, text, regex.IGNORECASE):
        word = match["in"].casefold()
        sign = next((one for one, words in _SIGNS.items() if word in words.split("|")), "=")
        before = _PARTICIPLE.search(text[: match.start()])
        found.append(Period(*_days(match, months), sign, match[0].strip(), before["last"] if before else ""))
        text = f"{text[: match.start()]} {text[match.end() :]}"
    return found, text


def _days(match: regex.Match[str], months: Sequence[str]) -> tuple[int, int]:
    """Return the first and the last day of what a question says."""
    if match["iso"] or match["dotted"]:
        parts = [int(one) for one in (match["iso"] or match["dotted"]).replace("-", ".").split(".")]
        year, month, day = parts if match["iso"] else parts[::-1]
        return (one := year * _A_YEAR + month * _A_MONTH + day), one
    year = int(match["year"] or 0) * _A_YEAR
    if not match["month"]:
        return year, year + _A_YEAR - 1
    month = year + (months.index(match["month"].casefold()) + 1) * _A_MONTH
    return (month + int(match["day"]),) * 2 if match["day"] else (month, month + _A_MONTH - 1)


def column_of_periods(asked: TableQuestion, table: WholeTable, periods: Sequence[Period], rest: str) -> Column | None:
    """Return the column that periods are conditions on; None where there is none, or the title of the table says them.

    Args:
        asked: a question.
        table: whole.
        periods: of the question.
        rest: the question without them.
    """
    years = {one for one in table.first.terms_around if len(one) == 4 and one.isdigit()}
    if all(period.is_of_years and years == {str(period.year)} for period in periods):
        return None
    known = {*terms(rest, asked.language), *table.first.terms_around, *asked.synonyms}
    of_days = [column for column in table.columns if column.is_of_days]
    named = [each for each in of_days if all(asked.has(one, known) for one in each.head.label_terms - _OF_DATES)]
    if not named and all(period.is_of_years for period in periods):
        named = [each for each in table.columns if each.figures and each.head.label_terms <= _OF_YEARS and each.label]
    return named[0] if len(named) == 1 else None


def rows_in(column: Column, periods: Sequence[Period]) -> tuple[list[int], str]:
    """Return the numbers of the rows whose day or year is in all of some periods, and why that is not known."""
    days = [None if one is None else int(one) if one > _A_YEAR else int(one) * _A_YEAR for one in column.figures]
    years = {one // _A_YEAR for one in days if one is not None}
    if not all(period.year for period in periods):
        if len(years) != 1:
            return [], f"The days of {column.label} are of several years, and the question names none."
        days = [None if one is None else one % _A_YEAR for one in days]
    rows = [at for at, one in enumerate(days) if one is not None and all(period.holds(one) for period in periods)]
    said = ", ".join(period.said for period in periods)
    return rows, "" if rows else f"No row of the table has a {column.label} “{said}”."
