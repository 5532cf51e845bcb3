"""Workbooks (xlsx): each sheet a table under its name, a line per row that repeats the header; rows stay whole.

The first row of a sheet with several cells names the columns; one cell above it is a title over the table. Formulas are
read by the result that was stored with them, figures and dates as they are shown (``cell_formats``). A cell that is
merged with those below stands in each of their rows. The name of a hidden sheet says that it is hidden.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from itertools import chain
from typing import Any

from kgrag.model import Document, Section
from kgrag.text.hidden_sheets import HIDDEN
from kgrag.text.readers import cell_formats, office
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
        sheets = [(_name(sheet), _lines(_rows(sheet))) for sheet in workbook.worksheets]
        workbook.close()
    return [(name, lines) for name, lines in sheets if lines]


def _name(sheet: Any) -> str:
    """Return the name of a sheet, with a mark where people do not see it: they may not know what it says."""
    return collapsed(cleaned(sheet.title)) + ("" if sheet.sheet_state == "visible" else HIDDEN)


def _rows(sheet: Any) -> Iterator[list[str]]:
    """Yield the rows that are not blank, as texts; a cell that is merged with those below it is in each row."""
    merged = _merged(sheet)
    sheet.reset_dimensions()  # what the file says of its size may be wrong
    above: dict[int, tuple[int, str]] = {}
    first, cells = 0, 0
    for number, row in enumerate(sheet.iter_rows(), start=1):
        above = {column: filled for column, filled in above.items() if filled[0] >= number}
        width = max((len(row), *above))
        cells += width
        if cells > _MAX_CELLS:
            raise ValueError(f"a sheet has more than {_MAX_CELLS:,} cells")
        texts = [collapsed(cleaned(cell_formats.shown(cell.value, _format(cell)))) for cell in row]
        if not any(texts):
            continue
        texts += [""] * (width - len(texts))
        for column, (_, text) in above.items():
            texts[column - 1] = texts[column - 1] or text
        first = first or (number if sum(map(bool, texts)) > 1 else 0)
        for column, last in merged.get(number, ()):
            if first and number > first and column <= len(texts):  # what names the columns names no row
                above[column] = last, texts[column - 1]
        yield texts


def _format(cell: Any) -> str:
    return cell.number_format if cell.value is not None else ""


def _merged(sheet: Any) -> dict[int, list[tuple[int, int]]]:
    """Return for the first row of each cell that is merged with those below it its column and its last row.

    They stand behind the rows in the file, and a workbook that is read row by row has no list of them.
    """
    from lxml import etree
    from openpyxl.utils.cell import range_boundaries

    merged: dict[int, list[tuple[int, int]]] = {}
    with sheet._get_source() as part:
        for _, element in etree.iterparse(part, resolve_entities=False, no_network=True, huge_tree=False):
            if etree.QName(element).localname == "mergeCell":
                column, row, _, last = range_boundaries(element.get("ref", "A1"))
                if row is not None and last is not None and column is not None and last > row:
                    merged.setdefault(row, []).append((column, last))
            if etree.QName(element).localname == "row":
                element.clear()
                while element.getprevious() is not None:
                    del element.getparent()[0]
    return merged


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
