"""Mapped data from files: a folder of JSON-LD, one file, or JSON lines; raw replies of a model are read too.

A file that cannot be read becomes a note, not an error: one bad file must not cost the others.
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

__all__ = ["MappedData", "MappedRecord", "blocks_of", "read_mapped"]

_JSON_SUFFIXES = (".jsonld", ".json")
_LINES_SUFFIXES = (".jsonl", ".ndjson")
_TITLE_KEYS = ("title", "name", "label")


@dataclass(frozen=True, slots=True)
class MappedRecord:
    """One mapped document: the name of its file, a title for people, its location, and its factual blocks."""

    name: str
    title: str
    location: str
    blocks: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class MappedData:
    """Records in the order of their files, and a note for each file or line that could not be read, with the reason."""

    records: tuple[MappedRecord, ...]
    notes: tuple[str, ...] = ()


def read_mapped(path: Path) -> MappedData:
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
    records: list[MappedRecord] = []
    notes: list[str] = []
    for outcome in _outcomes(path):
        if isinstance(outcome, MappedRecord):
            records.append(outcome)
        else:
            notes.append(outcome)
    if not records:
        why = "; ".join(notes[:3]) or f"it has no *{', *'.join(_JSON_SUFFIXES)} and no mapped.jsonl"
        raise MappingError(f"nothing in {path} could be read as mapped data: {why}. Expected objects of facts as JSON.")
    return MappedData(tuple(records), tuple(notes))


def _outcomes(path: Path) -> Iterator[MappedRecord | str]:
    """Yield a record or a note for each document."""
    for file in _files(path):
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        try:
            with (gzip.open if file.name.endswith(".gz") else open)(
                file, "rt", encoding="utf-8-sig", newline=""
            ) as stream:
                if _suffix(file) not in _LINES_SUFFIXES:
                    yield _record(stream.read(), name, str(file))
                    continue
                for number, line in enumerate(stream, start=1):
                    if line.strip():
                        yield _record(line, f"{name}#{number}", f"{file}#{number}")
        except (OSError, EOFError, zlib.error) as error:
            yield f"{name}: {error}"
        except UnicodeDecodeError:
            yield f"{name}: it is not UTF-8 text"


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file())
    linked = [file for file in files if _suffix(file) == ".jsonld"]
    suffixes = (*_JSON_SUFFIXES, *_LINES_SUFFIXES)
    named = [file for file in files if file.name.split(".")[0] == "mapped" and _suffix(file) in suffixes]
    return linked or named or [file for file in files if _suffix(file) in _JSON_SUFFIXES]


def _suffix(file: Path) -> str:
    return Path(file.name.removesuffix(".gz")).suffix.lower()


def _record(text: str, name: str, location: str) -> MappedRecord | str:
    """Return one document; a note when it has no objects."""
    try:
        data = parse_json(text)
        if isinstance(data, Mapping) and "graph" in data:
            name, data = str(data.get("file") or name), data["graph"]
        elif isinstance(data, Mapping) and isinstance(data.get("text"), str):
            name, data = str(data.get("file") or name), parse_json(data["text"])
    except ValueError as error:
        return f"{name}: {error}"
    blocks = blocks_of(data)
    if not blocks:
        return f"{name}: it has no object of facts"
    # Only a document that is a single object is titled by it: any of several would be an arbitrary one.
    titles = (blocks[0].get(key) for key in _TITLE_KEYS) if len(blocks) == 1 else ()
    title = next((" ".join(value.split()) for value in titles if isinstance(value, str) and value.strip()), name)
    return MappedRecord(name, title, location, blocks)


def blocks_of(data: Any) -> tuple[Any, ...]:
    """Return the factual blocks of a mapped document: the objects of its ``@graph``, else the objects themselves.

    >>> blocks_of({"@context": {}, "@graph": [{"name": "Soybean"}]}), blocks_of({"name": "Soybean"}), blocks_of("no")
    (({'name': 'Soybean'},), ({'name': 'Soybean'},), ())
    """
    if isinstance(data, Mapping) and "@graph" in data:
        data = data["@graph"]
    values = data if isinstance(data, list) else [data]
    objects = [value for value in values if isinstance(value, dict)]
    blocks = ({key: value for key, value in block.items() if key != "@context"} for block in objects)
    return tuple(block for block in blocks if block)
