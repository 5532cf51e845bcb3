"""Language tags as they were written: the engine has them all in lower case, as RDF compares them.

A graph of somebody else's RDF is listed in the catalogue with those of its tags that were not written in lower case
(``kg:languageTag``), and whole graphs are written out with these. Of two ways in which one graph writes the same tag,
the more frequent one stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import IO, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.model import plain
from kgrag.ports import TripleStore

__all__ = ["by_lower_case", "language_tags", "respelled", "serialised", "spelled_tags"]

_TAG = r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*"
_LITERAL = r'"(?:[^"\\\n]|\\.)*"'
# What is no tag is read as well, so that none is found within a string, an IRI or a comment
_READ_TURTLE = late_re(
    rf'(?s:"""(?:[^"\\]|\\.|"{{1,2}}(?!"))*"""|\'\'\'(?:[^\'\\]|\\.|\'{{1,2}}(?!\'))*\'\'\')(?:@({_TAG}))?'
    rf"|(?:{_LITERAL}|'(?:[^'\\\n]|\\.)*')(?:@({_TAG}))?"
    r'|<[^<>"\s]*>|\#[^\n]*'
)
_READ_XML = late_re(rf'\bxml:lang\s*=\s*["\']({_TAG})["\']')
_READ_JSON = late_re(rf'"@language"\s*:\s*"({_TAG})"')
_WRITTEN_TURTLE = re.compile(rf"({_LITERAL}@)({_TAG})".encode())
_WRITTEN_XML = re.compile(rf'(<[^<>"]*(?:"[^"]*"[^<>"]*)*\sxml:lang=")({_TAG})(?=")'.encode())
_WRITTEN_JSON = re.compile(rf'("@language":")({_TAG})(?=")'.encode())
_XML, _JSON = ox.RdfFormat.RDF_XML, ox.RdfFormat.JSON_LD


def spelled_tags(text: str, form: ox.RdfFormat | None) -> list[str]:
    """Return the language tags of an RDF document that are not in lower case, each in its most frequent spelling."""
    reading = {_XML: _READ_XML, _JSON: _READ_JSON}.get(form, _READ_TURTLE)  # type: ignore[arg-type]
    if reading is _READ_TURTLE and not re.search(r"[\"']@[A-Za-z0-9-]*[A-Z]", text):
        return []
    counts: dict[str, Counter[str]] = {}
    for match in reading.finditer(text):
        if tag := next(filter(None, match.groups()), ""):
            counts.setdefault(tag.lower(), Counter())[tag] += 1
    chosen = ((lower, spellings.most_common(1)[0][0]) for lower, spellings in counts.items())
    return sorted(tag for lower, tag in chosen if tag != lower)


def language_tags(store: TripleStore, graph: ox.NamedNode) -> list[str]:
    """Return the language tags of a graph as they were written, of those that are not in lower case."""
    asked = queries.bind("catalogue/language_tags", catalogue=store.names.catalogue, graph=graph)
    return [plain(tag) for (tag,) in store.select(asked)]


def by_lower_case(tags: Iterable[str]) -> dict[str, str]:
    """Return tags by themselves in lower case."""
    return {tag.lower(): tag for tag in tags}


def respelled(data: bytes, form: ox.RdfFormat, tags: Mapping[str, str]) -> bytes:
    """Return RDF that the engine wrote, in whole lines, with language tags as ``by_lower_case`` has them.

    >>> respelled(b'<urn:a> <urn:p> "x"@de-ch .', ox.RdfFormat.N_TRIPLES, {"de-ch": "de-CH"})
    b'<urn:a> <urn:p> "x"@de-CH .'
    """
    written = {_XML: _WRITTEN_XML, _JSON: _WRITTEN_JSON}.get(form, _WRITTEN_TURTLE)

    def spelling(match: re.Match[bytes]) -> bytes:
        return match[1] + tags.get(match[2].decode(), match[2].decode()).encode()

    return written.sub(spelling, data)


class _RespellingFile:
    """A file that the engine writes RDF to, which passes it on by whole lines with language tags as they were written.

    Args:
        passes_on: takes what is written.
        form: the format that is written.
        tags: as of ``by_lower_case``.
    """

    def __init__(self, passes_on: Callable[[bytes], object], form: ox.RdfFormat, tags: Mapping[str, str]) -> None:
        self._passes_on = passes_on
        self._form = form
        self._tags = tags
        self._line = b""

    def write(self, data: bytes) -> int:
        """Take some bytes."""
        lines, line_break, rest = (self._line + data).rpartition(b"\n")
        self._line = rest
        if line_break:
            self._passes_on(respelled(lines + line_break, self._form, self._tags))
        return len(data)

    def flush(self) -> None:
        """Do nothing: a line that has not ended may end within a tag."""

    def finish(self) -> None:
        """Pass the last line on."""
        self._passes_on(respelled(self._line, self._form, self._tags))
        self._line = b""


def serialised(triples: Iterable[ox.Triple], output: IO[bytes], form: ox.RdfFormat, tags: Mapping[str, str]) -> None:
    """Write triples to a file, with language tags as ``by_lower_case`` has them."""
    if not tags:
        ox.serialize(triples, output, form)
        return
    file = _RespellingFile(output.write, form, tags)
    ox.serialize(triples, cast("IO[bytes]", file), form)
    file.finish()
