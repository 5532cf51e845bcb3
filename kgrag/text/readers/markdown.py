"""Markdown: the text as it is, with the headings that CommonMark sees as sections, and what it cites.

Plain text: as it is, and its reference list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from kgrag.model import Document
from kgrag.text import references
from kgrag.text.readers.sources import Heading, Source, collapsed, sections

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


__all__ = [
    "read",
    "read_plain",
]

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<fields>(?:(?!---|\.\.\.).*\n){0,200})(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_BIBLIOGRAPHY = re.compile(r"^bibliography[ \t]*:[ \t]*(?P<file>.*\S)", flags=re.MULTILINE)
_TITLE = re.compile(r"^title[ \t]*:[ \t]*(?P<title>.*\S)", flags=re.MULTILINE)


def read(source: Source) -> Iterator[Document]:
    """Yield the file; its title is that of its front matter, its first level-1 heading, or the file's name.

    Raises:
        UnreadableDocument: no text.
    """
    text = source.text()
    front = _FRONT_MATTER.match(text)
    found = _headings(text, front.end() if front else 0)
    named = _TITLE.search(front["fields"]) if front else None
    first = next((heading.words for heading in found if heading.level == 1), "")
    title = named["title"].strip("\"'") if named else first
    cites = _cites(source, text, front["fields"] if front else "")
    yield source.document(text, title=title, sections=sections(found, len(text)), cites=cites)


def _cites(source: Source, text: str, front: str) -> tuple[str, ...]:
    """Give the entries of the reference list, and what ``[@keys]`` name in the BibTeX file of the front matter."""
    named = _BIBLIOGRAPHY.search(front)
    beside = references.bibliography_of(source.path, named["file"]) if named else None
    keyed = references.keyed(text, beside) if beside else ()
    return tuple(dict.fromkeys((*references.entries(text), *keyed)))


def _headings(text: str, start: int) -> list[Heading]:
    """Find the headings outside of quotes and lists, from ``start`` on."""
    from markdown_it import MarkdownIt

    body = text[start:]
    begins = list(accumulate((len(line) + 1 for line in body.split("\n")), initial=start))
    blocks = MarkdownIt("commonmark").disable("inline").parse(body)
    inline = MarkdownIt("commonmark")
    return [
        Heading(begins[opening.map[0]], int(opening.tag[1:]), _words(inline, content.content))
        for opening, content in pairwise(blocks)
        if opening.type == "heading_open" and opening.level == 0 and opening.map
    ]


def _words(inline: MarkdownIt, content: str) -> str:
    """Give a heading's words without markup."""
    tokens = inline.parseInline(content)[0].children or []
    return collapsed("".join(" " if token.type in ("softbreak", "hardbreak") else token.content for token in tokens))


def read_plain(source: Source) -> Iterator[Document]:
    """Yield the file, titled by its name.

    Raises:
        UnreadableDocument: no text.
    """
    text = source.text()
    yield source.document(text, cites=references.entries(text))
