"""A source file: its bytes, its text, its sections, and the errors for files that cannot be read."""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin

import pyoxigraph as ox

from kgrag.errors import UnreadableDocument
from kgrag.late_patterns import late_re
from kgrag.model import Document, Section
from kgrag.text.readers import encodings

__all__ = [
    "DEEPEST_FIELDS",
    "LARGEST",
    "LONGEST_LINE",
    "URL_FIELDS",
    "Heading",
    "Source",
    "cleaned",
    "collapsed",
    "label",
    "link_target",
    "listed",
    "place",
    "sections",
    "steady",
    "web_address",
    "without_soft_hyphens",
]

LARGEST = 1 << 30
"""The most bytes, after decompression, that one file may have."""

LONGEST_LINE = 1 << 26
"""The most characters of one line of a file that is read line by line."""

URL_FIELDS = ("url", "link", "source_url")
"""Fields in which a web address is looked for, in this order."""

DEEPEST_FIELDS = 32
"""The most objects or lists within each other, in the metadata of one document."""

_ENCODING_SAMPLE_BYTES = 1 << 20
_WEB_ADDRESS = late_re(r"https?://[^\s<>\"{}|\\^`]+")
_SCHEME = late_re(r"([a-z][a-z0-9+.-]*):", flags=re.IGNORECASE)
_SCHEMES_OF_PAGES = ("http", "https", "file")
_MAX_TARGET_CHARACTERS = 2000
_PIECE_BYTES = 1 << 20
_MAX_DEFECTS_SHOWN = 20
_UNDECODED = late_re("[\udc80-\udcff]")
_NO_CHARACTER = late_re("[\x00\ud800-\udfff]")
_SOFT_HYPHEN = late_re("\u00ad(?:\n[ \t]*)?")


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: ``suffix`` is that of its content (``.txt`` for ``a.txt.gz``), ``location`` its place.

    ``whole_pages`` asks for the navigation of HTML pages too. ``defects`` are number and description of the lines or
    records that its reader left out.
    """

    path: Path
    suffix: str
    media_type: str
    location: str
    whole_pages: bool = False
    defects: list[tuple[int, str]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path as it was given, for messages."""
        return cleaned(str(self.path))

    @property
    def stem(self) -> str:
        """The file's name without suffixes, which is the title where there is no better one."""
        name = self.path.name.removesuffix(".gz") if self.zipped else self.path.name
        return cleaned(Path(name).stem)

    @property
    def zipped(self) -> bool:
        """Whether the file is gzip-compressed."""
        return self.path.suffix.lower() == ".gz"

    def unreadable(self, found: str) -> UnreadableDocument:
        """Return the error that names this file and the problem found in it."""
        return UnreadableDocument(f"{self.name}: {found}")

    def defect(self, number: int, found: str) -> None:
        """Note that a line or record is left out: its number, and what was found in it. The others are read."""
        self.defects.append((number, found))

    def damage(self, documents: int) -> str:
        """Return what was left out of a file of which so many documents were read; "" for nothing.

        Every number is named, and what was found for the first 20.
        """
        if not self.defects:
            return ""
        shown = "; ".join(found.rstrip(".") for _, found in self.defects[:_MAX_DEFECTS_SHOWN])
        more = _ranges([number for number, _ in self.defects[_MAX_DEFECTS_SHOWN:]])
        read = f"{documents} were read and {len(self.defects)} left out: " if documents else ""
        return f"{self.name}: {read}{shown}{f'; and {more}' if more else ''}."

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file for reading bytes, decompressed.

        Raises:
            UnreadableDocument: it cannot be opened, is no gzip file, or is cut short.
        """
        try:
            with self.path.open("rb") as raw:
                yield gzip.GzipFile(fileobj=raw) if self.zipped else raw  # type: ignore[misc]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.unreadable(f"the gzip compression is broken ({error}). Get the file again.") from error
        except OSError as error:
            raise self.unreadable(f"cannot be read: {error.strerror or error}.") from error

    def content(self) -> bytes:
        """Return all bytes.

        Raises:
            UnreadableDocument: the file is empty, too large, or cannot be read.
        """
        size = 0
        with self.opened() as stream:  # counted first: a file of a megabyte may unpack to a thousand
            while piece := stream.read(_PIECE_BYTES) if self.zipped else b"":
                size += len(piece)
                if size > LARGEST:
                    break
        if max(size, self._stored_size()) > LARGEST:
            raise self.unreadable(f"has more than {LARGEST >> 20} MiB; split it into smaller files.")
        with self.opened() as stream:
            data = stream.read()
        if not data:
            raise self.empty()
        return data

    def _stored_size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise self.unreadable(f"cannot be read: {error.strerror or error}.") from error

    def empty(self) -> UnreadableDocument:
        """Return the error for a file without a byte."""
        return self.unreadable("is empty (0 bytes); expected text. Leave it out, or write it again.")

    def text(self, declared: str = "") -> str:
        """Return the decoded, cleaned text without soft hyphens; ``declared`` is the encoding that the file names.

        Raises:
            UnreadableDocument: as ``content``, or the bytes are no text.
        """
        return without_soft_hyphens(cleaned(encodings.decode(self.content(), self.name, declared=declared)))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield number (from 1) and text of every line that is not blank, one at a time.

        A line that is too long or in another encoding than the first ones is left out, as a defect.

        Raises:
            UnreadableDocument: as ``content``, or the first lines are no text.
        """
        with self.opened() as stream:
            sample = stream.read(_ENCODING_SAMPLE_BYTES)
        if not sample:
            raise self.empty()
        encoding = encodings.encoding_of(sample, self.name)
        with self.opened() as stream, io.TextIOWrapper(stream, encoding, errors="surrogateescape") as reader:
            number = 0
            try:
                while line := reader.readline(LONGEST_LINE):
                    number += 1
                    if len(line) == LONGEST_LINE and not line.endswith("\n"):
                        self.defect(number, f"line {number} has more than {LONGEST_LINE:,} characters")
                        self._pass_over_line(reader)
                    elif _UNDECODED.search(line):
                        found = f"line {number} has bytes that are not {encoding}, as the file begins"
                        self.defect(number, f"{found}. Convert it to UTF-8.")
                    elif not line.isspace():
                        yield number, line
            except UnicodeDecodeError as error:  # UTF-16 cut inside of a character
                found = f"after line {number} there are bytes that are not {encoding} ({error.reason})"
                raise self.unreadable(f"{found}. Convert it to UTF-8.") from error

    def _pass_over_line(self, reader: io.TextIOWrapper) -> None:
        passed = 0
        while (piece := reader.readline(LONGEST_LINE)) and not piece.endswith("\n"):
            passed += len(piece)
            if passed > LARGEST:
                raise self.unreadable(f"has a line of more than {LARGEST >> 20} MiB. Split it into records.")

    def document(
        self, text: str, *, title: str = "", sections: tuple[Section, ...] = (), cites: tuple[str, ...] = ()
    ) -> Document:
        """Return the file as one document.

        Raises:
            UnreadableDocument: there is no text but whitespace.
        """
        if not text or text.isspace():
            raise self.unreadable("has no text, only whitespace or markup. Leave it out.")
        return Document(
            text,
            title=title or self.stem,
            location=self.location,
            media_type=self.media_type,
            cites=cites,
            sections=sections,
        )

    def described(self, document: Document, fields: Mapping[Any, Any]) -> Document:
        """Return a document with what its source says of it: fields become its metadata, and its URL and id.

        The first of ``URL_FIELDS`` that has a web address is the URL, and ``id`` the id, where the document has none.
        A field without a value is left out, and one without a name is called ``unnamed``.

        Raises:
            UnreadableDocument: the fields are nested more than 32 deep.
        """
        known = dict(fields)
        named = next((name for name in URL_FIELDS if web_address(known.get(name))), "")
        url = document.url or (web_address(known.pop(named)) if named else "")
        identifier = document.id
        if not identifier and (identifier := label(known.get("id"))):
            del known["id"]
        try:
            metadata = _storable(known)
        except RecursionError as error:
            raise self.unreadable(f"has fields that are nested more than {DEEPEST_FIELDS} deep.") from error
        return replace(document, url=url, id=identifier, metadata=metadata)


