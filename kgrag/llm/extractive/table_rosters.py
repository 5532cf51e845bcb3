"""Whether a cell has the value that a question says: "Is Carla on nights in week 45?", by the row and the column named.

The question has the whole label of one column ("week 45", "Montag") and the name of one row. The cell there says *yes*
where it is what else the question says, *no* where that is another value of the table; any other word leaves it open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_cells import FoundCell, truth_asked, written_length
from kgrag.llm.extractive.table_names import rows_named
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_rows import Cell, Table

__all__ = ["RosterCell", "column_lacking", "roster_cells"]


@dataclass(frozen=True)
class RosterCell:
    """A cell whose row and column a question names, and whether it is what the question says of it; None: not clear."""

    found: FoundCell
    said: bool | None


def roster_cells(asked: TableQuestion, tables: Sequence[Table]) -> list[RosterCell]:
    """Return the cells that a question for yes or no is about, one of each table that has them."""
    found = []
    for table in tables if asked.asked.kind == "boolean" else ():
        heads = [Cell(label, "", table.language).label_terms for label in table.labels]
        columns = [at for at, own in enumerate(heads) if own and own <= asked.terms]
        rows = list(rows_named(asked, table, columns))
        rows = [one for one in rows if one[1] is one[0].cells[0]] or rows  # a "late" of Monday is no name
        if len(columns) != 1 or len(rows) != 1:
            continue
        (row, name), cell = rows[0], rows[0][0].cells[columns[0]]
        if truth_asked(asked, cell.text) is not None:
            continue
        said = _said(asked, table, cell, name)
        found.append(RosterCell(FoundCell(table, row, cell, 1.0, name.text), said))
    return found


def column_lacking(asked: TableQuestion, table: Table) -> str:
    """Return the column that a question names beside a row, "week 49", where the table has others of its kind only."""
    numbered: dict[str, set[str]] = {}
    for label in table.labels:
        own = terms(label, table.language)
        if len(own) == 2 and own[1].isdigit() and not own[0].isdigit():
            numbered.setdefault(own[0], set()).add(own[1])
    words = asked.text.split()
    for word, number in pairwise(words):
        own, digits = terms(word, table.language), number.strip(".,;:")
        numbers = numbered.get(own[0], set()) if own else set()
        if len(numbers) > 1 and digits.isdigit() and digits not in numbers and any(rows_named(asked, table)):
            return f"{word} {digits}"
    return ""


def _said(asked: TableQuestion, table: Table, cell: Cell, name: Cell) -> bool | None:
    left = asked.terms - cell.label_terms - name.terms - table.terms_around - asked.words.vague
    if _says(asked, cell.text, left):
        return True
    values = {other.text for row in table.rows for other in row.cells[1:] if other.text and other.label != name.label}
    return False if any(_says(asked, text, left) for text in values) else None


def _says(asked: TableQuestion, text: str, left: frozenset[str]) -> bool:
    """Return whether all that a question still says is a value; "off" is no term, and says it as a word."""
    own = frozenset(terms(text, asked.language))
    if not own:
        return not left and written_length(asked, text) > 0
    return bool(left) and all(asked.has(one, left) for one in own) and all(asked.has(one, own) for one in left)
