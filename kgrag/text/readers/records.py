"""Records, one document each: JSON (a record, a list, or ``{"documents": [...]}``), JSON Lines, rows of CSV.

A record is an object. Its text is the first of ``text``, ``abstract``, ``contents`` (strings), ``sentences`` (strings,
joined by spaces) and ``chunks`` (objects with ``label`` and ``text``: sections, joined by line ends) that is there and
not blank. Its identifier is the first of ``id``, ``_id``, ``idx`` and ``pmid``; ``title`` is kept as given, and so are
``cites`` and ``references`` (a list, or a string with ``;`` between; an item that is an object stands for its ``doi``,
``id``, ``title``, ``text`` or ``key``, the first that is there). The first of ``url``, ``link`` and ``source_url`` that
is a web address is its URL. Every other field is metadata, with the type that it has in JSON; cells of CSV are read by
``metadata.typed``.

CSV and TSV: one document per row where there is a text column, else the whole table, a line ``column: value; …`` per
row.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from kgrag.errors import UnreadableDocument
from kgrag.model import Document, Section
from kgrag.text.metadata import typed
from kgrag.text.readers.sources import DEEPEST_FIELDS, LARGEST, URL_FIELDS, Source, cleaned, label

__all__ = ["TEXT_FIELDS", "read", "read_json", "read_lines", "record_document", "row_line", "row_sections"]

TEXT_FIELDS = ("text", "abstract", "contents", "sentences", "chunks")
"""Fields in which the text of a record is looked for, in this order."""

_TEXT_COLUMNS = frozenset(TEXT_FIELDS[:3])
_CITE_FIELDS = ("cites", "references")
_WORK_FIELDS = ("doi", "id", "title", "text", "key")
_IDENTIFIER_FIELDS = ("id", "_id", "idx", "pmid")
_KNOWN_FIELDS = frozenset((*TEXT_FIELDS, *_IDENTIFIER_FIELDS, *_CITE_FIELDS, *URL_FIELDS, "title"))
_DELIMITERS = ",;\t|"
_MAX_HEADER_CHARACTERS = 65_536
_MAX_FIELDS_CHARACTERS_SHOWN = 200
_EXPECTED = f"expected an object with one of {', '.join(TEXT_FIELDS)}, and title, id, cites where there are any"

_Row = tuple[int, list[str]]
_Body = tuple[str, tuple[Section, ...]]


class _NoRecord(ValueError):
    """What is wrong with a value that should have been a record."""


def read_lines(source: Source) -> Iterator[Document]:
    """Yield one document per line, while the file is read; a line that is no record is a defect.

    Raises:
        UnreadableDocument: only blank lines.
    """
    number = 0
    for number, line in source.lines():
        try:
            yield record_document(_parsed(line, number), source, place=f"line {number}", anchor=f"L{number}")
        except _NoRecord as error:
            source.defect(number, str(error))
    if not number and not source.defects:
        raise source.unreadable("has no records, only blank lines. Leave it out.")


def read_json(source: Source) -> Iterator[Document]:
    """Yield one document per record; what is no record in a list of them is a defect.

    Raises:
        UnreadableDocument: no JSON, or no records.
    """
    try:
        data = _parsed(source.text(), 0)
        if isinstance(data, Mapping) and isinstance(data.get("documents"), list):
            data = data["documents"]
        if not isinstance(data, list):
            yield record_document(data, source, place="the file", anchor="")
            return
    except _NoRecord as error:
        raise source.unreadable(f"{error}") from error
    if not data:
        raise source.unreadable("is an empty list of records. Leave it out.")
    for number, record in enumerate(data, start=1):
        try:
            yield record_document(record, source, place=f"record {number}", anchor=f"record-{number}")
        except _NoRecord as error:
            source.defect(number, str(error))


def _parsed(text: str, line: int) -> Any:
    where = f"line {line}" if line else "it"
    try:
        return json.loads(text.removeprefix("\ufeff").rstrip())
    except RecursionError as error:
        raise _NoRecord(f"{where} is nested too deeply for a record; {_EXPECTED}.") from error
    except json.JSONDecodeError as error:
        place = f"line {line or error.lineno}, column {error.colno}"
        raise _NoRecord(f"is not JSON: {error.msg} at {place}. Correct it there.") from error
    except ValueError as error:  # an integer of thousands of digits
        raise _NoRecord(f"{where} has a number that cannot be read ({error}).") from error


def record_document(record: Any, source: Source, *, place: str, anchor: str) -> Document:
    """Return one record as a document.

    Args:
        record: a JSON value as parsed.
        source: the file that contains it.
        place: its place in the file, for messages (``line 12``).
        anchor: the part behind ``#`` of its location when it has no identifier; "" for none.

    Raises:
        ValueError: it is no object, has no text, or fields that are nested too deep; the message names its fields.
    """
    if not isinstance(record, Mapping):
        raise _NoRecord(f"{place} is {_kind(record)}; {_EXPECTED}.")
    text, sections = _body(record, place)
    named = next((field for field in _IDENTIFIER_FIELDS if label(record.get(field))), "id")
    identifier, title = label(record.get(named)), label(record.get("title"))
    location = f"{source.location}#{identifier or anchor}".removesuffix("#")
    document = Document(
        text,
        title=title,
        location=location,
        source=source.location,
        id=identifier,
        media_type=source.media_type,
        cites=tuple(dict.fromkeys(name for field in _CITE_FIELDS for name in _cites(record.get(field), field, place))),
        sections=sections,
    )
    used = {*_CITE_FIELDS, *([named] if identifier else ()), *(["title"] if title else ()), *_repeating(record, text)}
    try:
        return source.described(document, {field: value for field, value in record.items() if field not in used})
    except UnreadableDocument as error:
        raise _NoRecord(f"{place} has fields that are nested more than {DEEPEST_FIELDS} deep.") from error


def _repeating(record: Mapping[str, Any], text: str) -> Iterator[str]:
    """Yield the fields whose words are those of the text: the one it is from, and any that only repeats it."""
    words = text.split()
    for field in TEXT_FIELDS:
        if (body := _read_field(field, record.get(field))) and body[0].split() == words:
            yield field


def _body(record: Mapping[str, Any], place: str) -> _Body:
    for field in TEXT_FIELDS:
        value = record.get(field)
        if value is None or value in ("", []):
            continue
        body = _read_field(field, value)
        if body is None:
            raise _NoRecord(f"{place}: '{field}' is {_kind(value)}; {_EXPECTED}.")
        if body[0] and not body[0].isspace():
            return body
    fields = ", ".join(map(str, record)) or "none"
    raise _NoRecord(f"{place} has no text (its fields: {cleaned(fields)[:_MAX_FIELDS_CHARACTERS_SHOWN]}); {_EXPECTED}.")


def _read_field(field: str, value: Any) -> _Body | None:
    """Return text and sections of a field, None when it is not of the type that its name promises."""
    if isinstance(value, str):
        return cleaned(value), ()
    if not isinstance(value, list):
        return None
    if field == "sentences" and all(isinstance(item, str) for item in value):
        return cleaned(" ".join(sentence.strip() for sentence in value)), ()
    if field != "chunks" or not all(isinstance(item, Mapping) and isinstance(item.get("text"), str) for item in value):
        return None
    texts = [cleaned(part["text"]) for part in value]
    sections = []
    start = 0
    for part, text in zip(value, texts, strict=True):
        sections.append(Section(start, start + len(text), label(part.get("label"))))
        start += len(text) + 1
    return "\n".join(texts), tuple(sections)


def _cites(value: Any, field: str, place: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        value = value.split(";")
    if not isinstance(value, list) or not all(isinstance(item, str | int | Mapping) for item in value):
        raise _NoRecord(f"{place}: '{field}' is {_kind(value)}; expected a list of names, or names with ';' between.")
    names = []
    for item in value:
        fields = [item.get(field) for field in _WORK_FIELDS] if isinstance(item, Mapping) else [item]
        names.append(next((name for field in fields if (name := label(field))), ""))
    return [name for name in names if name]


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def read(source: Source) -> Iterator[Document]:
    """Yield the rows, or the table; the first row names the columns.

    A row without text is a defect, and so is one whose quotes do not pair up, which ends the reading.

    Raises:
        UnreadableDocument: no rows.
    """
    csv.field_size_limit(LARGEST)  # else the csv module refuses a cell of more than 131,072 characters
    text = source.text()
    rows = _rows(source, text)
    _, header = next(rows, (0, []))
    columns = [name.strip() for name in header]
    if _TEXT_COLUMNS & {name.lower() for name in columns}:
        documents = _row_documents(source, columns, rows)
    else:
        documents = _table_document(source, columns, rows)
    empty = True
    for document in documents:
        empty = False
        yield document
    if empty and not source.defects:
        raise source.unreadable("has no rows below its header. Leave it out.")


def _row_documents(source: Source, columns: Sequence[str], rows: Iterator[_Row]) -> Iterator[Document]:
    names = [name.lower() if name.lower() in _KNOWN_FIELDS else name for name in columns]
    for line, row in rows:
        record: dict[str, str] = {}
        for number, cell in enumerate(row, start=1):
            name = (names[number - 1] if number <= len(names) else "") or f"column {number}"
            record[f"{name} (column {number})" if name in record else name] = cell
        try:
            document = record_document(record, source, place=f"line {line}", anchor=f"L{line}")
        except _NoRecord as error:
            source.defect(line, str(error))
            continue
        yield replace(document, metadata={field: typed(cell) for field, cell in document.metadata.items()})


def _table_document(source: Source, columns: Sequence[str], rows: Iterator[_Row]) -> Iterator[Document]:
    """Yield the table as one document, whose rows stay whole."""
    lines = [line for _, row in rows if (line := row_line(columns, row))]
    if lines:
        yield source.document("\n".join(lines), sections=row_sections(lines))


def row_line(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Return a row as a line that repeats the header; blank cells are left out, those beyond the header are numbered.

    >>> row_line(["crop", "t/ha"], ["Soy", "2", "x"])
    'crop: Soy; t/ha: 2; column 3: x'
    """
    names = [*columns, *[""] * (len(cells) - len(columns))]
    pairs = zip([name or f"column {number}" for number, name in enumerate(names, start=1)], cells, strict=False)
    return "; ".join(f"{name}: {' '.join(cell.split())}" for name, cell in pairs if cell.strip())