def web_address(value: object) -> str:
    """Return a value that is the address of a web page; "" for any other, ``javascript:`` and the like included.

    >>> web_address(" https://example.org/a "), web_address("javascript:alert(1)")
    ('https://example.org/a', '')
    """
    text = value.value if isinstance(value, ox.NamedNode) else value
    return text.strip() if isinstance(text, str) and _WEB_ADDRESS.fullmatch(text.strip()) else ""


def link_target(written: str, base: str = "") -> str:
    """Return where a hyperlink leads, as it is written but for the page's ``base``; "" for this page and what is none.

    >>> [link_target(each, "https://e.org/a/") for each in ("b.html#x", "#x", "mailto:a@e.org")]
    ['https://e.org/a/b.html#x', '', '']
    """
    target = re.sub(r"[\t\n\r\f]", "", cleaned(written)).strip().replace(" ", "%20")
    if not target or target.startswith("#"):
        return ""
    with suppress(ValueError):  # brackets that are no address
        target = urljoin(base, target) if base else target
    scheme = _SCHEME.match(target)
    is_page = scheme is None or scheme[1].lower() in _SCHEMES_OF_PAGES
    return target if is_page and len(target) <= _MAX_TARGET_CHARACTERS else ""


def label(value: object) -> str:
    """Return a title or identifier as text on one line; "" for a value that is neither text nor number.

    >>> label(" P 7 "), label(7), label(True)
    ('P 7', '7', '')
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return collapsed(cleaned(str(value)))


def listed(text: str) -> list[str]:
    """Return the items of a list that is written with commas or semicolons between.

    >>> listed("soy, maize; wheat")
    ['soy', 'maize', 'wheat']
    """
    return [collapsed(item) for item in re.split("[,;]", text) if item.strip()]


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as text: ``3, 7-9``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)


def _storable(fields: Mapping[Any, Any], depth: int = 1) -> dict[str, Any]:
    """Return fields with clean names and values. Raises RecursionError where they are nested too deep."""
    if depth > DEEPEST_FIELDS:
        raise RecursionError
    kept: dict[str, Any] = {}
    for key, value in fields.items():
        name = collapsed(cleaned(str(key))) or "unnamed"
        values = [item for item in _values(value, depth) if item not in ("", None)]
        if values:
            kept[name] = values if isinstance(value, list | tuple) or len(values) > 1 else values[0]
    return kept


def _values(value: Any, depth: int) -> Iterable[Any]:
    """Return the values of a field in one list, also those of lists inside of lists."""
    if isinstance(value, list | tuple):
        if depth > DEEPEST_FIELDS:
            raise RecursionError
        return [inner for item in value for inner in _values(item, depth + 1)]
    if isinstance(value, Mapping):
        return [_storable(value, depth + 1) or None]
    return [cleaned(value) if isinstance(value, str) else value]


def place(path: Path) -> str:
    """Return the place of a file, however its path is written: the real path of its folder, and its name there.

    The name itself is not followed where it is a link, so that a folder contains the places of its own entries and
    loses one when the link is deleted.
    """
    return cleaned(str(Path(os.path.realpath(path.parent), path.name)))


def cleaned(text: str) -> str:
    r"""Return the text with line ends as ``\n``, no byte order mark, and U+FFFD for what is no character.

    >>> cleaned("\ufeffa\r\nb\rc\x00d")
    'a\nb\nc\ufffdd'
    """
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NO_CHARACTER.sub("\ufffd", text)


def without_soft_hyphens(text: str) -> str:
    r"""Return the text without what only says where a word may be cut, and without the line's end where it was.

    >>> without_soft_hyphens("the ad\u00admin\u00ad\n  istrator")
    'the administrator'
    """
    return _SOFT_HYPHEN.sub("", text) if "\u00ad" in text else text


@contextmanager
def steady(path: Path) -> Iterator[None]:
    """Check that a file does not change while it is read.

    Raises:
        UnreadableDocument: its size, time or identity at the end is another than at the beginning; this comes before
            any other error of the reader, which the change may have caused.
    """
    before = _state(path)
    problem: UnreadableDocument | None = None
    try:
        yield
    except UnreadableDocument as error:
        problem = error
    if _state(path) != before:
        raise UnreadableDocument(f"{path}: changed while it was read; run again when it is complete.") from problem
    if problem:
        raise problem


def _state(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: where its line starts in the document's text, its level from 1, and its words."""

    start: int
    level: int
    words: str


def sections(headings: Sequence[Heading], length: int) -> tuple[Section, ...]:
    """Return one section per heading, up to the next one, named by the path of headings above it.

    >>> [section.heading for section in sections([Heading(0, 1, "Crops"), Heading(9, 2, "Soybean")], 20)]
    ['Crops', 'Crops > Soybean']
    """
    result = []
    above: list[Heading] = []
    ends = [heading.start for heading in headings[1:]] + [length]
    for heading, end in zip(headings, ends, strict=False):
        above = [upper for upper in above if upper.level < heading.level] + [heading]
        path = " > ".join(upper.words for upper in above if upper.words)
        result.append(Section(heading.start, end, path))
    return tuple(result)


def collapsed(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())
