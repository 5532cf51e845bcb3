"""Word files (docx): paragraphs and tables in order, headings as sections, table rows as lines.

Inserted text of tracked changes is read and deleted text is not; content controls and text boxes are read; headers,
footers, footnotes and comments are not.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from kgrag.late_patterns import late_re
from kgrag.model import Document
from kgrag.text.readers import office
from kgrag.text.readers.sources import Heading, Source, cleaned, collapsed, label, sections

__all__ = ["read"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SKIPPED_TAGS = frozenset((f"{_W}del", f"{_W}moveFrom", f"{_W}pPr", f"{_W}rPr", f"{_W}tblPr", f"{_W}sectPr"))
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CHARACTERS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_HEADING = late_re(r"heading ([1-9])$", flags=re.IGNORECASE)
_BLOCK_BREAK = "\n\n"
_TITLE, _BODY = 0, -1


class _Block(NamedTuple):
    """The text of a paragraph or table, and its level: that of a heading, of the title, or of body text."""

    text: str
    level: int = _BODY


def read(source: Source) -> Iterator[Document]:
    """Yield the file; its title is its title paragraph, its property, its first level-1 heading, or the file's name.

    Raises:
        UnreadableDocument: no docx, damaged, too large when unpacked, or without text.
    """
    document, properties = office.opened(source, _loaded)
    if document.element.body is None:
        raise source.unreadable("is a docx file without a body. Save it again as docx.")
    blocks = [block for block in _blocks(document.element.body, _levels(document)) if block.text]
    starts = accumulate((len(block.text) + len(_BLOCK_BREAK) for block in blocks), initial=0)
    headings = [
        Heading(start, block.level, collapsed(block.text))
        for start, block in zip(starts, blocks, strict=False)
        if block.level > 0
    ]
    text = _BLOCK_BREAK.join(block.text for block in blocks)
    titles = [collapsed(block.text) for block in blocks if block.level == _TITLE]
    titles += [label(properties.pop("title", ""))]
    titles += [heading.words for heading in headings if heading.level == 1]
    title = next(filter(None, titles), "")
    yield source.described(source.document(text, title=title, sections=sections(headings, len(text))), properties)


def _loaded(data: io.BytesIO) -> Any:
    import docx

    return docx.Document(data)


def _levels(document: Any) -> dict[str, int]:
    """Return the heading level of each paragraph style, also of styles that are based on a heading, by identifier."""
    levels = {}
    for style in document.styles:
        base = style
        for _ in range(10):  # styles of a damaged file may be based on each other in a circle
            name = getattr(base, "name", None) or ""
            if match := _HEADING.match(name):
                levels[style.style_id] = int(match[1])
            elif name.lower() == "title":
                levels[style.style_id] = _TITLE
            base = getattr(base, "base_style", None)
            if base is None or style.style_id in levels:
                break
    return levels


def _blocks(parent: Any, levels: Mapping[str, int]) -> Iterator[_Block]:
    """Yield paragraphs and tables in order, also those inside content controls and the like."""
    for child in parent:
        if child.tag == f"{_W}p":
            style = child.find(f"{_W}pPr/{_W}pStyle")
            name = "" if style is None else style.get(f"{_W}val", "")
            yield _Block(_text(child), levels.get(name, _BODY))
        elif child.tag == f"{_W}tbl":
            rows = ([collapsed(_text(cell)) for cell in row.iterchildren(f"{_W}tc")] for row in child.iter(f"{_W}tr"))
            yield _Block("\n".join(" | ".join(cells) for cells in rows if any(cells)))
        elif _is_read(child):
            yield from _blocks(child, levels)


def _text(element: Any) -> str:
    return cleaned("".join(_characters(element))).strip()


def _characters(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag == f"{_W}t":
            yield from office.characters(child)
        elif child.tag in _CHARACTERS:
            yield _CHARACTERS[child.tag]
        elif _is_read(child):
            if child.tag == f"{_W}p":
                yield "\n"
            yield from _characters(child)


def _is_read(element: Any) -> bool:
    return isinstance(element.tag, str) and element.tag not in _SKIPPED_TAGS and element.tag != _FALLBACK
