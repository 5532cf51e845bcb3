"""Mapped data from files: a folder of JSON-LD, one file, or JSON lines; raw replies of a model are read too.

A file that cannot be read is a note, not an error: one bad file must not cost the others.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgrag.errors import MappingError
from kgrag.llm.structured_output import parse_json

__all__ = ["Mapped", "Record", "blocks_of", "read_mapped"]

_JSON = (".jsonld", ".json")
_LINES = (".jsonl", ".ndjson")
_TITLES = ("title", "name", "label")


@dataclass(frozen=True, slots=True)
class Record:
    """One mapped document: the name of its file, a title for a person, where it stands, and its factual blocks."""

    name: str
    title: str
    location: str
    blocks: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """What was read: records in the order of their files, and what could not be read and why."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()


def read_mapped(path: Path) -> Mapped:
    """Read mapped data.

    Args:
        path: a folder (its ``*.jsonld`` at any depth; without any, its ``mapped.json`` or ``mapped.jsonl``; without
            these, its ``*.json``), or such a file, each also gzipped. A line is a mapped document, or an object with
            ``graph`` or ``text`` (a model's reply as it came) and ``file``, the name of the document.

    Raises:
        MappingError: there is no such path, or nothing under it could be read; the message says why.
    """
    if not path.exists():
        raise MappingError(f"there is no {path}. Name a folder of JSON-LD, a JSON-LD file, or JSON lines.")
    records: list[Record] = []
    notes: list[str] = []
    for outcome in _outcomes(path):
        if isinstance(outcome, Record):
            records.append(outcome)
        else:
            notes.append(outcome)
    if not records:
        why = "; ".join(notes[:3]) or f"it holds no *{', *'.join(_JSON)} and no mapped.jsonl"
        raise MappingError(f"nothing in {path} could be read as mapped data: {why}. Expected objects of facts as JSON.")
    return Mapped(tuple(records), tuple(notes))


def _outcomes(path: Path) -> Iterator[Record | str]:
    """Yield a Record or a note (str) for each document."""
    for file in _files(path):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        try:
            if _kind(file) in _LINES:
                yield from _lines(file, name)
            else:
                yield _record(_text(file), name, str(file))
        except (OSError, EOFError, zlib.error) as error:
            yield f"{name}: {error}"
        except UnicodeDecodeError:
            yield f"{name}: it is not UTF-8 text"


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file())
    linked = [file for file in files if _kind(file) == ".jsonld"]
    named = [file for file in files if file.name.split(".")[0] == "mapped" and _kind(file) in (*_JSON, *_LINES)]
    return linked or named or [file for file in files if _kind(file) in _JSON]


def _kind(file: Path) -> str:
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def _text(file: Path) -> str:
    data = gzip.decompress(file.read_bytes()) if file.name.endswith(".gz") else file.read_bytes()
    return data.decode("utf-8-sig")


def _lines(file: Path, name: str) -> Iterator[Record | str]:
    with (gzip.open if file.name.endswith(".gz") else open)(file, "rt", encoding="utf-8-sig") as stream:
        for number, text in enumerate(stream, start=1):
            if text.strip():
                yield _record(text, f"{name}#{number}", f"{file}#{number}")


def _record(text: str, name: str, location: str) -> Record | str:
    """Read one document; a note when it holds no objects."""
    try:
        data = parse_json(text)
        if isinstance(data, Mapping) and "graph" not in data and isinstance(data.get("text"), str):
            name, data = str(data.get("file") or name), parse_json(data["text"])
        elif isinstance(data, Mapping) and "graph" in data:
            name, data = str(data.get("file") or name), data["graph"]
    except ValueError as error:
        return f"{name}: {error}"
    blocks = blocks_of(data)
    if not blocks:
        return f"{name}: it holds no object of facts"
    return Record(name, _title(blocks) or name, location, blocks)


def blocks_of(data: Any) -> tuple[Any, ...]:
    """Give the factual blocks of a mapped document: what stands in its ``@graph``, else the objects themselves.

    >>> blocks_of({"@context": {}, "@graph": [{"name": "Soybean"}]}), blocks_of({"name": "Soybean"}), blocks_of("no")
    (({'name': 'Soybean'},), ({'name': 'Soybean'},), ())
    """
    if isinstance(data, Mapping) and "@graph" in data:
        data = data["@graph"]
    found = data if isinstance(data, list) else [data]
    objects = (
        {key: value for key, value in one.items() if key != "@context"} for one in found if isinstance(one, dict)
    )
    return tuple(block for block in objects if block)


def _title(blocks: tuple[Any, ...]) -> str:
    """Give the title or name of a document that is a single object, "" otherwise."""
    if len(blocks) != 1:
        return ""
    texts = (blocks[0].get(name) for name in _TITLES)
    return next((" ".join(text.split()) for text in texts if isinstance(text, str) and text.strip()), "")
