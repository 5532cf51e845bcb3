"""PDF: the text of every page, each page a section, and its reference list. A scan without text is refused.

Its properties are metadata: ``author``, ``subject``, ``keywords`` (a list), ``created``, ``modified``, ``language``,
and any other under its own name (``producer``).
"""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kgrag.model import Document, Section
from kgrag.text import references
from kgrag.text.readers.sources import Source, cleaned, collapsed, listed

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["read"]

_LOG = logging.getLogger(__name__)
_PAGE_BREAK = "\n\n"
_PLACEHOLDER_TITLES = frozenset(("untitled", "(anonymous)", "unknown"))


def read(source: Source) -> Iterator[Document]:
    """Yield the file: pages joined by an empty line; its title is the one in its metadata, or the file's name.

    Raises:
        UnreadableDocument: damaged, encrypted, or without text on any page.
    """
    reader = _opened(source)
    pages = list(_pages(source, reader))
    if not any(pages):
        raise source.unreadable(
            f"has {len(pages)} pages and text on none (a scan?). Run text recognition (OCR) on it first."
        )
    if empty := [number for number, page in enumerate(pages, start=1) if not page]:
        _LOG.warning("%s: no text on %d of %d pages, the first is %d.", source.name, len(empty), len(pages), empty[0])
    text = _PAGE_BREAK.join(page for page in pages if page)
    document = source.document(text, title=_title(reader), sections=_sections(pages), cites=references.entries(text))
    yield source.described(document, _properties(reader))


def _opened(source: Source) -> PdfReader:
    from pypdf import PasswordType, PdfReader

    data = source.content()
    try:
        reader = PdfReader(io.BytesIO(data))
        locked = reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED
    except Exception as error:
        raise _damaged(source, "it", error) from error
    if locked:
        raise source.unreadable("is encrypted. Save it without a password, then read that.")
    return reader


def _pages(source: Source, reader: PdfReader) -> Iterator[str]:
    """Yield the text of every page, "" for one without."""
    done = 0
    try:
        for page in reader.pages:
            yield cleaned(page.extract_text()).strip()
            done += 1
    except Exception as error:
        raise _damaged(source, f"page {done + 1}", error) from error


def _damaged(source: Source, part: str, error: Exception) -> Exception:
    """Return our error for any of pypdf's, which raises nearly any exception on damaged files."""
    from pypdf.errors import DependencyError

    if isinstance(error, DependencyError):
        return source.unreadable(f"is encrypted in a way that needs another package ({error}). Save it unencrypted.")
    reason = collapsed(str(error)) or type(error).__name__
    return source.unreadable(f"is no PDF, or damaged: {part} cannot be read ({reason}). Get it again, or repair it.")


def _sections(pages: list[str]) -> tuple[Section, ...]:
    sections = []
    start = 0
    for number, page in enumerate(pages, start=1):
        if page:
            sections.append(Section(start, start + len(page), page=number))
            start += len(page) + len(_PAGE_BREAK)
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
