r"""Files into documents.

==========================  =====================================================================================
suffix                      what becomes a document
==========================  =====================================================================================
.txt .text .rst             the file; of a manual page that ``man`` printed, sections and entries as sections
.md .markdown               the file, headings as sections
.html .htm .xhtml           the main text that a browser shows, headings as sections
.pdf                        the text of all pages, pages as sections
.docx                       paragraphs and tables, headings as sections
.pptx                       slides and their notes, each slide a section with its title and number
.xlsx                       a line per row, which repeats the header, sheets as sections
.epub                       the chapters in order, headings as sections
.eml                        the body of the mail
.csv .tsv                   a row each where there is a ``text`` column, else the table
.json                       a record each: ``title``, ``text``, ``id``, ``cites``
.jsonl .ndjson              a line each, the same
.parquet                    a row each, the same; needs pyarrow
.ipynb .msg .xls            what markitdown makes of them, headings as sections; needs markitdown
==========================  =====================================================================================

These are registered as plug-ins are (group ``kgrag.readers``), so another package may add a suffix.

All but .pdf, .docx, .pptx, .xlsx, .xls, .msg, .epub and .parquet also with ``.gz`` behind. Line ends become ``\n``;
otherwise the characters of a text file are stored as they stand, so that every offset can be checked against it. Text
is data: nothing in it is ever executed.
"""

from __future__ import annotations

import logging
import mimetypes
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kgrag import plugins
from kgrag.errors import KgragError, PluginBroken, UnreadableDocument
from kgrag.model import Document
from kgrag.text.readers import book, converted, html, mail, markdown, parquet, pdf, records, slides, word, workbook
from kgrag.text.readers.sources import Source, cleaned, place, steady

__all__ = ["Reader", "find_files", "read_path", "read_paths", "suffixes"]

_LOG = logging.getLogger(__name__)
_GROUP = "kgrag.readers"
_PLAIN = ".txt"


@dataclass(frozen=True, slots=True)
class Reader:
    """What turns a file of some format into documents.

    It is registered by suffix, as an entry point of the group ``kgrag.readers`` whose name is the suffix without its
    dot.

    Args:
        read: yields the documents of an open ``Source``; raises ``source.unreadable(…)``.
        media_type: of the files.
        zipped: whether files that end in ``.gz`` behind the suffix are read too; ``Source`` unpacks them.
    """

    read: Callable[[Source], Iterator[Document]]
    media_type: str
    zipped: bool = True


