"""SubRip subtitles (.srt): the words that are spoken, one line per cue; each cue is a section named by its time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgrag.model import Document, Section
from kgrag.text.readers import Reader
from kgrag.text.readers.sources import Source

__all__ = ["SUBTITLES"]

_CUE = re.compile(
    r"^\s*\d+\s*\n(\d\d:\d\d:\d\d)[,.]\d+ --> [^\n]*\n(.*?)(?=\n\s*\n|\Z)", flags=re.MULTILINE | re.DOTALL
)


def _read(source: Source) -> Iterator[Document]:
    lines, sections, start = [], [], 0
    for found in _CUE.finditer(source.text()):
        line = " ".join(re.sub(r"<[^>]*>", "", found[2]).split())
        if line:
            sections.append(Section(start, start + len(line), heading=found[1]))
            lines.append(line)
            start += len(line) + 1
    if not lines:
        raise source.unreadable("holds no cue: a number, a line of times, words. Is it SubRip?")
    yield source.document("\n".join(lines), sections=tuple(sections))


SUBTITLES = Reader(_read, "application/x-subrip")
