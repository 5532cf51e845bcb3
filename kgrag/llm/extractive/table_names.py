"""Rows whose name a question has: the whole of it, or the part that only one row of a whole table has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgrag.llm.extractive.table_cells import written_length
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_rows import NAME_COLUMNS, Cell, Row, Table

__all__ = ["rows_named"]

_MIN_WRITTEN = 3
"""Letters of a name that a question has as it is written, at least: "South 2" beside "South 1" and "North 2"."""


def rows_named(asked: TableQuestion, table: Table, but: Sequence[int] = ()) -> Iterator[tuple[Row, Cell]]:
    """Yield the rows that a question names, each with the cell of its name; ``but`` are columns that name none."""
    counts = table.known_rows.counts_in
    for row in table.rows:
        for at, cell in enumerate(row.cells[:NAME_COLUMNS]):
            said = cell.terms & asked.terms
            if at in but or not said:
                continue
            own = {one for one in said if counts[at][one] < 2}
            is_part = table.is_whole and any(not one.isdigit() for one in own)  # a 3 alone is no part of "V-3"
            is_all = bool(own) and cell.terms <= asked.terms
            if is_all or is_part or written_length(asked, cell.text) >= _MIN_WRITTEN:
                yield row, cell
                break
