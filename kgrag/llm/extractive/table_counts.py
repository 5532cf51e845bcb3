"""Counts rows of a whole table, and sums up or averages a column of it, for a question that asks for that.

Rows are those that ``table_selections`` selects. Counted are rows, or the different values of a column that is asked
for ("How many suppliers are there?"). A sum needs a figure of one unit in every row; it is exact and has as many
decimals as the figures show, a mean at least two. Where two tables fit a question, nothing is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from kgrag.llm.extractive.table_columns import Column, WholeTable
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_selections import Selection, selected, subjects
from kgrag.text.hidden_sheets import HIDDEN

__all__ = ["Result", "asks_for_sum", "read_count", "read_sum", "reply_of_best", "states_sum", "things_meant"]

_MAX_CITED = 10
"""Rows that an answer cites, at most; it says of how many they are the first."""
_MAX_NAMED = 10
_MEAN_DECIMALS = 2


@dataclass(frozen=True)
class Result:
    """What was counted or summed up: the table, its rows, what is shown, and the value with its unit.

    ``names`` are those of the things that were counted, which are rows or else the values of a column.
    """

    table: WholeTable
    rows: Selection
    fit: float
    text: str = ""
    value: str = ""
    unit: str = ""
    names: tuple[str, ...] = ()
    of_rows: bool = True


def asks_for_sum(asked: TableQuestion) -> bool:
    """Return whether a question asks for a sum or a mean."""
    return (asked.words.total.search(asked.text) or asked.words.average.search(asked.text)) is not None


def states_sum(asked: TableQuestion, label: str) -> bool:
    """Return whether the label of a column says that its figures are sums or means."""
    return (asked.words.total.search(label) or asked.words.average.search(label)) is not None


def read_count(asked: TableQuestion, tables: Sequence[WholeTable]) -> dict[str, Any]:
    """Return the reply to a question for a number of rows, or of the things in them; {} where no table has all it says.

    "How many shears are in stock?" asks for the sum of a column *Quantity*, "How many articles" for rows.
    """
    found = [one for table in tables if (one := _quantity(asked, table)) is not None]
    return _reply(found) or _reply([one for table in tables if (one := _counted(asked, table)) is not None])


def read_sum(asked: TableQuestion, tables: Sequence[WholeTable]) -> dict[str, Any]:
    """Return the reply to a question for a sum or mean of a column; {} as for counts."""
    found = [one for table in tables if (one := _summed(asked, table)) is not None]
    return _reply(found)


def _reply(found: Sequence[Result]) -> dict[str, Any]:
    value = {"kind": "number", "value": "", "sentence": 0, "computed": True}
    return reply_of_best(found, lambda one: [value | {"text": one.value, "unit": one.unit}])


def reply_of_best(
    found: Sequence[Result], values_of: Callable[[Result], Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the reply of the table that fits best; *unknown* where two do, or it is not clear, {} for none."""
    seen = [one for one in found if HIDDEN not in one.table.first.around] or list(found)
    best = max((one.fit for one in seen), default=0.0)
    chosen = [one for one in seen if one.fit == best]
    if not chosen:
        return {}
    one = chosen[0]
    if len(chosen) > 1:
        reason = f"{len(chosen)} tables have what the question says, so none of them was counted."
        return {"unknown": True, "sentences": [], "reason": reason, "nearest": _quotes_of(one)[:1]}
    if one.rows.reason:
        return {"unknown": True, "sentences": [], "reason": one.rows.reason, "nearest": _quotes_of(one)[:1]}
    cited = len(one.rows.rows)
    reason = f"{cited} rows were read; the first {_MAX_CITED} are cited." if cited > _MAX_CITED else ""
    reason = " ".join(filter(None, (reason, one.rows.remark)))
    reply: dict[str, Any] = {
        "unknown": False,
        "sentences": [{"text": one.text, "citations": _quotes_of(one), "computed": True}],
        "values": list(values_of(one)),
    }
    return reply | ({"reason": reason} if reason else {})


