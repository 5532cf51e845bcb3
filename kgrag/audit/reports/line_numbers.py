"""The line where a file first mentions a term, so that a code scanner can point to it.

A search in the text, not a second parser: the IRI in full, its prefixed name at the head of a statement, or an
``rdf:about``. Where nothing matches, there is a file and no line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kgrag.audit.findings import Audit, AuditFinding
from kgrag.late_patterns import late_re

__all__ = ["declared_prefixes", "line_finder", "place_finder"]

_PREFIX = late_re(r"(?:@prefix|PREFIX)\s+([\w.-]*):\s*<([^<>\s]*)>|xmlns:([\w.-]+)\s*=\s*[\"']([^\"']*)", re.IGNORECASE)
MAX_FILE_BYTES = 20_000_000
"""Larger files are named without a line: they would be read into memory for it."""
MAX_HEAD_CHARACTERS = 200_000
"""How much of a file is searched for declarations of prefixes."""


def line_finder(files: Sequence[str]) -> Callable[[str], tuple[str, int] | None]:
    """Return a function from an IRI to (file, line from 1, or 0 where it is not known); None without files."""
    texts = {file: _FileText(Path(file)) for file in files}

    def find(iri: str) -> tuple[str, int] | None:
        places = [(file, text.line(iri)) for file, text in texts.items()]
        return next((place for place in places if place[1]), places[0] if places else None)

    return find


def place_finder(audit: Audit) -> Callable[[AuditFinding], str]:
    """Return a function from a finding to where its focus is stated: ``a.ttl:12``, a document, a graph; "" for none."""
    find_line = line_finder(audit.files)

    def place(finding: AuditFinding) -> str:
        if finding.focus in audit.sources:
            return audit.sources[finding.focus]
        file, line = finding.place or find_line(finding.focus) or ("", 0)
        return f"{file}:{line}" if line else ""  # a file without a line may be any of several

    return place


def declared_prefixes(paths: Iterable[Path]) -> dict[str, str]:
    """Return prefix -> namespace of what some files declare at their head; {} of a compressed one."""
    found: dict[str, str] = {}
    for path in paths:
        with path.open("rb") as file:
            found |= _prefixes_of(file.read(MAX_HEAD_CHARACTERS).decode("utf-8", "replace"))
    return found


def _prefixes_of(text: str) -> dict[str, str]:
    """Return prefix -> namespace of what Turtle or RDF/XML declares at its head."""
    declarations = (match.groups() for match in _PREFIX.finditer(text))
    return dict((xml, xml_space) if xml else (name or "", space) for name, space, xml, xml_space in declarations)


class _FileText:
    """The text of one file, and its prefixes."""

    def __init__(self, path: Path) -> None:
        readable = path.suffix != ".gz" and path.is_file() and path.stat().st_size <= MAX_FILE_BYTES
        self._text = path.read_text(encoding="utf-8", errors="replace") if readable else ""
        self._prefixes = {space: name for name, space in _prefixes_of(self._text[:MAX_HEAD_CHARACTERS]).items()}
        self._heads = self._statements()

    def _statements(self) -> dict[str, int]:
        """Return the term at the head of a line, or in an rdf:about -> the first such line."""
        heads: dict[str, int] = {}
        for number, line in enumerate(self._text.splitlines(), start=1):
            for term in re.finditer(r"^\s{0,2}(<[^<>\s]+>|[\w.-]*:[^\s;,<>\"]+)|rdf:(?:about|ID)=[\"']([^\"']+)", line):
                heads.setdefault(term[1] or term[2], number)
        return heads

    def line(self, iri: str) -> int:
        """Return the line where a statement about an IRI begins, else that of its first mention, else 0."""
        if not self._text or iri.startswith("_:"):
            return 0
        names = [f"<{iri}>", iri]
        for space, prefix in self._prefixes.items():
            if space and iri.startswith(space):
                local = iri[len(space) :]
                names += [f"{prefix}:{local}", f"#{local}", local, f"&{prefix};{local}"]
        known = [self._heads[name] for name in names if name in self._heads]
        if known:
            return min(known)
        at = self._text.find(iri)
        return self._text.count("\n", 0, at) + 1 if at >= 0 else 0
