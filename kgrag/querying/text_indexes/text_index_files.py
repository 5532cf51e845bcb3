"""The texts of an index in a file next to the store, so that the next process need not run its query again.

A cache like every sidecar (``kgrag.index.array_files``): it records the revision that it reflects and the query that it
was made by; one that is missing, damaged, of another query or of another store is made again.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kgrag.index.array_files import packed, read_arrays, unpacked, write_arrays

__all__ = ["SavedTexts", "fingerprint", "read", "write"]

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class SavedTexts:
    """The texts of an index by IRI at a revision; ``waiting`` are the IRIs whose vectors are to be made."""

    revision: int
    lineage: str
    texts: Mapping[str, str]
    waiting: frozenset[str]


def fingerprint(sparql: str) -> str:
    """Return what a query is recognised by."""
    return hashlib.sha256(sparql.encode("utf-8", "surrogatepass")).hexdigest()


def read(path: Path, made_by: str) -> SavedTexts | None:
    """Return what ``write`` wrote; None where there is nothing that can be used."""
    with suppress(OSError, ValueError, KeyError, zipfile.BadZipFile):
        members = read_arrays(path)
        (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
        if settings["format"] == _FORMAT and settings["query"] == made_by:
            texts = dict(zip(unpacked(members["iris"]), map(json.loads, unpacked(members["texts"])), strict=True))
            lineage, waiting = "".join(unpacked(members["lineage"])), frozenset(unpacked(members["waiting"]))
            return SavedTexts(settings["revision"], lineage, texts, waiting)
    return None


def write(path: Path, made_by: str, saved: SavedTexts) -> None:
    """Write the texts of an index that a query of this fingerprint made. Raises StorageFailed."""
    members = {
        "settings": packed([json.dumps({"format": _FORMAT, "query": made_by, "revision": saved.revision})]),
        "iris": packed(list(saved.texts)),
        "texts": packed([json.dumps(text) for text in saved.texts.values()]),
        "waiting": packed(sorted(saved.waiting)),
    }
    write_arrays(path, members, lineage=saved.lineage)
