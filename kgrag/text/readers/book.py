"""Books (epub): the chapters in their reading order, headings as sections; the table of contents is left out.

What the package says of the book is metadata: ``author``, ``language``, ``publisher``, ``date``, ``description``,
``keywords``, ``identifier``, ``rights`` and other elements of Dublin Core by their name.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from kgrag.errors import UnreadableDocument
from kgrag.model import Document
from kgrag.text.metadata import typed
from kgrag.text.readers import encodings, html, office
from kgrag.text.readers.sources import Heading, Source, cleaned, collapsed, label, sections

__all__ = ["read"]

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_NAMES = {"creator": "author", "subject": "keywords"}
_CHAPTER_BREAK = "\n\n"


def read(source: Source) -> Iterator[Document]:
    """Yield the file.

    Raises:
        UnreadableDocument: no epub, damaged, encrypted, too large when unpacked, or without text.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.content())) as archive:
            office.refuse_bomb(source, archive)
            package, folder = _package(archive)
            chapters = list(_chapters(source, archive, package, folder))
    except UnreadableDocument:
        raise
    except Exception as error:  # zipfile and lxml raise nearly anything on damaged parts
        reason = collapsed(str(error)) or type(error).__name__
        raise source.unreadable(f"is no epub file, or damaged ({reason}). Get it again.") from error
    start = 0
    headings: list[Heading] = []
    code: list[tuple[int, int]] = []
    for chapter in chapters:
        headings += [replace(heading, start=heading.start + start) for heading in chapter.headings]
        code += [(first + start, last + start) for first, last in chapter.code]
        start += len(chapter.text) + len(_CHAPTER_BREAK)
    whole = _CHAPTER_BREAK.join(chapter.text for chapter in chapters)
    fields = _fields(package)
    title = label(fields.pop("title", ""))
    document = source.document(whole, title=title, sections=sections(headings, len(whole)))
    yield source.described(replace(document, code=tuple(code)), fields)


def _parsed(data: bytes) -> Any:
    from lxml import etree

    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))


def _package(archive: zipfile.ZipFile) -> tuple[Any, str]:
    """Return the root of the package document, and the folder that its links start from."""
    path = _parsed(archive.read(_CONTAINER)).find(".//{*}rootfile").get("full-path")
    return _parsed(archive.read(path)), posixpath.dirname(path)


def _chapters(source: Source, archive: zipfile.ZipFile, package: Any, folder: str) -> Iterator[html.MainText]:
    """Yield every page that is not blank."""
    items = {item.get("id"): item for item in package.iterfind(".//{*}manifest/{*}item")}
    locked = archive.read(_ENCRYPTION).decode("utf-8", "replace") if _ENCRYPTION in archive.namelist() else ""
    for reference in package.iterfind(".//{*}spine/{*}itemref"):
        item = items[reference.get("idref")]
        if "html" not in item.get("media-type", "") or "nav" in item.get("properties", "").split():
            continue
        path = posixpath.normpath(posixpath.join(folder, unquote(item.get("href"))))
        if f'"{path}"' in locked:
            raise source.unreadable("is encrypted. Get it without copy protection.")
        markup = cleaned(encodings.decode(archive.read(path), f"{source.name}: {path}"))
        page = html.read_page(source, html.opened_elements(markup))
        if page.text:
            yield page


def _fields(package: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for element in package.iterfind(".//{*}metadata/{http://purl.org/dc/elements/1.1/}*"):
        name = element.tag.rpartition("}")[2]
        value = collapsed(cleaned("".join(element.itertext("{*}*"))))
        fields.setdefault(_NAMES.get(name, name), []).append(typed(value))
    return {name: values[0] if len(values) == 1 and name != "keywords" else values for name, values in fields.items()}
