"""What Office files (docx, pptx, xlsx) have in common: an archive of XML parts, and its core properties as metadata.

The fields are ``author``, ``subject``, ``keywords`` (a list), ``description``, ``category``, ``created``, ``modified``,
``modified_by``, ``language``, ``status``, ``version`` and ``identifier``. The number of the revision, the time of last
printing and what the program says of itself are left out: they change without the text.
"""

from __future__ import annotations

import zipfile
from typing import Any

from kgrag.text.metadata import typed
from kgrag.text.readers.sources import LARGEST, Source, cleaned, collapsed, listed

__all__ = ["properties", "refuse_bomb"]

_MAX_XML_BYTES = 100 << 20
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


def refuse_bomb(source: Source, archive: zipfile.ZipFile) -> None:
    """Refuse by the unpacked sizes, to which zipfile limits every part, before anything is unpacked.

    Raises:
        UnreadableDocument: the parts are too large.
    """
    parts = archive.infolist()
    xml = sum(part.file_size for part in parts if part.filename.lower().endswith((".xml", ".rels")))
    everything = sum(part.file_size for part in parts)
    if xml > _MAX_XML_BYTES or everything > LARGEST:
        found = f"unpacks to {everything >> 20} MiB, {xml >> 20} MiB of it XML"
        raise source.unreadable(
            f"{found}; at most {LARGEST >> 20} and {_MAX_XML_BYTES >> 20} MiB are read. "
            "Split it, or leave pictures out."
        )


def properties(archive: zipfile.ZipFile) -> dict[str, Any]:
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