def _quotes_of(one: Result) -> list[Mapping[str, Any]]:
    """Return the rows that were counted, with the header; the first of all rows where none was."""
    table = one.table
    header = [{"evidence": table.first.number, "quote": table.first.header}] if table.first.header else []
    rows = [table.rows[at] for at in one.rows.rows[:_MAX_CITED]] or table.rows[:1]
    return [*header, *({"evidence": part.number, "quote": row.line} for part, row in rows)]


def _fit_of(asked: TableQuestion, table: WholeTable) -> float:
    """Return how many terms of a question a table has around it and in its labels."""
    labels = frozenset(one for column in table.columns for one in column.head.label_terms)
    return sum(1 if one in table.first.terms_around else 0.5 * asked.has(one, labels) for one in asked.terms)


def _counted(asked: TableQuestion, table: WholeTable) -> Result | None:
    found = things_meant(asked, table)
    if found is None:
        return None
    names = found.names
    shown = ", ".join(filter(None, names[:_MAX_NAMED])) + (", …" if len(names) > _MAX_NAMED else "")
    count = f"{found.value} / {len(table.rows)}" if found.of_rows else found.value
    text = " – ".join(filter(None, (count, "; ".join(found.rows.conditions), shown)))
    return replace(found, text=f"{text}.")


def things_meant(asked: TableQuestion, table: WholeTable) -> Result | None:
    """Return the rows of a table that a question means, or the different values of the column that it asks for.

    Their number is the value; None where the table does not explain all that the question says.
    """
    if not table.rows or table.is_about_one:
        return None
    nouns = subjects(asked)
    labels = [(column, column.head.label_terms) for column in table.columns]
    named = [
        column
        for column, own in labels
        if own and all(any(asked.is_same(noun, [one]) for noun in nouns) for one in own)
    ]
    if any(column.figures for column in named):
        return None  # "How many seats": a sum, or the figure of one row
    rows = selected(asked, table)
    if rows is None or not _is_about(asked, table, nouns, named):
        return None
    things = [column for column in named if not column.truths and not _condition_on(column, rows)]
    things.sort(key=lambda column: column.is_of_codes)  # "Article no." is an article as well
    of_column = things[0] if things and not any(column.names_rows for column in things) else None
    if table.has_lone_cells:
        rows.reason = rows.reason or "A row of the table has one cell only, which may be a remark."
    if of_column is not None and any(not of_column.cells[at].text for at in rows.rows):
        rows.reason = rows.reason or f"Not every row states {of_column.label}."
    naming = of_column or (things[0] if things else table.naming)
    names = list(dict.fromkeys(naming.cells[at].text for at in rows.rows))
    count = len(names) if of_column is not None else len(rows.rows)
    names = [name for name in names if name]
    return Result(table, rows, _fit_of(asked, table), "", str(count), "", tuple(names), of_rows=of_column is None)


def _quantities(asked: TableQuestion, table: WholeTable) -> list[Column]:
    """Return the columns that say how many there are of the thing in a row."""
    known = asked.words.quantity_labels
    return [each for each in table.columns if each.figures and (own := each.head.label_terms) and own <= known]


def _quantity(asked: TableQuestion, table: WholeTable) -> Result | None:
    """Return the sum of a column of quantities, where what is counted is a value of the rows and not a row."""
    columns = _quantities(asked, table)
    if len(columns) != 1 or table.is_about_one:
        return None
    column, nouns = columns[0], subjects(asked) - asked.words.quantity_labels
    stock = asked.words.stock & asked.terms
    labels = frozenset[str]().union(*(each.head.label_terms for each in table.columns))
    if stock and not any(asked.has(one, labels | table.first.terms_around) for one in asked.words.stores):
        return None  # the quantity of an order is in no stock
    rows = selected(asked, table, column, names=True, known=stock | (asked.words.quantity_labels & asked.terms))
    if rows is None or column.label in rows.columns:
        return None
    is_value = nouns <= rows.used and rows.conditions and not any(asked.is_same(one, labels) for one in nouns)
    asks_for_stock = stock or asked.words.quantity_labels & asked.terms or asked.standing_for(column.head.label_terms)
    if not is_value:
        if not asks_for_stock or table.first.terms_around >= subjects(asked):
            return None
        rows.reason = rows.reason or f"Rows may be meant ({len(rows.rows)}), or the sum of {column.label}."
    if not rows.rows:
        rows.reason = rows.reason or "No row of the table has all that the question names."
    return _sum_of(asked, table, column, rows)


