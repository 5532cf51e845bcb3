"""Which rows of a whole table a question means, for counts and sums: nothing where a word of it stays unexplained.

"How many pumps have a pressure over 10 bar?" selects rows by a comparison with a column of figures, "… are overdue" by
a value of a cell, "… are waterproof" by a column of yes and no. Every other word has to be what the table is about, by
its title, heading or the label of the things counted; else rows would be counted that the question does not mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_cells import written_length
from kgrag.llm.extractive.table_columns import AMOUNT, Column, WholeTable, decimal_mark, figure
from kgrag.llm.extractive.table_periods import column_of_periods, read_periods, rows_in
from kgrag.llm.extractive.table_questions import TableQuestion

__all__ = ["Selection", "selected", "subjects"]

_UNIT_FORMS = (
    "€ eur euro euros",
    "$ usd dollar dollars",
    "£ gbp pound pounds pfund livre livres",
    "kg kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes",
    "g gram grams gramm gramme grammes",
    "t ton tons tonne tonnes tonnen",
    "w watt watts",
    "m metre metres meter meters metern mètre mètres",
    "km kilometre kilometres kilometer kilometers kilometern kilomètre kilomètres",
    "mm millimetre millimetres millimeter millimetern millimètre millimètres",
    "l litre litres liter liters litern",
    "% percent prozent",
    "°c degree degrees grad degré degrés celsius",
    "h hour hours stunde stunden heure heures",
    "min minute minutes minuten",
    "mi mile miles",
)
_UNITS = frozenset(form for forms in _UNIT_FORMS for form in forms.split())
_UNIT = r"(?P<unit>%|°\s?C|\p{Sc}|[\p{L}][\p{L}²³]*(?:/\p{L}+[²³]?)?)?"
_WHICH = late_regex(r"\b(?:which|what|welche[mnrs]?|quel(?:le)?s?)\b", flags=regex.IGNORECASE)
_WORD = late_regex(r"[\p{L}\p{M}\p{N}'’-]+")
_FIRST_YEAR, _LAST_YEAR = 1500, 2100
_OF_A_DAY = 10_000
"""What a day is divided by for its year."""


@dataclass
class Selection:
    """The rows of a table that a question means.

    Args:
        rows: their numbers; all of them until something narrows them down.
        conditions: what narrowed them down, as it is shown.
        reason: why it could not be decided; "" where it was.
        columns: labels of those columns.
        used: terms of the question that are explained.
        remark: what a reader is to know of them; "" for nothing.
    """

    rows: list[int]
    conditions: list[str] = field(default_factory=list)
    reason: str = ""
    columns: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    remark: str = ""

    def keep(self, rows: Sequence[int], column: Column, shown: str) -> None:
        """Keep those of the rows that are among some, because of a column."""
        among = set(rows)
        self.columns.add(column.label)
        self.rows = [row for row in self.rows if row in among]
        self.conditions.append(f"{column.label}{shown}")


@dataclass(frozen=True)
class _Comparison:
    """A figure that the cells of a column are compared with; ``said`` is what the question says of it."""

    sign: str
    amount: Decimal
    unit: str
    said: str

    def holds(self, value: Decimal) -> bool:
        """Return whether a value is more, less or as much as is said; of a day the year counts where that is asked."""
        if value > _LAST_YEAR * _OF_A_DAY // 10 and _FIRST_YEAR <= self.amount <= _LAST_YEAR:
            value = Decimal(int(value) // _OF_A_DAY)
        return {
            "<=": value <= self.amount,
            ">=": value >= self.amount,
            ">": value > self.amount,
            "<": value < self.amount,
            "=": value == self.amount,
        }[self.sign]


def _same_unit(one: str, other: str) -> bool:
    """Return whether two words are forms of one unit: "kg", "kilos"."""
    first, second = one.casefold().replace(" ", ""), other.casefold().replace(" ", "")
    return first == second or any({first, second} <= set(forms.split()) for forms in _UNIT_FORMS)


def subjects(asked: TableQuestion) -> frozenset[str]:
    """Return the terms of what is counted or asked for: the words behind "how many" up to one that says nothing."""
    found = asked.words.how_many.search(asked.text) or _WHICH.search(asked.text)
    nouns: list[str] = []
    for word in _WORD.findall(asked.text[found.end() :]) if found else ():
        own = terms(word, asked.language)
        if nouns and asked.aside.issuperset(own):  # a verb: "pumps weigh"
            break
        nouns += own
    return frozenset(nouns) - asked.of_extremes


def selected(
    asked: TableQuestion,
    table: WholeTable,
    target: Column | None = None,
    *,
    names: bool = False,
    known: frozenset[str] = frozenset(),
) -> Selection | None:
    """Return the rows that a question means; None where a word of it is not explained by the table.

    Args:
        asked: a question for a count, a sum, a mean or an extreme.
        table: whole.
        target: the column that is summed up, or has the extreme.
        names: whether the question may name one row.
        known: terms that are explained.
    """
    found = Selection(list(range(len(table.rows))))
    text = _in_periods(asked, table, found)
    comparisons, rest = _comparisons(asked, table, text)
    plain = asked.words.negation.sub(" ", asked.words.how_many.sub(" ", rest))
    said = set(terms(plain, asked.language)) & asked.terms
    said -= asked.of_extremes if asked.is_extreme else set()
    if asked.words.negation.search(rest) and not _negated(asked, table, rest, said, found):
        return None
    for one in comparisons:
        if not _compare(asked, table, one, said, found):
            return None
    if not _by_values(asked, table, said - found.used, found, names=names):
        return None
    _by_truths(asked, table, said - found.used, found)
    if target is not None:
        own = target.head.label_terms
        found.used |= {one for one in said if asked.has(one, own)} | asked.standing_for(own)
    left = said - found.used - known
    return None if _leaves_a_value(asked, table, found) or _unexplained(asked, table, left, found.columns) else found


def _in_periods(asked: TableQuestion, table: WholeTable, found: Selection) -> str:
    """Keep the rows of the periods that a question names; its text without them, where a column has days or years."""
    periods, rest = read_periods(asked)
    column = column_of_periods(asked, table, periods, rest) if periods else None
    if column is None:
        return asked.text
    rows, found.reason = rows_in(column, periods)
    behind = {one for period in periods for one in terms(period.behind, asked.language)}
    if behind & table.cell_terms_of_others(column) and not any(
        asked.has(one, column.head.label_terms) for one in behind
    ):
        found.reason = f"The table does not say that {column.label} is the day of that."  # "were paid in March"
    found.keep(rows, column, f": {', '.join(period.said for period in periods)}")
    label = column.head.label_terms
    found.used |= {one for one in asked.terms if asked.has(one, label)} | asked.standing_for(label)
    return rest


def _negated(asked: TableQuestion, table: WholeTable, rest: str, said: set[str], found: Selection) -> bool:
    """Keep the rows that have a *no*, or another value, where a question denies one; False where it is not clear."""
    *_, last = asked.words.negation.finditer(rest)
    behind = terms(rest[last.end() :], asked.language)
    if not behind:
        return False
    kept = []
    for column in table.columns:
        own = column.head.label_terms
        if column.truths and own and own <= set(behind) and behind[0] in own:
            kept.append((column, [at for at, value in enumerate(column.truths) if value is False], set(own), ""))
        for text, rows in () if column.truths or column.figures else column.values.items():
            value = set(terms(text, asked.language))
            if value and value <= set(behind) and behind[0] in value:
                others = [at for at, cell in enumerate(column.cells) if cell.text and at not in rows]
                kept.append((column, others, value, column.cells[rows[0]].text))
    if len(kept) != 1:
        return False
    column, rows, used, value_denied = kept[0]
    blank = len(column.cells) - column.stated
    found.keep(rows, column, f": {last[0]} {value_denied}" if value_denied else f": {_said(column, is_true=False)}")
    found.remark = f"{blank} of {len(column.cells)} rows state no {column.label}, and do not count." if blank else ""
    found.used |= used
    said |= used
    return True


def _comparisons(asked: TableQuestion, table: WholeTable, text: str) -> tuple[list[_Comparison], str]:
    """Return what figures are compared with, and the text of the question without it."""
    found, rest = [], text
    mark = decimal_mark((), asked.language) or ","
    for sign, words in asked.words.comparisons.items():
        pattern = rf"(?:{words.pattern})\s+(?P<sign>[€$£])?\s*(?P<amount>{AMOUNT.pattern})\s*{_UNIT}"
        while match := regex.search(pattern, rest, regex.IGNORECASE):
            unit = _unit_of_column(table, rest[match.end("amount") :]) or match["sign"] or match["unit"] or ""
            is_unit = any(_same_unit(unit, column.unit) for column in table.columns if column.unit)
            is_unit = is_unit or (unit.casefold() in _UNITS and not _is_in_label(asked, table, unit))
            end = match.end() if is_unit or not match["unit"] else match.start("unit")
            end = max(end, rest.find(unit, match.end("amount")) + len(unit)) if is_unit else end
            amount = figure(match["amount"], mark)
            if amount is None:
                break
            found.append(_Comparison(sign, amount, unit if is_unit else "", rest[match.start() : end].strip()))
            rest = f"{rest[: match.start()]} {rest[end:]}"
    return found, rest


def _unit_of_column(table: WholeTable, behind: str) -> str:
    """Return the unit of a column that stands behind a figure, of more words than one: "working days"; "" for none."""
    said = behind.strip()
    units = (column.unit for column in table.columns if " " in column.unit)
    return next((said[: len(unit)] for unit in units if said.casefold().startswith(unit.casefold())), "")


def _is_in_label(asked: TableQuestion, table: WholeTable, unit: str) -> bool:
    """Return whether a unit is what a column is called: the hours of "Hours per week"."""
    labels = frozenset(one for column in table.columns for one in column.head.label_terms)
    return any(one in labels for one in terms(unit, asked.language))


def _compare(asked: TableQuestion, table: WholeTable, one: _Comparison, said: set[str], found: Selection) -> bool:
    """Keep the rows for which a comparison holds; False where it is not clear with which column."""
    fits = [(asked.label_fit(each.head.label_terms, frozenset()), each) for each in table.columns if each.is_of_figures]
    named = [(fit, column) for fit, column in fits if fit > 0]
    if one.unit:
        of_unit = [(fit, column) for fit, column in fits if column.unit and _same_unit(one.unit, column.unit)]
        named = (
            [each for each in of_unit if each in named]
            or (of_unit if not named else [])
            or [(fit, column) for fit, column in named if not column.unit]
        )
    best = max((fit for fit, _ in named), default=0.0)
    columns = [column for fit, column in named if fit == best]
    if len(columns) != 1:
        return False
    column = columns[0]
    figures = column.figures
    blank = len(column.cells) - column.stated
    if not figures:
        found.reason = f"Not every cell of {column.label} is a figure of one unit."
    elif blank:
        found.remark = f"{blank} of {len(column.cells)} rows state no {column.label}, and do not count."
    found.keep(
        [at for at, value in enumerate(figures) if value is not None and one.holds(value)],
        column,
        f" {one.sign} {one.amount:f}",
    )
    found.used |= {term for term in said if asked.has(term, column.head.label_terms)} | asked.standing_for(
        column.head.label_terms
    )
    return True


def _by_values(
    asked: TableQuestion, table: WholeTable, said: set[str], found: Selection, *, names: bool = False
) -> bool:
    """Keep the rows that have the values which a question names; False where it is not clear which, or which rows."""
    candidates = [
        one for column in table.columns if not column.truths for one in _values_said(asked, column, frozenset(said))
    ]
    longest = [one for one in candidates if not any(one[0] < other[0] for other in candidates)]
    named = {own: [one for one in longest if one[0] == own] for own, *_ in longest}
    used_columns: list[str] = []
    for own, choices in named.items():
        by_label = [one for one in choices if one[1] == max(other[1] for other in choices)]
        if len({one[2].label for one in by_label}) == 1:  # "Cassis" and "Cassis Plus", of which "plus" is no term
            by_label = [max(by_label, key=lambda one: written_length(asked, one[3]))]
        if len(by_label) != 1 or by_label[0][2].label in used_columns:
            return False
        _, _, column, text = by_label[0]
        rows = _rows_with(asked, column, own, text)
        if rows is None or (not names and _names_the_rows(table, column)):
            return False
        used_columns.append(column.label)
        label = column.head.label_terms
        found.used |= own | {one for one in said if asked.has(one, label | own)} | asked.standing_for(label)
        found.keep(rows, column, f": {column.cells[column.values[text][0]].text}")
    return True


def _values_said(
    asked: TableQuestion, column: Column, said: frozenset[str]
) -> Iterator[tuple[frozenset[str], int, Column, str]]:
    """Yield the values of a column that a question has: their terms, how well it names the column, that, the text.

    Where it has the whole label ("week 48"), a value may be one of the words that are no terms ("off"), or inflected.
    """
    label = column.head.label_terms
    is_named = any(asked.has(one, said) for one in label)
    is_whole = bool(label) and label <= said
    if column.figures and not is_named:
        return
    for text in column.values:
        own = frozenset(terms(text, asked.language))
        if not own and is_whole and written_length(asked, text):
            yield frozenset({text}), 2, column, text
        elif own and (own <= said or (is_whole and all(asked.has(one, said - label) for one in own))):
            yield own, is_named + is_whole, column, text


def _leaves_a_value(asked: TableQuestion, table: WholeTable, found: Selection) -> bool:
    """Return whether a question has a cell of words that are no terms, which narrowed nothing down: "off"."""
    return any(
        text not in found.used and not terms(text, asked.language) and written_length(asked, text)
        for column in table.columns
        if not column.truths
        for text in column.values
        if text.isalpha()
    )


def _names_the_rows(table: WholeTable, column: Column) -> bool:
    """Return whether a column is the one that names the rows: a question with a name in it is about one of them."""
    first = next((each for each in table.columns if each.names_rows), None)
    return first is column


def _rows_with(asked: TableQuestion, column: Column, own: frozenset[str], text: str) -> list[int] | None:
    """Return the rows with a value, or with a list that has it; None where others may mean it, too."""
    rows = list(column.values[text])
    has_number = any(character.isdigit() for one in own for character in one)
    if has_number or (" " in text and written_length(asked, text)):
        return rows  # a model: the "C10 Pro" is none of "C10"
    for other, places in column.values.items():
        if other == text or not own <= frozenset(terms(other, asked.language)):
            continue
        parts = regex.split(r"[,;/]\s*|\s+(?:and|und|et)\s+", other)
        if len(parts) < 2 or not any(frozenset(terms(part, asked.language)) == own for part in parts):
            return None
        rows += places
    return sorted(rows)


def _by_truths(asked: TableQuestion, table: WholeTable, said: set[str], found: Selection) -> None:
    """Keep the rows with a yes in the columns whose labels a question names."""
    for column in table.columns:
        own = column.head.label_terms
        if column.truths and own and all(asked.has(one, said - found.used) for one in own):
            found.used |= {one for one in said if asked.has(one, own)}
            blank = len(column.cells) - column.stated
            found.keep(
                [at for at, value in enumerate(column.truths) if value], column, f": {_said(column, is_true=True)}"
            )
            if blank and not found.rows:
                found.reason = f"{blank} of {len(column.cells)} rows state no {column.label}."
            elif blank:
                found.remark = f"{blank} of {len(column.cells)} rows state no {column.label}, and do not count."


def _said(column: Column, *, is_true: bool) -> str:
    """Return how a column says yes or no."""
    return next((cell.text for cell, one in zip(column.cells, column.truths, strict=True) if one is is_true), "")


def _unexplained(asked: TableQuestion, table: WholeTable, left: set[str], columns: set[str]) -> bool:
    """Return whether a term is left that neither what is counted nor what the table is about explains.

    A term of another column than those that narrowed the rows down may narrow them further.
    """
    nouns, around = subjects(asked), table.first.terms_around
    others = [column for column in table.columns if column.label not in columns]
    cells = frozenset[str]().union(*(table.cell_terms[column.label] for column in others))
    own = [(column, column.head.label_terms) for column in others if column.head.label_terms]
    labels = frozenset[str]().union(*(one for _, one in own))
    of_names = frozenset[str]().union(*(label for column, label in own if column.names_rows))
    if any(column.figures and all(asked.has(one, left - nouns) for one in label) for column, label in own):
        return True
    # "Which offer is the cheapest?" asks for offers, which a table has or has not
    is_vague = bool(nouns) and nouns <= asked.words.vague and asked.words.which.search(asked.text) is not None
    for one in left:
        is_counted = one in nouns and (asked.is_same(one, labels) or one in asked.words.rows)
        is_counted = is_counted or asked.is_same(one, of_names)
        is_counted = is_counted or (one in nouns and one in asked.words.people and table.naming.names_persons)
        said = asked.is_same(one, around) or (one in asked.words.vague and not is_vague) or one in asked.words.rows
        said = said or (one not in nouns and asked.has(one, around))
        if not is_counted and (one in cells or not said):
            return True
    return False
