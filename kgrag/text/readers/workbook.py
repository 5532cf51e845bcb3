"""Workbooks (xlsx): each sheet a table under its name, a line per row that repeats the header; rows stay whole.

The first row of a sheet with several cells names the columns; one cell above it is a title over the table. Formulas are
read by the result that was stored with them.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import chain

from kgrag.model import Document, Section
from kgrag.text.readers import office
from kgrag.text.readers.records import row_line, row_sections
from kgrag.text.readers.sources import Source, cleaned, collapsed, label

__all__ = ["read"]

_MAX_CELLS = 20_000_000  # of a sheet, blank ones before the last of a row included
_SHEET_BREAK = "\n\n"

_Sheet = tuple[str, list[str]]


def read(source: Source) -> Iterator[Document]:
    """Yield the file; its title is its property, or the file's name.

    Raises:
        UnreadableDocument: no xlsx, damaged, too large when unpacked, or without text.
    """
    sheets, properties = office.opened(source, _sheets)
    sections: list[Section] = []
    texts: list[str] = []
    start = 0
    for name, lines in sheets:
        texts.append("\n".join(lines))
        sections += row_sections(lines, start=start, heading=name)
        start += len(texts[-1]) + len(_SHEET_BREAK)
    text = _SHEET_BREAK.join(texts)
    document = source.document(text, title=label(properties.pop("title", "")), sections=tuple(sections))
    yield source.described(document, properties)


def _sheets(data: io.BytesIO) -> list[_Sheet]:
    """Return name and lines of every sheet that is not blank."""
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and other things that are no text
        workbook = openpyxl.load_workbook(data, read_only=True, data_only=True, keep_links=False)
        sheets = [(collapsed(cleaned(sheet.title)), _lines(_rows(sheet))) for sheet in workbook.worksheets]
        workbook.close()
    return [(name, lines) for name, lines in sheets if lines]


def _rows(sheet: object) -> Iterator[list[str]]:
    """Yield the rows that are not blank, as texts."""
    sheet.reset_dimensions()  # type: ignore[attr-defined]  # what the file says of its size may be wrong
    cells = 0
    for row in sheet.iter_rows(values_only=True):  # type: ignore[attr-defined]
        cells += len(row)
        if cells > _MAX_CELLS:
            raise ValueError(f"a sheet has more than {_MAX_CELLS:,} cells")
        texts = [_text(value) for value in row]
        if any(texts):
            yield texts


def _lines(rows: Iterator[list[str]]) -> list[str]:
    """Return the lines of a sheet; rows of one cell above the first of several are what stands over the table."""
    above: list[str] = []
    columns = next(rows, [])
    while sum(map(bool, columns)) == 1 and (below := next(rows, None)) is not None:
        if sum(map(bool, below)) == 1 and not above:  # a list in one column
            rows = chain([below], rows)
            break
        above += filter(None, columns)
        columns = below
    lines = [line for row in rows if (line := row_line(columns, row))]
    return [*above, *(lines or filter(None, [" | ".join(filter(None, columns))]))]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    return value.isoformat() if isinstance(value, date | time) else collapsed(cleaned(str(value)))
