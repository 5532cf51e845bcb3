"""PDF: the text of every page, each page a section, and its reference list. A scan without text is refused.

PDFium reads the text (``pdf_text``), pypdf structure and properties. A word that a line's end cuts in two is whole.
Tables with rules become a line per row that repeats the header, where pdfplumber is installed (``pdf_tables``).

Its properties are metadata: ``author``, ``subject``, ``keywords`` (a list), ``created``, ``modified``, ``language``,
and any other under its own name (``producer``).
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kgrag.model import Document, Section
from kgrag.text import references
from kgrag.text.readers.cut_words import whole_words
from kgrag.text.readers.pdf_tables import Part, TableFinder
from kgrag.text.readers.pdf_text import PdfTexts
from kgrag.text.readers.records import row_sections
from kgrag.text.readers.sources import Source, cleaned, collapsed, listed

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["read"]

_LOG = logging.getLogger(__name__)
logging.getLogger("pypdf").addHandler(logging.NullHandler())  # what it says of a damaged file, our own message says
_PAGE_BREAK = _PART_BREAK = "\n\n"
_PLACEHOLDER_TITLES = frozenset(("untitled", "(anonymous)", "unknown"))


def read(source: Source) -> Iterator[Document]:
    """Yield the file: pages joined by an empty line; its title is the one in its metadata, or the file's name.

    Raises:
        UnreadableDocument: damaged, encrypted, or without text on any page.
    """
    data = source.content()
    reader = _opened(source, data)
    tables = TableFinder(data, source.name)
    pages = _whole(list(_pages(source, data, reader, tables)))
    if not any(pages):
        raise source.unreadable(
            f"has {len(pages)} pages and text on none (a scan?). Run text recognition (OCR) on it first."
        )
    if empty := [number for number, page in enumerate(pages, start=1) if not page]:
        _LOG.warning("%s: no text on %d of %d pages, the first is %d.", source.name, len(empty), len(pages), empty[0])
    if tables.unread:
        _LOG.info(
            "%s: %d pages have rules, perhaps of tables; pip install 'kgrag[tables]' reads their rows with the header",
            source.name,
            tables.unread,
        )
    text = _PAGE_BREAK.join(_PART_BREAK.join("\n".join(part.lines) for part in page) for page in pages if page)
    document = source.document(text, title=_title(reader), sections=_sections(pages), cites=references.entries(text))
    yield source.described(document, _properties(reader))


def _opened(source: Source, data: bytes) -> PdfReader:
    from pypdf import PasswordType, PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
    except Exception as error:
        raise _damaged(source, "it", error) from error
    if locked:
        raise source.unreadable("is encrypted. Save it without a password, then read that.")
    return reader


def _pages(source: Source, data: bytes, reader: PdfReader, tables: TableFinder) -> Iterator[list[Part]]:
    """Yield the parts of every page, none of one without text."""
    done = 0
    try:
        with PdfTexts(data) as texts:
            for page in reader.pages:
                yield tables.parts(page, texts, done)
                done += 1
    except Exception as error:
        raise _damaged(source, f"page {done + 1}", error) from error


def _whole(pages: list[list[Part]]) -> list[list[Part]]:
    """Return the pages with the words whole that a line's end cut in two."""
    lines = iter(whole_words(line for page in pages for part in page for line in part.lines))
    return [[replace(part, lines=tuple(next(lines) for _ in part.lines)) for part in page] for page in pages]


def _damaged(source: Source, part: str, error: Exception) -> Exception:
    """Return our error for any of PDFium's or pypdf's, which raises nearly any exception on damaged files."""
    from pypdf.errors import DependencyError

    if isinstance(error, DependencyError):
        return source.unreadable(f"is encrypted in a way that needs another package ({error}). Save it unencrypted.")
    reason = collapsed(str(error)) or type(error).__name__
    return source.unreadable(f"is no PDF, or damaged: {part} cannot be read ({reason}). Get it again, or repair it.")


def _sections(pages: list[list[Part]]) -> tuple[Section, ...]:
    sections: list[Section] = []
    start = 0
    for number, page in enumerate(pages, start=1):
        for part in page:
            rows = row_sections(part.lines, start=start)
            end = rows[-1].end - 1
            whole = rows if part.is_table else (Section(start, end),)
            sections += (replace(section, page=number) for section in whole)
            start = end + len(_PAGE_BREAK)
    return tuple(sections)


def _title(reader: PdfReader) -> str:
    try:
        title = collapsed(cleaned((reader.metadata and reader.metadata.title) or ""))
    except Exception:  # damaged metadata is no reason to refuse the text
        return ""
    title = title.removeprefix("Microsoft Word - ")
    return "" if title.casefold() in _PLACEHOLDER_TITLES else title


def _properties(reader: PdfReader) -> dict[str, Any]:
    """Return the document information besides the title; damaged entries are left out."""
    fields: dict[str, Any] = {}
    with suppress(Exception):  # damaged metadata are no reason to refuse the text
        fields["language"] = str(reader.root_object.get("/Lang", ""))
    with suppress(Exception):
        found: Mapping[str, Any] = reader.metadata or {}
        for key in sorted(found):
            name = key.removeprefix("/")
            value = collapsed(cleaned(str(found[key])))
            if name == "Keywords":
                fields["keywords"] = listed(value)
            elif name not in ("Title", "CreationDate", "ModDate"):
                fields[name.lower()] = value
    with suppress(Exception):
        fields["created"] = reader.metadata and reader.metadata.creation_date
    with suppress(Exception):
        fields["modified"] = reader.metadata and reader.metadata.modification_date
    return fields