def row_sections(lines: Sequence[str], *, start: int = 0, heading: str = "") -> tuple[Section, ...]:
    """Return a section for each of the lines of a table, which are joined by line ends and begin at ``start``."""
    ends = list(accumulate((len(line) + 1 for line in lines), initial=start))
    return tuple(Section(first, last, heading, whole=True) for first, last in pairwise(ends))


def _rows(source: Source, text: str) -> Iterator[_Row]:
    """Yield the line on which a row begins and its cells; blank rows are left out.

    Quotes in tab-separated files are often meant as they stand, so there a file whose quotes do not pair up is read so.
    """
    header = text.lstrip("\n")[:_MAX_HEADER_CHARACTERS]
    columns = {mark: len(next(csv.reader(io.StringIO(header), delimiter=mark), [])) for mark in _DELIMITERS}
    # The delimiter that makes the most columns of the header; the comma, which is first, where none does.
    delimiter = "\t" if source.suffix == ".tsv" else max(columns, key=columns.__getitem__)
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
        found = f"the row that begins on line {line} is not CSV ({error})"
        source.defect(line, f"{found}, and nothing from there on was read. Correct its quotes.")


def _pairs_up(text: str) -> bool:
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter="\t", strict=True):
            pass
    except csv.Error:
        return False
    return True
