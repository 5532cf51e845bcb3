"""CSV and TSV: a document a row where there is a text column, else the table, a line ``column: value; …`` a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from kgrag.model import Document
from kgrag.stages.reading.records import TEXT_FIELDS, record_document
from kgrag.stages.reading.sources import LARGEST, Source

__all__ = ["read"]

_DELIMITERS = ",;\t|"
_TEXT_COLUMNS = frozenset(TEXT_FIELDS[:3])


def read(source: Source) -> Iterator[Document]:
    """Yield the rows, or the table; the first row names the columns.

    Raises:
        UnreadableDocument: no rows, quotes that do not pair up, or a row without text; the message names the line.
    """
    csv.field_size_limit(LARGEST)
    text = source.text()
    rows = _rows(source, text)
    _, header = next(rows, (0, []))
    columns = [name.strip() for name in header]
    if _TEXT_COLUMNS & {name.lower() for name in columns}:
        documents = _records(source, columns, rows)
    else:
        documents = _table(source, columns, rows)
    found = False
    for document in documents:
        found = True
        yield document
    if not found:
        raise source.unreadable("has no rows below its header. Leave it out.")


def _records(source: Source, columns: Sequence[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[Document]:
    names = [name.lower() for name in columns]
    for line, row in rows:
        record: Mapping[str, str] = dict(zip(names, row, strict=False))
        yield record_document(record, source, place=f"line {line}", anchor=f"L{line}")


def _table(source: Source, columns: Sequence[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[Document]:
    lines = [line for _, row in rows if (line := _line(columns, row))]
    if lines:
        yield source.document("\n".join(lines))


def _line(columns: Sequence[str], row: Sequence[str]) -> str:
    """Spell a row; blank cells are left out, and cells beyond the header are numbered."""
    names = [name or f"column {number}" for number, name in enumerate(columns, start=1)]
    names += [f"column {number}" for number in range(len(names) + 1, len(row) + 1)]
    pairs = zip(names, row, strict=False)
    return "; ".join(f"{name}: {' '.join(cell.split())}" for name, cell in pairs if cell.strip())


def _rows(source: Source, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which a row begins and its cells; blank rows are left out.

    Quotes in tab-separated files are often meant as they stand, so there a file whose quotes do not pair up is read so.
    """
    delimiter = "\t" if source.suffix == ".tsv" else _delimiter(text)
    literal = delimiter == "\t" and not _pairs_up(text)
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if literal else csv.QUOTE_MINIMAL,
        strict=True,
    )
    line = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise source.unreadable(
            f"the row that begins on line {line} is not CSV ({error}). Correct its quotes."
        ) from error


def _delimiter(text: str) -> str:
    """Choose the delimiter that makes the most columns of the header; the comma where none does."""
    head = text.lstrip("\n")[:65_536]
    return max(_DELIMITERS, key=lambda mark: len(next(csv.reader(io.StringIO(head), delimiter=mark), [])))


def _pairs_up(text: str) -> bool:
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True):
            pass
    except csv.Error:
        return False
    return True
