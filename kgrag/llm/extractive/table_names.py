"""Rows whose name a question has: the whole of it, or the part that only one row of a whole table has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgrag.llm.extractive.table_cells import written_length
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_rows import Cell, Row, Table

__all__ = ["rows_named"]

_NAMES_AT = 2
"""Columns from the first on that name the rows."""
_MIN_WRITTEN = 3
"""Letters of a name that a question has as it is written, at least: "South 2" beside "South 1" and "North 2"."""


def rows_named(asked: TableQuestion, table: Table, but: Sequence[int] = ()) -> Iterator[tuple[Row, Cell]]:
    """Yield the rows that a question names, each with the cell of its name; ``but`` are columns that name none."""
    for row in table.rows:
        rest = [other for other in (*table.rows, *table.others) if other is not row]
        for at, cell in enumerate(row.cells[:_NAMES_AT]):
            said = cell.terms & asked.terms
            others = frozenset[str]().union(*(other.cells[at].terms for other in rest if at < len(other.cells)))
            own = {one for one in said - others if not one.isdigit()}  # a 3 alone is no part of "V-3"
            is_part = not said <= others and (cell.terms <= asked.terms or (table.is_whole and bool(own)))
            if at not in but and said and (is_part or written_length(asked, cell.text) >= _MIN_WRITTEN):
                yield row, cell
                break