CSV = Reader(records.read, "text/csv")
DOCX = Reader(word.read, "application/vnd.openxmlformats-officedocument.wordprocessingml.document", zipped=False)
EML = Reader(mail.read, "message/rfc822")
EPUB = Reader(book.read, "application/epub+zip", zipped=False)
HTML = Reader(html.read, "text/html")
JSON = Reader(records.read_json, "application/json")
JSON_LINES = Reader(records.read_lines, "application/jsonl")
MARKDOWN = Reader(markdown.read, "text/markdown")
MSG = Reader(converted.read, "application/vnd.ms-outlook", zipped=False)
NOTEBOOK = Reader(converted.read, "application/x-ipynb+json")
PARQUET = Reader(parquet.read, "application/vnd.apache.parquet", zipped=False)
PDF = Reader(pdf.read, "application/pdf", zipped=False)
PLAIN = Reader(markdown.read_plain, "text/plain")
PPTX = Reader(slides.read, "application/vnd.openxmlformats-officedocument.presentationml.presentation", zipped=False)
RESTRUCTURED = Reader(markdown.read_plain, "text/x-rst")
TSV = Reader(records.read, "text/tab-separated-values")
XHTML = Reader(html.read, "application/xhtml+xml")
XLS = Reader(converted.read, "application/vnd.ms-excel", zipped=False)
XLSX = Reader(workbook.read, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", zipped=False)


@cache
def suffixes() -> tuple[str, ...]:
    """Return the suffixes that can be read (``.csv``, ``.docx`` …), sorted."""
    return tuple(f".{name}" for name in plugins.registered(_GROUP))


def read_path(path: Path) -> Iterator[Document]:
    """Yield the documents of a file, or of every file of a folder.

    Raises:
        UnreadableDocument: see ``read_paths``.
    """
    return read_paths([path])


def read_paths(
    paths: Iterable[Path],
    *,
    skipped: list[str] | None = None,
    broken: dict[Path, str] | None = None,
    whole_pages: bool = False,
) -> Iterator[Document]:
    """Yield the documents of files and folders, a file at a time.

    Folders are read recursively, in the order of names; hidden files and folders are passed over, and so are links to
    folders and links that lead out of the folder.

    Args:
        paths: files and folders; a file that is named twice is read once. One that is named itself and whose suffix
            tells of no format (``README``, ``crontab.5``) is read as plain text.
        skipped: takes a line "path: reason" for every file and link of a folder that is passed over; None logs a
            warning.
        broken: takes every file of a folder that cannot be read, with the message, instead of an error; and every file
            of which a part could not be read (a line that is no record), with that part. Its other documents are
            yielded.
        whole_pages: whether navigation is kept in the text of HTML pages.

    Raises:
        UnreadableDocument: a path is not there; a named file has a suffix of another format; a folder holds nothing
            that can be read; a file is empty, binary, damaged, encrypted, not what its suffix says, or changed while it
            was read; its reader failed. Without ``broken`` also a file of which a part could not be read, behind its
            documents.
    """
    for path, named in find_files(paths, skipped=skipped).items():
        try:
            damage = yield from _read(path, whole_pages)
        except UnreadableDocument as error:
            if named or broken is None:
                raise
            broken[path] = str(error)
        else:
            if damage and broken is None:
                raise UnreadableDocument(damage)
            if damage and broken is not None:
                broken[path] = damage


def find_files(paths: Iterable[Path], *, skipped: list[str] | None = None) -> dict[Path, bool]:
    """Give the files to read, in order, each with whether it was named itself (True) or stands in a folder.

    Raises:
        UnreadableDocument: as ``read_paths``, without opening a file.
    """
    found: dict[Path, bool] = {}
    given = list(paths)
    try:
        for path in given:
            if path.is_dir():
                for file in _readable(path, skipped):
                    found.setdefault(file, False)
            elif _suffix(path) not in suffixes() and not _may_be_plain(path):
                raise _unknown(path)
            else:
                found[path] = True
    except UnreadableDocument as error:
        if len(given) == 1:
            raise
        raise UnreadableDocument(f"{error} Nothing was read of the other paths either: leave this one out.") from error
    return found


def _readable(folder: Path, skipped: list[str] | None) -> list[Path]:
    """Give the files of a folder that can be read; the others are noted, or logged where there is no list."""
    files, others = [], []
    root = Path(os.path.realpath(folder))
    for file in _walk(folder):
        link = file.is_symlink()
        if link and not Path(os.path.realpath(file)).is_relative_to(root):
            others.append(f"{file}: is a link that leads out of the folder. Name the file itself to read it")
        elif link and file.is_dir():
            others.append(f"{file}: is a link to a folder, which is not followed")
        elif _suffix(file) in suffixes() and file.is_file():
            files.append(file)
        else:
            others.append(f"{file}: {_of_no_reader(file) if file.is_file() else _why_not(file)}")
    others = [cleaned(line) for line in others]
    if skipped is not None:
        skipped.extend(others)
    elif others:
        _LOG.warning("%s: %d files were passed over; the first: %s.", folder, len(others), others[0])
    if not files:
        found = f"{len(others)} files, none of which can be read" if others else "no files"
        message = f"{folder}: found {found}; expected some that end in {' '.join(suffixes())}"
        raise UnreadableDocument(f"{cleaned(message)}, or text ones in .gz.")
    return files


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and those below, and the links to folders, which are not followed."""

    def refuse(error: OSError) -> None:
        raise UnreadableDocument(f"{error.filename}: cannot be listed: {error.strerror}.") from error

    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        names += [name for name in folders if Path(parent, name).is_symlink()]
        yield from (Path(parent, name) for name in sorted(names) if not name.startswith("."))


def _suffix(path: Path) -> str:
    """Returns the suffix of a file's content, in lower case; "" for what is never read zipped."""
    suffix = path.suffix.lower()
    if suffix != ".gz":
        return suffix
    suffix = Path(path.stem).suffix.lower()
    return suffix if suffix in suffixes() and _reader(path, suffix).zipped else ""


def _reader(path: Path, suffix: str) -> Reader:
    try:
        found: Reader = plugins.load(_GROUP, suffix.removeprefix("."), Reader)
    except PluginBroken as error:  # a file that cannot be read must not stop the others of its folder
        raise UnreadableDocument(f"{path}: {error}") from error
    return found


def _read(path: Path, whole_pages: bool) -> Generator[Document, None, str]:
    """Yield the documents of a file, and return what was left out of it, "" for nothing."""
    suffix = _suffix(path)
    if suffix not in suffixes() and _may_be_plain(path):
        suffix = _PLAIN
    if suffix not in suffixes() or not path.is_file():
        raise _unknown(path)
    reader = _reader(path, suffix)
    source = Source(path, suffix, reader.media_type, place(path), whole_pages)
    documents = 0
    with steady(path):
        try:
            for document in reader.read(source):
                documents += 1
                yield document
        except (KgragError, MemoryError):
            raise
        except Exception as error:  # the reader may be of another package, and its fault must not stop other files
            plugin = plugins.registered(_GROUP)[suffix.removeprefix(".")]
            origin = f"reader '{plugin.name}' of {plugin.distribution} {plugin.version}"
            found = cleaned(f"{path}: the {origin} failed: {type(error).__name__}: {error}")
            raise UnreadableDocument(f"{found}. Report it to the authors of that package.") from error
        damage = source.damage(documents)
        if damage and not documents:
            raise UnreadableDocument(damage)
    return damage


def _unknown(path: Path) -> UnreadableDocument:
    return UnreadableDocument(cleaned(f"{path}: {_why_not(path)}."))


def _why_not(path: Path) -> str:
    if not path.exists():
        return "there is no such file or folder"
    if not path.is_file():
        return "is no regular file"
    expected = f"expected one of {' '.join(suffixes())}, or a text one in .gz"
    return f"{_of_no_reader(path)}; {expected} (`kgrag plugins` lists the readers)"


def _of_no_reader(path: Path) -> str:
    name = path.name
    if path.suffix.lower() == ".gz" and (inner := Path(path.stem).suffix):
        name = path.stem if inner.lower() not in suffixes() else name
    if not Path(name).suffix:
        return "a file without a suffix is read when it is named, not in a folder"
    return f"suffix {Path(name).suffix!r} is not one that can be read"


def _may_be_plain(path: Path) -> bool:
    """Return whether the name of a file tells of no format but plain text, as ``README`` and ``crontab.5`` do."""
    media_type, packed = mimetypes.guess_type(path.name)
    return path.is_file() and packed is None and (media_type is None or media_type.startswith("text/"))
