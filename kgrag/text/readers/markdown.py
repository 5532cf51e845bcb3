"""Markdown and plain text as they are: the headings that CommonMark sees as sections, and the works that are cited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

from kgrag.model import Document
from kgrag.text import references
from kgrag.text.readers.sources import Heading, Source, collapsed, sections

__all__ = ["read", "read_plain"]

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
    fields = front["fields"] if front else ""
    headings = _headings(text, front.end() if front else 0)
    named = _TITLE.search(fields)
    first = next((heading.words for heading in headings if heading.level == 1), "")
    title = named["title"].strip("\"'") if named else first
    cites = references.entries(text)
    if named := _BIBLIOGRAPHY.search(fields):
        bibliography = references.bibliography_of(source.path, named["file"])
        cites += references.keyed(text, bibliography) if bibliography else ()
    cites = tuple(dict.fromkeys(cites))
    yield source.document(text, title=title, sections=sections(headings, len(text)), cites=cites)


def _headings(text: str, start: int) -> list[Heading]:
    """Return the headings outside of quotes and lists, from ``start`` on."""
    from markdown_it import MarkdownIt

    body = text[start:]
    line_starts = list(accumulate((len(line) + 1 for line in body.split("\n")), initial=start))
    # Blocks first, and only headings inline: inline markup of a whole text takes quadratic time in some texts.
    blocks = MarkdownIt("commonmark").disable("inline").parse(body)
    inline = MarkdownIt("commonmark")
    headings = []
    for opening, content in pairwise(blocks):
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            tokens = inline.parseInline(content.content)[0].children or []
            words = "".join(" " if token.type in ("softbreak", "hardbreak") else token.content for token in tokens)
            headings.append(Heading(line_starts[opening.map[0]], int(opening.tag[1:]), collapsed(words)))
    return headings


def read_plain(source: Source) -> Iterator[Document]:
    """Yield the file, titled by its name.

    Raises:
        UnreadableDocument: no text.
    """
    text = source.text()
    yield source.document(text, cites=references.entries(text))
