"""Tables of the evidence: rows under a header (``Pump | Mass``), and lines of pairs (``Pump: Falcon; Mass: 12 kg``).

Readers of documents write both: tables of a page keep their header above, rows of a CSV file or workbook repeat it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_words import terms
from kgrag.vocab import words_of

__all__ = [
    "NAME_COLUMNS",
    "Cell",
    "Row",
    "Table",
    "is_row",
    "is_wide_row",
    "joined_tables",
    "lacks_header",
    "read_tables",
    "tables_in_order",
]

_CELLS = late_regex(r"[^\S\n]*\|[^\S\n]*")
_RULE = late_regex(r"[\s|:+=-]+")
"""The line below the header of a table of Markdown."""
_PAIR = late_regex(r"(?P<label>[\p{L}\p{N}_#%№][^:;|\n]{0,80}): (?P<text>[^;\n]+)")
_PAIRS = late_regex(r"[\p{L}\p{N}_#%№][^:;|\n]{0,80}: [^;\n]+(?:; [\p{L}\p{N}_#%№][^:;|\n]{0,80}: [^;\n]+)+")
_WIDE = late_regex(r"[^:;\n]+: [^;\n]+(?:; [^:;\n]+: [^;\n]+){2,}")
_MIN_WIDE = 3
NAME_COLUMNS = 2
"""Columns from the first on that name the rows."""
_IN_BRACKETS = late_regex(r"\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*$|\s+in\s+(?P<unit>\S+)$")
_NOTHING = frozenset({"", "n/a", "na", "none", "null", "nil", "unknown", "-", "–", "—", "?", "tbd", "tbc", "…", "..."})
_BLANK_LINE = late_regex(r"\n\s*\n")
_MAX_HEADER_CHARACTERS = 400
_MAX_CAPTION_CHARACTERS = 80


@lru_cache(maxsize=16_384)
def _terms_of(text: str, language: str) -> frozenset[str]:
    """Return the terms of a cell; many cells of a table have the same text."""
    return frozenset(terms(text, language))


@dataclass(frozen=True)
class Cell:
    """A cell: the label of its column as it is written, and its text, "" where it states nothing.

    ``language`` is the one in which its words are compared.
    """

    label: str
    text: str
    language: str = ENGLISH

    @cached_property
    def unit(self) -> str:
        """What stands in brackets behind the label, or behind "in": "kg" of "weight (kg)"; "" for none."""
        match = _IN_BRACKETS.search(self.label)
        return match["unit"].strip() if match else ""

    @cached_property
    def label_terms(self) -> frozenset[str]:
        """Terms of the label without its unit."""
        return _terms_of(words_of(_IN_BRACKETS.sub("", self.label)), self.language)

    @cached_property
    def terms(self) -> frozenset[str]:
        """Terms of the text."""
        return _terms_of(self.text, self.language)


@dataclass(frozen=True)
class Row:
    """A row: its line as the evidence has it, and its cells, those that state nothing included."""

    line: str
    cells: tuple[Cell, ...]

    @cached_property
    def terms(self) -> frozenset[str]:
        """Terms of all cells."""
        return frozenset[str]().union(*(cell.terms for cell in self.cells))


@dataclass(frozen=True, eq=False)
class AllRows:
    """The rows of a table in all its pieces, by which it is told what only one of them has."""

    rows: tuple[Row, ...]

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many rows have each term."""
        return Counter(one for row in self.rows for one in row.terms)

    @cached_property
    def counts_in(self) -> tuple[Mapping[str, int], ...]:
        """How many rows have each term in their first, and in their second cell."""
        return tuple(
            Counter(one for row in self.rows if at < len(row.cells) for one in row.cells[at].terms)
            for at in range(NAME_COLUMNS)
        )


