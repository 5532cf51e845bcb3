"""Tables of the evidence: rows under a header (``Pump | Mass``), and lines of pairs (``Pump: Falcon; Mass: 12 kg``).

Readers of documents write both: tables of a page keep their header above, rows of a CSV file or workbook repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_words import name_terms, terms

__all__ = ["Cell", "Row", "Table", "is_wide_row", "joined_tables", "read_tables"]

_CELLS = late_regex(r"[^\S\n]*\|[^\S\n]*")
_RULE = late_regex(r"[\s|:+=-]+")
"""The line below the header of a table of Markdown."""
_PAIR = late_regex(r"(?P<label>[\p{L}\p{N}_#%№][^:;|\n]{0,80}): (?P<text>[^;\n]+)")
_PAIRS = late_regex(r"[\p{L}\p{N}_#%№][^:;|\n]{0,80}: [^;\n]+(?:; [\p{L}\p{N}_#%№][^:;|\n]{0,80}: [^;\n]+)+")
_WIDE = late_regex(r"[^:;\n]+: [^;\n]+(?:; [^:;\n]+: [^;\n]+){2,}")
_MIN_WIDE = 3
_IN_BRACKETS = late_regex(r"\s*[(\[](?P<unit>[^()\[\]]+)[)\]]\s*$|\s+in\s+(?P<unit>\S+)$")
_NOTHING = frozenset({"", "n/a", "na", "none", "null", "nil", "unknown", "-", "–", "—", "?", "tbd", "tbc", "…", "..."})
_MAX_HEADER_CHARACTERS = 400
_MAX_CAPTION_CHARACTERS = 80


@dataclass(frozen=True)
class Cell:
    """A cell: the label of its column as it is written, and its text, "" where it states nothing."""

    label: str
    text: str

    @cached_property
    def unit(self) -> str:
        """What stands in brackets behind the label, or behind "in": "kg" of "weight (kg)"; "" for none."""
        match = _IN_BRACKETS.search(self.label)
        return match["unit"].strip() if match else ""

    @cached_property
    def label_terms(self) -> frozenset[str]:
        """Terms of the label without its unit."""
        return frozenset(name_terms(_IN_BRACKETS.sub("", self.label)))

    @cached_property
    def terms(self) -> frozenset[str]:
        """Terms of the text."""
        return frozenset(terms(self.text))


@dataclass(frozen=True)
class Row:
    """A row: its line as the evidence has it, and its cells, those that state nothing included."""

    line: str
    cells: tuple[Cell, ...]

    @cached_property
    def terms(self) -> frozenset[str]:
        """Terms of all cells."""
        return frozenset[str]().union(*(cell.terms for cell in self.cells))


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
    """

    number: int
    header: str
    labels: tuple[str, ...]
    rows: tuple[Row, ...]
    begins: bool
    ends: bool
    around: str

    @cached_property
    def terms_around(self) -> frozenset[str]:
        """Terms of what is around the table."""
        return frozenset(terms(self.around))


def is_wide_row(text: str) -> bool:
    """Return whether a text is a row of three cells or more, or as many pairs of label and cell."""
    return _WIDE.match(text) is not None or any(
        _is_row(one) and len(_split(one)) >= _MIN_WIDE for one in text.split("\n")
    )


def read_tables(text: EvidenceText) -> Iterator[Table]:
    """Yield the tables of a piece of evidence in reading order."""
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
        begins = not (first and _ends_with_row(text.before))
        ends = not (last and _begins_with_row(text.following))
        above = next((line for line in reversed(lines[:at]) if line.strip()), "")
        around = f"{title}\n{above if len(above) <= _MAX_CAPTION_CHARACTERS else ''}"
        block = lines[at : at + width]
        yield from (_of_pairs if _PAIRS.fullmatch(block[0].strip()) else _of_cells)(text, block, around, begins, ends)
        at += width


def joined_tables(texts: Sequence[EvidenceText]) -> list[list[Table]]:
    """Return the tables of pieces of evidence that are whole, each as its parts in reading order.

    A table that is cut is whole where each piece of it is there: the text behind one is the next.
    """
    read = [(text, list(read_tables(text))) for text in texts]
    behind = {_begins(text.source or text.text): tables for text, tables in read if tables}
    whole = []
    for text, tables in read:
        for table in tables:
            parts, following = [table], text.following
            while not parts[-1].ends and (tables_behind := behind.get(_begins(following))):
                if len(parts) == len(texts):
                    break
                parts.append(tables_behind[0])
                following = next(one.following for one, found in read if found is tables_behind)
            if table.begins and parts[-1].ends:
                whole.append(parts)
    return whole


def _begins(text: str) -> str:
    return text.strip()[:_MAX_HEADER_CHARACTERS]


def _rows_from(lines: list[str], at: int) -> int:
    """Return how many lines from one on are rows of one kind; 0 where it is none."""
    of_pairs = _PAIRS.fullmatch(lines[at].strip()) is not None
    if not of_pairs and not _is_row(lines[at]):
        return 0
    width = 1
    while at + width < len(lines):
        line = lines[at + width]
        if not (_PAIRS.fullmatch(line.strip()) is not None if of_pairs else _is_row(line)):
            break
        width += 1
    return width


def _is_row(line: str) -> bool:
    return " |" in line or line.startswith("|")


def _ends_with_row(before: str) -> bool:
    last = before.rstrip().rpartition("\n")[2]
    return _is_row(last) or _PAIRS.fullmatch(last.strip()) is not None


def _begins_with_row(following: str) -> bool:
    first = following.lstrip().partition("\n")[0]
    return _is_row(first) or _PAIRS.fullmatch(first.strip()) is not None


def _of_pairs(text: EvidenceText, lines: list[str], around: str, begins: bool, ends: bool) -> Iterator[Table]:
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
        Row(line, tuple(Cell(label, _stated(pairs.get(label, ""))) for label in labels)) for line, pairs in read
    )
    yield Table(text.number, "", labels, rows, begins, ends, around)


def _of_cells(text: EvidenceText, lines: list[str], around: str, begins: bool, ends: bool) -> Iterator[Table]:
    """Yield the table of rows between strokes; its header is the first line, or in the text before the piece."""
    body = text.source or text.text
    opens = body.lstrip("\n").startswith(lines[0])
    goes_on = opens and _ends_with_row(text.before)
    header = _header_in(text.before) if goes_on else ""
    if goes_on and not header:  # the first row of the piece names no columns
        return
    own = "" if header else lines[0].strip()
    labels = tuple(_split(header or lines[0]))
    rows = []
    for line in lines if header else lines[1:]:
        cells = _split(line)
        if _RULE.fullmatch(line) or len(cells) > len(labels):
            continue
        cells += [""] * (len(labels) - len(cells))
        pairs = zip(labels, cells, strict=True)
        rows.append(Row(line.strip(), tuple(Cell(label, _stated(cell)) for label, cell in pairs)))
    if rows and len(labels) > 1 and len(own) <= _MAX_HEADER_CHARACTERS:
        yield Table(text.number, own, labels, tuple(rows), begins, ends, around)


def _header_in(before: str) -> str:
    """Return the header of the table that a text ends with; "" where it may begin before the text."""
    lines = before.rstrip().split("\n")
    at = len(lines)
    while at and _is_row(lines[at - 1]):
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
