"""What Office files (docx, pptx, xlsx) have in common: an archive of XML parts, and its core properties as metadata.

The fields are ``author``, ``subject``, ``keywords`` (a list), ``description``, ``category``, ``created``, ``modified``,
``modified_by``, ``language``, ``status``, ``version`` and ``identifier``. The number of the revision, the time of last
printing and what the program says of itself are left out: they change without the text.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from kgrag.errors import UnreadableDocument
from kgrag.text.metadata import typed
from kgrag.text.readers.sources import LARGEST, Source, cleaned, collapsed, listed

__all__ = ["characters", "opened", "refuse_bomb"]

_Loaded = TypeVar("_Loaded")

_MAX_XML_BYTES = 100 << 20
_XML_SUFFIXES = (".xml", ".rels", ".opf", ".xhtml", ".html", ".htm")
_PROPERTIES = "docProps/core.xml"
_NAMES = {
    "title": "title",
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "category": "category",
    "created": "created",
    "modified": "modified",
    "lastModifiedBy": "modified_by",
    "language": "language",
    "contentStatus": "status",
    "version": "version",
    "identifier": "identifier",
}


def opened(source: Source, load: Callable[[io.BytesIO], _Loaded]) -> tuple[_Loaded, dict[str, Any]]:
    """Return what a library loads of an Office file, and its properties.

    Raises:
        UnreadableDocument: it is no Office file, damaged, or too large when unpacked.
    """
    data, kind = io.BytesIO(source.content()), source.suffix.removeprefix(".")
    try:
        with zipfile.ZipFile(data) as archive:
            refuse_bomb(source, archive)
            properties = _properties(archive)
        return load(data), properties
    except UnreadableDocument:
        raise
    except zipfile.BadZipFile as error:
        found = f"is no {kind} file (one of an older format, with a password, or damaged)"
        raise source.unreadable(f"{found}: {error}. Save it as {kind} without a password.") from error
    except Exception as error:  # the libraries and lxml raise nearly anything on damaged parts
        reason = collapsed(str(error)) or type(error).__name__
        raise source.unreadable(f"is no {kind} file, or damaged ({reason}). Save it again as {kind}.") from error


def characters(element: Any) -> Iterator[str]:
    """Yield the text of an element of words; entities are never expanded, but stay as they are written."""
    yield element.text or ""
    for entity in element:
        yield (entity.text or "") + (entity.tail or "")


def refuse_bomb(source: Source, archive: zipfile.ZipFile) -> None:
    """Refuse by the unpacked sizes, to which zipfile limits every part, before anything is unpacked.

    Raises:
        UnreadableDocument: the parts are too large.
    """
    parts = archive.infolist()
    xml = sum(part.file_size for part in parts if part.filename.lower().endswith(_XML_SUFFIXES))
    everything = sum(part.file_size for part in parts)
    if xml > _MAX_XML_BYTES or everything > LARGEST:
        found = f"unpacks to {everything >> 20} MiB, {xml >> 20} MiB of it XML"
        raise source.unreadable(
            f"{found}; at most {LARGEST >> 20} and {_MAX_XML_BYTES >> 20} MiB are read. "
            "Split it, or leave pictures out."
        )


def _properties(archive: zipfile.ZipFile) -> dict[str, Any]:
    """Return the core properties of an Office file as fields, ``title`` among them; {} where they are not there."""
    from lxml import etree

    if _PROPERTIES not in archive.namelist():
        return {}
    try:
        root = etree.fromstring(archive.read(_PROPERTIES), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:  # damaged properties are no reason to refuse the text
        return {}
    fields: dict[str, Any] = {}
    for element in root.iterchildren("{*}*"):
        name = _NAMES.get(etree.QName(element).localname)
        text = collapsed(cleaned("".join(element.itertext("{*}*"))))
        if name and text:
            fields[name] = listed(text) if name == "keywords" else typed(text)
    return fields
