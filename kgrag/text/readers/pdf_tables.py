"""Tables in PDF pages, found by their rules: a line per row that repeats the header.

pdfplumber finds them, where it is installed. The rest of the page keeps the order that PDFium gives it. A page of
which a letter would be lost stays as it is.
"""

from __future__ import annotations

import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgrag.text.readers.pdf_text import PdfTexts
from kgrag.text.readers.records import row_line
from kgrag.text.readers.sources import cleaned, collapsed

if TYPE_CHECKING:
    from pypdf import PageObject

__all__ = ["Part", "TableFinder"]

_LOG = logging.getLogger(__name__)
_RULE = re.compile(rb"\s(?:re|l)\s")
_MIN_RULES = 4
_MAX_RULE_POINTS = 3
_MAX_RUNNING_CHARACTERS = 150  # of footer and header between two parts of a table
_Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a page: text, or the lines of a table's rows."""

    lines: tuple[str, ...]
    is_table: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    """A table on a page: where it is, in points from the lower left, where its columns end, and its rows."""

    left: float
    bottom: float
    right: float
    top: float
    edges: tuple[int, ...]
    rows: tuple[_Row, ...]

    def has(self, x: float, y: float) -> bool:
        return self.left - 1 <= x <= self.right + 1 and self.bottom - 1 <= y <= self.top + 1


@dataclass
class TableFinder:
    """Finds the tables of a file, page by page.

    Args:
        data: the file.
        name: what it is called in the log.

    Attributes:
        unread: how many pages with rules were left as they are, because pdfplumber is not installed.
    """

    data: bytes
    name: str
    unread: int = 0
    _header: _Row = ()
    _edges: tuple[int, ...] = ()
    _behind: int = 0  # characters behind the last table
    _failed: bool = field(default=False, repr=False)

    @cached_property
    def _file(self) -> Any:
        import pdfplumber

        return pdfplumber.open(io.BytesIO(self.data))

    def parts(self, page: PageObject, texts: PdfTexts, number: int) -> list[Part]:
        """Return the parts of a page in their order; a page without tables is one part.

        Args:
            page: as pypdf has it.
            texts: of the file.
            number: of the page, from 0.
        """
        text = texts.text(number).strip()
        tables = self._tables(page, number) if text else []
        found = _arranged(texts, number, tables) if tables else None
        if found is None or _lost(text, found, tables):
            self._behind += len(text)
            return [Part((text,))] if text else []
        return self._named(found)

    def _tables(self, page: PageObject, number: int) -> list[_Table]:
        try:
            content = page.get_contents()
            ruled = content is not None and len(_RULE.findall(content.get_data())) >= _MIN_RULES
            if not ruled or page.rotation or self._failed:
                return []
            return list(_found(self._file.pages[number]))
        except ImportError:
            self.unread += 1
        except Exception as error:  # pdfminer raises nearly anything on damaged files, whose text is read all the same
            self._failed = True
            _LOG.warning("%s: tables from page %d on are read as text (%s)", self.name, number + 1, error)
        return []

    def _named(self, found: Sequence[str | _Table]) -> list[Part]:
        """Return parts with the rows of tables under their headers; a table goes on behind the end of a page."""
        parts = []
        for each in found:
            if isinstance(each, str):
                self._behind += len(each)
                parts.append(Part((each,)))
                continue
            rows = list(each.rows)
            goes_on = each.edges == self._edges and self._behind <= _MAX_RUNNING_CHARACTERS
            if not goes_on or rows[0] == self._header:
                self._header = rows.pop(0)
            self._edges, self._behind = each.edges, 0
            lines = [line for row in rows if (line := row_line(self._header, row))]
            parts.append(Part(tuple(lines or [" | ".join(filter(None, self._header))]), is_table=True))
        return parts


def _found(page: Any) -> Iterator[_Table]:
    """Yield the tables of a page of pdfplumber, with two rows and two columns at least that are not blank."""
    for table in page.filter(_is_no_shading).find_tables():
        rows = [[collapsed(cleaned(cell or "")) for cell in row] for row in table.extract()]
        used = [number for number in range(max(map(len, rows), default=0)) if any(row[number] for row in rows)]
        kept = tuple(tuple(row[number] for number in used) for row in rows if any(row))
        if len(kept) > 1 and len(used) > 1:
            left, top, right, bottom = table.bbox
            edges = tuple(sorted({round(cell[2]) for cell in table.cells}))
            yield _Table(left, page.height - bottom, right, page.height - top, edges, kept)


def _is_no_shading(thing: dict[str, Any]) -> bool:
    """Whether something on a page is no filled area: those lie behind single lines of text and are no borders."""
    filled = thing["object_type"] == "rect" and thing["fill"] and not thing["stroke"]
    return not (filled and min(thing["width"], thing["height"]) > _MAX_RULE_POINTS)


def _arranged(texts: PdfTexts, number: int, tables: Sequence[_Table]) -> list[str | _Table]:
    """Return the text of a page without that of its tables, and each table where its first text was."""
    found: list[str | _Table] = []
    pieces: list[str] = []
    for table, text in texts.placed(number, lambda x, y: next((each for each in tables if each.has(x, y)), None)):
        if table is None:
            pieces.append(text)
        elif table not in found:
            found.extend(["".join(pieces), table])
            pieces.clear()
    stripped = (each.strip() if isinstance(each, str) else each for each in [*found, "".join(pieces)])
    return [each for each in stripped if each]


def _lost(text: str, found: Sequence[str | _Table], tables: Sequence[_Table]) -> bool:
    """Whether a table, or a letter or digit of the page, is not in what was found."""
    if sum(isinstance(each, _Table) for each in found) != len(tables):
        return True
    kept = "".join(each if isinstance(each, str) else "".join(map("".join, each.rows)) for each in found)
    return bool(Counter(filter(str.isalnum, text)) - Counter(filter(str.isalnum, kept)))