@dataclass(frozen=True)
class Table:
    """A table, or the part of one that a piece of evidence has.

    Args:
        number: of the piece.
        header: its line, as it is written in the piece; "" where each row repeats it, or it is in another piece.
        labels: of its columns.
        rows: those in the piece.
        begins: whether it did not begin before the piece.
        ends: whether it does not go on behind the piece.
        around: title, headings and a short line above it, which say what the table is about.
        all_rows: those of all its pieces, where they are there.
    """

    number: int
    header: str
    labels: tuple[str, ...]
    rows: tuple[Row, ...]
    begins: bool
    ends: bool
    around: str
    language: str = ENGLISH
    all_rows: AllRows | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all its rows are there, here and in other pieces."""
        return self.all_rows is not None or (self.begins and self.ends)

    @cached_property
    def known_rows(self) -> AllRows:
        """All its rows, or those of the piece where others are not there."""
        return self.all_rows or AllRows(self.rows)

    @cached_property
    def label_terms(self) -> frozenset[str]:
        """Terms of the labels of all columns."""
        return frozenset(one for label in self.labels for one in _terms_of(words_of(label), self.language))

    @cached_property
    def terms_around(self) -> frozenset[str]:
        """Terms of what is around the table."""
        return frozenset(terms(self.around, self.language))


def is_wide_row(text: str) -> bool:
    """Return whether a text is a row of three cells or more, or as many pairs of label and cell."""
    return _WIDE.match(text) is not None or any(
        is_row(one) and len(_split(one)) >= _MIN_WIDE for one in text.split("\n")
    )


def read_tables(text: EvidenceText, language: str = ENGLISH) -> Iterator[Table]:
    """Yield the tables of a piece of evidence in reading order, whose words are compared in a language."""
    body = text.source or text.text
    lines = body.split("\n")
    title = f"{text.title}\n{text.heading}"
    at = 0
    while at < len(lines):
        width = _rows_from(lines, at)
        if not width:
            at += 1
            continue
        first, last = at == 0, at + width == len(lines)
        cut = _is_cut(lines, at, at + width)
        begins = not (cut[0] or (first and _ends_with_row(text.before)))
        ends = not (cut[1] or (last and _begins_with_row(text.following)))
        above = next((line for line in reversed(lines[:at]) if line.strip()), "")
        around = f"{title}\n{above if len(above) <= _MAX_CAPTION_CHARACTERS else ''}"
        block = lines[at : at + width]
        frame = Table(text.number, "", (), (), begins, ends, around, language)
        yield from _of_pairs(block, frame) if _PAIRS.fullmatch(block[0].strip()) else _of_cells(text, block, frame)
        at += width


def lacks_header(text: EvidenceText) -> bool:
    """Return whether a piece begins with rows of a table whose header is further before it."""
    first = (text.source or text.text).split("\n")[0]
    is_cells = is_row(first) and _PAIRS.fullmatch(first.strip()) is None
    return is_cells and _ends_with_row(text.before) and not _header_in(text.before)


def joined_tables(texts: Sequence[EvidenceText], language: str = ENGLISH) -> list[list[Table]]:
    """Return the tables of pieces of evidence that are whole, each as its parts in reading order.

    A table that is cut is whole where each piece of it is there: the text behind one is the next.
    """
    read = [(text, list(read_tables(text, language))) for text in texts]
    behind = {_begins(text.source or text.text): (text, tables) for text, tables in read if tables}
    whole = []
    for text, tables in read:
        for table in tables:
            parts, following = [table], text.following
            while not parts[-1].ends and (found := behind.get(_begins(following))):
                if any(found[0].number == part.number for part in parts):
                    break
                if found[1][0].begins:
                    parts[-1] = replace(parts[-1], ends=True)
                else:
                    parts.append(found[1][0])
                    following = found[0].following
            if table.begins and parts[-1].ends:
                whole.append(_with_others(parts))
    return whole


def tables_in_order(texts: Sequence[EvidenceText], language: str = ENGLISH) -> list[list[Table]]:
    """Return the tables of pieces that follow each other in a document, each as its parts; a header counts for all."""
    tables: list[list[Table]] = []
    for text in texts:
        last = tables[-1][-1] if tables else None
        if last is not None and not last.ends and _ends_with_row(text.before):
            header = " | ".join(last.labels)
            gap = text.before[len(text.before.rstrip()) :]
            text = replace(text, before=f"\n{header}\n{last.rows[-1].line}{gap}")  # noqa: PLW2901 - the same piece
        for table in read_tables(text, language):
            if table.begins or not tables:
                tables.append([table])
            else:
                tables[-1].append(table)
    return [_with_others(parts) for parts in tables if parts[0].begins and parts[-1].ends]


def _with_others(parts: list[Table]) -> list[Table]:
    """Return the parts of a table, each with the rows of all."""
    if len(parts) == 1:
        return parts
    rows = AllRows(tuple(row for part in parts for row in part.rows))
    return [replace(part, all_rows=rows) for part in parts]


def _begins(text: str) -> str:
    return text.strip()[:_MAX_HEADER_CHARACTERS]


def _rows_from(lines: list[str], at: int) -> int:
    """Return how many lines from one on are rows of one kind; 0 where it is none."""
    of_pairs = _PAIRS.fullmatch(lines[at].strip()) is not None
    if not of_pairs and not is_row(lines[at]):
        return 0
    labels = {found["label"] for found in _PAIR.finditer(lines[at])}
    width = 1
    while at + width < len(lines):
        line = lines[at + width].strip()
        only = _PAIR.fullmatch(line)  # a row whose other cells are blank
        is_pairs = _PAIRS.fullmatch(line) is not None or (only is not None and only["label"] in labels)
        if not (is_pairs if of_pairs else is_row(lines[at + width])):
            break
        width += 1
    return width


def _is_cut(lines: list[str], first: int, last: int) -> tuple[bool, bool]:
    """Return whether lines of pairs go on before and behind some: one beside them that cannot be read may be a row."""
    if _PAIRS.fullmatch(lines[first].strip()) is None:
        return False, False
    above, below = lines[first - 1] if first else "", lines[last] if last < len(lines) else ""
    return ": " in above and "; " in above, bool(below.strip())


def is_row(line: str) -> bool:
    """Return whether a line has cells between strokes."""
    return " |" in line or line.startswith("|")


def _ends_with_row(before: str) -> bool:
    """Return whether a text ends with a row of a table that goes on behind it: no blank line is between."""
    if _BLANK_LINE.search(before[len(before.rstrip()) :]):
        return False
    last = before.rstrip().rpartition("\n")[2]
    return is_row(last) or _PAIRS.fullmatch(last.strip()) is not None


def _begins_with_row(following: str) -> bool:
    if _BLANK_LINE.search(following[: len(following) - len(following.lstrip())]):
        return False
    first = following.lstrip().partition("\n")[0]
    return is_row(first) or _PAIRS.fullmatch(first.strip()) is not None


def _of_pairs(lines: list[str], frame: Table) -> Iterator[Table]:
    """Yield the table of lines that repeat the header; a label that a line leaves out is an empty cell."""
    read = [
        (line.strip(), {found["label"].strip(): found["text"].strip() for found in _PAIR.finditer(line)})
        for line in lines
    ]
    labels = tuple(dict.fromkeys(label for _, pairs in read for label in pairs))
    first = labels[0].split(" ")[0]
    if sum(label.startswith(f"{first} ") for label in labels) * 2 > len(labels):
        return  # a mapped record, whose keys are paths: ``evidence_facts``
    rows = tuple(
        Row(line, tuple(Cell(label, _stated(pairs.get(label, "")), frame.language) for label in labels))
        for line, pairs in read
    )
    yield replace(frame, labels=labels, rows=rows)


def _of_cells(text: EvidenceText, lines: list[str], frame: Table) -> Iterator[Table]:
    """Yield the table of rows between strokes; its header is the first line, or in the text before the piece."""
    body = text.source or text.text
    opens = body.lstrip("\n").startswith(lines[0])
    goes_on = opens and _ends_with_row(text.before)
    header = _header_in(text.before) if goes_on else ""
    if goes_on and not header:  # the first row of the piece names no columns
        return
    own = "" if header else lines[0].strip()
    labels = tuple(_split(header or lines[0]))
    rows, is_whole = [], True
    for line in lines if header else lines[1:]:
        cells = _split(line)
        if _RULE.fullmatch(line) or len(cells) > len(labels):
            is_whole = is_whole and len(cells) <= len(labels)
            continue
        cells += [""] * (len(labels) - len(cells))
        pairs = zip(labels, cells, strict=True)
        rows.append(Row(line.strip(), tuple(Cell(label, _stated(cell), frame.language) for label, cell in pairs)))
    if rows and len(labels) > 1 and len(own) <= _MAX_HEADER_CHARACTERS:
        yield replace(frame, header=own, labels=labels, rows=tuple(rows), ends=frame.ends and is_whole)


def _header_in(before: str) -> str:
    """Return the header of the table that a text ends with; "" where it may begin before the text."""
    lines = before.rstrip().split("\n")
    at = len(lines)
    while at and is_row(lines[at - 1]):
        at -= 1
    return lines[at] if at else ""


def _split(line: str) -> list[str]:
    stripped = line.strip()
    if stripped.startswith("|"):
        stripped = stripped[1:].removesuffix("|")
    return [cell.strip() for cell in _CELLS.split(stripped)]


def _stated(cell: str) -> str:
    plain = regex.sub(r"[*_`]+", "", cell).strip()
    return "" if plain.casefold() in _NOTHING else plain
