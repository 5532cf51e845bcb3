"""Documents as rows of Arrow tables, and back, so that they travel between processes and rest in Parquet.

The row of a document has every field of ``kgrag.model.Document``. Metadata are JSON, in which what JSON has no form for
is an object with one key that names its type: ``{"date": "2024-02-29"}``; an object of metadata is ``{"fields": …}``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pyoxigraph as ox

from kgrag.model import Document, Section
from kgrag.text import metadata

__all__ = ["DOCUMENTS", "DRAFTS", "FILES", "document_of", "row_of", "table_of"]

_STRETCH = [("start", pa.int64()), ("end", pa.int64())]
_SECTION = pa.struct([*_STRETCH, ("heading", pa.string()), ("page", pa.int32()), ("whole", pa.bool_())])

FILES = pa.schema([("file", pa.binary()), ("sha256", pa.string())])
"""A row per file to read: its path as the file system spells it, and the hexadecimal SHA-256 of its content."""

DOCUMENTS = pa.schema(
    [
        ("file", pa.binary()),
        ("error", pa.large_string()),
        ("text", pa.large_string()),
        ("title", pa.large_string()),
        ("location", pa.large_string()),
        ("id", pa.large_string()),
        ("media_type", pa.string()),
        ("source", pa.large_string()),
        ("url", pa.large_string()),
        ("cites", pa.list_(pa.large_string())),
        ("sections", pa.list_(_SECTION)),
        ("code", pa.list_(pa.struct(_STRETCH))),
        ("links", pa.list_(pa.struct([*_STRETCH, ("target", pa.large_string())]))),
        ("anchors", pa.list_(pa.struct([("start", pa.int64()), ("name", pa.large_string())]))),
        ("metadata", pa.large_string()),
    ]
)
"""A row per document, and per file that could not be read whole: its ``error`` is the reason, and that of others ""."""

DRAFTS = pa.schema(
    [
        ("file", pa.binary()),
        ("error", pa.large_string()),
        ("graph", pa.string()),
        ("chunks", pa.int32()),
        ("described", pa.large_string()),
        ("triples", pa.large_string()),
        ("texts", pa.list_(pa.large_string())),
        ("conforms", pa.bool_()),
        ("sha256", pa.list_(pa.string())),
        ("vectors", pa.large_binary()),
    ]
)
"""A row per document as it is to be stored.

``graph`` is the IRI of its graph, ``triples`` what is in it and ``described`` what the catalogue is to say of it, both
as N-Triples; ``texts`` are what is embedded of it; once that is done there are instead ``sha256`` of each text, and
``vectors``, float32 rows one behind the other.
"""

_TEXTS = ("text", "title", "location", "id", "media_type", "source", "url")


def row_of(document: Document, file: bytes) -> dict[str, Any]:
    """Return a document as a row of ``DOCUMENTS``.

    Raises:
        InputError: a value of its metadata is of a type that is no metadata.
    """
    return {
        "file": file,
        "error": "",
        **{name: getattr(document, name) for name in _TEXTS},
        "cites": list(document.cites),
        "sections": [
            {"start": s.start, "end": s.end, "heading": s.heading, "page": s.page, "whole": s.whole}
            for s in document.sections
        ],
        "code": [{"start": start, "end": end} for start, end in document.code],
        "links": [{"start": start, "end": end, "target": target} for start, end, target in document.links],
        "anchors": [{"start": start, "name": name} for start, name in document.anchors],
        "metadata": json.dumps({name: _written("", value) for name, value in document.metadata.items()}),
    }


def document_of(row: Mapping[str, Any]) -> Document:
    """Return the document of a row of ``DOCUMENTS``."""
    return Document(
        **{name: row[name] for name in _TEXTS},
        cites=tuple(row["cites"]),
        sections=tuple(Section(**section) for section in row["sections"]),
        code=tuple((each["start"], each["end"]) for each in row["code"]),
        links=tuple((each["start"], each["end"], each["target"]) for each in row["links"]),
        anchors=tuple((each["start"], each["name"]) for each in row["anchors"]),
        metadata={name: _read(value) for name, value in json.loads(row["metadata"]).items()},
    )


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table; a column that a row does not have is null there."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def _literal(text: str) -> ox.Literal:
    (quad,) = ox.parse(f"<urn:kgrag:s> <urn:kgrag:p> {text} .", format=ox.RdfFormat.N_TRIPLES)
    return cast("ox.Literal", quad.object)


_TYPES: tuple[tuple[str, type, Callable[[Any], str], Callable[[str], Any]], ...] = (
    ("decimal", Decimal, str, Decimal),
    ("time", datetime, datetime.isoformat, datetime.fromisoformat),
    ("date", date, date.isoformat, date.fromisoformat),
    ("iri", ox.NamedNode, lambda iri: iri.value, ox.NamedNode),
    ("literal", ox.Literal, str, _literal),
)
"""Name of a type in JSON, the type, how it is written, how it is read; a date comes behind a time, which is one too."""


def _written(field: str, value: Any) -> Any:
    """Return a value of metadata as JSON has it."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_written(field, item) for item in value]
    if isinstance(value, Mapping):
        return {"fields": {str(name): _written(str(name), inner) for name, inner in value.items()}}
    for name, kind, write, _ in _TYPES:
        if isinstance(value, kind):
            return {name: write(value)}
    return metadata.terms_of(field, value)  # refuses it, in words


def _read(written: Any) -> Any:
    """Return a value of metadata that ``_written`` wrote."""
    if isinstance(written, list):
        return [_read(item) for item in written]
    if not isinstance(written, dict):
        return written
    ((name, value),) = written.items()
    if name == "fields":
        return {inner: _read(each) for inner, each in value.items()}
    (read,) = (reader for kind, _, _, reader in _TYPES if kind == name)
    return read(value)