def _is_counted(asked: TableQuestion, label: str, nouns: frozenset[str]) -> bool:
    return any(asked.is_same(noun, [label]) for noun in nouns)


def _is_about(asked: TableQuestion, table: WholeTable, nouns: frozenset[str], named: Sequence[Column]) -> bool:
    """Return whether the rows of a table are what is counted: by a label, its title or a value of them."""
    known = frozenset[str]().union(asked.words.rows, *table.cell_terms.values())
    asks_for_person = asked.asked.kind == "person" or bool(nouns & asked.words.people)
    if asks_for_person and table.naming.names_persons:
        return True
    return bool(named) or any(asked.is_same(one, table.first.terms_around) or one in known for one in nouns)


def _condition_on(column: Column, rows: Selection) -> bool:
    return column.label in rows.columns


def _summed(asked: TableQuestion, table: WholeTable) -> Result | None:
    figures_only = [column for column in table.columns if column.is_of_figures]
    fits = [(asked.label_fit(column.head.label_terms, frozenset()), column) for column in figures_only]
    best = max((fit for fit, _ in fits), default=0.0)
    columns = [column for fit, column in fits if fit == best and best > 0]
    is_mean = asked.words.average.search(asked.text) is not None
    if len(columns) != 1 or table.is_about_one or columns[0].is_of_days:
        return None
    column = columns[0]
    if column.unit == "%" and not is_mean:
        return None
    # of one row, its figure; not where that is the price of one of several
    rows = selected(asked, table, column, names=not _quantities(asked, table))
    return _sum_of(asked, table, column, rows) if rows is not None and (rows.rows or rows.reason) else None


def _sum_of(asked: TableQuestion, table: WholeTable, column: Column, rows: Selection) -> Result:
    """Return the sum or the mean of a column in some rows."""
    is_mean = asked.words.average.search(asked.text) is not None
    figures = [column.figures[at] if column.figures else None for at in rows.rows]
    values = [one for one in figures if one is not None]
    if not column.figures:
        rows.reason = rows.reason or f"Not every cell of {column.label} is a figure of one unit."
    elif len(values) < len(figures):
        rows.reason = rows.reason or f"{len(figures) - len(values)} of {len(figures)} rows state no {column.label}."
    amount = sum(values, Decimal(0)) / (max(1, len(values)) if is_mean else 1)
    value = _written(amount, column, is_mean=is_mean)
    said = asked.words.mean_of if is_mean else asked.words.sum_of
    text = " – ".join(filter(None, (said, "; ".join(rows.conditions), f"{column.label}: {value} ({len(values)})")))
    sign = column.unit if column.unit and column.unit in "€$£¥" and value.startswith(column.unit) else ""
    return Result(table, rows, _fit_of(asked, table), f"{text}.", value, "" if sign else column.unit)


def _written(amount: Decimal, column: Column, *, is_mean: bool) -> str:
    """Return a figure with the decimals and the mark of a column, and the sign of a currency before it where it is."""
    figures = [one for one in column.figures if one is not None]
    decimals = max((max(0, -int(one.as_tuple().exponent)) for one in figures), default=0)
    written = max((_decimals(cell.text, column.mark) for cell in column.cells), default=0)
    decimals = max(decimals, written, _MEAN_DECIMALS if is_mean else 0)
    text = f"{amount.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"
    text = text.replace(".", ",") if column.mark == "," else text
    first = next(cell.text for cell in column.cells if cell.text)
    return f"{column.unit}{text}" if column.unit and first.startswith(column.unit) else text


def _decimals(text: str, mark: str) -> int:
    """Return how many decimals a cell shows, those that are 0 included."""
    _, found, rest = text.partition(mark or ".")
    digits = "".join(character for character in rest if character.isdigit())
    return len(digits) if found and len(digits) <= 2 else 0
