"""Ready-made layers from files: JSON Lines of triples, read as facts and as a document that they can be cited from.

A line is ``{"sub", "rel", "obj"}`` or ``{"subject", "relation", "object"}``, with ``domain`` and ``class`` where known;
``.gz`` too. The file becomes a document with one sentence a line, so that a triple without a chunk of its own still
has a place that can be looked up.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgrag.errors import InputError
from kgrag.model import Chunk, Document
from kgrag.text import chunking

__all__ = ["Fact", "Table", "read_table"]

_FIELDS = (("sub", "subject"), ("rel", "relation", "predicate"), ("obj", "object"))


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple in words; ``domain`` says of which ontology it is, ``concept`` of which class; "" where not known."""

    subject: str
    relation: str
    value: str
    domain: str = ""
    concept: str = ""

    @property
    def text(self) -> str:
        """The triple as it is embedded and shown."""
        return f"{self.subject} {self.relation} {self.value}"


@dataclass(frozen=True, slots=True)
class Table:
    """A file of triples: as a document, and the facts of each of its chunks."""

    document: Document
    chunks: tuple[tuple[Chunk, tuple[Fact, ...]], ...]


def read_table(path: Path) -> Table:
    """Read a file of triples.

    Raises:
        InputError: the file cannot be read, or a line is no triple; the message names it.
    """
    facts = list(dict.fromkeys(_facts(path)))
    starts, text = [], ""
    lines = []
    position = 0
    for fact in facts:
        starts.append(position)
        lines.append(f"{fact.text}.")
        position += len(lines[-1]) + 1
    text = "\n".join(lines)
    document = Document(text=text, title=path.name, location=str(path), media_type="application/jsonl")
    return Table(document, tuple(_shared_out(chunking.chunk(document), facts, starts)))


def _shared_out(
    chunks: Sequence[Chunk], facts: Sequence[Fact], starts: Sequence[int]
) -> Iterator[tuple[Chunk, tuple[Fact, ...]]]:
    """Yield each chunk with the facts whose line begins in it, or before the next chunk begins."""
    place = 0
    for number, chunk in enumerate(chunks):
        until = chunks[number + 1].start if number + 1 < len(chunks) else float("inf")
        first = place
        while place < len(facts) and starts[place] < until:
            place += 1
        yield chunk, tuple(facts[first:place])


def _facts(path: Path) -> Iterator[Fact]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}. Give JSON Lines of triples in UTF-8.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _fact(line, f"{path}, line {number}")


def _fact(line: str, where: str) -> Fact:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: no JSON ({error}). Expected {_wanted()}.") from None
    ends = [_field(record, names) for names in _FIELDS] if isinstance(record, dict) else []
    if not all(ends) or len(ends) != len(_FIELDS):
        raise InputError(f"{where}: {line[:80]!r} is no triple. Expected {_wanted()}.")
    subject, relation, value = ends
    return Fact(subject, relation, value, _field(record, ("domain",)), _field(record, ("class", "concept")))


def _field(record: Mapping[str, Any], names: Sequence[str]) -> str:
    value = next((record[name] for name in names if record.get(name) is not None), "")
    return " ".join(str(value).encode("utf-8", "replace").decode().split())


def _wanted() -> str:
    return '{"sub": …, "rel": …, "obj": …}'
